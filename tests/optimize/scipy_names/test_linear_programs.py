"""`linprog` under SciPy's name: vertices, prices, and what cannot be differentiated."""

import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from adjoint.base.errors import SolveError, UnsupportedError
from adjoint.scipy import optimize

C, M, B = np.array([-1.0, -2.0]), np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([4.0, 6.0])


def test_a_vertex_moves_with_the_constraints_that_hold():
    """x = M⁻¹ b there; c moves nothing, and the value has the prices as its derivative."""
    np.testing.assert_allclose(ad.jacobian(lambda b: optimize.linprog(C, M, b).x)(B), np.linalg.inv(M), rtol=1e-10)
    assert not np.any(ad.jacobian(lambda c: optimize.linprog(c, M, B).x)(C))
    prices = scipy.optimize.linprog(C, M, B).ineqlin.marginals
    np.testing.assert_allclose(ad.grad(lambda b: optimize.linprog(C, M, b).fun)(B), prices, rtol=1e-10)
    np.testing.assert_allclose(ad.grad(lambda c: optimize.linprog(c, M, B).fun)(C), np.linalg.solve(M, B), rtol=1e-10)
    own = ad.jacobian(lambda c: optimize.linprog(c, M, B).ineqlin.marginals)(C)
    np.testing.assert_allclose(own, np.linalg.inv(M.T), rtol=1e-10)


def test_second_derivatives():
    value = lambda s: optimize.linprog(C, M * np.stack([[s, 1.0], [1.0, 1.0]]), B).fun
    resolved = lambda s: scipy.optimize.linprog(C, M * np.array([[s, 1.0], [1.0, 1.0]]), B).fun
    h = 1e-3
    want = (resolved(1.2 + h) - 2 * resolved(1.2) + resolved(1.2 - h)) / h**2
    assert ad.grad(ad.grad(value))(1.2) == pytest.approx(want, rel=1e-4)


def test_all_prices_are_scipys():
    given = {"A_eq": [[1.0, -1.0, 1.0]], "b_eq": [0.7], "bounds": [(0.1, 2.0), (0.2, None), (0.3, 0.3)]}
    c, rows = np.array([-1.0, 2.0, 0.5]), [[1.0, 1.0, 0.2]]
    want = scipy.optimize.linprog(c, rows, [4.0], **given)
    tangents = ad.jvp(lambda s: tuple(optimize.linprog(c * s, rows, [4.0], **given)[n].marginals for n in
                                      ("ineqlin", "eqlin", "lower", "upper")), (1.0,), (1.0,))  # fmt: skip
    for name, value in zip(("ineqlin", "eqlin", "lower", "upper"), tangents[0], strict=True):
        np.testing.assert_allclose(value, want[name].marginals, atol=1e-9)
    for name, moved in zip(("ineqlin", "eqlin", "lower", "upper"), tangents[1], strict=True):
        np.testing.assert_allclose(moved, want[name].marginals, atol=1e-9)  # prices are homogeneous in c


def test_batches():
    costs = np.stack([C, -C, [-5.0, -1.0]])
    found = ad.jit(ad.vmap(lambda c: optimize.linprog(c, M, B).x))(costs)
    np.testing.assert_allclose(found, [scipy.optimize.linprog(c, M, B).x for c in costs], atol=1e-12)


def test_what_is_refused():
    with pytest.raises(SolveError, match="no solution"):
        ad.grad(lambda b: optimize.linprog(C, M, np.stack([b, -1.0])).fun)(-1.0)
    with pytest.raises(UnsupportedError, match="integrality"):
        ad.grad(lambda b: optimize.linprog(C, M, b, integrality=1).fun)(B)
    with pytest.warns(ad.implicit.DerivativeWarning):  # a whole edge is best: nothing determines x
        ad.jacobian(lambda b: optimize.linprog([-1.0, -1.0], [[1.0, 1.0]], b[None]).x)(2.0)
