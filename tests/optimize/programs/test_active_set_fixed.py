"""Unknowns whose bounds are one number: derivatives against solving again, in dense, sparse and nonlinear programs."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import adjoint as ad
from adjoint import optimize
from tests.support.sweeps import sampled

RANDOM = np.random.default_rng(3)
ROOT = RANDOM.normal(size=(4, 4))
P, Q, G, H = ROOT @ ROOT.T + np.eye(4), RANDOM.normal(size=4), RANDOM.normal(size=(3, 4)), RANDOM.normal(size=3) + 0.5
FORMS = {
    "eager": lambda f: ad.jacfwd(f),
    "reverse": lambda f: ad.jacrev(f),
    "compiled": lambda f: ad.jit(ad.jacrev(f)),
    "batch": lambda f: lambda t: ad.jit(ad.vmap(ad.jacfwd(f)))(np.stack([t, t + 0.1]))[0],
}


def fix(t, value):
    """Bounds of four unknowns, of which the second is t."""
    return np.where(np.arange(4) == 1, t, value)


def solve(t, q=Q):
    return optimize.qp(P, q, G=G, h=H, lower=fix(t, -1.0), upper=fix(t, 1.0))


def minimize(t):
    rule = optimize.equality(lambda x: np.sum(x) - 1.0)
    return optimize.minimize(lambda x: np.sum((x - 1.0) ** 4) + x[0] * x[1] - x[1], fix(t, 0.3), subject_to=rule,
                             bounds=(fix(t, -2.0), fix(t, 2.0)), tol=1e-12)  # fmt: skip


@pytest.mark.parametrize("form, sign", sampled(itertools.product(FORMS, [1.0, -1.0]), 3))
def test_quadratic_programs(form, sign):
    """Whichever bound presses."""
    everything = lambda t: np.concatenate([
        (found := solve(t, sign * Q)).value, found.multipliers.inequality,
        found.multipliers.upper - found.multipliers.lower, np.reshape(found.fun, (1,)),
    ])  # fmt: skip
    t, step = 0.3, 1e-5
    again = (everything(t + step) - everything(t - step)) / (2 * step)
    np.testing.assert_allclose(FORMS[form](everything)(t), again, rtol=1e-6, atol=1e-6)
    prices = solve(t, sign * Q).multipliers
    assert np.all(np.minimum(prices.lower, prices.upper) == 0)


@pytest.mark.parametrize("form", FORMS)
def test_nonlinear_programs(form):
    t, step = 0.3, 1e-5
    read = lambda t: np.append((found := minimize(t)).value, found.fun)
    again = (read(t + step) - read(t - step)) / (2 * step)
    np.testing.assert_allclose(FORMS[form](read)(t), again, rtol=1e-5, atol=1e-6)


def test_large_sparse_programs():
    n = 1600
    K = sparse.diags_array([np.full(n, 2.0), *[np.full(n - 1, -0.5)] * 2], offsets=[0, 1, -1]).tocsc()
    q = np.random.default_rng(0).normal(size=n)
    bounds = lambda t: {"lower": np.where(np.arange(n) == 5, t, -0.5), "upper": np.where(np.arange(n) == 5, t, 0.5)}
    read = lambda t: optimize.qp(K, q, **bounds(t)).value[:9]
    again = (read(0.3 + 1e-5) - read(0.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(ad.jacrev(read)(0.3), again, atol=1e-6)
    found = optimize.qp(K, q, **bounds(0.3))
    np.testing.assert_allclose(K @ found.value + q + found.multipliers.upper - found.multipliers.lower, 0.0, atol=1e-8)
    assert np.all(np.minimum(found.multipliers.lower, found.multipliers.upper) <= 1e-9)


def test_a_bound_that_holds_without_pressing_is_still_told_of():
    """The bounds of other unknowns are not one number."""
    far = optimize.inequality(lambda x: x[0] - 9.0)
    read = lambda t: optimize.minimize(lambda x: np.sum((x - t) ** 2), np.array([0.5, 0.2]), subject_to=far,
                                       bounds=(np.array([0.0, 0.2]), np.array([1.0, 0.2]))).value  # fmt: skip
    with pytest.warns(ad.implicit.DerivativeWarning, match="weakly active"):
        ad.jacrev(read)(1.0)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_numbers_that_are_none_are_refused_in_large_programs_too(bad):
    n = 1600
    eye, h = sparse.eye_array(n).tocsc(), np.full(n, 0.4)
    h[3] = bad
    with pytest.raises(ValueError, match="h "):
        optimize.qp(eye, np.ones(n), G=eye, h=h)
    with pytest.raises(ValueError, match="q has entries that are NaN"):
        optimize.qp(eye, np.full(n, np.nan), G=eye, h=np.ones(n))
