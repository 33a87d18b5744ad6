"""Flows: log-determinants against the Jacobian of the map, estimates against the exact trace."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import flow

M = np.random.default_rng(0).normal(size=(4, 4)) / 2
field = lambda t, y, M: np.tanh(M @ y) * (1 + t)
X = np.array([0.3, -0.2, 0.5, 0.1])


def test_log_determinant_is_that_of_the_map():
    chosen = flow(field, (0.0, 1.0), method="dopri5", args=(M,), rtol=1e-9, atol=1e-10)
    y, change = chosen.forward_and_log_det(X)
    assert abs(change - np.linalg.slogdet(ad.jacfwd(chosen.forward)(X))[1]) < 1e-6
    back, opposite = chosen.inverse_and_log_det(y)
    np.testing.assert_allclose(back, X, atol=1e-7)
    assert abs(change + opposite) < 1e-6
    many = ad.jit(ad.vmap(chosen.forward_log_det))(np.stack([X, 2 * X]))
    assert abs(many[0] - change) < 1e-9


def test_estimates_of_the_trace():
    exact = flow(field, (0.0, 1.0), method="dopri5", args=(M,)).forward_log_det(X)
    rough = {"method": "dopri5", "args": (M,), "trace": "hutchinson"}
    draws = [flow(field, (0.0, 1.0), rng=ad.random.default_rng(s), **rough).forward_log_det(X) for s in range(60)]
    assert abs(np.mean(draws) - exact) < 5 * np.std(draws) / np.sqrt(60)
    assert np.std(draws) > 0.05
    whole = flow(field, (0.0, 1.0), method="dopri5", args=(M,), trace="hutch++", rng=ad.random.default_rng(0), probes=8)
    assert abs(whole.forward_log_det(X) - exact) < 1e-8  # the subspace is all there is


def test_gradient_of_a_log_density():
    def log_density(M):
        x, change = flow(field, (0.0, 1.0), method="dopri5", args=(M,), rtol=1e-8, atol=1e-10).inverse_and_log_det(X)
        return -0.5 * np.sum(x**2) + change

    E = np.zeros((4, 4))
    E[1, 2] = 1e-5
    assert abs(ad.grad(log_density)(M)[1, 2] - (log_density(M + E) - log_density(M - E)) / 2e-5) < 1e-6


def test_refusals():
    with pytest.raises(ValueError, match="trace"):
        flow(field, (0.0, 1.0), trace="guess")
    with pytest.raises(TypeError, match="default_rng"):
        flow(field, (0.0, 1.0), trace="hutchinson")


def test_sketches_of_few_dimensions_are_of_full_rank():
    # of signs, two rows in two dimensions are alike half of the time
    A = np.array([[0.4, -0.7], [0.9, 0.3]])
    x = np.array([0.3, -0.5])

    def change(A, rng, trace="hutch++"):
        f = lambda t, y, A: np.tanh(A @ y) + t * y
        options = {"method": "bosh3", "trace": trace, "probes": 4}
        return flow(f, (0.0, 1.0), args=(A,), rng=rng, **options).forward_log_det(x)

    rng = ad.random.default_rng(0)
    exact, slope = ad.value_and_grad(change)(A, rng, "exact")
    # a sketch of as many rows as there are dimensions leaves nothing to chance
    values, gradients = ad.vmap(ad.value_and_grad(change), in_axes=(None, 0))(A, rng.split(8))
    np.testing.assert_allclose(values, np.full(8, exact), rtol=1e-9)
    np.testing.assert_allclose(gradients, np.stack([slope] * 8), rtol=1e-8)


def test_estimates_of_a_jacobian_of_low_rank_have_derivatives():
    def change(a, trace):
        options = {"method": "bosh3", "trace": trace, "probes": 8, "rng": ad.random.default_rng(1)}
        f = lambda t, y: np.tanh(a @ y) * np.array([1.0, 0.5, 2.0, -1.0])
        return flow(f, (0.0, 1.0), **options).forward_log_det(X)

    a = np.array([0.4, 0.7, -0.2, 0.1])
    np.testing.assert_allclose(change(a, "hutch++"), change(a, "exact"), rtol=1e-9)
    np.testing.assert_allclose(ad.grad(change)(a, "hutch++"), ad.grad(change)(a, "exact"), rtol=1e-8)
