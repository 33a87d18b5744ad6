"""Python's own functions in converted code."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.trace import Tracer


def test_repr_and_ascii_are_not_str() -> None:
    seen: list[str] = []

    def f(x):
        seen.append(repr("a") + ascii("é") + "é" + repr(None))
        return float(x)

    for transformation in (ad.grad, ad.jit):
        transformation(f)(2.0)
    f(2.0)
    assert set(seen) == {"'a''\\xe9'éNone"}


def test_a_number_is_shown_as_itself(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print(repr(x), str(x), f"{x!r}")
        return x * x

    ad.grad(f)(np.float64(2.5))
    assert capsys.readouterr().out == "np.float64(2.5) 2.5 np.float64(2.5)\n"
    ad.jit(f)(np.float64(2.5))
    assert capsys.readouterr().out == "np.float64(2.5) 2.5 np.float64(2.5)\n"


def test_sum_is_pythons_own() -> None:
    """Of floats too: newer versions of Python compensate for rounding."""
    values = [0.1] * 10 + [1e100, 1.0, -1e100]
    f = lambda x: float(x) * sum(values) + sum([x, 2 * x], 3.0)
    assert ad.grad(f)(2.0) == sum(values) + 3
    with pytest.raises(TypeError, match="str"):
        ad.grad(lambda x: float(x) * len(sum(["a", "b"], "")))(1.0)


def test_who_asks_for_traced_values_finds_them() -> None:
    f = lambda x: x * (2.0 if isinstance(x, Tracer) else 3.0) if isinstance(x, float) else x
    assert ad.grad(f)(1.0) == 2.0


def test_a_function_of_the_same_name_elsewhere_is_another_one() -> None:
    """np.emath.sqrt is not np.sqrt, and np.histogramdd takes a tuple of columns."""
    f = lambda x: float(x) * np.real(np.emath.sqrt(x) * 1j)
    assert f(-4.0) == 8.0
    assert ad.value_and_grad(f)(-4.0)[0] == 8.0
    counts = lambda x: np.sum(np.histogramdd((np.asarray(x), x**2), bins=2, density=True)[0] ** 2)
    x = np.linspace(0.1, 1.2, 7)
    assert ad.value_and_grad(counts)(x)[0] == pytest.approx(counts(x))
