"""Texts with traced numbers: now where values are known, when the program runs where they are not."""

import logging
from typing import Any

import numpy as np
import pytest

import adjoint as ad


def shown(x: Any) -> Any:
    print(f"{x:.2f}", "%d and %.1f" % (3, x), f"{x:.3f}", str(x)[:3])  # noqa: UP031 (as people write it)
    return x * 2.0


def test_prints_happen_when_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "1.50 3 and 1.5 1.500 1.5\n"
    assert ad.grad(shown)(1.5) == 2.0
    assert capsys.readouterr().out == expected
    fast = ad.jit(shown)
    for _ in range(2):
        assert fast(1.5) == 3.0
    ran = capsys.readouterr().out
    assert ran.count("1.50 3 and 1.5") == 2


def test_logs(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("tests.conversion")

    def f(x: Any) -> Any:
        log.info(f"x is {x:.1f}")
        return x + 1.0

    fast = ad.jit(f)
    with caplog.at_level(logging.INFO):
        for x in (1.0, 2.0):
            fast(x)
    assert [r.getMessage() for r in caplog.records] == ["x is 1.0", "x is 2.0"]


@pytest.mark.parametrize("transform", [ad.grad, ad.jit, ad.vmap], ids=lambda t: t.__name__)
def test_templates_that_a_logger_fills_get_numbers(transform: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A logger fills its templates later, and would swallow the error of a text in the place of a number."""
    log = logging.getLogger("tests.conversion")

    def f(x: Any) -> Any:
        log.info("%d is %.2f", 3, x * 0.5)
        log.warning("%(a)s %(b).1f", {"a": "x", "b": x})
        logging.info("%g", x)
        return x * 2.0 if log.isEnabledFor(logging.INFO) else x

    x = np.array([1.0]) if transform is ad.vmap else 1.0
    with caplog.at_level(logging.INFO):
        np.testing.assert_array_equal(transform(f)(x), 2.0)
    assert [r.getMessage() for r in caplog.records] == ["3 is 0.50", "x 1.0", "1"]


def test_logs_in_loops_of_batches_happen_once_for_each_iteration(caplog: pytest.LogCaptureFixture) -> None:
    """The first iteration is traced and undone when the loop is long; what it would have logged goes with it."""
    log = logging.getLogger("tests.conversion")

    def f(x: Any) -> Any:
        total, square = 0.0, np.eye(2)
        for k in range(30):
            square = square + x * np.eye(2)
            total = total + k * square[0, 0]
            log.info("%d: %.1f", k, total)
        return total

    with caplog.at_level(logging.INFO):
        np.testing.assert_allclose(ad.jit(ad.vmap(f))(np.array([1.0, 2.0])), [f(1.0), f(2.0)], rtol=1e-14)
    messages = [r.getMessage() for r in caplog.records]
    assert sorted(messages[:60]) == sorted(messages[60:])


def test_messages_of_exceptions_have_the_numbers() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(12):
            y = y * 1.5
            if y > 100.0:
                raise ValueError(f"{y:.1f} is too much")
        return y

    fast = ad.jit(f, branches="native")
    np.testing.assert_allclose(fast(0.1), f(0.1), rtol=1e-14)
    with pytest.raises(ValueError, match=r"^\d+\.\d is too much"):
        fast(50.0)


def test_a_refusal_is_not_swallowed() -> None:
    import scipy.optimize

    def f(x: Any) -> Any:
        try:
            y = scipy.optimize.linear_sum_assignment(np.ones((2, 2)) * x)[0].sum()
        except Exception:
            y = 0.0
        return x * y

    with pytest.raises(TypeError):
        ad.grad(f)(1.0)
