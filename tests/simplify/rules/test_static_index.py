"""Static indices in normal form, against NumPy's own indexing of numbered elements."""

import hypothesis
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adjoint.ops.arrays.index import subscript
from adjoint.simplify.rules.static_index import compose, disjoint, keeps_order, normal, shape_of

searching = hypothesis.settings(max_examples=300, derandomize=True, deadline=None)


@st.composite
def items(draw, shape) -> tuple:
    """Any static index of an array of this shape."""
    found: list = []
    for n in shape[: draw(st.integers(0, len(shape)))]:
        ends = st.none() | st.integers(-n - 1, n + 1)
        forms = [st.tuples(ends, ends, st.sampled_from([None, 1, 2, -1, -2]))]
        if n:
            forms.append(st.integers(-n, n - 1))
        if draw(st.integers(0, 4)) == 0:
            found.append(None)
        found.append(draw(st.one_of(*forms)))
    if draw(st.integers(0, 3)) == 0:
        whole = sum(item is not None for item in found) == len(shape)
        found.insert(draw(st.sampled_from([0, len(found)])) if whole else len(found), Ellipsis)
    return tuple(found)


shapes = st.lists(st.sampled_from([1, 2, 3, 4, 5]), min_size=0, max_size=3).map(tuple)


def numbered(shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def read(x, items):
    return x[subscript(("slice", items), ())] if items else x


@searching
@given(st.data())
def test_the_normal_form_names_the_same_place(data) -> None:
    shape = data.draw(shapes)
    x = numbered(shape)
    index = data.draw(items(shape))
    found = normal(index, shape)
    assert found is not None
    expected = read(x, index)
    np.testing.assert_array_equal(read(x, found), expected)
    assert shape_of(found, shape) == np.shape(expected)
    assert normal(found, shape) == found
    if keeps_order(found, shape):
        np.testing.assert_array_equal(np.ravel(expected), np.ravel(x))


@searching
@given(st.data())
def test_equal_places_have_equal_normal_forms(data) -> None:
    n = data.draw(st.integers(1, 6))
    one, two = data.draw(items((n,))), data.draw(items((n,)))
    x = numbered((n,))
    a, b = read(x, one), read(x, two)
    if np.shape(a) == np.shape(b) == (np.size(a),) and np.array_equal(a, b) and np.size(a) > 1:
        assert normal(one, (n,)) == normal(two, (n,))


@searching
@given(st.data())
def test_one_place_in_another(data) -> None:
    shape = data.draw(shapes)
    x = numbered(shape)
    inner = normal(data.draw(items(shape)), shape)
    assert inner is not None
    y = read(x, inner)
    outer = normal(data.draw(items(np.shape(y))), np.shape(y))
    assert outer is not None
    found = compose(inner, outer, shape)
    if found is not None:
        np.testing.assert_array_equal(read(x, found), read(y, outer))
    else:
        assert None in inner  # a new axis, sliced: the only form that has no single index


@searching
@given(st.data())
def test_places_apart_share_no_element(data) -> None:
    shape = data.draw(shapes)
    x = numbered(shape)
    one, two = (normal(data.draw(items(shape)), shape) for _ in range(2))
    assert one is not None
    assert two is not None
    shared = np.intersect1d(read(x, one), read(x, two))
    if disjoint(one, two, shape):
        assert shared.size == 0


def test_places_apart_are_seen() -> None:
    assert disjoint((0,), (1,), (3,))
    assert disjoint(((0, 5, 2),), ((1, 5, 2),), (5,))
    assert disjoint(((None, None, None), 0), ((None, None, None), (1, 3, 1)), (2, 3))
    assert not disjoint(((0, 2, 1),), ((1, 3, 1),), (3,))


def test_indices_out_of_bounds_have_no_normal_form() -> None:
    assert normal((3,), (3,)) is None
    assert normal((0, 0), (3,)) is None
