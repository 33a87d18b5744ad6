"""Kinks and singular points: the documented table, in every mode; and nothing leaks out of a branch not taken."""

import numpy as np
import pytest

import adjoint as ad

MODES = {
    "grad": lambda f, x: ad.grad(lambda x: np.sum(f(x)))(x),
    "jvp": lambda f, x: _columns(lambda e: ad.jvp(lambda x: np.sum(f(x)), (x,), (e,))[1], x),
    "linearize": lambda f, x: _columns(ad.linearize(lambda x: np.sum(f(x)), x)[1], x),
    "vjp": lambda f, x: ad.vjp(lambda x: np.sum(f(x)), x)[1](1.0)[0],
    "jet": lambda f, x: _columns(lambda e: ad.jet(lambda x: np.sum(f(x)), (x,), ((e,),))[1][0], x),
    "vmap of grad": lambda f, x: ad.vmap(ad.grad(lambda x: np.sum(f(x))))(np.stack([x, x]))[1],
    "grad of vmap": lambda f, x: ad.grad(lambda x: np.sum(ad.vmap(f)(np.stack([x, x]))))(x) / 2,
    "jvp of vmap": lambda f, x: _columns(
        lambda e: np.sum(ad.jvp(ad.vmap(f), (np.stack([x, x]),), (np.stack([e, e]),))[1]) / 2, x
    ),
}


def _columns(derivative, x):
    units = np.eye(x.size).reshape(x.size, *x.shape) if x.ndim else [np.float64(1.0)]
    return np.reshape([derivative(e) for e in units], x.shape)


ZERO = np.float64(0.0)
PAIR = np.zeros(2)
KINKS = [
    ("abs", np.abs, ZERO, 0.0),
    ("fabs", np.fabs, ZERO, 0.0),
    ("sign", np.sign, ZERO, 0.0),
    ("abs by hand", lambda x: np.sqrt(np.square(x)), np.float64(-2.0), -1.0),
    ("relu", lambda x: np.maximum(x, 0.0), ZERO, 0.5),
    ("relu, the other way", lambda x: np.maximum(0.0, x), ZERO, 0.5),
    ("minimum", lambda x: np.minimum(x, 0.0), ZERO, 0.5),
    ("maximum with itself", lambda x: np.maximum(x, x), ZERO, 1.0),
    ("fmax", lambda x: np.fmax(x, 0.0), ZERO, 0.5),
    ("fmin past NaN", lambda x: np.fmin(x, np.nan), np.float64(1.0), 1.0),
    ("clip at its edge", lambda x: np.clip(x, 0.0, 1.0), ZERO, 0.5),
    ("hypot", lambda x: np.hypot(x[0], x[1]), PAIR, [0.0, 0.0]),
    ("norm", np.linalg.norm, PAIR, [0.0, 0.0]),
    (
        "norm of a column",
        lambda x: np.linalg.norm(x, axis=0),
        np.array([[0.0, 3.0], [0.0, 4.0]]),
        [[0.0, 0.6], [0.0, 0.8]],
    ),
    ("max", np.max, np.array([1.0, 3.0, 3.0]), [0.0, 0.5, 0.5]),
    ("min", np.min, np.array([1.0, 3.0, 1.0, 1.0]), [1 / 3, 0.0, 1 / 3, 1 / 3]),
    ("max along an axis", lambda x: np.max(x, axis=1), np.array([[1.0, 1.0], [0.0, 2.0]]), [[0.5, 0.5], [0.0, 1.0]]),
    ("sort, stable", lambda x: np.sort(x) @ np.array([1.0, 2.0, 4.0]), np.array([5.0, 1.0, 5.0]), [2.0, 1.0, 4.0]),
    ("sort of equals", lambda x: np.sort(x) @ np.array([1.0, 2.0]), np.array([1.0, 1.0]), [1.0, 2.0]),
    ("floor", np.floor, np.float64(1.0), 0.0),
    ("round", np.rint, np.float64(0.5), 0.0),
    ("comparison", lambda x: (x > 0) * 1.0, ZERO, 0.0),
    ("zero to the zeroth", lambda x: x**0.0, ZERO, 0.0),
    ("zero squared", lambda x: x**2.0, ZERO, 0.0),
    ("power by an array", lambda x: x ** np.array([0.0, 1.0, 2.0]), np.zeros(3), [0.0, 1.0, 0.0]),
    ("exponent of zero", lambda y: np.power(0.0, y), np.float64(2.0), 0.0),
    ("prod with a zero", np.prod, np.array([0.0, 2.0, 3.0]), [6.0, 0.0, 0.0]),
    ("prod with two zeros", np.prod, np.array([0.0, 0.0, 3.0]), [0.0, 0.0, 0.0]),
    ("cumprod with a zero", lambda x: np.cumprod(x), np.array([2.0, 0.0, 3.0]), [1.0, 8.0, 0.0]),
    ("logaddexp of nothing", lambda x: np.logaddexp(x, -np.inf), ZERO, 1.0),
    ("branch not taken: sqrt", lambda x: np.where(x > 0, np.sqrt(np.abs(x)), 0.0), ZERO, 0.0),
    ("branch not taken: reciprocal", lambda x: np.where(x == 0, 1.0, _quiet(lambda: 1.0 / x)), ZERO, 0.0),
    ("branch not taken: log", lambda x: np.where(x > 0, _quiet(lambda: np.log(x)), x), ZERO, 1.0),
    ("branch not taken: chain", lambda x: np.where(x > 0, np.exp(_quiet(lambda: np.log(x) / x)), 2 * x), ZERO, 2.0),
    ("branch not taken: sum", lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), np.array([0.0, 4.0]), [0.0, 0.25]),
    (
        "select",
        lambda x: np.select([x > 1, x > 0], [x**2, np.sqrt(x)], 3 * x),
        np.array([2.0, 0.25, 0.0]),
        [4.0, 1.0, 3.0],
    ),
    ("masked sum", lambda x: np.sum(np.sqrt(x), where=np.array([False, True])), np.array([0.0, 4.0]), [0.0, 0.25]),
    ("overwritten", lambda x: _overwritten(x), np.array([0.0, 4.0]), [0.0, 0.25]),
    ("indexed past", lambda x: np.sqrt(x)[1], np.array([0.0, 4.0]), [0.0, 0.25]),
]


