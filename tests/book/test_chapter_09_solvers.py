"""Conjugate gradients as the book writes them down: the same residuals, one product for each iteration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear

RNG = np.random.default_rng(942)
M = RNG.normal(size=(6, 6))
H = M @ M.T + 0.5 * np.eye(6)
U = RNG.normal(size=6)


def as_written(H, u, T):
    """r₀ = u - H v₀, p₀ = r₀; α = ⟨r, r⟩ / ⟨p, H p⟩ …: the norms of all residuals."""
    v = np.zeros_like(u)
    r = u - H @ v
    p, norms = r, [np.linalg.norm(r)]
    for _ in range(T):
        Hp = H @ p
        alpha = (r @ r) / (p @ Hp)
        v, after = v + alpha * p, r - alpha * Hp
        p, r = after + (after @ after) / (r @ r) * p, after
        norms.append(np.linalg.norm(r))
    return norms


@pytest.mark.row("9.4.2")
def test_the_residuals_of_the_algorithm():
    found = linear.cg(H, U, tol=0.0, max_iterations=6, history=True)
    expected = as_written(H, U, 6)
    assert_allclose(found.history[:6], expected[:6], rtol=1e-8)
    assert np.linalg.norm(U - H @ found.value) < 1e-12


@pytest.mark.row("9.4.2")
@pytest.mark.parametrize("method", [linear.cg, linear.minres, linear.gmres, linear.bicgstab])
def test_one_product_for_each_iteration(method):
    """Beside those that tell the type of the operator, the first residual and the last one."""
    f = lambda w: 0.5 * w @ H @ w
    products = []

    def product(v):
        products.append(1)
        return ad.hvp(f, (np.zeros(6),), (v,))

    found = method(product, U)
    each = 2 if method is linear.bicgstab else 1
    assert found.converged
    assert int(found.iterations) * each <= len(products) <= int(found.iterations) * each + 4
    assert_allclose(product(found.value), U, atol=1e-8)
