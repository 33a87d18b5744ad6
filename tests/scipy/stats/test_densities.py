"""Distributions of scipy.stats in unchanged code: values are SciPy's, derivatives those of its differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from scipy.stats import norm

import adjoint as ad
from tests.support.everywhere import check_everywhere
from tests.support.sweeps import sampled

CONTINUOUS: dict[str, tuple[float, ...]] = {
    "norm": (), "expon": (), "uniform": (), "cauchy": (), "laplace": (), "logistic": (), "gumbel_r": (), "rayleigh": (),
    "t": (3.5,), "gamma": (1.7,), "beta": (1.7, 2.5), "chi2": (3.2,), "lognorm": (0.8,), "weibull_min": (1.6,),
    "pareto": (2.6,), "f": (5.0, 7.0), "invgamma": (2.6,), "genextreme": (0.2,), "skewnorm": (1.1,), "vonmises": (1.4,),
}  # fmt: skip
DENSITIES, OTHERS = ("logpdf", "pdf"), ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")
# computed by quadrature, by a search, or by functions without derivatives
REFUSED = {"skewnorm": set(OTHERS), "vonmises": set(OTHERS), "cauchy": {"ppf", "isf"}, "beta": {"ppf", "isf"}}
CASES = [(d, m) for d in CONTINUOUS for m in (*DENSITIES, *OTHERS) if m not in REFUSED.get(d, ())]


@pytest.mark.parametrize("name, method", sampled(CASES, 3))
def test_methods(name: str, method: str) -> None:
    theirs = getattr(stats, name)

    def f(point: Any, shapes: Any, loc: Any, scale: Any) -> Any:
        return getattr(theirs, method)(point, *shapes, loc=loc, scale=scale)

    shapes = np.array(CONTINUOUS[name])
    inside = 0.37 if method in ("ppf", "isf") else float(theirs.ppf(0.37, *shapes, 0.2, 1.3))
    arguments = (inside, shapes, 0.2, 1.3)
    gradient = ad.value_and_grad(f, argnums=(0, 1, 2, 3))
    for transformed in (gradient, ad.jit(gradient)):
        value, found = transformed(*arguments)
        np.testing.assert_allclose(value, f(*arguments), rtol=1e-10)
        flat = np.array([found[0], *found[1], found[2], found[3]])
        at = lambda x: f(x[0], x[1:-2], x[-2], x[-1])
        origin = np.array([inside, *shapes, 0.2, 1.3])
        differences = [(at(origin + h) - at(origin - h)) / 2e-5 for h in 1e-5 * np.eye(len(origin))]
        np.testing.assert_allclose(flat, differences, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name, method", [("skewnorm", "cdf"), ("vonmises", "ppf"), ("cauchy", "ppf"), ("beta", "ppf")])
def test_what_has_no_formula_is_refused_by_name(name: str, method: str) -> None:
    theirs = getattr(stats, name)
    with pytest.raises(TypeError, match=rf"scipy\.stats\.{name}"):
        ad.grad(lambda x: getattr(theirs, method)(x, *CONTINUOUS[name]))(0.3)


def black_scholes(s: Any, k: Any, sigma: Any) -> Any:
    d1 = (np.log(s / k) + (0.03 + sigma**2 / 2) * 0.5) / (sigma * np.sqrt(0.5))
    d2 = d1 - sigma * np.sqrt(0.5)
    return s * norm.cdf(d1) - k * np.exp(-0.03 * 0.5) * norm.cdf(d2)


def test_an_option() -> None:
    check_everywhere(black_scholes, 100.0, 105.0, 0.25, step=1e-3)


def likelihood(x: Any) -> Any:
    data = np.array([0.3, 1.2, -0.4, 0.8])
    frozen = norm(x[0], 1.0 + x[1] ** 2)
    counts = stats.poisson.logpmf([2, 0, 3], np.exp(x[2])) + stats.binom.logpmf([1, 2, 0], 4, 1 / (1 + np.exp(x[0])))
    return np.sum(frozen.logpdf(data)) + np.sum(stats.t.logpdf(data, df=3.0 + x[2])) + np.sum(counts) + frozen.ppf(0.9)


def test_a_likelihood() -> None:
    check_everywhere(likelihood, np.array([0.5, 1.5, 0.7]))


def test_outside_of_the_support() -> None:
    def f(x: Any) -> Any:
        return np.sum(stats.expon.pdf(x)) + np.sum(stats.uniform.cdf(x)) + stats.gamma.cdf(x[0], 0.5)

    x = np.array([-1.0, 0.5, 3.0])
    value, gradient = ad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, [0.0, 1.0 - np.exp(-0.5), -np.exp(-3.0)], rtol=1e-12)
    assert np.isnan(ad.jit(lambda s: norm.logpdf(0.3, 0.0, s))(-1.0))


def test_other_methods_stay_scipys() -> None:
    draws = lambda x: x * norm.rvs(size=3, random_state=0).sum()
    assert ad.grad(draws)(2.0) == pytest.approx(norm.rvs(size=3, random_state=0).sum())
    with pytest.raises(TypeError, match=r"scipy\.stats\.norm"):
        ad.grad(lambda x: norm.entropy(0.0, x))(2.0)
