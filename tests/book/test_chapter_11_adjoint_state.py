"""Chapter 11, the adjoint state method and inverse functions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import adjoint as ad
from adjoint import implicit

cubic = lambda s, w: s**3 + s - w


@pytest.mark.row("11.4.1-a", "11.4.2-a", "11.4.4-a")
def test_the_multiplier_gives_the_gradient():
    J = implicit.adjoint_state(cubic, lambda s, w: s**2, x0=1.0)
    s, r = J.state(10.0), J.multiplier(10.0)
    assert_allclose([s, J(10.0), ad.grad(J)(10.0), r], [2.0, 4.0, 4 / 13, -4 / 13], rtol=1e-12)
    by_hand = ad.grad(J.lagrangian, argnums=(0, 1, 2))(s, r, 10.0)
    assert_allclose(by_hand, [0.0, 0.0, 4 / 13], atol=1e-12)
    # by the implicit pull of u = ∇₁L
    (pulled,) = ad.vjp(implicit.root(cubic, x0=1.0), 10.0)[1](2 * s)
    assert_allclose(pulled, ad.grad(J)(10.0), rtol=1e-12)


@pytest.mark.row("11.4.1-a")
def test_one_adjoint_solve_for_a_gradient_in_many_weights():
    rng = np.random.default_rng(0)
    M, w, solves = 4 * np.eye(5) + 0.3 * rng.normal(size=(5, 5)), rng.normal(size=200), []
    c = lambda s, w: M @ s + 0.1 * np.sin(s) - w.reshape(5, 40).sum(axis=1)
    linear = lambda A, b: solves.append(b) or ad.linear.gmres(A, b, tol=1e-13)
    J = implicit.adjoint_state(c, lambda s, w: np.sum(s**4) + 0.1 * np.sum(w**2), x0=np.zeros(5), linear=linear)
    gradient, d, h = ad.grad(J)(w), rng.normal(size=200), 1e-5
    assert len(solves) == 1
    assert_allclose(gradient @ d, (J(w + h * d) - J(w - h * d)) / (2 * h), rtol=1e-8)


@pytest.mark.row("11.4.1-b")
def test_the_reduced_objective_reaches_the_constrained_minimum():
    J = implicit.adjoint_state(cubic, lambda s, w: (s - 1.5) ** 2 + 0.01 * w**2, x0=1.0)
    found = minimize(J, 1.0, jac=lambda w: np.atleast_1d(ad.grad(J)(w[0])), tol=1e-12)
    w = float(found.x[0])
    s, r = J.state(w), J.multiplier(w)
    assert_allclose(ad.grad(J.lagrangian, argnums=(0, 1, 2))(s, r, w), [0.0, 0.0, 0.0], atol=1e-7)


def layers():
    rng = np.random.default_rng(1)
    return [0.8 * rng.normal(size=(3, 3)) for _ in range(3)], rng.normal(size=3)


@pytest.mark.row("11.4.5-a")
def test_reverse_mode_is_substitution_in_the_transposed_block_equation():
    weights, x = layers()

    def c(states, weights):
        before = [x, *states[:-1]]
        return [s - np.tanh(w @ p) for s, w, p in zip(states, weights, before, strict=True)]

    def run(weights):
        s, states = x, []
        for w in weights:
            s = np.tanh(w @ s)
            states.append(s)
        return states

    loss = lambda states, weights: np.sum(states[-1] ** 3)
    J = implicit.adjoint_state(c, loss, run)
    by_reverse_mode = ad.grad(lambda weights: loss(run(weights), weights))(weights)
    for a, b in zip(ad.grad(J)(weights), by_reverse_mode, strict=True):
        assert_allclose(a, b, atol=1e-14)
    # the block bidiagonal matrix: unit diagonal, -A₂ … -A_K below it
    states = run(weights)
    K = np.eye(9)
    for k in (1, 2):
        K[3 * k : 3 * k + 3, 3 * k - 3 : 3 * k] = -np.diag(1 - states[k] ** 2) @ weights[k]
    flat = lambda v: np.concatenate(c([v[:3], v[3:6], v[6:]], weights))
    assert_allclose(ad.jacobian(flat)(np.concatenate(states)), K, atol=1e-14)
    assert_allclose(np.linalg.det(K), 1.0)
    r = np.linalg.solve(K.T, np.concatenate([np.zeros(6), 3 * states[-1] ** 2]))
    assert_allclose(-np.concatenate(J.multiplier(weights)), r, atol=1e-13)


@pytest.mark.row("11.4.5-b")
def test_shared_weights_sum_the_gradients_of_all_steps():
    weights, x = layers()
    W, u = weights[0], np.array([1.0, -2.0, 0.5])

    def c(states, W):
        before = np.concatenate([x[None], states[:-1]])
        return states - np.tanh(before @ W.T)

    def run(W):
        s, states = x, []
        for _ in range(4):
            s = np.tanh(W @ s)
            states.append(s)
        return np.stack(states)

    J = implicit.adjoint_state(c, lambda states, W: states[-1] @ u, run)

    def through_time(W):
        s = x
        for _ in range(4):
            s = np.tanh(W @ s)
        return s

    (pulled,) = ad.vjp(through_time, W)[1](u)
    assert_allclose(ad.grad(J)(W), pulled, atol=1e-14)
    separate = implicit.adjoint_state(
        lambda states, *Ws: states - np.stack([np.tanh(w @ p) for w, p in zip(Ws, [x, *states[:-1]], strict=True)]),
        lambda states, *Ws: states[-1] @ u,
        lambda *Ws: run(Ws[0]),
    )
    parts = ad.grad(separate, argnums=(0, 1, 2, 3))(W, W, W, W)
    assert_allclose(sum(parts), pulled, atol=1e-14)


@pytest.mark.row("11.4.5-c")
def test_a_graph_with_a_node_that_is_read_twice():
    def c(s, w):  # s₁ = sin(w), s₂ = s₁², s₃ = s₁ s₂ + w
        return {"a": s["a"] - np.sin(w), "b": s["b"] - s["a"] ** 2, "c": s["c"] - s["a"] * s["b"] - w}

    run = lambda w: {"a": np.sin(w), "b": np.sin(w) ** 2, "c": np.sin(w) ** 3 + w}
    J = implicit.adjoint_state(c, lambda s, w: s["c"] ** 2, run)
    assert_allclose(ad.grad(J)(0.7), ad.grad(lambda w: (np.sin(w) ** 3 + w) ** 2)(0.7), rtol=1e-13)


@pytest.mark.row("11.4.5-c")
def test_a_coefficient_field_of_a_poisson_equation():
    n = 60
    h = 1.0 / n
    source = np.ones(n - 1)

    def c(u, a):  # -(a u')' = 1 with u = 0 at both ends, a on the n cells
        padded = np.concatenate([np.zeros(1), u, np.zeros(1)])
        flux = a * np.diff(padded) / h
        return -np.diff(flux) / h - source

    def solver(a):
        K = np.diag(a[:-1] + a[1:]) - np.diag(a[1:-1], 1) - np.diag(a[1:-1], -1)
        return np.linalg.solve(K / h**2, source)

    observed = solver(1 + 0.5 * np.sin(np.linspace(0, 3, n)))
    loss = lambda u, a: np.sum((u - observed) ** 2) / h + 1e-6 * np.sum(np.diff(a) ** 2)
    J = implicit.adjoint_state(c, loss, solver, facts=("symmetric",))
    a = np.ones(n)
    gradient, d, step = ad.grad(J)(a), np.random.default_rng(0).normal(size=n), 1e-5
    plain = lambda a: loss(solver(a), a)
    assert_allclose(gradient @ d, (plain(a + step * d) - plain(a - step * d)) / (2 * step), rtol=1e-7)
    second = ad.jvp(ad.grad(J), (a,), (d,))[1]
    assert_allclose(second, (ad.grad(J)(a + step * d) - ad.grad(J)(a - step * d)) / (2 * step), rtol=1e-5, atol=1e-8)


OMEGA = np.array([0.3, 0.8])
mixing = lambda w: w + 0.2 * np.sin(w) + 0.1 * w[::-1]


@pytest.mark.row("11.5.1-a", "11.5.2-a")
@pytest.mark.parametrize("solver", ["newton", "contraction"])
def test_the_inverse_and_its_jacobian(solver):
    inverse = implicit.inverse(mixing, solver)
    assert_allclose(inverse(OMEGA), [0.1953621187, 0.6581352572], atol=6e-11)
    found = ad.jacobian(inverse)(OMEGA)
    assert_allclose([found[0, 0], found[0, 1], found[1, 1]], [0.8420615820, -0.0727026484, 0.8696657999], atol=6e-11)
    by_root = implicit.root(lambda w, omega: mixing(w) - omega, lambda omega: inverse(omega))
    assert_allclose(ad.jacobian(by_root)(OMEGA), found, atol=1e-14)
    assert_allclose(found @ ad.jacobian(mixing)(inverse(OMEGA)), np.eye(2), atol=1e-13)


@pytest.mark.row("11.5.3-a")
def test_the_contraction_settles_and_the_series_inverts():
    count = []

    def contraction(omega):
        w = omega
        for k in range(200):
            new = w - mixing(w) + omega
            if np.array_equal(new, w):
                break
            w, steps = new, k
        count.append(steps)
        return w

    inverse = implicit.inverse(mixing, contraction)
    w = inverse(OMEGA)
    assert count[-1] < 60
    series = implicit.inverse(mixing, contraction, differentiate=implicit.Neumann(60))
    assert_allclose(ad.jacobian(series)(OMEGA), np.linalg.inv(ad.jacobian(mixing)(w)), atol=4e-16)
    with pytest.raises(ad.SolveError, match="no contraction"):
        implicit.inverse(lambda w: 3.5 * w, "contraction")(OMEGA)


@pytest.mark.row("11.5-b")
def test_the_volume_factor_of_an_inverse():
    inverse = implicit.inverse(mixing)
    J = ad.jacobian(inverse)(OMEGA)
    assert_allclose(inverse.log_det(OMEGA), np.log(abs(np.linalg.det(J))), rtol=1e-12)
    assert_allclose(inverse.log_det(OMEGA), -np.log(abs(np.linalg.det(ad.jacobian(mixing)(inverse(OMEGA))))))
    step = 1e-5
    expected = [(inverse.log_det(OMEGA + step * e) - inverse.log_det(OMEGA - step * e)) / (2 * step) for e in np.eye(2)]
    assert_allclose(ad.grad(inverse.log_det)(OMEGA), expected, rtol=1e-7)
    assert_allclose(ad.jit(inverse.log_det)(OMEGA), inverse.log_det(OMEGA), rtol=1e-12)