def _quiet(f):
    """The user's own division by zero."""
    with np.errstate(all="ignore"):
        return f()


def _overwritten(x):
    y = np.sqrt(x)
    y[0] = 7.0
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name, f, x, expected", KINKS, ids=[k[0] for k in KINKS])
def test_the_table(mode, name, f, x, expected) -> None:
    np.testing.assert_allclose(MODES[mode](f, x), expected, rtol=1e-14, atol=0)


SECOND = {
    "forward over reverse": lambda f, x, v: ad.jvp(ad.grad(f), (x,), (v,))[1],
    "reverse over reverse": lambda f, x, v: ad.grad(lambda x: np.sum(ad.grad(f)(x) * v))(x),
    "reverse over forward": lambda f, x, v: ad.grad(lambda x: ad.jvp(f, (x,), (v,))[1])(x),
    "forward over forward": lambda f, x, v: _columns(
        lambda e: ad.jvp(lambda x: ad.jvp(f, (x,), (v,))[1], (x,), (e,))[1], x
    ),
    "jet of grad": lambda f, x, v: ad.jet(ad.grad(f), (x,), ((v,),))[1][0],
    "vmap of all": lambda f, x, v: ad.vmap(lambda x, v: ad.jvp(ad.grad(f), (x,), (v,))[1])(
        np.stack([x, x]), np.stack([v, v])
    )[0],
}
LEAKS = {
    "sqrt": (lambda x: np.where(x > 0, np.sqrt(x), x**2), 2.0),
    "log": (lambda x: np.where(x > 0, _quiet(lambda: np.log(x)), x**2), 2.0),
    "reciprocal": (lambda x: np.where(x > 0, _quiet(lambda: 1.0 / x), x**2), 2.0),
    "power": (lambda x: np.where(x > 0, x**0.5, x**3), 0.0),
    "quotient": (lambda x: np.where(x != 0, _quiet(lambda: np.sin(x) / x), 1.0), 0.0),
    "arccos": (lambda x: np.where(x > 0, np.arccos(1.0 - x / 8), 5 * x**2), 10.0),
    "nested": (
        lambda x: np.where(x > 0, np.where(x > 1, np.sqrt(x - 1 + (x <= 1)), _quiet(lambda: np.log(x))), x**2),
        2.0,
    ),
    "hypot": (lambda x: np.where(x > 0, np.hypot(x, 0.0), x**2), 2.0),
    "chain": (lambda x: np.where(x > 0, np.exp(np.sqrt(np.sqrt(x))), x**2 / 2), 1.0),
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("mode", SECOND)
def test_nothing_leaks_at_second_order(mode, name) -> None:
    """Σ f at [0, 4]: zero takes the branch x², the other element is regular; each alone moves."""
    f, at_zero = LEAKS[name]
    total = lambda x: np.sum(f(x))
    x = np.array([0.0, 4.0])
    step = 1e-4
    at_four = (f(4.0 + step) - 2 * f(4.0) + f(4.0 - step)) / step**2
    for v in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([1.0, 1.0])):
        np.testing.assert_allclose(SECOND[mode](total, x, v), v * [at_zero, at_four], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LEAKS)
