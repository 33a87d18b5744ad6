"""The rows of scipy.signal are complete and true."""

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy import signal
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, rows_of
from tests.coverage.examples_signal import example


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.signal")


@pytest.mark.parametrize("row", rows_of("scipy.signal", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.signal", DIFFERENTIABLE)[::8], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.signal", CONSTANT), ids=lambda row: row.name)
def test_constant(row):
    assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("scipy.signal", REFUSED), ids=lambda row: row.name)
def test_refused(row):
    assert fault(row, example(row.name)) is None


def test_functions_of_ours_have_rows():
    rows = {row.name for kind in (DIFFERENTIABLE, CONSTANT) for row in rows_of("scipy.signal", kind)}
    silent = [name for name in signal.__all__ if name not in rows | {"windows"}]
    assert not silent, f"functions of adjoint.scipy.signal that the table refuses or does not know: {silent}"
