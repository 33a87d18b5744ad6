"""The rows of numpy.linalg and numpy.fft are complete and true."""

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE
from tests.coverage.agreement import fault, faults_of_names, rows_of
from tests.coverage.examples_numpy_linalg import fft, linalg

EXAMPLES = {"numpy.linalg": linalg, "numpy.fft": fft}


@pytest.mark.parametrize("namespace", EXAMPLES)
def test_every_function_has_a_row_and_every_row_a_function(namespace):
    assert not faults_of_names(namespace)


@pytest.mark.parametrize("row", [r for name in EXAMPLES for r in rows_of(name, DIFFERENTIABLE)], ids=lambda r: r.title)
def test_differentiable(row):
    assert fault(row, EXAMPLES[row.namespace](row.name)) is None


@pytest.mark.parametrize("row", [r for name in EXAMPLES for r in rows_of(name, CONSTANT)], ids=lambda r: r.title)
def test_constant(row):
    assert fault(row, EXAMPLES[row.namespace](row.name)) is None
