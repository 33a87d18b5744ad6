"""The normal distribution of vectors, by the Cholesky factor L of the covariance: z = L⁻¹ (x - mean)."""

# pyright: basic

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.numpy.dispatch import as_array
from adjoint.program.trace import Tracer
from adjoint.scipy.linalg import solve_triangular

__all__ = ["entropy", "logpdf", "pdf"]

_LOG_2PI = math.log(2.0 * math.pi)


def _covariance(cov: Any, n: int) -> Any:
    """A number is a multiple of the unit matrix, a vector a diagonal."""
    cov = as_array(cov)
    if cov.ndim == 0:
        return cov * np.eye(n)
    return np.diag(cov) if cov.ndim == 1 else cov


def logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """-(n log 2π + ‖z‖²)/2 - Σ log Lᵢᵢ, for each vector along the last axis of x.

    A covariance that may be singular must be plain: the number of its eigenvalues that are zero does not move.
    """
    x = as_array(x)
    n = np.size(mean) if mean is not None else (1 if np.ndim(cov) == 0 else np.shape(cov)[0])
    if x.ndim == 0:
        x = np.reshape(x, (1,))
    elif x.ndim == 1 and n == 1:
        x = x[:, None]  # a vector of numbers, not one vector
    gap = np.reshape(x if mean is None else x - as_array(mean), (-1, n))
    found = (_of_singular if allow_singular else _of_regular)(gap, _covariance(cov, n))
    found = np.reshape(found, x.shape[:-1])
    return np.reshape(found, ()) if found.size == 1 else found


def _of_regular(gap: Any, cov: Any) -> Any:
    factor = np.linalg.cholesky(cov)
    z = solve_triangular(factor, gap.T, lower=True)
    return -0.5 * (gap.shape[1] * _LOG_2PI + np.sum(z**2, axis=0)) - _half_log_determinant(factor)


def _half_log_determinant(factor: Any) -> Any:
    return np.sum(np.log(np.diagonal(factor)))


def _of_singular(gap: Any, cov: Any) -> Any:
    """The density on the span of the covariance: -∞ for points outside."""
    if isinstance(cov, Tracer):
        raise UnsupportedError(
            "multivariate_normal: with allow_singular=True there is no derivative in the covariance. Leave it out, or "
            "give a plain covariance."
        )
    sizes, directions = np.linalg.eigh(cov)
    kept = sizes > 1e6 * np.finfo(float).eps * np.max(np.abs(sizes))
    z = (gap @ directions[:, kept]) / np.sqrt(sizes[kept])
    outside = np.linalg.norm(gap @ directions[:, ~kept], axis=-1) >= 1e9 * np.finfo(float).eps
    found = -0.5 * (np.sum(kept) * _LOG_2PI + np.sum(np.log(sizes[kept])) + np.sum(z**2, axis=-1))
    return np.where(outside, -np.inf, found)


def pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """exp of logpdf."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """log det(2πe cov) / 2."""
    n = np.size(mean) if mean is not None else (1 if np.ndim(cov) == 0 else np.shape(cov)[0])
    return 0.5 * n * (1 + _LOG_2PI) + _half_log_determinant(np.linalg.cholesky(_covariance(cov, n)))
