"""Taylor mode: derivatives of any order along a curve, against mpmath's series and nested forward mode."""

import math

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.elementwise.pointwise import BY_NAME

FUNCTIONS = {
    "exp": (np.exp, mpmath.exp, 0.3),
    "log": (np.log, mpmath.log, 1.7),
    "sqrt": (np.sqrt, mpmath.sqrt, 1.3),
    "sin": (np.sin, mpmath.sin, 0.4),
    "tan": (np.tan, mpmath.tan, 0.4),
    "tanh": (np.tanh, mpmath.tanh, 0.4),
    "arctan": (np.arctan, mpmath.atan, 0.4),
    "arcsin": (np.arcsin, mpmath.asin, 0.3),
    "arccosh": (np.arccosh, mpmath.acosh, 2.5),
    "arctanh": (np.arctanh, mpmath.atanh, 0.2),
    "reciprocal": (np.reciprocal, lambda x: 1 / x, 1.2),
    "cube": (lambda x: x**3, lambda x: x**3, 1.2),
    "power": (lambda x: x**-2.5, lambda x: x ** mpmath.mpf("-2.5"), 1.2),
    "self power": (lambda x: x**x, lambda x: x**x, 1.2),
    "quotient": (lambda x: np.sin(x) / (1 + x * x), lambda x: mpmath.sin(x) / (1 + x * x), 0.5),
    "gaussian": (lambda x: np.exp(-x * x / 2), lambda x: mpmath.exp(-x * x / 2), 0.5),
    "composed": (lambda x: np.log1p(np.exp(np.sin(x))), lambda x: mpmath.log(1 + mpmath.exp(mpmath.sin(x))), 0.5),
    "prod": (lambda x: np.prod(np.stack([x, np.sin(x), x + 1])), lambda x: x * mpmath.sin(x) * (x + 1), 0.5),
    "cumprod": (lambda x: np.cumprod(np.stack([x, x, x]))[-1], lambda x: x**3, 0.5),
    "hypot": (lambda x: np.hypot(x, 1.0), lambda x: mpmath.sqrt(x * x + 1), 0.5),
    "arctan2": (lambda x: np.arctan2(x, 1 + x), lambda x: mpmath.atan2(x, 1 + x), 0.5),
    "logaddexp": (lambda x: np.logaddexp(x, x * x), lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(x * x)), 0.5),
}
ORDER = 9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nine_orders_against_mpmath(name) -> None:
    f, precise, x = FUNCTIONS[name]
    with mpmath.workdps(60):
        expected = [float(c * math.factorial(k)) for k, c in enumerate(mpmath.taylor(precise, mpmath.mpf(x), ORDER))]
    value, series = ad.jet(f, (x,), ((1.0, *[0.0] * (ORDER - 1)),))
    assert [value, *series] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_along_a_curve() -> None:
    """x(t) = cos t, so f(x(t)) = arccos(cos t)² = t² near t = 1."""
    derivatives = [-math.sin(1.0), -math.cos(1.0), math.sin(1.0), math.cos(1.0)]
    _, series = ad.jet(lambda x: np.arccos(x) ** 2, (math.cos(1.0),), (derivatives,))
    assert series == pytest.approx([2.0, 2.0, 0.0, 0.0], abs=1e-12)


def test_several_arguments_and_trees() -> None:
    """d²/dt² of x(t)·y(t) with x = (1 + t, t²), y = exp t."""
    x, y = {"v": np.array([1.0, 0.0])}, 1.0
    first, second = {"v": np.array([1.0, 0.0])}, {"v": np.array([0.0, 2.0])}
    value, series = ad.jet(lambda p, y: {"out": p["v"] * y}, (x, y), ((first, second), (1.0, 1.0)))
    np.testing.assert_allclose(value["out"], [1.0, 0.0])
    np.testing.assert_allclose(series[0]["out"], [2.0, 0.0])  # (1 + t) eᵗ, t² eᵗ
    np.testing.assert_allclose(series[1]["out"], [3.0, 2.0])


