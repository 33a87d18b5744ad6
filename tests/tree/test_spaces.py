"""The axioms of a vector space with an inner product, and its values against plain linear algebra on flat vectors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError, TreeError
from tests.tree.strategies import Duck, Layer, arrays, plain, same, trees

X = np.arange(3.0)

real = st.one_of(arrays(["f8"]), st.sampled_from([0.5, -2.0]))
inexact = st.one_of(arrays(["f8", "c16"]), st.sampled_from([0.5, -2.0, 1j]))


@st.composite
def vectors(draw, count, leaves=inexact):
    """Several trees of one space, with random elements."""
    value = draw(trees(leaves=leaves))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def sample(x):
        x = np.asarray(x)
        noise = rng.standard_normal(x.shape) + (1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0)
        return np.asarray(noise, x.dtype)[()]

    return [tree.map(sample, value) for _ in range(count)]


def flat(value):
    """All elements of a tree, by Python's own means."""
    return [complex(element) for leaf in tree.leaves(value) for element in np.asarray(leaf).ravel().tolist()]


def close(a, b):
    return np.allclose(flat(a), flat(b), rtol=1e-12, atol=1e-12) and tree.structure(a) == tree.structure(b)


@pytest.mark.row("B2.3.c", "2.3.2")
def test_inner_product_of_matrices_is_the_trace():
    rng = np.random.default_rng(0)
    W, V = rng.standard_normal((2, 5, 4))
    for expected in (np.trace(W.T @ V), sum(W[i, j] * V[i, j] for i in range(5) for j in range(4))):
        assert math.isclose(tree.vdot(W, V), expected, rel_tol=1e-14)
    assert math.isclose(tree.vdot(W, V), np.ravel(W, "F") @ np.ravel(V, "F"), rel_tol=1e-14)
    A, B = rng.standard_normal((2, 2, 3, 4))
    assert math.isclose(tree.vdot(A, B), np.einsum("ijk,ijk->", A, B), rel_tol=1e-14)


@pytest.mark.row("B2.3.c", "2.3.2")
@given(vectors(2))
def test_inner_product_and_norm_against_exact_arithmetic(pair):
    a, b = pair
    exact = sum(
        Fraction(x.real) * Fraction(y.real) + Fraction(x.imag) * Fraction(y.imag)
        for x, y in zip(flat(a), flat(b), strict=True)
    )
    scale = sum(abs(x) * abs(y) for x, y in zip(flat(a), flat(b), strict=True))
    assert abs(tree.vdot(a, b) - float(exact)) <= 1e-14 * max(scale, 1e-300)
    assert not np.iscomplexobj(tree.vdot(a, b))
    length = math.sqrt(sum(Fraction(x.real) ** 2 + Fraction(x.imag) ** 2 for x in flat(a)))
    assert math.isclose(tree.norm(a), length, rel_tol=1e-14, abs_tol=1e-300)


@pytest.mark.row("B2.3.c", "2.3.2")
@given(vectors(3), st.floats(-3, 3))
def test_axioms_of_the_inner_product(three, c):
    a, b, d = three
    bound = 1e-12 * (1 + float(tree.norm(a)) + float(tree.norm(b)) + float(tree.norm(d))) ** 2
    assert abs(tree.vdot(a, b) - tree.vdot(b, a)) <= bound
    left = tree.vdot(tree.add(tree.scale(c, a), b), d)
    assert abs(left - (c * tree.vdot(a, d) + tree.vdot(b, d))) <= 10 * bound
    assert tree.vdot(a, a) > 0 or all(x == 0 for x in flat(a))
    assert abs(tree.vdot(a, b)) <= tree.norm(a) * tree.norm(b) * (1 + 1e-12) + 1e-300


