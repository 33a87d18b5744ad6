import pickle

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError, TreeError
from tests.tree.strategies import Duck, Layer, arrays, plain, same, trees

X = np.arange(3.0)

inexact = st.one_of(arrays(["f8", "f4", "c16", "c8", ">f8"]), st.sampled_from([0.5, -2.0, 1j]))
real = st.one_of(arrays(["f8", "f4"]), st.sampled_from([0.5, -2.0]))
exact = st.one_of(arrays(["i8", "i4", "?", "u1"]), st.integers(-5, 5), st.booleans())


def as_numpy(value):
    """Python numbers as NumPy scalars, 0-d arrays too: what ravel and unravel make of them."""
    return tree.map(lambda x: np.asarray(x)[()], value)


@given(trees(leaves=inexact))
def test_round_trip(value):
    flat, unravel = tree.ravel(value)
    assert same(unravel(flat), as_numpy(value))
    assert flat.ndim == 1
    assert flat.size == unravel.size == sum(np.size(leaf) for leaf in tree.leaves(value))


@given(trees(leaves=exact))
def test_round_trip_of_integers(value):
    flat, unravel = tree.ravel(value)
    assert same(unravel(flat), as_numpy(value))


@given(trees(leaves=inexact))
def test_elements_stand_in_the_order_of_the_leaves(value):
    flat, _ = tree.ravel(value)
    elements = [element for leaf in tree.leaves(value) for element in np.asarray(leaf).ravel().tolist()]
    assert flat.tolist() == elements


@given(trees(leaves=real))
def test_unravel_of_another_vector(value):
    flat, unravel = tree.ravel(value)
    other = np.linspace(-1, 1, flat.size)
    again, _ = tree.ravel(unravel(other))
    np.testing.assert_allclose(again, other, rtol=1e-7)
    assert tree.structure(unravel(other)) == tree.structure(value)


@pytest.mark.parametrize(
    "value, dtype",
    [
        ((np.float32(1), np.float32(2)), "f4"),
        ((np.zeros(2, "f4"), np.zeros(2)), "f8"),
        ((np.zeros(2, "f4"), np.zeros(2, "c8")), "c8"),
        ((np.zeros(2), 1j), "c16"),
        ((np.zeros(2, "f2"), np.zeros(1, "f4")), "f4"),
        ((1, np.arange(2)), "i8"),
        ((True, np.array([False])), "?"),
        ((), "f8"),
    ],
)
def test_element_type_by_promotion(value, dtype):
    assert tree.ravel(value)[0].dtype == np.dtype(dtype)


def test_element_types_and_shapes_return():
    value = {"a": np.zeros((2, 1), "f4"), "b": 1.5, "c": np.zeros((0, 3)), "d": np.ones((1, 2), order="F") * 1j}
    flat, unravel = tree.ravel(value)
    again = unravel(flat)
    assert {key: (x.dtype.str, x.shape) for key, x in again.items()} == {
        "a": ("<f4", (2, 1)),
        "b": ("<f8", ()),
        "c": ("<f8", (0, 3)),
        "d": ("<c16", (1, 2)),
    }
    assert isinstance(again["b"], float)


def test_no_memory_is_shared():
    value = (np.ones(2), np.ones((2, 2)))
    flat, unravel = tree.ravel(value)
    again = unravel(flat)
    flat[:] = 5.0
    assert all(np.all(x == 1.0) for x in (*value, *again))
    single, unravel = tree.ravel(value[0])
    assert not np.shares_memory(single, value[0])
    assert not np.shares_memory(unravel(single), single)


def test_vectors_of_other_types():
    value = (np.zeros(2), np.zeros(1, "f4"))
    _, unravel = tree.ravel(value)
    assert [x.dtype for x in unravel(np.array([1, 2, 3]))] == ["f8", "f4"]
    assert unravel([1.0, 2.0, 3.0])[0].tolist() == [1.0, 2.0]
    assert [x.dtype for x in unravel(np.array([1, 2, 3j * 0]))] == ["f8", "f4"]


