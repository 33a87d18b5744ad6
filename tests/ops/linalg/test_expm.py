"""The exponential of a matrix: Taylor series of one-parameter groups, rotations, nilpotent matrices."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.ops.linalg.expm import MatrixExponential, toeplitz
from adjoint.program.types import ArrayType

A = np.random.default_rng(0).normal(size=(3, 3))


def test_derivatives_of_a_group() -> None:
    """The k-th derivative of t ↦ e^(tA) at t = 0 is Aᵏ."""
    zero = np.zeros((3, 3))
    _, terms = ad.jet(MatrixExponential(), (zero,), ([A, *[zero] * 5],))
    for k, term in enumerate(terms, 1):
        np.testing.assert_allclose(term, np.linalg.matrix_power(A, k), rtol=1e-10, atol=1e-10)


def test_rotation() -> None:
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    value, slope = ad.jvp(lambda t: MatrixExponential()(t * turn), (0.7,), (1.0,))
    np.testing.assert_allclose(value, [[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
    np.testing.assert_allclose(slope, turn @ value)


def test_gradient_of_the_trace() -> None:
    """∇ tr e^A = (e^A)ᵀ."""
    found = ad.grad(lambda a: np.trace(MatrixExponential()(a)))(A)
    np.testing.assert_allclose(found, MatrixExponential()(A).T, rtol=1e-12)


def test_block_toeplitz_matrices_multiply_as_series_do() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 3, 2, 2))
    product = toeplitz(list(x)) @ toeplitz(list(y))
    series = [sum(x[j] @ y[k - j] for j in range(k + 1)) for k in range(3)]
    np.testing.assert_allclose(product, toeplitz(series), atol=1e-14)
    np.testing.assert_array_equal(toeplitz([x[0], None]), toeplitz([x[0], 0 * x[0]]))


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ShapeError, match=r"expm: .*not square"):
        MatrixExponential().result_type(ArrayType((2, 3), np.dtype(float)))
