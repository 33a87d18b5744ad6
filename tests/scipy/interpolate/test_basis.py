"""B-spline basis functions against SciPy's design matrices, at knots, between them and outside."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg

from adjoint.scipy.interpolate.basis import banded, basis, combined, design, intervals
from tests.scipy.interpolate.agreement import equal

T = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 1.2, 1.2, 2.0, 3.0, 3.0, 3.0, 3.0])
POINTS = np.array([0.0, 0.2, 0.5, 1.1, 1.2, 1.7, 2.0, 2.9, 3.0])


def test_the_matrix_of_all_functions():
    equal(design(T, 3, POINTS), scipy.interpolate.BSpline.design_matrix(POINTS, T, 3).toarray())
    equal(np.sum(design(T, 3, POINTS), axis=1), np.ones(len(POINTS)))
    assert not np.any(np.abs(np.sum(design(T, 3, POINTS, 1), axis=1)) > 1e-12)


@pytest.mark.parametrize("nu", [0, 1, 2, 3, 4])
def test_derivatives_inside_and_outside(nu):
    c = np.cos(np.arange(8.0))
    wanted = scipy.interpolate.BSpline(T, c, 3)
    points = np.concatenate([[-0.7], POINTS, [3.9]])
    equal(combined(T, c, 3, points, nu), wanted(points, nu))


def test_no_interval_is_empty():
    i = intervals(T, 3, np.array([-1.0, 0.0, 1.2, 3.0, 4.0]))
    assert np.all(T[i] < T[i + 1])
    assert i.tolist() == [3, 3, 6, 7, 7]
    assert intervals(np.array([0.0, 1.0, 1.0]), 0, np.array([0.5, 1.0])).tolist() == [0, 1]


def test_functions_of_higher_degree_than_their_derivative_vanish():
    assert not np.any(basis(T, 3, intervals(T, 3, POINTS), POINTS, 4))


def test_diagonals():
    a = np.triu(np.tril(np.arange(1.0, 26.0).reshape(5, 5), 1), -1)
    first = np.array([0, 0, 1, 2, 3])
    rows = np.stack([a[i, f : f + 3] if f < 3 else np.append(a[i, f:], 0.0) for i, f in enumerate(first)])
    x = scipy.linalg.solve_banded((2, 2), banded(rows, first, 2), np.ones(5))
    equal(a @ x, np.ones(5))
