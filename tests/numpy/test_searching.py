"""Where elements are."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError, ShapeError, UnsupportedError
from tests.numpy.checking import CHECKS, Case, array, complex_array, signed

V, EDGES = signed(6), np.array([-1.0, 0.0, 0.6, 1.1])
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
    Case("argpartition", lambda x: x[np.argpartition(x, 1)[1]], (V,)),
    Case("lexsort", lambda x: x[np.lexsort((x, np.array([1, 0, 1, 0, 1, 0])))], (V,)),
    Case("isin", lambda x: x * np.isin(x, [x[0], 7.0]), (V,)),
    Case("nonzero", lambda x: x[np.nonzero(x > 0)], (V,), lanes=False, symbolic=False),
    Case("flatnonzero", lambda x: x[np.flatnonzero(x > 0)], (V,), lanes=False, symbolic=False),
    Case("argwhere", lambda x: x[np.argwhere(x > 0)], (V,), lanes=False, symbolic=False),
    Case("nonzero of floats", lambda x: x[np.nonzero(np.maximum(x, 0))], (V,), lanes=False, symbolic=False),
    Case("where of one", lambda x: x[np.where(x > 0)], (V,), lanes=False, symbolic=False),
    Case("unique", lambda x: np.unique(x), (V,), lanes=False, symbolic=False),
    Case("union1d", lambda x: np.union1d(x, [0.05, 3.0]), (V,), lanes=False, symbolic=False),
    Case("setdiff1d", lambda x: np.setdiff1d(x, [5.0]), (V,), lanes=False, symbolic=False),
    Case("trim_zeros", lambda x: np.trim_zeros(np.maximum(x - 1.05, 0)), (array(6),), lanes=False, symbolic=False),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_searching(case, check) -> None:
    check(case)


def test_unique_with_everything() -> None:
    x = np.array([[2.0, 1.0], [2.0, 3.0]])
    found = []
    ad.grad(
        lambda x: (
            found.append(np.unique(x, True, True, True)[1:])
            or found.append(np.unique_all(x)[1:])
            or np.sum(np.unique(x))
        )
    )(x)
    for mine, numpys in zip(found[0], np.unique(x, True, True, True)[1:], strict=True):
        np.testing.assert_array_equal(mine, numpys)
    # the first of equal elements has the derivative
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(np.unique(x) ** 2))(x), [[4.0, 2.0], [0.0, 6.0]])


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


@pytest.mark.parametrize("call", [np.nonzero, np.flatnonzero, np.argwhere, np.unique, lambda x: x[x > 0]])
def test_shapes_that_depend_on_values_are_refused_where_values_are_not_known(call) -> None:
    with pytest.raises(ControlFlowError, match="keep the shape"):
        ad.trace(lambda x: np.sum(x) + 0 * np.size(call(x)))(np.ones(3))


def test_bins_decide_the_shape() -> None:
    with pytest.raises(UnsupportedError, match="bincount"):
        ad.vmap(lambda i: np.bincount(i))(np.array([[1, 2], [0, 1]]))
