"""The normal distribution: z = (x - loc) / scale."""

# pyright: basic

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from adjoint.compat.autograd.scipy.stats.support import standard
from adjoint.numpy.dispatch import as_array

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def _positive(scale: Any, value: Any) -> Any:
    return np.where(as_array(scale) > 0, value, np.nan)


def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """-z²/2 - log √2π - log scale."""
    z = standard(x, loc, scale)
    return -0.5 * z**2 - _HALF_LOG_2PI - np.log(_positive(scale, scale))


def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """exp(-z²/2) / (√2π scale)."""
    return np.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Φ(z)."""
    return _positive(scale, special.ndtr(standard(x, loc, scale)))


def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """log Φ(z)."""
    return _positive(scale, special.log_ndtr(standard(x, loc, scale)))


def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Φ(-z)."""
    return _positive(scale, special.ndtr(-standard(x, loc, scale)))


def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """log Φ(-z)."""
    return _positive(scale, special.log_ndtr(-standard(x, loc, scale)))


def ppf(q: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The point below which lies the probability q: loc + scale Φ⁻¹(q)."""
    return _positive(scale, as_array(loc) + as_array(scale) * special.ndtri(as_array(q)))


def isf(q: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The point above which lies the probability q: loc - scale Φ⁻¹(q)."""
    return _positive(scale, as_array(loc) - as_array(scale) * special.ndtri(as_array(q)))
