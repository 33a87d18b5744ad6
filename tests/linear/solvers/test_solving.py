"""solve: which method it takes, and that every one of them gives the solution and its derivative."""

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import NotLinear, ShapeError
from adjoint.linear.operators.facts import read
from adjoint.linear.solvers.solving import choose
from tests.linear.equations import GENERAL, HERMITIAN, INDEFINITE, POSITIVE, B, N, V, close


def function(A, *facts):
    return linear.from_function(lambda v: A @ v, N, *facts, adjoint=lambda u: A.T @ u)


CHOICES = {
    "a matrix": (GENERAL, (), "direct"),
    "a map of a matrix": (linear.matrix(GENERAL), (), "direct"),
    "a diagonal and a column": (linear.diagonal(np.ones(N)) + linear.low_rank(V), (), "direct"),
    "positive definite": (function(POSITIVE, "positive definite"), (), "cg"),
    "negative definite": (function(-POSITIVE, "negative definite"), (), "cg"),
    "symmetric": (function(INDEFINITE, "symmetric"), (), "minres"),
    "nothing known": (function(GENERAL), (), "gmres"),
    "a function": (lambda v: GENERAL @ v, (), "gmres"),
    "a function with a claim": (lambda v: POSITIVE @ v, ("positive",), "cg"),
    "sparse": (scipy.sparse.csr_array(GENERAL), (), "gmres"),
    "sparse and symmetric": (scipy.sparse.csr_array(INDEFINITE), (), "minres"),
    "sparse with a claim": (scipy.sparse.csr_array(POSITIVE), ("positive definite",), "cg"),
    "tall": (scipy.sparse.csr_array(GENERAL[:, :5]), (), "lsmr"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_facts_choose(name):
    A, facts, expected = CHOICES[name]
    assert choose(A, read(facts)) == expected
    found = linear.solve(A, B, *facts).raise_if_failed()
    dense = A.to_dense() if isinstance(A, linear.LinearMap) else A.toarray() if scipy.sparse.issparse(A) else None
    if dense is None:
        dense = A if hasattr(A, "shape") else np.stack([A(e) for e in np.eye(N)], axis=1)
    close(found.value, np.linalg.lstsq(dense, B)[0])
    if expected != "lsmr":
        slope = ad.grad(lambda b: np.sum(linear.solve(A, b, *facts).value * V))(B)
        close(slope, np.linalg.solve(dense.T, V))


@pytest.mark.parametrize("method", ["direct", "lu", "qr", "cholesky", "cg", "minres", "gmres", "bicgstab", "lsmr"])
def test_a_method_by_name(method):
    found = linear.solve(POSITIVE, B, method=method)
    assert found.converged
    close(found.value, np.linalg.solve(POSITIVE, B))
    assert found.method == ("lu" if method == "direct" else method)


def test_options_go_to_the_method():
    assert linear.solve(lambda v: GENERAL @ v, B, restart=3, max_iterations=3).status == "max iterations"
    assert linear.solve(POSITIVE, B, method="cg", x0=np.linalg.solve(POSITIVE, B)).iterations == 0
    close(linear.solve(HERMITIAN, B + 0j, "positive definite").value, np.linalg.solve(HERMITIAN, B))


def test_singular_matrices_have_a_status():
    found = linear.solve(np.zeros((2, 2)), np.ones(2))
    assert found.status == "singular"
    assert "lsmr" in found.advice
    inside = ad.jit(lambda A: linear.solve(A, np.ones(2)).code)(np.eye(2))
    assert inside == 0


def test_a_method_that_is_none():
    with pytest.raises(ValueError, match="'jacobi' is no method"):
        linear.solve(POSITIVE, B, method="jacobi")


def test_under_transformations():
    f = lambda A, b: np.sum(linear.solve(A, b).value ** 2)
    g = lambda A, b: np.sum(np.linalg.solve(A, b) ** 2)
    close(ad.grad(f)(GENERAL, B), ad.grad(g)(GENERAL, B))
    close(ad.jit(ad.grad(f))(GENERAL, B), ad.grad(g)(GENERAL, B))
    close(ad.vmap(f, in_axes=(None, 0))(GENERAL, np.stack([B, V])), [g(GENERAL, B), g(GENERAL, V)])


def test_a_negative_function_goes_to_cg_turned_round():
    found = linear.solve(lambda v: -(POSITIVE @ v), B, "negative definite")
    assert (found.method, found.status) == ("cg", "converged")
    close(found.value, -np.linalg.solve(POSITIVE, B))
    found = linear.solve(scipy.sparse.csr_array(-POSITIVE), B, "negative definite")
    assert (found.method, found.status) == ("cg", "converged")


def test_direct_solves_say_when_they_fail():
    found = linear.solve(-POSITIVE, B, "positive definite")
    assert found.status == "not positive"
    assert "claimed" in found.advice
    flat = np.arange(16.0).reshape(4, 4) ** 1.0
    assert linear.solve(flat, np.array([1.0, 0.0, 0.0, 1.0])).status == "singular"
    assert linear.solve(np.ones((5, 1)), np.arange(5.0)).status == "converged"  # least squares
    zero = linear.solve(POSITIVE, np.zeros(N))
    assert zero.status == "converged"
    assert not np.any(zero.value)


def test_options_are_looked_at():
    with pytest.raises(TypeError, match="'tolerance' is no option"):
        linear.solve(GENERAL, B, tolerance=1e-3)
    with pytest.raises(TypeError, match="method='lsmr'"):
        linear.solve(GENERAL, B, damp=1.0)
    with pytest.raises(ShapeError, match="several"):
        linear.solve(GENERAL, np.ones((N, 2)))


@pytest.mark.parametrize("method", [linear.cg, linear.minres, linear.gmres, linear.bicgstab])
def test_an_affine_function_is_no_operator(method):
    with pytest.raises(NotLinear, match="zero to zero"):
        method(lambda v: 2 * v + 1, np.ones(3))


@pytest.mark.parametrize(
    "facts, status",
    [((), "singular"), (("positive definite",), "not positive"), (("lower triangular",), "singular")],
)
def test_a_singular_matrix_of_a_batch_is_one_for_itself(facts, status):
    f = lambda d: linear.solve(np.diag(np.stack([d, 1.0 + 0 * d])), np.ones(2), *facts)
    total = lambda d: np.sum(f(d).value)
    given = np.array([1.0, 0.0, 2.0])
    for change in (lambda g: g, ad.jit):
        found = change(ad.vmap(f))(given)
        np.testing.assert_allclose(found.value, [[1.0, 1.0], [np.nan, np.nan], [0.5, 1.0]], rtol=1e-12)
        assert list(found.status) == ["converged", status, "converged"]
        np.testing.assert_allclose(change(ad.vmap(ad.grad(total)))(given), [-1.0, np.nan, -0.25], rtol=1e-12)
    assert ad.jit(f)(0.0).status == f(0.0).status == status
