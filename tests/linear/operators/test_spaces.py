"""Spaces of trees: what they are made from, their elements as vectors, what is refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adjoint import ArrayType, tree
from adjoint.base.errors import AdjointError, DtypeError, ShapeError
from adjoint.linear import Space

PARAMETERS = {"w": np.arange(6.0).reshape(2, 3), "b": 7.0}


def test_a_space_from_an_element_from_types_from_a_shape_and_from_a_number():
    assert Space.of(4) == Space.of(np.ones(4)) == Space.of(ArrayType((4,), np.dtype(float))) == Space.vector(4)
    assert Space.of((2, 3)) == Space.of(np.ones((2, 3)))
    assert Space.of(PARAMETERS).size == 7
    assert Space.of(PARAMETERS) == Space.of({"w": ArrayType((2, 3), np.dtype(float)), "b": 0.0})
    assert Space.of(np.float32(1)).dtype == np.float32
    assert hash(Space.of(PARAMETERS)) == hash(Space.of(PARAMETERS))
    assert pickle.loads(pickle.dumps(Space.of(PARAMETERS))) == Space.of(PARAMETERS)


def test_elements_as_vectors_and_as_columns():
    space = Space.of(PARAMETERS)
    vector = space.ravel(PARAMETERS)
    assert_allclose(vector, tree.ravel(PARAMETERS)[0])
    assert_allclose(space.unravel(vector)["w"], PARAMETERS["w"])
    columns = np.stack([vector, 2 * vector], axis=1)
    stacked = space.unravel_columns(columns)
    assert stacked["w"].shape == (2, 2, 3)
    assert_allclose(space.ravel_columns(stacked), columns)
    units = [space.ravel(e) for e in tree.basis(PARAMETERS)]
    assert_allclose(space.ravel_columns(space.basis()), np.stack(units, axis=1))


def test_product_spaces():
    product = Space.product((Space.of(2), Space.of(PARAMETERS)))
    assert product == Space.of((np.ones(2), PARAMETERS))
    assert product.size == 9


def test_elements_are_checked_and_converted():
    space = Space.of({"a": np.zeros(2, np.float32)})
    assert space.checked({"a": np.ones(2)}, "x")["a"].dtype == np.float32
    assert_allclose(space.checked({"a": None}, "x")["a"], 0)
    with pytest.raises(ShapeError, match=r"shape \(3,\)"):
        space.checked({"a": np.ones(3)}, "x")
    with pytest.raises(DtypeError, match="complex"):
        space.checked({"a": np.ones(2) * 1j}, "x")
    with pytest.raises(AdjointError):
        space.checked({"b": np.ones(2)}, "x")
    with pytest.raises(DtypeError, match="floating point"):
        Space.of(np.arange(3))
