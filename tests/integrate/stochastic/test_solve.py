"""`solve_sde`: shapes, saved times, derivatives by every adjoint, adaptive steps, refusals."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Brownian, solve_sde

RNG = ad.random.default_rng(3)
drift = lambda t, y, a, b: a * (1.0 - y)
diffusion = lambda t, y, a, b: b * np.sqrt(1.0 + y * y)


def _loss(a, b, y0, **options):
    found = solve_sde(drift, diffusion, (0.0, 1.0), y0, RNG.at(1), args=(a, b), save=[0.25, 1.0], **options)
    return np.sum(found.values * np.array([[1.0], [2.0]]))


POINT = (0.7, 0.4, np.array([0.3, 1.2]))


@pytest.mark.parametrize("method, adjoint", [("sri", "discretize"), ("implicit-euler", "discretize"),
                                             ("reversible-heun", "reversible")])  # fmt: skip
def test_gradients_are_those_of_the_steps(method, adjoint):
    run = lambda a, b, y0: _loss(a, b, y0, method=method, adjoint=adjoint, steps=20)
    value, gradient = ad.value_and_grad(run, argnums=(0, 1, 2))(*POINT)
    compiled = ad.jit(ad.grad(run, argnums=(0, 1, 2)))(*POINT)
    for i in range(2):
        step = 1e-5
        up, down = ([*POINT], [*POINT])
        up[i], down[i] = POINT[i] + step, POINT[i] - step
        assert abs((run(*up) - run(*down)) / (2 * step) - gradient[i]) < 1e-8
        assert np.allclose(compiled[i], gradient[i], rtol=1e-12)
    direction = (0.3, -0.2, np.array([1.0, 0.5]))
    pushed = ad.jvp(run, POINT, direction)[1]
    assert abs(pushed - sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True))) < 1e-12
    assert np.isfinite(value)


def test_reversible_equals_stored_states_and_its_hessian():
    run = lambda adjoint: lambda ab: _loss(ab[0], ab[1], POINT[2], method="reversible-heun", adjoint=adjoint, steps=50)
    ab = np.array([0.7, 0.4])
    assert np.allclose(ad.grad(run("reversible"))(ab), ad.grad(run("discretize"))(ab), rtol=1e-13)
    assert np.allclose(ad.hessian(run("reversible"))(ab), ad.hessian(run("discretize"))(ab), rtol=1e-10)


@pytest.mark.parametrize(
    "method", ["midpoint", *[pytest.param(m, marks=pytest.mark.sweep) for m in ("heun", "euler-heun")]]
)
def test_backsolve_converges_to_the_derivative_of_the_path(method):
    W = Brownian(RNG.at(9), (0.0, 1.0), (1,))

    def end(a, adjoint, n):
        return solve_sde(lambda t, y: a * np.sin(y), lambda t, y: 0.5 * y, (0.0, 1.0), 1.0, W, noise="scalar",
                         sense="stratonovich", method=method, adjoint=adjoint, steps=n).last  # fmt: skip

    exact = ad.grad(lambda a: end(a, "discretize", 4096))(0.7)
    errors = [abs(ad.grad(lambda a, n=n: end(a, "backsolve", n))(0.7) - exact) for n in (64, 1024)]
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 2e-3
    curvature = ad.grad(ad.grad(lambda a: end(a, "backsolve", 1024)))(0.7)
    assert abs(curvature - ad.grad(ad.grad(lambda a: end(a, "discretize", 1024)))(0.7)) < 2e-2


def test_vmap_gives_the_single_paths():
    rngs = RNG.at(5).split(7)
    one = lambda rng: solve_sde(drift, diffusion, (0.0, 1.0), 0.3, rng, args=(0.7, 0.4), steps=10, save=[0.5, 1.0])
    many = ad.vmap(one)(rngs)
    again = RNG.at(5).split(7)  # drawing from generators moves them
    single = [one(again[i]).values for i in range(7)]
    assert np.allclose(many.values, np.stack(single), rtol=1e-13)
    last = lambda a, rng: solve_sde(drift, diffusion, (0.0, 1.0), 0.3, rng, args=(a, 0.4), steps=10).last
    gradient = ad.jit(ad.vmap(ad.grad(last), in_axes=(None, 0)))(0.7, rngs)
    assert gradient.shape == (7,)
    assert np.all(np.isfinite(gradient))


def test_trees_float32_and_general_noise():
    y0 = {"x": np.ones(2, np.float32), "v": np.float32(0.5)}
    f = lambda t, y: {"x": -y["x"], "v": -y["v"]}
    g = lambda t, y: {"x": np.float32(0.1) * np.ones((2, 3), np.float32), "v": np.float32(0.2) * np.ones(3, np.float32)}
    found = solve_sde(f, g, (0.0, 1.0), y0, RNG.at(2), noise="additive", steps=8)
    assert found.last["x"].dtype == np.float32
    assert found.last["x"].shape == (2,)
    assert found.converged


def test_saved_times_lie_between_steps():
    W = Brownian(RNG.at(6), (0.0, 2.0), (1,))
    growth = (lambda t, y: 0.1 * y, lambda t, y: 0.3 * y)
    times = np.array([0.0, 0.123, 1.0, 2.0])
    found = solve_sde(*growth, (0.0, 2.0), 1.0, W, save=times, steps=100)
    exact = np.exp((0.1 - 0.045) * times + 0.3 * W(times)[:, 0])
    assert np.allclose(found.values, exact, atol=1e-4)
    traced = ad.jit(lambda t: solve_sde(*growth, (0.0, 2.0), 1.0, W, save=t, steps=100).values)(times)
    assert np.allclose(traced, exact, atol=1e-4)


def test_adaptive_steps_follow_the_path():
    W = Brownian(RNG.at(7), (0.0, 1.0), (1,))
    growth = lambda a: (lambda t, y: a * y, lambda t, y: 0.8 * y)
    times = np.array([0.3, 1.0])
    exact = np.exp((0.5 - 0.32) * times + 0.8 * W(times)[:, 0])
    for tol in (1e-2, 1e-4):
        found = solve_sde(*growth(0.5), (0.0, 1.0), 1.0, W, rtol=tol, atol=tol, save=times)
        assert np.all(np.abs(found.values - exact) < 10 * tol * exact)
    gradient = ad.grad(lambda a: solve_sde(*growth(a), (0.0, 1.0), 1.0, W, rtol=1e-4, atol=1e-4).last)(0.5)
    assert abs(gradient - exact[1]) < 1e-3 * exact[1]


@pytest.mark.parametrize("options, words", [
    ({"noise": "general", "rtol": 1e-3, "method": "heun"}, "does not commute"),
    ({"method": "milstein", "rtol": 1e-3}, "does not estimate"),
    ({"method": "sra", "steps": 5}, "made for noise that is additive"),
    ({"noise": "additive", "steps": 5}, "does not depend on y"),
    ({"steps": 5, "adjoint": "reversible", "method": "sri"}, "reversible-heun"),
    ({"steps": 5, "adjoint": "backsolve", "method": "milstein"}, "Stratonovich"),
    ({}, "give the steps"),
    ({"steps": 0}, "positive"),
    ({"steps": 5, "sense": "itoh"}, "sense"),
    ({"steps": 5, "noise": "red"}, "noise is .red.; it is .diagonal., .scalar."),
    ({"steps": 5, "method": "milsten"}, "milstein"),
])  # fmt: skip
def test_refusals(options, words):
    g = (lambda t, y: np.outer(y, y)) if options.get("noise") == "general" else (lambda t, y: y)
    with pytest.raises(ValueError, match=words):
        solve_sde(lambda t, y: -y, g, (0.0, 1.0), np.ones(2), RNG.at(0), **options)


def test_coupled_noise_and_times_are_refused():
    with pytest.raises(ValueError, match="depends on more of y"):
        solve_sde(lambda t, y: -y, lambda t, y: y[::-1], (0.0, 1.0), np.ones(2), RNG.at(0), steps=4)
    with pytest.raises(ad.RuleError, match="no derivative in time"):
        ad.grad(lambda t: solve_sde(lambda t, y: -y, lambda t, y: y, (0.0, t), 1.0, RNG.at(0), steps=4).last)(1.0)
    with pytest.raises(TypeError, match="default_rng"):
        solve_sde(lambda t, y: -y, lambda t, y: y, (0.0, 1.0), 1.0, 0, steps=4)
