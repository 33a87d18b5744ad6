"""Places of elements, when their number is known."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.arrays.search import Nonzero
from adjoint.program.types import type_of


@pytest.mark.parametrize("mask", [np.array([True, False, True]), np.eye(3) > 0, np.zeros((2, 0), bool)])
def test_as_numpy(mask: np.ndarray) -> None:
    op = Nonzero(int(np.count_nonzero(mask)))
    found = op(mask)
    for a, b, kind in zip(found, np.nonzero(mask), op.result_type(type_of(mask)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert type_of(a) == kind


def test_lanes_stand_one_behind_the_other() -> None:
    masks = np.array([[[True, False], [False, True]], [[False, True], [True, False]]])
    found = ad.vmap(lambda mask: Nonzero(2)(mask))(masks)
    expected = [np.nonzero(mask) for mask in masks]
    for axis in range(2):
        np.testing.assert_array_equal(found[axis], [places[axis] for places in expected])
