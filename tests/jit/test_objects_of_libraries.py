"""A compiled function follows the arrays that objects of libraries hold, whose code is not looked into."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse
import scipy.stats

import adjoint as ad
from tests.support.followed import Followed


def assembled() -> tuple[Any, list[Any]]:
    matrix = scipy.sparse.csr_array(np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, 3.0, 1.0]]))

    def set_entry() -> None:
        matrix[1, 1] = 9.0

    changes = [lambda: matrix.data.__setitem__(0, 5.0), lambda: matrix.data.__imul__(2.0), set_entry]
    return lambda x: matrix @ (x * np.ones(3)), changes


def distribution() -> tuple[Any, list[Any]]:
    location, scale = np.array([1.0, 2.0, 3.0]), np.array(0.5)
    d = scipy.stats.norm(location, scale=scale)
    return lambda x: d.pdf(x), [lambda: location.__setitem__(0, 1.5), lambda: scale.__imul__(2.0)]


def polynomial() -> tuple[Any, list[Any]]:
    p = np.polynomial.Polynomial([1.0, 2.0, 3.0])
    return lambda x: p(x), [lambda: p.coef.__setitem__(2, -1.0), lambda: setattr(p, "coef", np.array([2.0, 1.0]))]


def old_polynomial() -> tuple[Any, list[Any]]:
    p = np.poly1d([1.0, 2.0, 3.0])
    return lambda x: p(x), [lambda: p.__setitem__(2, -1.0), lambda: p.coeffs.__setitem__(0, 4.0)]


def spline() -> tuple[Any, list[Any]]:
    s = scipy.interpolate.CubicSpline(np.arange(-3.0, 4.0), np.sin(np.arange(7.0)))
    return lambda x: s(x), [lambda: s.c.__imul__(2.0), lambda: s.c.__setitem__((3, 1), 0.5)]


@pytest.mark.parametrize("make", [assembled, distribution, polynomial, old_polynomial, spline])
def test_arrays_that_objects_of_libraries_hold(make: Any) -> None:
    function, changes = make()
    followed = Followed(lambda x: x * function(x))
    followed.check()
    for change in changes:
        change()
        followed.check()


def test_large_arrays_of_libraries_are_compared_without_a_warning() -> None:
    diagonal = scipy.sparse.dia_array((np.ones((1, 200_000)), [0]), shape=(200_000, 200_000)).tocsr()
    x = np.ones(200_000)
    compiled = ad.jit(lambda x: diagonal @ x)
    np.testing.assert_array_equal(compiled(x), x)
    diagonal.data[7] = 3.0
    np.testing.assert_array_equal(compiled(x), diagonal.data)
