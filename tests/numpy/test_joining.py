"""Joining, splitting, repeating."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError, UnsupportedError
from tests.numpy.checking import Case, array, every_check

X, Y, V = array(2, 3), array(2, 3, seed=1), array(4)
CASES = [
    Case("concatenate", lambda x, y: np.concatenate([x, y, x]), (X, Y)),
    Case("concatenate flat", lambda x, y: np.concatenate((x, y), axis=None), (X, V)),
    Case("concatenate promotes", lambda x: np.concatenate([x, np.arange(3)]), (V,)),
    Case("stack", lambda x, y: np.stack([x, y], axis=1), (X, Y)),
    Case("hstack", lambda x, y: np.hstack([x, y]), (X, Y)),
    Case("hstack vectors", lambda x: np.hstack((x, 2.0, x[0])), (V,)),
    Case("vstack", lambda x: np.vstack([x, x * x]), (V,)),
    Case("dstack", lambda x, y: np.dstack([x, y]), (X, Y)),
    Case("column_stack", lambda x, y: np.column_stack([x, y, x]), (V, array(4, 2))),
    Case("block", lambda x, y: np.block([[x, y], [y, np.ones((2, 3))]]), (X, Y)),
    Case("append", lambda x, y: np.append(x, y), (X, V)),
    Case("append axis", lambda x, y: np.append(x, y, axis=1), (X, Y)),
    Case("split", lambda x: np.split(x, 2), (V,)),
    Case("split indices", lambda x: np.split(x, [1, 3]), (V,)),
    Case("split negative", lambda x: np.split(x, [-2]), (V,)),
    Case("array_split", lambda x: np.array_split(x, 3), (V,)),
    Case("hsplit", lambda x: np.hsplit(x, 3), (X,)),
    Case("vsplit", lambda x: np.vsplit(x, 2), (X,)),
    Case("dsplit", lambda x: np.dsplit(x, 2), (array(2, 1, 4),)),
    Case("tile", lambda x: np.tile(x, (2, 1, 2)), (X,)),
    Case("tile number", lambda x: np.tile(x, 3), (X,)),
    Case("repeat", lambda x: np.repeat(x, 2), (X,)),
    Case("repeat axis", lambda x: np.repeat(x, 3, axis=0), (X,)),
    Case("repeat counts", lambda x: np.repeat(x, [1, 0, 2], axis=1), (X,)),
    Case("resize", lambda x: np.resize(x, (3, 4)), (V,)),
    Case("resize shorter", lambda x: np.resize(x, 3), (X,)),
    Case("delete", lambda x: np.delete(x, [0, 2]), (V,)),
    Case("delete slice", lambda x: np.delete(x, slice(0, 2), axis=1), (X,)),
    Case("delete negative", lambda x: np.delete(x, -1, axis=0), (X,)),
    Case("delete mask", lambda x: np.delete(x, np.array([True, False, True, False])), (V,)),
    Case("insert", lambda x, v: np.insert(x, 1, v), (V, 0.7)),
    Case("insert several", lambda x, v: np.insert(x, [1, 3, 1], v), (V, array(3, seed=2))),
    Case("insert at one place", lambda x, v: np.insert(x, 2, v), (V, array(2, seed=2))),
    Case("insert row", lambda x, v: np.insert(x, 1, v, axis=0), (X, array(3))),
    Case("insert column", lambda x, v: np.insert(x, 1, v, axis=1), (X, array(2))),
    Case("insert columns", lambda x, v: np.insert(x, [0, 2], v, axis=1), (X, array(2, 2))),
    Case("meshgrid", lambda x, y: np.meshgrid(x, y), (V, array(2))),
    Case("meshgrid ij", lambda x, y: np.meshgrid(x, y, indexing="ij", sparse=True), (V, array(2))),
    Case("apply_along_axis", lambda x: np.apply_along_axis(lambda v: np.cumsum(v * v)[1:], 0, x), (array(3, 2),)),
    Case("apply_along_axis scalar", lambda x: np.apply_along_axis(np.sum, 1, x), (array(3, 2),)),
    Case("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), (array(2, 3, 2),)),
]


@every_check(CASES)
def test_joining(case, check) -> None:
    check(case)


def test_ix_of_traced_lanes() -> None:
    x, i = array(3, 4), np.array([[0, 2], [1, 1]])
    found = ad.vmap(lambda x, i: np.sum(x[np.ix_(i, [1, 3])]))(np.stack([x, x]), i)
    np.testing.assert_allclose(found, [np.sum(x[np.ix_(row, [1, 3])]) for row in i])


def test_pieces_of_a_split_are_views() -> None:
    def f(x):
        x = +x
        first, second = np.split(x, 2)
        second[0] = 5.0 * first[0]
        return np.sum(x)

    np.testing.assert_allclose(ad.grad(f)(np.ones(4)), [6.0, 1.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.split(x, 3),
        lambda x: np.vsplit(x, 2),
        lambda x: np.array_split(x, 0),
        lambda x: np.concatenate([x, np.ones((2, 2))]),
        lambda x: np.stack([x, np.ones(3)]),
        lambda x: np.repeat(x, [1, 2]),
        lambda x: np.block([x, [x]]),
        lambda x: np.concatenate([x[0], x[1]]),
    ],
)
def test_wrong_shapes_raise(call) -> None:
    with pytest.raises(ValueError):
        ad.grad(lambda x: np.sum(call(x)[0]))(np.ones(4))


def test_a_traced_shape_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"np\.repeat was given a traced repeats"):
        ad.grad(lambda x: np.sum(np.repeat(np.ones(2) * x, x)))(2.0)
    repeated = ad.vmap(lambda n, x: np.repeat(np.ones(2) * x, n))
    with pytest.raises(ShapeError, match="batch elements return arrays of different shapes"):
        repeated(np.array([1, 2]), np.array([3.0, 4.0]))
    np.testing.assert_array_equal(repeated(np.array([2, 2]), np.array([3.0, 4.0])), [[3.0] * 4, [4.0] * 4])
    with pytest.raises(IndexError):
        ad.grad(lambda x: np.sum(np.delete(x, 9)))(np.ones(3))
