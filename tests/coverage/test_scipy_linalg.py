"""The rows of scipy.linalg are complete and true."""

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy import linalg as ours
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, rows_of
from tests.coverage.examples_scipy import linalg


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.linalg")


@pytest.mark.parametrize("row", rows_of("scipy.linalg", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, linalg(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.linalg", DIFFERENTIABLE)[::8], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, linalg(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.linalg", CONSTANT), ids=lambda row: row.name)
def test_constant(row):
    assert fault(row, linalg(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.linalg", REFUSED), ids=lambda row: row.name)
def test_refused(row):
    assert fault(row, linalg(row.name)) is None


def test_functions_of_ours_have_rows():
    rows = {row.name for kind in (DIFFERENTIABLE, CONSTANT) for row in rows_of("scipy.linalg", kind) if row.own}
    silent = [name for name in ours.__all__ if name not in rows]
    assert not silent, f"functions of adjoint.scipy.linalg that the table does not call differentiable: {silent}"
