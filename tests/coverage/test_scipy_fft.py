"""The rows of scipy.fft are complete and true."""

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE
from adjoint.scipy import fft as ours
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, rows_of
from tests.coverage.examples_scipy import fft


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.fft")


@pytest.mark.parametrize("row", rows_of("scipy.fft", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, fft(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.fft", DIFFERENTIABLE)[::8], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, fft(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.fft", CONSTANT), ids=lambda row: row.name)
def test_constant(row):
    assert fault(row, fft(row.name)) is None


def test_functions_of_ours_have_rows():
    rows = {row.name for kind in (DIFFERENTIABLE, CONSTANT) for row in rows_of("scipy.fft", kind) if row.own}
    silent = [name for name in ours.__all__ if name not in rows]
    assert not silent, f"functions of adjoint.scipy.fft that the table does not call differentiable: {silent}"