def test_the_cost_of_a_product_is_quadratic(monkeypatch) -> None:
    """Order K of sin(x)·exp(x) takes O(K²) array operations, counted."""
    counts = {}
    for order in (8, 16, 32):
        calls = [0]
        op = BY_NAME["multiply"]
        monkeypatch.setattr(
            op, "function", lambda *a, calls=calls: calls.__setitem__(0, calls[0] + 1) or np.multiply(*a)
        )
        monkeypatch.setattr(type(op), "evaluate", lambda self, *a: self.function(*a))
        ad.jet(lambda x: np.sin(x) * np.exp(x), (0.5,), ((1.0, *[0.0] * (order - 1)),))
        monkeypatch.undo()
        counts[order] = calls[0]
    assert counts[16] <= 4.5 * counts[8] + 50
    assert counts[32] <= 4.5 * counts[16] + 50


def test_order_of_a_deep_composition_stays_polynomial() -> None:
    """Ten compositions to order twelve: shared nodes keep this in milliseconds, an unshared tree would not end."""

    def f(x):
        for _ in range(10):
            x = np.sin(np.exp(-x)) / (1 + x * x)
        return x

    _, series = ad.jet(f, (0.5,), ((1.0, *[0.0] * 11),))
    g = f
    for k in range(4):
        g = (lambda h: lambda x: ad.jvp(h, (x,), (1.0,))[1])(g)
        assert series[k] == pytest.approx(g(0.5), rel=1e-9)


def test_orders_zero_and_constants() -> None:
    value, series = ad.jet(np.sin, (0.5,), ((),))
    assert value == np.sin(0.5)
    assert series == []
    _, series = ad.jet(lambda x: (x, 3.0, np.ones(2)), (0.5,), ((1.0, 0.0),))
    assert series[0][:2] == (1.0, 0.0)
    np.testing.assert_array_equal(series[1][2], np.zeros(2))


def test_flat_and_kinked_functions() -> None:
    x = np.array([1.5, -2.5])
    _, series = ad.jet(lambda x: np.abs(x) * np.floor(x) + np.maximum(x, 0.0) ** 2, (x,), ((np.ones(2), np.zeros(2)),))
    np.testing.assert_allclose(series[0], [1.0 + 3.0, 3.0])
    np.testing.assert_allclose(series[1], [2.0, 0.0])


def test_in_place_and_indexing() -> None:
    def f(x):
        y = x * x
        y[0] = y[1] * x[0]
        y[1:] += np.sin(x[1:])
        return y[::-1]

    x, v = np.array([0.3, 0.7, 1.1]), np.array([1.0, -1.0, 0.5])
    _, series = ad.jet(f, (x,), ((v, np.zeros(3), np.zeros(3)),))
    g = f
    for k in range(3):
        g = (lambda h: lambda x: ad.jvp(h, (x,), (v,))[1])(g)
        np.testing.assert_allclose(series[k], g(x), rtol=1e-12)


def test_single_precision_and_complex() -> None:
    x = np.array([0.5, 0.7], np.float32)
    _, series = ad.jet(lambda x: np.sin(x) * 2.0 / x, (x,), ((np.ones(2, np.float32), np.zeros(2, np.float32)),))
    assert [s.dtype for s in series] == [np.float32, np.float32]
    z = 0.5 + 0.3j
    _, series = ad.jet(np.exp, (z,), ((1j, 0j),))
    assert series == pytest.approx([1j * np.exp(z), -np.exp(z)], rel=1e-14)


def test_bad_series() -> None:
    with pytest.raises(ValueError, match="same number of terms"):
        ad.jet(np.add, (1.0, 2.0), ((1.0,), (1.0, 0.0)))
    with pytest.raises(TypeError, match="primals"):
        ad.jet(np.add, (1.0, 2.0), ((1.0,),))
    with pytest.raises(ValueError, match="shape"):
        ad.jet(np.sin, (np.ones(2),), ((np.ones(3),),))
