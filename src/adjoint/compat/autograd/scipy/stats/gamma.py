"""The gamma distribution of shape a: z = (x - loc) / scale."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.compat.autograd.scipy.stats.support import distribution, log_density, standard
from adjoint.numpy.dispatch import as_array

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """(a - 1) log z - z - log Γ(a) - log scale."""
    z, a, scale = standard(x, loc, scale), as_array(a), as_array(scale)

    def formula(z: Any, a: Any, scale: Any) -> Any:
        return special.xlogy(a - 1, z) - z - special.gammaln(a) - np.log(scale)

    return log_density(formula, ~(z < 0), (a > 0) & (scale > 0), z, a, scale)


def pdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """exp of logpdf."""
    return np.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """P(a, z), the incomplete gamma function."""
    z, a = standard(x, loc, scale), as_array(a)
    return distribution(lambda z, a: special.gammainc(a, z), 0.0, np.inf, (a > 0) & (as_array(scale) > 0), z, a)