def test_nothing_leaks_at_high_order(name) -> None:
    """Taylor mode to order five, and grad nested three times."""
    f, _ = LEAKS[name]
    _, series = ad.jet(f, (0.0,), ((1.0, 0.0, 0.0, 0.0, 0.0),))
    assert np.all(np.isfinite(series))
    g = ad.grad(ad.grad(ad.grad(f)))
    assert np.isfinite(g(0.0))
    assert g(0.0) == pytest.approx(series[2], abs=1e-12)


def test_a_nan_that_belongs_to_the_result_stays() -> None:
    """Masks hide what is not used, nothing else."""
    assert np.isnan(ad.grad(lambda x: x * np.nan)(1.0))
    assert ad.grad(np.sqrt)(0.0) == np.inf
    with np.errstate(all="ignore"):
        g = ad.grad(lambda x: np.sum(np.log(x)))(np.array([0.0, 2.0]))
    np.testing.assert_array_equal(g, [np.inf, 0.5])


@pytest.mark.parametrize("mode", MODES)
def test_contractions_follow_ieee(mode) -> None:
    """A matrix product with an infinite entry has no mask: 0 · ∞ is NaN there, as documented."""
    matrix = np.array([[np.inf, 0.0], [0.0, 1.0]])
    with np.errstate(invalid="ignore"):
        g = MODES[mode](lambda x: (matrix @ x)[1:], np.array([1.0, 2.0]))
    assert g[1] == 1.0


@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("name", ["norm", "hypot", "abs", "complex abs"])
def test_a_norm_is_flat_at_the_origin_to_second_order(mode, name) -> None:
    f = {
        "norm": np.linalg.norm,
        "hypot": lambda x: np.hypot(x[0], x[1]),
        "abs": lambda x: np.sum(np.abs(x)),
        "complex abs": lambda x: np.abs(x[0] + 1j * x[1]),
    }[name]
    np.testing.assert_array_equal(SECOND[mode](f, np.zeros(2), np.array([1.0, 2.0])), np.zeros(2))


@pytest.mark.parametrize("n", [3, 9_999, 10_001, 30_000])
def test_branches_of_large_arrays(n) -> None:
    """Large products are looked through in another way; signs differ, so that infinities would cancel to NaN."""
    x = np.linspace(-1.0, 1.0, n)
    x[n // 2] = 0.0
    slope = ad.grad(lambda x: np.sum(np.where(x != 0, np.cbrt(np.abs(x)), 2 * x) * np.sign(x - 0.5)))
    with np.errstate(all="ignore"):
        cube = np.where(x != 0, np.sign(x) / (3 * np.abs(x) ** (2 / 3)), 2.0) * np.sign(x - 0.5)
    np.testing.assert_allclose(slope(x), cube, rtol=1e-12)
