"""Arithmetic where NumPy gives an infinity or NaN: so do derivatives, compiled or not, and nothing is raised."""

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.0, -2.0])


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, np.float64(0)])
def test_division_by_zero(zero):
    def f(x):
        return x / zero

    inf = np.copysign(np.inf, zero)
    with np.errstate(all="ignore"):
        for g in (lambda x: ad.vjp(f, x)[1](np.ones(2))[0], lambda x: ad.jvp(f, (x,), (np.ones(2),))[1]):
            np.testing.assert_array_equal(g(X), [inf, inf])
            np.testing.assert_array_equal(ad.jit(g)(X), [inf, inf])
        assert ad.grad(f)(2.0) == inf
        assert np.isnan(ad.grad(lambda x: abs(x / 0j))(2.0))


@pytest.mark.parametrize(
    "f",
    [
        np.mean,
        lambda x: np.mean(x, axis=0),
        lambda x: np.mean(x.astype(np.float32)),
        np.var,
        lambda x: np.std(x, axis=0),
        lambda x: np.var(x, ddof=1),
        lambda x: np.average(x, axis=0),
    ],
)
def test_the_mean_of_nothing(f):
    x = np.zeros((0, 3))
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        want = f(x)
    assert np.all(np.isnan(want))
    with np.errstate(all="ignore"):
        for got in (ad.vjp(f, x)[0], ad.jvp(f, (x,), (x,))[0], ad.jit(f)(x), ad.vmap(f)(x[None])[0]):
            np.testing.assert_array_equal(got, want)
            assert np.asarray(got).dtype == want.dtype
        assert ad.vjp(f, x)[1](np.ones_like(want))[0].shape == x.shape


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "x, y", [(0.0, 1e-310), (np.inf, np.inf), (np.nan, np.inf), (1e300, 1e200), (1.0, 0.0), (0.0, 0.0), (2.0, 4.0)]
)
def test_the_slope_of_a_quotient_at_the_edges_is_the_same_in_every_mode(x, y) -> None:
    """-z/y, whether x is differentiated as well or not, eagerly and compiled."""
    f = lambda x, y: x / y
    slope = ad.jvp(f, (x, y), (0.0, 1.0))[1]
    found = [ad.grad(f, (0, 1))(x, y)[1], ad.grad(f, 1)(x, y), ad.jit(ad.grad(f, (0, 1)))(x, y)[1]]
    np.testing.assert_array_equal(found, [slope] * 3)
