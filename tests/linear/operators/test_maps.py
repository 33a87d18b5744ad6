"""Every kind of map against its matrix: products, adjoints, columns, solving; maps inside transformations."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree
from adjoint.base.errors import DtypeError, ShapeError
from tests.linear.examples import MAPS, SQUARE

RNG = np.random.default_rng(3)


def by_columns(A):
    """The matrix of a map, one unit vector after another, by its public call alone."""
    return np.stack([A.range.ravel(A(e)) for e in tree.basis(A.domain.zeros())], axis=1)


@pytest.mark.parametrize("name", MAPS)
def test_the_matrix_is_what_the_map_does_to_unit_vectors(name):
    A = MAPS[name]()
    assert A.to_dense().shape == A.shape
    assert_allclose(A.to_dense(), by_columns(A), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_the_adjoint_passes_the_dot_test(name):
    A = MAPS[name]()
    x, u = A.domain.random(RNG), A.range.random(RNG)
    left, right = tree.vdot(A(x), u), tree.vdot(x, A.adjoint(u))
    assert left == pytest.approx(right, rel=1e-11, abs=1e-11)
    assert A.adjoint.domain == A.range
    assert_allclose(A.adjoint.to_dense(), np.conj(A.to_dense()).T, rtol=1e-10, atol=1e-11)
    assert_allclose(A.adjoint.adjoint.to_dense(), A.to_dense(), rtol=1e-10, atol=1e-11)
    assert_allclose(A.T.to_dense(), A.to_dense().T, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", MAPS)
def test_columns_diagonal_and_trace(name):
    A = MAPS[name]()
    X = RNG.normal(size=(A.shape[1], 2)).astype(A.domain.dtype)
    assert_allclose(A._apply_columns(X), A.to_dense() @ X, rtol=1e-10, atol=1e-11)
    if A.is_square:
        assert_allclose(A.diagonal(), np.diagonal(A.to_dense()), rtol=1e-10, atol=1e-12)
        assert_allclose(A.trace(), np.trace(A.to_dense()), rtol=1e-10)


@pytest.mark.parametrize("name", SQUARE)
def test_solving_against_numpy(name):
    A = MAPS[name]()
    b = A.range.random(RNG)
    expected = np.linalg.solve(A.to_dense(), A.range.ravel(b))
    assert_allclose(A.domain.ravel(A.solve(b)), expected, rtol=1e-9, atol=1e-10)
    assert_allclose(A.domain.ravel(A.inverse(b)), expected, rtol=1e-9, atol=1e-10)
    assert_allclose(A.inverse.adjoint.to_dense(), np.linalg.inv(A.to_dense()).conj().T, rtol=1e-8, atol=1e-9)
    B = RNG.normal(size=(A.shape[0], 2)).astype(A.range.dtype)
    assert_allclose(A._solve_columns(B), np.linalg.solve(A.to_dense(), B), rtol=1e-9, atol=1e-10)
    assert isinstance(A.method, str)


@pytest.mark.parametrize("name", MAPS)
def test_the_facts_hold(name):
    A = MAPS[name]()
    linear.check_facts(A)
    linear.check_facts(A.adjoint)


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_trees_that_go_through_jit_and_pickle(name):
    A = MAPS[name]()
    x = A.domain.random(RNG)
    leaves, structure = tree.flatten(A)
    again = tree.unflatten(structure, leaves)
    assert again.facts == A.facts
    expected = A.range.ravel(A(x))
    assert_allclose(A.range.ravel(again(x)), expected, rtol=1e-12, atol=1e-13)
    if "Function" not in repr(A) and "Derivative" not in repr(A):
        assert_allclose(A.range.ravel(pickle.loads(pickle.dumps(A))(x)), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", sorted(MAPS)[::4])
def test_compiled(name):
    A = MAPS[name]()
    x, u = A.domain.random(RNG), A.range.random(RNG)
    y, w = ad.jit(lambda A, x, u: (A(x), A.adjoint(u)))(A, x, u)
    assert_allclose(A.range.ravel(y), A.range.ravel(A(x)), rtol=1e-10, atol=1e-12)
    assert_allclose(A.domain.ravel(w), A.domain.ravel(A.adjoint(u)), rtol=1e-10, atol=1e-12)


def test_differentiable_in_the_parameters():
    d, U, b = RNG.uniform(1, 2, size=4), RNG.normal(size=(4, 1)), RNG.normal(size=4)

    def by_map(d, U, c):
        A = linear.diagonal(d) + c * linear.low_rank(U)
        assert A.method.endswith("(Woodbury)")
        return np.sum(A.solve(b) ** 3)

    def by_matrix(d, U, c):
        return np.sum(np.linalg.solve(np.diag(d) + c * U @ U.T, b) ** 3)

    for transformation in (ad.grad, lambda f, argnums: ad.jit(ad.grad(f, argnums)), ad.hessian):
        found = transformation(by_map, (0, 1, 2))(d, U, 0.7)
        expected = transformation(by_matrix, (0, 1, 2))(d, U, 0.7)
        for p, q in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            assert_allclose(p, q, rtol=1e-8, atol=1e-10)
    ad.check_grads(by_map, (d, U, 0.7), order=2)


def test_gradients_with_respect_to_a_map_are_maps():
    A = linear.matrix(RNG.normal(size=(3, 3)))
    x = RNG.normal(size=3)
    slope = ad.grad(lambda A: np.sum(A(x) ** 2))(A)
    assert_allclose(slope.array, 2 * np.outer(A.array @ x, x), rtol=1e-12)


def test_vmap_over_a_stack_of_maps():
    stack = RNG.normal(size=(5, 3, 3)) + 4 * np.eye(3)
    b = RNG.normal(size=(5, 3))
    maps = linear.matrix(stack[0])
    stacked = tree.map(lambda _: stack, maps)
    found = ad.vmap(lambda A, b: (A @ A).solve(b))(stacked, b)
    assert_allclose(found, [np.linalg.solve(a @ a, v) for a, v in zip(stack, b, strict=True)], rtol=1e-9)
    made = ad.vmap(linear.matrix)(stack)
    assert_allclose(made.array, stack)


def test_products_with_arrays_on_both_sides():
    a = RNG.normal(size=(2, 3))
    A = linear.matrix(a)
    assert_allclose(A @ np.ones((3, 4)), a @ np.ones((3, 4)))
    assert_allclose(np.ones(2) @ A, np.ones(2) @ a)
    assert_allclose(np.ones((4, 2)) @ A, np.ones((4, 2)) @ a)
    z = a + 1j * RNG.normal(size=(2, 3))
    u = RNG.normal(size=2) + 1j * RNG.normal(size=2)
    assert_allclose(u @ linear.matrix(z), u @ z)
    assert_allclose((A + 2 * A - A / 2).to_dense(), 2.5 * a)
    assert_allclose(sum([A, A]).to_dense(), 2 * a)


def test_as_a_linear_operator_of_scipy():
    import scipy.sparse.linalg

    A = linear.diagonal({"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": 5.0})
    operator = A.as_scipy()
    b = RNG.normal(size=5)
    found, failed = scipy.sparse.linalg.cg(operator, b, rtol=1e-12)
    assert not failed
    assert_allclose(found, np.linalg.solve(A.to_dense(), b), rtol=1e-9)
    C = linear.matrix(RNG.normal(size=(3, 5)) + 1j * RNG.normal(size=(3, 5)))
    assert_allclose(C.as_scipy().H @ np.eye(3), C.to_dense().conj().T)
    assert_allclose(C.as_scipy() @ np.eye(5), C.to_dense())


def test_complex_maps_that_have_no_matrix():
    """What depends on z and conj(z) is linear over the real numbers alone: applied as it is, refused as a matrix."""
    point = np.array([1.0 + 2j, -0.5j])
    size = linear.jacobian(lambda w: np.abs(w) ** 2)(point)
    assert_allclose(size(np.ones(2)), 2 * point.real)
    linear.check_adjoint(size)
    with pytest.raises(DtypeError, match="no matrix"):
        size.to_dense()
    mixed = linear.jacobian(lambda w: w * np.conj(w[::-1]))(point)
    linear.check_adjoint(mixed)
    with pytest.raises(DtypeError, match="not holomorphic"):
        mixed.to_dense()


def test_black_boxes_with_a_range():
    import scipy.ndimage

    blur = lambda v: scipy.ndimage.gaussian_filter1d(v, 1.0, mode="constant")
    A = linear.from_function(blur, 9, "symmetric", adjoint=blur, range=9)
    linear.check_adjoint(A)
    linear.check_facts(A, "symmetric", dense_up_to=1)


def test_one_program_serves_maps_of_one_structure():
    runs = []

    @ad.jit
    def solve(A, b):
        runs.append(1)
        return A.solve(b)

    def made():
        a = RNG.normal(size=(3, 3))
        A = linear.matrix(a).T @ linear.matrix(a) + 0.5 * linear.diagonal({"a": np.ones(3)}["a"])
        return A + linear.hessian(quartic, 0, "positive semidefinite")(RNG.normal(size=3))

    for _ in range(3):
        A, b = made(), RNG.normal(size=3)
        assert_allclose(solve(A, b), np.linalg.solve(A.to_dense(), b), rtol=1e-9)
    assert len(runs) == 1


def quartic(x):
    return np.sum(x**4)


def test_whole_numbers_in_diagonals():
    assert_allclose(linear.diagonal((2, 3)).to_dense(), np.diag([2.0, 3.0]))
    assert_allclose(linear.diagonal([2, 3]) @ np.ones(2), [2.0, 3.0])


def test_lists_and_columns_are_taken_as_arrays():
    A = linear.matrix([[2.0, 1.0], [0.0, 1.0]], "upper triangular")
    assert_allclose(A @ [1.0, 2.0], [4.0, 2.0])
    assert_allclose(A.solve([4.0, 2.0]), [1.0, 2.0])
    assert_allclose(A.solve(np.eye(2)), np.linalg.inv(A.to_dense()))


def test_errors_name_what_does_not_fit():
    A, B = linear.matrix(np.ones((2, 3))), linear.matrix(np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"A takes elements of float64\[3\]"):
        A @ B
    with pytest.raises(ShapeError, match="Sums need both"):
        A + B.T
    with pytest.raises(ShapeError, match=r"has shape \(2,\)"):
        A(np.ones(2))
    with pytest.raises(DtypeError, match="complex"):
        A(np.ones(3) * 1j)
    with pytest.raises(ShapeError, match="no inverse"):
        A.inverse
    with pytest.raises(ValueError, match="is no fact"):
        linear.matrix(np.eye(2), "round")
    with pytest.raises(ShapeError, match="no powers"):
        A**2
    with pytest.raises(TypeError):
        A + 1


def test_a_map_shows_shape_facts_and_parts():
    A = linear.matrix(np.ones((3, 4)))
    text = repr(A.T @ A + 0.5 * linear.identity(4))
    assert text.splitlines()[0] == "<Sum 4×4, positive definite>"
    assert "  A* A 4×4, positive semidefinite" in text
    assert "Matrix 3×4" in text
    assert "<table>" in (A + A)._repr_html_()
    assert "{'w': float64[2]}" in repr(linear.diagonal({"w": np.ones(2)}))


def test_arrays_and_numbers_among_maps_are_refused_with_a_remedy():
    A = linear.matrix(np.eye(3))
    for make, remedy in (
        (lambda: A + np.eye(3), "linear.matrix"),
        (lambda: np.eye(3) + A, "linear.matrix"),
        (lambda: A - np.eye(3), "linear.matrix"),
        (lambda: np.eye(3) - A, "linear.matrix"),
        (lambda: A + 1.0, "linear.identity"),
        (lambda: A * np.ones(3), "linear.diagonal"),
        (lambda: np.ones(3) * A, "linear.diagonal"),
        (lambda: np.asarray(A), "to_dense"),
        (lambda: np.dot(np.eye(3), A), "to_dense"),
    ):
        with pytest.raises(TypeError, match=remedy):
            make()


def test_matrices_among_blocks_and_whole_numbers_on_diagonals():
    a = np.arange(4.0).reshape(2, 2)
    np.testing.assert_array_equal(linear.block([[a, None], [linear.identity(2), a]]).to_dense(),
                                  np.block([[a, 0 * a], [np.eye(2), a]]))  # fmt: skip
    np.testing.assert_array_equal(linear.block_diagonal([a, linear.identity(1)]).to_dense()[:2, :2], a)
    with pytest.raises(TypeError, match="expected a LinearMap, a matrix or None"):
        linear.block([[1.0]])
    np.testing.assert_array_equal(linear.diagonal(np.arange(1, 4)) @ np.ones(3), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(linear.diagonal([1, 2j]) @ np.ones(2, complex), [1.0, 2j])
    assert linear.diagonal({"a": np.arange(1, 3), "b": 2}).has("positive definite")
    assert not linear.diagonal(np.array([np.nan, 1.0])).has("invertible")


def test_identities_take_the_precision_of_what_they_are_added_to():
    a = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    A = linear.matrix(a)
    total = A.T @ A + 0.5 * linear.identity(3)
    assert (total @ np.ones(3, np.float32)).dtype == np.float32
    np.testing.assert_allclose(total.to_dense(), a.T @ a + 0.5 * np.eye(3))
    assert (linear.identity(3) + A).domain == A.domain
    with pytest.raises(ShapeError, match="Sums need both"):
        A + linear.identity(4)


def test_methods_that_are_named_must_fit_the_matrix():
    a = np.array([[4.0, 1.0, 0.5], [2.0, 5.0, 1.0], [0.25, 1.0, 6.0]])
    for method in ("cholesky", "triangular", "diagonal", "tridiagonal"):
        with pytest.raises(ValueError, match="Use 'lu'"):
            linear.matrix(a).solve(np.ones(3), method)
    upper = np.triu(a)
    np.testing.assert_allclose(upper @ linear.matrix(upper).solve(np.ones(3), "triangular"), np.ones(3))
    spd = a + a.T
    np.testing.assert_allclose(spd @ linear.matrix(spd).solve(np.ones(3), "cholesky"), np.ones(3))


def test_functions_of_plain_arrays_alone_have_matrices():
    a = np.arange(6.0).reshape(2, 3)
    A = linear.from_function(
        lambda v: scipy.sparse.csr_array(a) @ v, 3, range=2, adjoint=lambda u: scipy.sparse.csr_array(a.T) @ u
    )
    np.testing.assert_array_equal(A.to_dense(), a)
    np.testing.assert_array_equal(A.T.to_dense(), a.T)
    np.testing.assert_array_equal(A @ np.eye(3), a)
    B = linear.as_map(scipy.sparse.linalg.aslinearoperator(a))
    np.testing.assert_array_equal(B.to_dense(), a)
    np.testing.assert_array_equal(B.T @ np.ones(2), a.T @ np.ones(2))
    np.testing.assert_array_equal(ad.jit(lambda v: B @ v)(np.ones(3)), a @ np.ones(3))
