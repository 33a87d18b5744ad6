"""The rows of scipy.ndimage are complete and true."""

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy import ndimage
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, rows_of
from tests.coverage.examples_ndimage import example


def rows(*kinds):
    return [row for kind in kinds for row in rows_of("scipy.ndimage", kind)]


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.ndimage")


# these take integers only
OF_INTEGERS = ("find_objects", "value_indices", "watershed_ift")


@pytest.mark.parametrize("row", rows(DIFFERENTIABLE, CONSTANT, REFUSED), ids=lambda row: row.name)
def test_rows(row):
    if row.name not in OF_INTEGERS:
        assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows(DIFFERENTIABLE)[::8], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, example(row.name)) is None


def test_functions_of_ours_have_rows():
    silent = set(ndimage.__all__) - {row.name for row in rows(DIFFERENTIABLE, CONSTANT) if row.own}
    assert not silent, f"functions of adjoint.scipy.ndimage that the table does not know: {silent}"
