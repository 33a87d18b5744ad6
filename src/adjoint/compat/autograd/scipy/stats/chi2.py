"""The chi-squared distribution with df degrees of freedom: gamma's, of shape df/2 and twice the scale."""

# pyright: basic

from __future__ import annotations

from typing import Any

from adjoint.compat.autograd.scipy.stats import gamma
from adjoint.numpy.dispatch import as_array

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """(ν/2 - 1) log z - z/2 - ν/2 log 2 - log Γ(ν/2) - log scale."""
    return gamma.logpdf(x, as_array(df) / 2, loc, 2 * as_array(scale))


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """exp of logpdf."""
    return gamma.pdf(x, as_array(df) / 2, loc, 2 * as_array(scale))


def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """P(ν/2, z/2)."""
    return gamma.cdf(x, as_array(df) / 2, loc, 2 * as_array(scale))
