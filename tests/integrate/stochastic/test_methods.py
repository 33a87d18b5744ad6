"""Strong and weak orders of the methods, along one path for all steps."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Brownian, solve_sde, stochastic_methods

A, B = 0.4, 0.6
GROWTH = (lambda t, y: A * y, lambda t, y: B * y)


def _errors(equation, noise, name, counts, paths, exact, reduce, dim=1, **options):
    """Distances from the exact end values, for each number of steps."""

    def one(rng, n):
        W = Brownian(rng, (0.0, 1.0), (dim,))
        end = solve_sde(*equation, (0.0, 1.0), options["y0"], W, noise=noise, method=name, steps=n,
                        sense=options.get("sense", "ito")).last  # fmt: skip
        return reduce(end, exact(W))

    rngs = ad.random.default_rng(5).split(paths)
    return [float(np.mean(ad.jit(ad.vmap(lambda rng, n=n: one(rng, n)))(rngs))) for n in counts]


def _slope(errors, counts):
    return -np.polyfit(np.log(counts), np.log(np.abs(errors)), 1)[0]


def _ito_growth(W):
    return np.exp((A - 0.5 * B * B) + B * W(1.0)[0])


def _fine(equation, noise, sense, name, y0, n):
    return lambda W: solve_sde(*equation, (0.0, 1.0), y0, W, noise=noise, method=name, steps=n, sense=sense).last


distance = lambda a, b: np.sqrt(np.sum((a - b) ** 2))
WAVE = (lambda t, y: np.sin(3 * y) - y, lambda t, y: 0.5 + np.cos(5 * t))  # additive
TWO = (lambda t, y: np.array([-1.0, 0.5]) * y, lambda t, y: np.stack([np.array([0.3, 0.5]) * y,
                                                                      np.array([0.6, -0.2]) * y], axis=-1))  # fmt: skip
TURNING = (lambda t, y: -0.5 * y, lambda t, y: np.stack([np.stack([y[1], 0 * y[0]]), np.stack([0 * y[0], y[0]])], -1))


def _strong(name, noise, counts, paths):
    if noise in ("diagonal", "scalar"):
        return _errors(GROWTH, noise, name, counts, paths, _ito_growth, distance, y0=1.0)
    if noise == "additive":
        return _errors(WAVE, noise, name, counts, paths, _fine(WAVE, noise, "ito", "sra", 0.3, 512), distance, y0=0.3)
    y0 = np.array([1.0, 0.7])
    equation, fine = (TWO, "milstein") if noise == "commutative" else (TURNING, "euler-heun")
    reference = _fine(equation, noise, "ito", fine, y0, 512)
    return _errors(equation, noise, name, counts, paths, reference, distance, dim=2, y0=y0)


QUICK = [("euler-maruyama", "diagonal"), ("milstein", "scalar"), ("sri", "diagonal"), ("sra", "additive"),
         ("midpoint", "diagonal")]  # fmt: skip
ALL = [(name, noise) for name, m in stochastic_methods().items() for noise in m.strong]


@pytest.mark.parametrize("name, noise", QUICK)
def test_strong_order(name, noise):
    counts = (16, 128)
    slope = _slope(_strong(name, noise, counts, 200), counts)
    expected = stochastic_methods()[name].strong[noise]
    assert expected - 0.12 < slope < expected + 0.35


@pytest.mark.sweep
@pytest.mark.parametrize("name, noise", ALL)
def test_strong_order_of_every_method(name, noise):
    counts = (8, 16, 32, 64, 128)
    slope = _slope(_strong(name, noise, counts, 400), counts)
    expected = stochastic_methods()[name].strong[noise]
    assert expected - 0.2 < slope < expected + 0.35


def _weak(name, noise, counts, paths):
    """Errors of E y², with the exact value along the same W as control."""
    if noise == "additive":
        equation = (lambda t, y: -2.0 * y, lambda t, y: 1.0 + 0 * t)
        exact = _fine(equation, noise, "ito", "sra", 1.0, 256)
        return _errors(equation, noise, name, counts, paths, exact, lambda a, b: a**2 - b**2, y0=1.0)
    equation = (lambda t, y: 1.5 * y, lambda t, y: 0.3 * y)
    exact = lambda W: np.exp(1.5 - 0.045 + 0.3 * W(1.0)[0])
    return _errors(equation, noise, name, counts, paths, exact, lambda a, b: a**2 - b**2, y0=1.0)


@pytest.mark.parametrize("name", ["euler-maruyama", "platen"])
def test_weak_order(name):
    counts = (4, 16)
    slope = _slope(_weak(name, "diagonal", counts, 4000), counts)
    expected = stochastic_methods()[name].weak
    assert expected - 0.35 < slope < expected + 0.35


@pytest.mark.sweep
@pytest.mark.parametrize("name", [n for n in stochastic_methods() if n != "milstein-davie"])
def test_weak_order_of_every_method(name):
    method, counts = stochastic_methods()[name], (4, 8, 16)
    noise = "diagonal" if "diagonal" in method.strong else "additive"
    slope = _slope(_weak(name, noise, counts, 20_000), counts)
    assert slope > method.weak - 0.35


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["euler-maruyama", "milstein-davie", "platen"])
def test_weak_error_of_noise_that_does_not_commute(name):
    """E|y|² is constant: d|y|² = (-|y|² + |y|²) dt + …"""
    y0 = np.array([1.0, 0.7])

    def square(rng, n):
        y = solve_sde(*TURNING, (0.0, 1.0), y0, rng, noise="general", method=name, steps=n).last
        return y @ y - y0 @ y0

    errors = [np.mean(ad.jit(ad.vmap(lambda r, n=n: square(r, n)))(ad.random.default_rng(7).split(300_000)))
              for n in (2, 4)]  # fmt: skip
    assert abs(errors[1]) < (0.45 if name == "platen" else 0.65) * abs(errors[0])


def test_methods_agree_on_the_sense():
    W = Brownian(ad.random.default_rng(2), (0.0, 1.0), (1,))
    ito = solve_sde(*GROWTH, (0.0, 1.0), 1.0, W, method="heun", steps=2000).last
    stratonovich = solve_sde(*GROWTH, (0.0, 1.0), 1.0, W, method="milstein", sense="stratonovich", steps=2000).last
    assert abs(ito - _ito_growth(W)) < 2e-3
    assert abs(stratonovich - np.exp(A + B * W(1.0)[0])) < 4e-3


def test_coupled_diagonal_noise_is_corrected_by_the_diagonal_alone():
    # g = (y₁, y₀): ∂ᵢgᵢ = 0, so that both senses are one
    equation = (lambda t, y: -y, lambda t, y: 0.5 * y[::-1])
    W = Brownian(ad.random.default_rng(4), (0.0, 1.0), (2,))
    run = lambda sense: solve_sde(*equation, (0.0, 1.0), np.array([1.0, 2.0]), W, method="heun", sense=sense, steps=64)
    assert np.allclose(run("ito").last, run("stratonovich").last, rtol=1e-14)
