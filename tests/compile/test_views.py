"""Index maps through views, against NumPy's own indexing of element numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint.compile.kernel import compile_program
from adjoint.compile.views import Index, identity, linear, restride_contiguous, strides_of, through, walks, written_out
from adjoint.ops.arrays.index import Slice
from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose


def positions(index, strides, shape):
    """Where each element of a result stands in memory, by its map."""
    position = linear(index, strides)
    actual = np.empty(shape, int)
    for at in np.ndindex(*shape):
        actual[at] = position.offset + sum(c * at[axis] for axis, c in position.terms)
    return actual


def numbered(shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


items = st.one_of(
    st.none(),
    st.just(Ellipsis),
    st.integers(-2, 1),
    st.tuples(
        *[st.one_of(st.none(), st.integers(-5, 5))] * 2,
        st.sampled_from([None, 1, 2, -1, -2, 3, -3]),
    ),
)


@given(st.sampled_from([(2,), (3, 2), (2, 4, 3), (5, 2)]), st.lists(items, max_size=4))
def test_slices(shape, key) -> None:
    used = sum(item is not None and item is not Ellipsis for item in key)
    if used > len(shape) or sum(item is Ellipsis for item in key) > 1:
        return
    x = numbered(shape)
    expected = x[tuple(slice(*item) if isinstance(item, tuple) else item for item in key)]
    op = Slice(tuple(key))
    index = through(op, identity(expected.ndim), shape, expected.shape)
    np.testing.assert_array_equal(positions(index, strides_of(shape), expected.shape), expected)
    assert [w.count for w in walks(key, shape) if w.axis is not None] == [
        n for n, item in zip(expected.shape, written(key, len(shape)), strict=True) if item is not None
    ]


def written(key, ndim):
    """The items of an index that make axes."""
    return [item for item in written_out(key, ndim) if item is None or isinstance(item, tuple)]


def test_an_index_written_out() -> None:
    every = (None, None, None)
    assert written_out((0,), 3) == (0, every, every)
    assert written_out((..., 0), 3) == (every, every, 0)
    assert written_out((0, ..., 1), 2) == (0, 1)
    assert written_out((None, ...), 1) == (None, every)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_transposes_and_broadcasts(axes) -> None:
    shape = (2, 1, 3)
    x = numbered(shape)
    turned = np.transpose(x, axes)
    index = through(Transpose(axes), identity(3), shape, turned.shape)
    np.testing.assert_array_equal(positions(index, strides_of(shape), turned.shape), turned)
    spread = np.broadcast_to(x, (4, 2, 5, 3))
    index = through(Broadcast(spread.shape), identity(4), shape, spread.shape)
    np.testing.assert_array_equal(positions(index, strides_of(shape), spread.shape), spread)


SHAPES = [(12,), (3, 4), (4, 3), (2, 6), (2, 2, 3), (1, 12), (12, 1), (3, 1, 4), (2, 3, 2), (6, 2, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_reshapes(shape) -> None:
    """A map through a reshape is right, or is refused when axes are merged; strides likewise."""
    x = numbered(shape)
    for new in SHAPES:
        index = through(Reshape(new), identity(len(new)), shape, new)
        if index is not None:
            np.testing.assert_array_equal(positions(index, strides_of(shape), new), x.reshape(new))
        else:
            assert len([n for n in shape if n != 1]) > 1
        assert restride_contiguous(shape, strides_of(shape), new) is not None
        big = np.arange(1000)
        for strides in itertools.product((0, 1, 5, 20), repeat=len(shape)):
            view = np.lib.stride_tricks.as_strided(big, shape, [8 * s for s in strides])
            actual = restride_contiguous(shape, strides, new)
            if actual is not None:
                moved = np.lib.stride_tricks.as_strided(big, new, [8 * s for s in actual])
                np.testing.assert_array_equal(moved, view.reshape(new))


def test_arithmetic_of_indices() -> None:
    i = Index(2, ((0, 3), (2, 1)))
    assert i.plus(Index(1, ((2, -1),))) == Index(3, ((0, 3),))
    assert i.scale(-2) == Index(-4, ((0, -6), (2, -2)))
    assert i.shift(5) == Index(7, i.terms)
    assert strides_of(()) == ()
    assert strides_of((2, 3, 4)) == (12, 4, 1)


def test_reshapes_of_nothing_are_left_to_memory() -> None:
    assert through(Reshape((0, 40)), identity(2), (40, 0), (0, 40)) is None
    program = ad.trace(lambda x: np.reshape(x + 1, (0, 40)))(np.zeros((40, 0), int)).program
    assert compile_program(program).run([np.zeros((40, 0), int)])[0].shape == (0, 40)
