import numpy as np
import pandas as pd
import pytest

from adjoint.base.errors import DtypeError, TreeError
from adjoint.tree.arrays import as_array, is_plain
from tests.tree.strategies import Duck

X = np.arange(3.0)


def test_is_plain():
    assert is_plain(X)
    assert is_plain(np.float64(1))
    assert not is_plain(1.0)
    assert not is_plain(Duck(X))


@pytest.mark.parametrize("leaf, dtype", [(True, "?"), (1, "i8"), (1.0, "f8"), (1j, "c16"), (np.float32(1), "f4")])
def test_numbers_become_arrays(leaf, dtype):
    array = as_array("add", leaf, "x")
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype) == ((), np.dtype(dtype))


def test_arrays_pass_without_a_copy_and_subclasses_become_plain():
    assert as_array("add", X, "x") is X
    matrix = np.eye(2).view(np.matrix)
    assert type(as_array("add", matrix, "x")) is np.ndarray
    assert type(as_array("add", np.ma.masked_array(X), "x")) is np.ndarray
    assert type(as_array("add", np.ma.masked_array(X, mask=[0, 0, 0]), "x")) is np.ndarray


def test_foreign_arrays_pass_untouched():
    duck = Duck(X)
    assert as_array("add", duck, "x") is duck


def test_masked_elements_are_refused():
    with pytest.raises(DtypeError, match=r"add: params\.w is a masked array"):
        as_array("add", np.ma.masked_array(X, mask=[0, 1, 0]), "params.w")


@pytest.mark.parametrize("leaf", ["text", object(), len, pd.Series([1.0]), {1.0}], ids=lambda leaf: type(leaf).__name__)
def test_other_objects_are_refused_by_name(leaf):
    with pytest.raises(TreeError, match=rf"add: \['w'\] is of class {type(leaf).__name__}, which is neither"):
        as_array("add", leaf, "['w']")


@pytest.mark.parametrize(
    "leaf",
    [np.array(["a"]), np.array([None]), np.array(["2020-01-01"], dtype="M8[D]"), np.zeros(2, dtype=[("a", "f8")])],
    ids=lambda leaf: str(leaf.dtype),
)
def test_element_types_that_are_no_numbers_are_refused(leaf):
    with pytest.raises(DtypeError, match="add: the leaf has element type"):
        as_array("add", leaf, "")


def test_kinds_can_be_limited():
    with pytest.raises(DtypeError, match="add: x has element type bool"):
        as_array("add", np.array(True), "x", kinds="iufc")
