"""The rows of scipy.sparse and scipy.sparse.linalg are complete and true."""

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy import sparse
from tests.coverage.agreement import fault, fault_of_compiled, faults_of_names, rows_of
from tests.coverage.examples_sparse import LINALG, SPARSE

EXAMPLES = {"scipy.sparse": SPARSE, "scipy.sparse.linalg": LINALG}
FILES = ("load_npz", "save_npz", "use_solver")  # and settings


def rows(*kinds):
    """The rows of both parts."""
    return [row for kind in kinds for part in EXAMPLES for row in rows_of(part, kind) if row.name not in FILES]


@pytest.mark.parametrize("namespace", EXAMPLES)
def test_every_function_has_a_row_and_every_row_a_function(namespace):
    assert not faults_of_names(namespace)


@pytest.mark.parametrize("row", rows(DIFFERENTIABLE, CONSTANT, REFUSED), ids=lambda row: row.title)
def test_rows(row):
    assert fault(row, EXAMPLES[row.namespace][row.name]) is None


@pytest.mark.parametrize("row", rows(DIFFERENTIABLE)[::8], ids=lambda row: row.title)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, EXAMPLES[row.namespace][row.name]) is None


@pytest.mark.parametrize("namespace", EXAMPLES)
def test_functions_of_ours_have_rows(namespace):
    module = sparse if namespace == "scipy.sparse" else sparse.linalg
    known = {row.name for row in rows(DIFFERENTIABLE, CONSTANT) if row.own and row.namespace == namespace}
    silent = set(module.__all__) - known - {"SparseArray", "linalg"}
    assert not silent, f"functions of adjoint.{namespace} that the table does not know: {silent}"
