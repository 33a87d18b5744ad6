"""The rows of NumPy's functions are complete and true."""

import pytest

from adjoint.base.config import config
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, rows_of
from tests.coverage.examples_numpy import example


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("numpy")


@pytest.mark.parametrize("row", rows_of("numpy", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("numpy", DIFFERENTIABLE)[::4], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("numpy", CONSTANT), ids=lambda row: row.name)
def test_constant(row):
    assert fault(row, example(row.name)) is None


@pytest.mark.parametrize("row", rows_of("numpy", REFUSED), ids=lambda row: row.name)
def test_refused(row):
    with config.override(convert=False):  # converted functions may call more
        assert fault(row, example(row.name)) is None