@pytest.mark.parametrize("shape", [(5,), (7,), (6, 1), (2, 3), ()])
def test_wrong_sizes_name_the_layout(shape):
    _, unravel = tree.ravel(Layer(np.zeros((2, 2)), [np.zeros(1), 0.0]))
    with pytest.raises(
        ShapeError, match=r"vector of 6 elements \(w: \(2, 2\), b\[0\]: \(1,\), b\[1\]: \(\)\), got shape"
    ):
        unravel(np.zeros(shape))


def test_integers_beside_floats_are_refused_by_name():
    for count in (np.arange(2), 3, True):
        with pytest.raises(DtypeError, match=r"ravel: \['n'\] holds integers and other leaves hold floating-point"):
            tree.ravel({"w": X, "n": count})


def test_losses_are_refused_by_name():
    _, unravel = tree.ravel({"r": X, "z": X * 1j})
    with pytest.raises(
        DtypeError, match=r"unravel: \['r'\] is real \(float64\), but its part of the vector has an imag"
    ):
        unravel(np.full(6, 1j))
    _, unravel = tree.ravel({"n": np.arange(2), "k": 1})
    assert unravel(np.array([1.0, 2.0, 3.0]))["n"].tolist() == [2, 3]
    with pytest.raises(DtypeError, match=r"unravel: \['n'\] holds int64, and its part"):
        unravel(np.array([1.0, 2.0, 3.5]))


def test_leaves_that_are_no_arrays_are_refused_by_name():
    with pytest.raises(TreeError, match=r"ravel: \[1\]\['name'\] is of class str"):
        tree.ravel((X, {"name": "text"}))
    with pytest.raises(DtypeError, match=r"ravel: \[1\] has element type object"):
        tree.ravel((X, np.array([None])))


def test_empty_trees():
    flat, unravel = tree.ravel({"a": None, "b": []})
    assert flat.shape == (0,)
    assert unravel(flat) == {"a": None, "b": []}
    with pytest.raises(ShapeError, match=r"vector of 0 elements \(no leaves\)"):
        unravel(np.zeros(1))


@given(trees(leaves=real))
def test_foreign_arrays_go_through_numpy_functions(value):
    """Traced values are no ndarrays; only what NumPy dispatches may be asked of them."""
    if not tree.leaves(value):
        return
    flat, unravel = tree.ravel(value)
    foreign, unravel_foreign = tree.ravel(tree.map(Duck, value))
    assert type(foreign) is Duck
    np.testing.assert_array_equal(foreign.value, flat)
    for function in (unravel, unravel_foreign):
        back = function(foreign)
        assert all(type(leaf) is Duck for leaf in tree.leaves(back))
        assert same(tree.map(lambda x: plain(x)[()], back), as_numpy(value))


def test_foreign_vectors_for_real_and_complex_leaves():
    _, unravel = tree.ravel((X, X * 1j))
    real_part, complex_part = unravel(Duck(np.arange(6) * (1 + 0j)))
    assert (real_part.dtype, complex_part.dtype) == (np.float64, np.complex128)


def test_foreign_and_plain_leaves_together():
    flat, _ = tree.ravel((Duck(X), X, 1.0))
    assert type(flat) is Duck
    assert flat.value.tolist() == [0, 1, 2, 0, 1, 2, 1]


def test_unravel_can_be_pickled_and_printed():
    flat, unravel = tree.ravel(Layer(X, 1.0))
    again = pickle.loads(pickle.dumps(unravel))(flat)
    assert again.b == 1.0
    assert repr(unravel) == "<unravel: vector of 4 -> Layer(w=*, b=*, activation=tanh, name='layer')>"


def test_a_solver_of_scipy_fits_a_tree():
    target = {"slope": np.array([2.0, -1.0]), "shift": 0.5}
    start, unravel = tree.ravel(tree.map(lambda x: 0 * x, target))

    def loss(vector):
        params = unravel(vector)
        return float(np.sum((params["slope"] - target["slope"]) ** 2) + (params["shift"] - target["shift"]) ** 2)

    found = unravel(scipy.optimize.minimize(loss, start).x)
    np.testing.assert_allclose(found["slope"], target["slope"], atol=1e-5)
    assert abs(found["shift"] - 0.5) < 1e-5
