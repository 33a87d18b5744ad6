"""Poisson's distribution of mean mu, on the integers from loc on."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.compat.autograd.scipy.stats.support import log_density
from adjoint.numpy.dispatch import as_array

__all__ = ["cdf", "logpmf", "pmf"]


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """k log μ - log k! - μ."""
    k, mu = as_array(k) - as_array(loc), as_array(mu)
    inside = ~((k < 0) | (np.floor(k) < k))
    return log_density(
        lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1) - mu, inside, mu >= 0, k, mu, harmless=0.0
    )


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """exp of logpmf."""
    return np.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Q(⌊k⌋ + 1, μ), the complement of the incomplete gamma function."""
    k, mu = np.floor(as_array(k) - as_array(loc)), as_array(mu)
    inside, allowed = k >= 0, mu >= 0
    value = special.pdtr(np.where(inside, k, 0.0), np.where(allowed, mu, 1.0))
    return np.where(allowed, np.where(np.isnan(k), np.nan, np.where(inside, value, 0.0)), np.nan)
