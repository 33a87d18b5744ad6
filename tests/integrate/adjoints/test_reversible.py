"""The reversible adjoint: the gradient of the steps, without keeping them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjoint as ad
from adjoint import integrate
from adjoint.integrate import Reversible, ReversibleHeun, solve


def prey(t, s, w):
    return np.stack([s[0] * (w[0] - w[1] * s[1]), s[1] * (w[3] * s[0] - w[2])])


W, X = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])


def _end(method, adjoint, **options):
    return lambda w, x, t1: np.sum(solve(prey, (0.0, t1), x, args=(w,), method=method, adjoint=adjoint, **options).last)


@pytest.mark.row("12.6.5-c")
def test_leapfrog_of_200_steps_equals_stored_states_and_differences():
    stored, undone = (_end("leapfrog-async", name, first_step=0.02) for name in ("discretize", "reversible"))
    one, two = (ad.grad(run, argnums=(0, 1, 2))(W, X, 4.0) for run in (stored, undone))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for i in range(4):
        step = 1e-5 * np.eye(4)[i]
        assert abs((undone(W + step, X, 4.0) - undone(W - step, X, 4.0)) / 2e-5 - two[0][i]) < 1e-6 * abs(two[0][i])

    def without_start(w):  # c₀ = h(t₀, x, w) held fixed: what dropping its derivative costs
        method = integrate.choose("leapfrog-async")
        f = lambda t, s: prey(t, s, w)
        state = (X, prey(0.0, X, W))
        for k in range(200):
            state = method.step(f, 0.02 * k, np.float64(0.02), state).state
        return np.sum(state[0])

    gap = np.max(np.abs(ad.jacfwd(without_start)(W) - two[0]))
    assert gap > 1e-4


@pytest.mark.parametrize("method, options", [
    pytest.param(Reversible("dopri5"), {"rtol": 1e-6}, marks=pytest.mark.sweep),
    pytest.param(Reversible("bosh3"), {"rtol": 1e-6}, marks=pytest.mark.sweep),
    ("reversible-heun", {"rtol": 1e-4}),
    (ReversibleHeun(adaptive=False), {"first_step": 0.05}),
])  # fmt: skip
def test_adaptive_and_fixed_steps_with_saved_times(method, options):
    def run(adjoint):
        def total(w, shift):
            times = np.array([1.0, 2.5]) + shift
            path = solve(prey, (0.0, 4.0), X, args=(w,), method=method, adjoint=adjoint, save=times, **options)
            return np.sum(path.values * np.array([[1.0, 2.0], [3.0, -1.0]]))

        return total

    accuracy = 2e-2 if "heun" in str(method).lower() else 1e-4
    exact = lambda p: np.sum(
        solve_ivp(lambda t, y: prey(t, y, p[:4]), (0.0, 4.0), X, t_eval=np.array([1.0, 2.5]) + p[4], rtol=1e-11).y.T
        * np.array([[1.0, 2.0], [3.0, -1.0]])
    )
    gradient = ad.grad(run("reversible"), argnums=(0, 1))(W, 0.0)
    point = np.append(W, 0.0)
    expected = [(exact(point + d) - exact(point - d)) / 2e-4 for d in 1e-4 * np.eye(5)]
    np.testing.assert_allclose(np.append(*gradient), expected, rtol=accuracy, atol=accuracy)
    tangent = ad.jvp(lambda w: run("reversible")(w, 0.0), (W,), (np.ones(4),))[1]
    assert abs(tangent - np.sum(gradient[0])) < 1e-11 * abs(tangent)


def test_what_is_not_reached_has_no_values():
    options = {"method": "reversible-heun", "rtol": 1e-6, "max_steps": 600, "save": [0.5, 1.0, 3.0]}
    undone, stored = (solve(prey, (0.0, 4.0), X, args=(W,), adjoint=a, **options) for a in ("reversible", "discretize"))
    assert undone.status == stored.status == "max steps"
    assert 0.5 < undone.time == stored.time < 1.0
    np.testing.assert_allclose(undone.values, stored.values, rtol=1e-5)  # NaN at 1.0 and 3.0
    np.testing.assert_allclose(undone.last, stored.last, rtol=1e-5)


def test_hessian_compiled_and_batched():
    run = _end(ReversibleHeun(adaptive=False), "reversible", first_step=0.1)
    stored = _end(ReversibleHeun(adaptive=False), "discretize", first_step=0.1)
    one = lambda w: run(w, X, 2.0)
    np.testing.assert_allclose(ad.hessian(one)(W), ad.hessian(lambda w: stored(w, X, 2.0))(W), rtol=1e-9, atol=1e-9)
    many = np.stack([W, 1.1 * W])
    expected = np.stack([ad.grad(one)(w) for w in many])
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(one)))(many), expected, rtol=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match="reversible-heun"):
        solve(prey, (0.0, 1.0), X, args=(W,), method="dopri5", adjoint="reversible")
    with pytest.raises(TypeError, match="Runge-Kutta"):
        Reversible("rodas5p")
    with pytest.raises(ValueError, match="coupling"):
        Reversible("dopri5", 0.0)


@pytest.mark.row("12.6.5-e")
def test_momentum_nets_are_undone_in_closed_form():
    """v ← γ v + (1 - γ) f(x), x ← x + v, 50 layers: the round trip loses γ⁻ᴷ roundings."""
    rng = np.random.default_rng(0)
    weights = [0.3 * rng.normal(size=(4, 4)) for _ in range(50)]
    layer = ad.memory.momentum(lambda x, w: np.tanh(w @ x), gamma=0.9)
    x, v = rng.normal(size=4), np.zeros(4)
    state = (x, v)
    for w in weights:
        state = layer(state, w)
    for w in weights[::-1]:
        y, u = state
        y = y - u
        state = (y, (u - 0.1 * np.tanh(w @ y)) / 0.9)
    assert max(np.max(np.abs(state[0] - x)), np.max(np.abs(state[1] - v))) < 1e-11
    chain = ad.reversible(*[layer] * 50)

    def by_loop(w):
        x1, v1 = x, v
        for _k in range(50):
            v1 = 0.9 * v1 + 0.1 * np.tanh(w @ x1)
            x1 = x1 + v1
        return np.sum(x1)

    with pytest.warns(RuntimeWarning, match=r"off by .*e-1"):  # it is reported
        undone = ad.grad(lambda w: np.sum(chain((x, v), *[w] * 50)[0]))(weights[0])
    np.testing.assert_allclose(undone, ad.grad(by_loop)(weights[0]), rtol=1e-9)
