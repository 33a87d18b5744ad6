"""The rows of scipy.spatial.distance are complete and true."""

import numpy as np
import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy.spatial import distance
from tests.coverage.agreement import Example, at, each, fault, fault_of_compiled, faults_of_names, of, rows_of

U, V, W = np.array([0.4, 0.9, 0.7]), np.array([0.8, 0.2, 0.3]), np.array([1.0, 0.5, 2.0])
A, B = np.array([[0.1, 0.5], [1.3, -0.4], [0.8, 2.0]]), np.array([[0.9, 0.2], [-0.7, 1.3]])
SQUARE = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
TWO = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])
EXAMPLES: dict[str, Example] = {
    "cdist": at(A, B),
    "pdist": at(A),
    "squareform": at(U),
    "directed_hausdorff": of(lambda f, a, b: f(a, b)[0], A, B),
    **each("euclidean sqeuclidean minkowski cityblock chebyshev correlation cosine braycurtis canberra", at(U, V)),
    **each("jensenshannon yule dice rogerstanimoto russellrao sokalsneath", at(U, V)),
    "seuclidean": at(U, V, W),
    "mahalanobis": at(U, V, np.diag(W)),
    **each("hamming jaccard", of(lambda f, w: f(*TWO, w), W)),
    **each("is_valid_dm num_obs_dm", at(SQUARE)),
    **each("is_valid_y num_obs_y", at(U)),
    **each("kulczynski1 sokalmichener", at(*TWO)),
}


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.spatial.distance")


def as_arrays(example: Example) -> Example:
    """The same with floats of Python's as NumPy's: SciPy gives both."""

    def call(f, *xs):
        result = example.call(f, *xs)
        return np.float64(result) if isinstance(result, float) else result

    return Example(call, example.xs)


@pytest.mark.parametrize("row", rows_of("scipy.spatial.distance", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, as_arrays(EXAMPLES[row.name])) is None


@pytest.mark.parametrize("row", rows_of("scipy.spatial.distance", DIFFERENTIABLE)[::4], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, EXAMPLES[row.name]) is None


@pytest.mark.parametrize(
    "row",
    [r for kind in (CONSTANT, REFUSED) for r in rows_of("scipy.spatial.distance", kind)],
    ids=lambda row: row.name,
)
def test_constant_and_refused(row):
    assert fault(row, EXAMPLES[row.name]) is None


def test_functions_of_ours_have_rows():
    rows = {row.name for kind in (DIFFERENTIABLE, CONSTANT) for row in rows_of("scipy.spatial.distance", kind)}
    assert set(distance.__all__) == rows
