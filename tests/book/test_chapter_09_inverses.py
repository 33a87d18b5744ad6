"""Inverse Hessians times vectors: conjugate gradients and others, and the direct way."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.curvature import factored_hessian, inverse_hvp, inverse_hvp_costs

RNG = np.random.default_rng(94)
M = RNG.normal(size=(6, 6))
SPD = M @ M.T + 0.5 * np.eye(6)
U = RNG.normal(size=6)
quadratic = lambda w: 0.5 * w @ SPD @ w
convex = lambda w: np.log(np.sum(np.exp(M @ w))) + np.sum(w**2)
POINT = RNG.normal(size=6) / 2
METHODS = ["auto", "direct", "cg", "minres", "gmres", "bicgstab"]


@pytest.mark.row("9.4.1")
@pytest.mark.row("9.4.2")
@pytest.mark.parametrize("method", METHODS)
def test_the_product_undoes_the_inverse(method):
    """∇²L(w)[∇²L(w)⁻¹ u] = u, and it is the solution with the whole matrix."""
    found = inverse_hvp(convex, (POINT,), U, method=method, **({} if method in ("auto", "direct") else {"tol": 1e-13}))
    assert found.converged
    assert_allclose(ad.hvp(convex, (POINT,), (found.value,)), U, rtol=1e-10, atol=1e-11)
    assert_allclose(found.value, np.linalg.solve(ad.hessian(convex)(POINT), U), rtol=1e-9)


@pytest.mark.row("9.4.1")
def test_inverses_are_compiled_batched_and_differentiated():
    H = ad.hessian(convex)(POINT)
    for method in ("direct", "cg"):
        solve = lambda w, u, method=method: inverse_hvp(convex, (w,), u, method=method).value
        assert_allclose(ad.jit(solve)(POINT, U), np.linalg.solve(H, U), rtol=1e-8)
        assert_allclose(ad.vmap(lambda u: solve(POINT, u))(np.eye(6)), np.linalg.inv(H), rtol=1e-7, atol=1e-9)  # noqa: B023
        # v = H(w)⁻¹ u: ∂v[ẇ] = -H⁻¹ (∂H[ẇ]) v
        v = np.linalg.solve(H, U)
        along = ad.jvp(ad.hessian(convex), (POINT,), (U,))[1]
        _, slope = ad.jvp(lambda w: solve(w, U), (POINT,), (U,))  # noqa: B023
        assert_allclose(slope, -np.linalg.solve(H, along @ v), rtol=1e-6, atol=1e-8)
        gradient = ad.grad(lambda w: np.sum(solve(w, U)))(POINT)  # noqa: B023
        assert_allclose(gradient @ U, np.sum(slope), rtol=1e-6)


def conjugate_gradients(H, u, T, stop=0.0):
    """The algorithm as it is written: T steps from v₀ = 0, the latest iterate, all iterates."""
    v, r = np.zeros_like(u), u.copy()
    p, iterates = r.copy(), [v]
    for _ in range(T):
        if r @ r <= stop:
            break
        Hp = H @ p
        α = (r @ r) / (p @ Hp)
        v, new = v + α * p, r - α * Hp
        p, r = new + (new @ new) / (r @ r) * p, new
        iterates.append(v)
    return iterates


@pytest.mark.row("9.4.2")
def test_conjugate_gradients_end_after_as_many_steps_as_there_are_eigenvalues():
    """6 unknowns: the residual is rounding after 6 steps; k different eigenvalues: after k."""
    found = inverse_hvp(quadratic, (np.zeros(6),), U, method="cg", tol=0.0, max_iterations=6)
    residual = np.linalg.norm(SPD @ found.value - U)
    assert residual < 1e-11
    assert int(found.iterations) <= 6
    by_hand = conjugate_gradients(SPD, U, 6)
    assert_allclose(found.value, by_hand[-1], rtol=1e-9)
    for k in (1, 2, 3, 4):
        Q = np.linalg.qr(M)[0]
        few = Q @ np.diag([1.0, 2.5, 4.0, 7.0][:k] + [1.0, 2.5, 4.0, 7.0][k - 1 : k] * (6 - k)) @ Q.T
        few = (few + few.T) / 2
        ours = inverse_hvp(lambda w, few=few: 0.5 * w @ few @ w, (np.zeros(6),), U, method="cg", tol=1e-12)
        assert int(ours.iterations) == k
        assert_allclose(few @ ours.value, U, atol=1e-10)


@pytest.mark.row("9.4.2")
def test_trees_damping_and_hessians_that_are_not_positive():
    """The same on trees and for several arguments; damping makes a saddle solvable by conjugate gradients."""
    f = lambda p, s: np.sum(np.cosh(p["a"] @ p["b"])) + s**2 * np.sum(p["b"] ** 2) + np.sum(p["a"] ** 2)
    p = {"a": M[:2, :3], "b": U[:3]}
    u = ({"a": M[3:5, :3], "b": U[3:]}, 0.5)
    for method in ("direct", "minres", "gmres"):
        v = inverse_hvp(f, (p, 2.0), u, method=method, **({} if method == "direct" else {"tol": 1e-12})).value
        again = ad.hvp(f, (p, 2.0), v)
        for leaf, other in zip(ad.tree.leaves(again), ad.tree.leaves(u), strict=True):
            assert_allclose(leaf, other, rtol=1e-8, atol=1e-9)
    saddle = lambda w: w[0] ** 2 - w[1] ** 2 + w[0] * w[1]
    w, u = np.zeros(2), np.array([1.0, 2.0])
    H = ad.hessian(saddle)(w)
    assert np.linalg.eigvalsh(H)[0] < 0
    assert not inverse_hvp(saddle, (w,), u, method="cg", max_iterations=1).converged
    assert_allclose(inverse_hvp(saddle, (w,), u, method="minres").value, np.linalg.solve(H, u), rtol=1e-8)
    damped = inverse_hvp(saddle, (w,), u, method="cg", damping=5.0)
    assert damped.converged
    assert_allclose(damped.value, np.linalg.solve(H + 5 * np.eye(2), u), rtol=1e-8)


@pytest.mark.row("9.4.3")
def test_factors_are_made_once():
    """Cholesky or LU of the whole Hessian, P products to make it, then O(P²) for each right side."""
    calls = []

    def counted(w):
        calls.append(1)
        return convex(w)

    for facts in ((), ("positive definite",)):
        H = factored_hessian(counted, *facts)(POINT)
        before = len(calls)
        for u in np.eye(6):
            assert_allclose(ad.hvp(convex, (POINT,), (H.solve(u),)), u, atol=1e-12)
        assert len(calls) == before  # nothing is differentiated again
    damped = factored_hessian(convex, damping=2.0)(POINT).solve(U)
    assert_allclose(damped, np.linalg.solve(ad.hessian(convex)(POINT) + 2 * np.eye(6), U), rtol=1e-10)


@pytest.mark.row("9.4.3")
def test_a_few_iterations_go_a_long_way():
    """With T ≪ P the error falls from step to step, measured by ⟨e, H e⟩; so it is there that iterating pays."""
    P = 40
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(P, P)))[0]
    H = Q @ np.diag(np.geomspace(1.0, 50.0, P)) @ Q.T
    H = (H + H.T) / 2
    f = lambda w: 0.5 * w @ H @ w
    u = np.random.default_rng(2).normal(size=P)
    exact = np.linalg.solve(H, u)
    energy = []
    for T in range(12):
        v = inverse_hvp(f, (np.zeros(P),), u, method="cg", tol=1e-15, max_iterations=T).value if T else np.zeros(P)
        energy.append((v - exact) @ H @ (v - exact))
    assert all(after < before for before, after in pairwise(energy))
    assert energy[-1] < 0.05 * energy[0]
    assert_allclose(v, conjugate_gradients(H, u, 11)[-1], rtol=1e-6)
    # crossover: with as many steps as unknowns the matrix is as quick to make; with few, or for one u, it is not
    full = inverse_hvp_costs(f, (np.zeros(P),))
    few = inverse_hvp_costs(f, (np.zeros(P),), iterations=5)
    many = inverse_hvp_costs(f, (np.zeros(P),), right_sides=100, iterations=5)
    assert few["iterative"] < few["direct"] == full["direct"]
    assert full["iterative"] > 0.5 * full["direct"]
    assert many["direct"] < many["iterative"]


@pytest.mark.row("9.4.3")
def test_small_ones_are_solved_directly_and_large_ones_by_products():
    small = inverse_hvp(convex, (POINT,), U)
    assert int(small.iterations) == 0
    P = 300
    weights = np.linspace(1.0, 3.0, P)
    large = lambda w: np.sum(weights * np.cosh(w))
    found = inverse_hvp(large, (np.zeros(P),), np.ones(P))
    assert int(found.iterations) > 0
    assert_allclose(found.value, 1 / weights, rtol=1e-8)
    positive = inverse_hvp(large, (np.zeros(P),), np.ones(P), "positive definite")
    assert "cg" in repr(positive)
    assert isinstance(linear.hessian(large)(np.zeros(P)), linear.LinearMap)
