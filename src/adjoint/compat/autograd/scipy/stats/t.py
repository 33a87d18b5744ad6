"""Student's distribution with df degrees of freedom: z = (x - loc) / scale."""

# pyright: basic

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from adjoint.compat.autograd.scipy.stats.support import distribution, log_density, standard
from adjoint.numpy.dispatch import as_array

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """log Γ((ν+1)/2) - log Γ(ν/2) - log √(πν) - (ν+1)/2 log(1 + z²/ν) - log scale."""
    z, nu, scale = standard(x, loc, scale), as_array(df), as_array(scale)

    def formula(z: Any, nu: Any, scale: Any) -> Any:
        whole = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * np.log(math.pi * nu)
        return whole - (nu + 1) / 2 * np.log1p(z**2 / nu) - np.log(scale)

    return log_density(formula, True, (nu > 0) & (scale > 0), z, nu, scale)


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """exp of logpdf."""
    return np.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability below x."""
    z, nu = standard(x, loc, scale), as_array(df)
    return distribution(lambda z, nu: special.stdtr(nu, z), -np.inf, np.inf, (nu > 0) & (as_array(scale) > 0), z, nu)


def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """log of cdf."""
    return np.log(cdf(x, df, loc, scale))
