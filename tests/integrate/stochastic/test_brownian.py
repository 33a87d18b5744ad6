"""Brownian motion as a function of time: its law, and that it is one path."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from adjoint.integrate import Brownian

RNG = ad.random.default_rng(11)


def test_values_do_not_depend_on_what_else_is_asked():
    W = Brownian(RNG.at(0), (1.0, 4.0), (2,))
    times = np.linspace(1.0, 4.0, 23)
    whole = W(times)
    assert whole.shape == (23, 2)
    order = np.random.default_rng(0).permutation(23)
    assert np.array_equal(np.stack([W(times[i]) for i in order]), whole[order])
    assert np.array_equal(ad.jit(lambda W, t: W(t))(W, times[7]), whole[7])
    assert np.array_equal(ad.vmap(lambda t: W(t))(times), whole)
    assert np.all(whole[0] == 0)


def test_law_of_values_increments_and_areas():
    paths = RNG.at(1).split(20_000)
    times = np.array([0.3, 0.7, 1.0, 1.9])

    def read(rng):
        W = Brownian(rng, (0.0, 2.0))
        (a, b), (c, d) = W.increment(0.31, 0.7), W.increment(0.7, 1.37)
        return np.concatenate([W(times), np.stack([a, b, c, d])])

    found = ad.jit(ad.vmap(read))(paths)
    sigma = 1 / np.sqrt(20_000)
    covariance = np.cov(found.T)
    assert np.allclose(covariance[:4, :4], np.minimum.outer(times, times), atol=8 * sigma * 2)
    scale = np.sqrt([0.39, 0.39 / 12, 0.67, 0.67 / 12])
    inner = covariance[4:, 4:] / np.outer(scale, scale)
    assert np.allclose(inner, np.eye(4), atol=6 * sigma)
    assert np.allclose(np.mean(found, axis=0) / np.sqrt(np.diag(covariance)), 0, atol=5 * sigma)
    standard = np.sort(found[:, 5] / scale[1])  # Kolmogorov's distance from the normal law
    from scipy.stats import kstest

    assert kstest(standard, "norm").pvalue > 1e-4


def test_area_is_the_integral_of_the_path():
    W = Brownian(RNG.at(2), (0.0, 1.0))
    times = np.linspace(0.25, 0.75, 2**13 + 1)
    values = W(times) - W(0.25)
    w, H = W.increment(0.25, 0.75)
    trapezoid = np.sum(0.5 * (values[1:] + values[:-1])) / (len(times) - 1)
    assert abs(w - values[-1]) < 1e-15
    assert abs(H - (trapezoid - 0.5 * w)) < 1e-3


def test_quadratic_variation_down_to_fine_steps():
    W = Brownian(RNG.at(3), (0.0, 1.0))
    for n in (1000, 8192):
        assert abs(np.sum(np.diff(W(np.linspace(0, 1, n + 1))) ** 2) - 1) < 6 * np.sqrt(2 / n)


def test_refusals():
    with pytest.raises(TypeError, match="default_rng"):
        Brownian(0, (0.0, 1.0))
    with pytest.raises(ValueError, match="forwards"):
        Brownian(RNG.at(0), (1.0, 0.0))


def test_times_outside_of_the_span():
    W = Brownian(RNG.at(0), (0.0, 1.0))
    assert W(np.sum(np.full(10, 0.1)) + 1e-14) == W(1.0)  # a sum of steps
    compiled, inner = ad.jit(lambda t: W(t)), ad.jit(lambda W, t: W.increment(0.5, t)[0])
    assert compiled(0.25) == W(0.25)
    for asked in (W, compiled, W.integral, lambda t: inner(W, t), ad.vmap(W)):
        for t in (1.5, -0.1):
            with pytest.raises(ValueError, match="the span of the Brownian motion"):
                asked(np.array([0.5, t]) if asked is not compiled else t)

    def last(T):
        path = integrate.solve_sde(lambda t, y: -y, lambda t, y: 1.0, (0.0, T), 1.0, W, steps=4)
        return path.last

    for solved in (last, ad.jit(last)):
        assert np.isfinite(solved(1.0))
        with pytest.raises(ValueError, match="solve_sde: W is asked for times"):
            solved(2.0)
