"""Two terms at once, and a term of A x."""

import numpy as np

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import proximal, sets


def test_two_terms_at_once_and_a_term_of_a_map():
    c = np.array([0.9, 0.65, -0.2, 0.3])
    f = lambda x: 0.5 * np.sum((x - c) ** 2)
    both = sets.intersection(sets.box(0.0, 0.5), sets.hyperplane(np.ones(4), 1.2))
    method = optimize.ThreeOperatorSplitting(sets.box(0.0, 0.5), sets.hyperplane(np.ones(4), 1.2))
    found = optimize.minimize(f, np.zeros(4), method=method, tol=1e-10)
    np.testing.assert_allclose(found.value, both.project(c), atol=1e-8)
    section = sets.box_section(0.0, 0.5, np.ones(4), 1.2)
    J = ad.jacobian(lambda c: optimize.minimize(
        lambda x, c: 0.5 * np.sum((x - c) ** 2), np.zeros(4), c, method=method, tol=1e-10).value)(c)  # fmt: skip
    np.testing.assert_allclose(J, ad.jacobian(section.project)(c), atol=1e-7)
    x = np.array([1.0, 1.2, 0.8, 5.0, 5.2, 4.9])
    D = np.diff(np.eye(6), axis=0)
    near = lambda p: 0.5 * np.sum((p - x) ** 2)
    solve = lambda lam: optimize.minimize(near, x, method=optimize.ADMM(proximal.l1(lam), A=D), tol=1e-10).value
    exact = lambda lam: proximal.total_variation(lam).prox(x)
    np.testing.assert_allclose(solve(0.6), exact(0.6), atol=1e-8)
    np.testing.assert_allclose(ad.jacobian(solve)(0.6), ad.jacobian(exact)(0.6), atol=1e-7)


def test_the_unknowns_of_single_precision_stay_so_whatever_the_matrix_has():
    q = np.array([0.5, -0.2], np.float32)
    method = optimize.ADMM(proximal.l1(0.1), np.eye(2))
    assert optimize.minimize(lambda w: 0.5 * np.sum((w - q) ** 2), 0 * q, method=method).value.dtype == np.float32
