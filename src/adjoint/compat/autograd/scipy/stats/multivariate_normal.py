"""The normal distribution of vectors, by the Cholesky factor L of the covariance: z = L⁻¹ (x - mean)."""

# pyright: basic

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.numpy.dispatch import as_array
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
    """-(n log 2π + ‖z‖²)/2 - Σ log Lᵢᵢ, for each vector along the last axis of x."""
    if allow_singular:
        raise UnsupportedError(
            "multivariate_normal: a covariance that may be singular has no derivative. Leave allow_singular out."
        )
    x = as_array(x)
    n = np.size(mean) if mean is not None else (1 if np.ndim(cov) == 0 else np.shape(cov)[0])
    if x.ndim == 0:
        x = np.reshape(x, (1,))
    elif x.ndim == 1 and n == 1:
        x = x[:, None]  # a vector of numbers, not one vector
    gap = x if mean is None else x - as_array(mean)
    factor = np.linalg.cholesky(_covariance(cov, n))
    z = solve_triangular(factor, np.reshape(gap, (-1, n)).T, lower=True)
    whole = 0.5 * n * _LOG_2PI + np.sum(np.log(np.diagonal(factor)))
    found = np.reshape(-0.5 * np.sum(z**2, axis=0) - whole, gap.shape[:-1])
    return np.reshape(found, ()) if found.size == 1 else found


def pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """exp of logpdf."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """log det(2πe cov) / 2."""
    n = np.size(mean) if mean is not None else (1 if np.ndim(cov) == 0 else np.shape(cov)[0])
    return 0.5 * (n * (1 + _LOG_2PI) + np.linalg.slogdet(_covariance(cov, n))[1])
