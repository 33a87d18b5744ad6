"""Parameters of terms and sets in `minimize`: min ½‖z - y‖² + Ω(z) is the proximal operator, which is differenced."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import proximal, sets
from tests.support.sweeps import sampled

VECTOR = np.array([0.25, -0.26, 1.28, 0.21, -1.07, 0.72])
MATRIX = np.array([[2.6, 1.9, -1.4], [-2.5, -1.2, 0.08], [-4.6, -0.4, -2.5]])
ONE = np.arange(1.0, 7) / 4
TERMS = {
    "nuclear": (proximal.nuclear, MATRIX),
    "nuclear_ball": (lambda r: proximal.from_set(sets.nuclear_ball(r)), MATRIX),
    "total_variation": (lambda r: proximal.total_variation(0.3 * r), VECTOR),
    "owl": (lambda r: proximal.owl(0.2 * r * ONE[::-1]), VECTOR),
    "scad": (lambda r: proximal.scad(r), VECTOR),
    "translate": (lambda r: proximal.translate(proximal.l1(r), r * ONE), VECTOR),
    "mahalanobis_ball": (lambda r: proximal.from_set(sets.mahalanobis_ball(np.diag(r * ONE))), VECTOR),
    "affine": (lambda r: proximal.from_set(sets.affine(np.stack([ONE, r * ONE**2]), np.stack([r, 1.0]))), VECTOR),
    "intersection": (
        lambda r: proximal.from_set(sets.intersection(sets.box(-r, r), sets.l2_ball(1.2 * r))), VECTOR,
    ),
    "transport": (lambda r: proximal.from_set(sets.transport(r * np.ones(3), r * np.ones(3))), MATRIX),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(TERMS, every=5))
def test_parameters_of_terms_have_derivatives_in_minimize(name):
    make, y = TERMS[name]
    weights = np.arange(1.0, y.size + 1).reshape(y.shape)

    def solve(r):
        distance = lambda z: 0.5 * np.sum((z - y) ** 2)
        return np.sum(weights * optimize.minimize(distance, y, method=optimize.FISTA(make(r)), tol=1e-11).value)

    by_prox = lambda r: np.sum(weights * make(r).prox(y))
    np.testing.assert_allclose(solve(0.45), by_prox(0.45), rtol=1e-9)
    slope = (by_prox(0.45 + 1e-6) - by_prox(0.45 - 1e-6)) / 2e-6
    for gradient in (ad.grad(solve), ad.grad(by_prox), ad.jit(ad.grad(solve))):
        np.testing.assert_allclose(gradient(0.45), slope, rtol=1e-6, atol=1e-7)