@pytest.mark.row("B2.3.c", "2.3.2")
@given(vectors(3), st.floats(-3, 3), st.floats(-3, 3))
def test_axioms_of_a_vector_space(three, c, d):
    a, b, e = three
    zero = tree.zeros_like(a)
    assert close(tree.add(a, b), tree.add(b, a))
    assert close(tree.add(tree.add(a, b), e), tree.add(a, tree.add(b, e)))
    assert same(tree.add(a, zero), a)
    assert close(tree.subtract(a, a), zero)
    assert close(tree.subtract(a, b), tree.add(a, tree.scale(-1.0, b)))
    assert same(tree.scale(1.0, a), a)
    assert close(tree.scale(c, tree.scale(d, a)), tree.scale(c * d, a))
    assert close(tree.scale(c, tree.add(a, b)), tree.add(tree.scale(c, a), tree.scale(c, b)))
    assert close(tree.scale(c + d, a), tree.add(tree.scale(c, a), tree.scale(d, a)))


@pytest.mark.row("B2.3.c", "2.3.2")
@given(vectors(1, real))
def test_basis_is_orthonormal_and_spans(single):
    (a,) = single
    basis = list(tree.basis(a))
    assert len(basis) == tree.size(a) == sum(math.prod(np.shape(leaf)) for leaf in tree.leaves(a))
    total = tree.zeros_like(a)
    for i, e in enumerate(basis):
        assert [tree.vdot(e, other) for other in basis] == [float(i == j) for j in range(len(basis))]
        total = tree.add(total, tree.scale(tree.vdot(e, a), e))
    assert close(total, a)


@pytest.mark.row("2.3.2")
def test_basis_in_the_order_of_ravel():
    value = {"b": np.zeros((2, 2)), "a": 0.0}
    vectors = [tree.ravel(e)[0].tolist() for e in tree.basis(value)]
    assert vectors == np.eye(5).tolist()


def test_basis_of_complex_elements_needs_its_multiple_by_i():
    z = np.array([1 + 2j, 3j])
    (e1, e2) = tree.basis(z)
    assert (e1.dtype, e1.tolist(), e2.tolist()) == (np.complex128, [1, 0], [0, 1])
    real_basis = [e for unit in (e1, e2) for e in (unit, 1j * unit)]
    total = sum(tree.vdot(e, z) * e for e in real_basis)
    np.testing.assert_array_equal(total, z)


def test_basis_vectors_do_not_share_memory():
    value = (np.zeros(2), np.zeros(2))
    one, two, *_ = tree.basis(value)
    assert not np.shares_memory(one[1], two[1])


def test_zeros_like_keeps_structures_shapes_and_types():
    value = Layer(np.ones((2, 3), "f4"), [1.5, 2, np.bool_(True), 1j, np.int8(3), np.float32(1), None])
    zero = tree.zeros_like(value)
    assert zero.w.shape == (2, 3)
    assert zero.w.dtype == np.float32
    assert not zero.w.any()
    assert [type(x) for x in zero.b[:-1]] == [np.float64, np.int64, np.bool_, np.complex128, np.int8, np.float32]
    assert not any(zero.b)
    assert zero.activation is np.tanh


def test_element_types_follow_numpy():
    single = {"a": np.ones(2, "f4"), "b": np.float32(1)}
    for result in (tree.add(single, single), tree.subtract(single, single), tree.scale(0.5, single)):
        assert [x.dtype for x in tree.leaves(result)] == ["f4", "f4"]
    assert tree.vdot(single, single).dtype == np.float32
    assert tree.norm(single).dtype == np.float32
    assert [x.dtype for x in tree.leaves(tree.scale(np.float64(0.5), single))] == ["f8", "f8"]
    assert tree.scale(1j, single)["a"].dtype == np.complex64


def test_results_without_axes_are_scalars():
    for result in (
        tree.add(1.0, 2.0),
        tree.scale(2.0, np.array(1.5)),
        tree.vdot(X, X),
        tree.norm(X),
        tree.norm((X, 1.0)),
    ):
        assert isinstance(result, np.floating)


