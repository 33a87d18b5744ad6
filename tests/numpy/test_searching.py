"""Where elements are."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError, ShapeError
from tests.numpy.checking import Case, array, complex_array, every_check, signed

V, EDGES = signed(6), np.array([-1.0, 0.0, 0.6, 1.1])
M = array(2, 4)
BINS = np.array([0, 2, 2, 1, 0, 5])
CASES = [
    Case("sort_complex", lambda x: np.sort_complex(x), (complex_array(4),)),
    Case("sort of reals as complex", lambda x: np.sort_complex(x), (V,)),
    Case("searchsorted", lambda x: x * np.searchsorted(EDGES, x), (V,)),
    Case("searchsorted right", lambda x, e: x * np.searchsorted(e, x, side="right"), (V, EDGES)),
    Case("searchsorted sorter", lambda x, e: x * np.searchsorted(e, x, sorter=[3, 2, 1, 0]), (V, EDGES[::-1].copy())),
    Case("digitize", lambda x: x * np.digitize(x, EDGES), (V,)),
    Case("digitize falling", lambda x: x * np.digitize(x, EDGES[::-1], right=True), (V,)),
    Case("bincount", lambda w: np.bincount(BINS, weights=w, minlength=8), (array(6),)),
    Case("partition", lambda x: np.partition(x, 2)[..., 2], (array(2, 5),)),
    Case("partition of many", lambda x: np.partition(x, (3, -4), axis=0)[[3, -4]], (array(99, 2),)),
    Case("partition of all", lambda x: np.partition(x, 7, axis=None)[7], (array(5, 20),)),
    Case("argpartition of many", lambda x: np.take_along_axis(x, np.argpartition(x, 9, 1), 1)[:, 9], (array(2, 99),)),
    Case("unravel_index", lambda x: x[np.unravel_index(np.argsort(np.ravel(x))[2:5], x.shape)], (array(2, 4),)),
    Case("unravel_index F", lambda x: x[np.unravel_index(np.argmax(x), (2, 4), order="F")], (array(2, 4),)),
    Case("ravel_multi_index", lambda x: np.ravel(x)[np.ravel_multi_index((x[0] > 1, [0, 1, 2, 3]), (2, 4))], (M,)),
    Case(
        "ravel_multi_index F",
        lambda x: np.ravel(x)[np.ravel_multi_index((x[0] > 1, [1, 5, -1, 3]), (2, 4), ("raise", "wrap"), "F")],
        (M,),
    ),
    Case("packbits", lambda x: x[:, :2] * np.packbits(x > 0.7, axis=1, bitorder="little"), (array(2, 9),)),
    Case("unpackbits", lambda x: x[0] * np.unpackbits(np.packbits(x > 0.7), count=11), (array(11),)),
    Case("bincount of places", lambda x, w: np.bincount((2 * x).astype(int), w, 6), (V + 2, V), symbolic=False),
    Case("argpartition", lambda x: x[np.argpartition(x, 1)[1]], (V,)),
    Case("lexsort", lambda x: x[np.lexsort((x, np.array([1, 0, 1, 0, 1, 0])))], (V,)),
    Case("nonzero", lambda x: x[np.nonzero(x > 0)], (V,), lanes=False, symbolic=False),
    Case("flatnonzero", lambda x: x[np.flatnonzero(x > 0)], (V,), lanes=False, symbolic=False),
    Case("argwhere", lambda x: x[np.argwhere(x > 0)], (V,), lanes=False, symbolic=False),
    Case("nonzero of floats", lambda x: x[np.nonzero(np.maximum(x, 0))], (V,), lanes=False, symbolic=False),
    Case("where of one", lambda x: x[np.where(x > 0)], (V,), lanes=False, symbolic=False),
    Case("trim_zeros of two axes", lambda x: np.trim_zeros(np.pad(x, 1)), (M,), lanes=False, symbolic=False),
    Case("trim_zeros of one", lambda x: np.trim_zeros(np.pad(x, 1), "b", axis=1), (M,), lanes=False, symbolic=False),
    Case("trim_zeros", lambda x: np.trim_zeros(np.maximum(x - 1.05, 0)), (array(6),), lanes=False, symbolic=False),
]


@every_check(CASES)
def test_searching(case, check) -> None:
    check(case)


LANES = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0], [1.0, 1.0, 1.0], [4.0, 0.0, 5.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sum(x[np.nonzero(x)] ** 2),
        lambda x: np.sum(np.flatnonzero(x) * 1.0) + np.sum(x),
        lambda x: np.sum(np.argwhere(x)) + x[1],
        lambda x: np.sum(x[x > 0]) * x[2],
        lambda x: np.prod(np.extract(x > 0, x)),
        lambda x: np.sum(np.where(x > 0)[0] * x[0]),
    ],
)
def test_shapes_that_depend_on_lanes(call) -> None:
    """Lanes whose shapes differ inside are run in groups; the results have one shape."""
    np.testing.assert_allclose(ad.vmap(call)(LANES), [call(x) for x in LANES])
    np.testing.assert_allclose(ad.vmap(ad.grad(call))(LANES), [ad.grad(call)(x) for x in LANES])


@pytest.mark.parametrize("call", [np.flatnonzero, np.argwhere, lambda x: x[x > 0], lambda x: np.extract(x > 0, x)])
def test_lanes_that_cannot_be_stacked(call) -> None:
    with pytest.raises(ShapeError, match=r"different shapes.*keep the shape"):
        ad.vmap(call)(LANES)


COUNTED = [lambda x: np.nonzero(x)[0], np.flatnonzero, np.argwhere, np.unique, lambda x: x[x > 0]]


@pytest.mark.parametrize("call", COUNTED)
def test_where_values_are_not_known_sizes_are_values(call) -> None:
    f = lambda x: np.sum(x) + 2 * np.size(call(x))
    program = ad.trace(f)(np.ones(3))
    for x in (np.ones(3), np.array([0.0, 2.0, -1.0]), np.zeros(3)):
        np.testing.assert_allclose(program(x), f(x))


@pytest.mark.parametrize("call", COUNTED)
def test_shapes_that_depend_on_values_are_refused_where_values_are_not_known(call) -> None:
    with pytest.raises(ControlFlowError, match="keep the shape"):
        ad.trace(call)(np.ones(3))


def test_bins_decide_the_shape() -> None:
    places = np.array([[1, 2], [0, 1]])
    np.testing.assert_array_equal(ad.vmap(lambda i: np.bincount(i, minlength=4))(places), [[0, 1, 1, 0], [1, 1, 0, 0]])
    with pytest.raises(ShapeError, match="different shapes"):
        ad.vmap(lambda i: np.bincount(i))(places)
    with pytest.raises(ControlFlowError, match=r"ad\.cond"):
        ad.trace(lambda i: np.bincount(i))(places[0])
    for wrong in (places - 2, places, places / 2):
        with pytest.raises((ValueError, TypeError)):
            ad.jit(np.bincount)(wrong[0] if wrong is not places else wrong)


def test_places_out_of_bounds_raise_as_in_numpy() -> None:
    x = array(5)
    for message, call in {
        "out of bounds": lambda x: np.partition(x, 7),
        "invalid entry": lambda x: np.ravel_multi_index((np.argmax(x), [4]), (5, 4)),
        "sequence of length": lambda x: np.ravel_multi_index((np.argmax(x),), (5, 4)),
        "unsigned byte": lambda x: np.unpackbits(np.argsort(x)),
        "'little' or 'big'": lambda x: np.packbits(x > 1, bitorder="middle"),
        "unexpected character": lambda x: np.trim_zeros(x, "c"),
    }.items():
        with pytest.raises((ValueError, TypeError), match=message):
            ad.jit(lambda x, call=call: np.sum(call(x)))(x)