def test_integers_do_not_overflow_in_the_inner_product():
    big = np.array([2**40, 2**40])
    assert tree.vdot(big, big) == 2.0**81


def test_empty_trees():
    assert tree.vdot((), ()) == tree.norm(None) == 0.0
    assert tree.size([]) == 0
    assert list(tree.basis({})) == []
    assert tree.add([None], [None]) == [None]


@given(vectors(2))
def test_foreign_arrays_go_through_numpy_functions(pair):
    a, b = pair
    if not tree.leaves(a):
        return
    foreign_a, foreign_b = tree.map(Duck, a), tree.map(Duck, b)
    back = lambda value: tree.map(lambda x: plain(x)[()], value)
    assert same(back(tree.add(foreign_a, foreign_b)), tree.add(a, b))
    assert same(back(tree.add(a, foreign_b)), tree.add(a, b))
    assert same(back(tree.subtract(foreign_a, foreign_b)), tree.subtract(a, b))
    assert same(back(tree.scale(0.5, foreign_a)), tree.scale(0.5, a))
    assert close(back(tree.scale(Duck(0.5), a)), tree.scale(0.5, a))
    assert close(back(tree.zeros_like(foreign_a)), tree.zeros_like(a))
    assert np.allclose(tree.vdot(foreign_a, foreign_b).value, tree.vdot(a, b), rtol=1e-12, atol=1e-12)
    assert np.allclose(tree.vdot(a, foreign_b).value, tree.vdot(a, b), rtol=1e-12, atol=1e-12)
    assert np.allclose(tree.norm(foreign_a).value, tree.norm(a), rtol=1e-12)
    assert tree.size(foreign_a) == tree.size(a)
    assert [flat(e) for e in tree.basis(foreign_a)] == [flat(e) for e in tree.basis(a)]


@pytest.mark.parametrize("operation", [tree.add, tree.subtract, tree.vdot])
def test_trees_of_different_spaces(operation):
    name = operation.__name__
    with pytest.raises(ShapeError, match=rf"{name}: b\[0\] has shape \(2,\) in the first tree, \(3,\) in the second"):
        operation(Layer(X, [np.zeros(2)]), Layer(X, [X]))
    with pytest.raises(ShapeError, match=rf"{name}: the leaf has shape \(3,\) in the first tree, \(1,\) in the second"):
        operation(X, np.zeros(1))
    with pytest.raises(
        TreeError, match=rf"{name}: the trees differ at \[1\]: the first has a leaf, the second has None"
    ):
        operation((X, 1.0), (X, None))


@pytest.mark.parametrize("operation", [tree.zeros_like, tree.norm, tree.size, lambda a: list(tree.basis(a)),
                                       lambda a: tree.scale(2.0, a), lambda a: tree.add(a, a)])  # fmt: skip
def test_leaves_that_are_no_numbers(operation):
    with pytest.raises(TreeError, match=r"\['name'\] is of class str"):
        operation({"name": "text", "w": X})
    with pytest.raises(DtypeError, match=r"\['name'\] has element type"):
        operation({"name": np.array(["text"]), "w": X})


def test_truth_values_are_no_vectors():
    with pytest.raises(DtypeError, match=r"subtract: \[0\] has element type bool"):
        tree.subtract([np.array([True])], [np.array([True])])


def test_factors_that_are_no_numbers():
    with pytest.raises(ShapeError, match=r"scale: the factor has shape \(3,\)"):
        tree.scale(X, X)
    with pytest.raises(TreeError, match="scale: the factor is of class str"):
        tree.scale("2", X)


def test_arguments_are_not_changed():
    a, b = {"w": X.copy()}, {"w": X.copy()}
    for result in (tree.add(a, b), tree.subtract(a, b), tree.scale(1, a), tree.zeros_like(a)):
        result["w"][:] = 7.0
    assert a["w"].tolist() == b["w"].tolist() == X.tolist()
