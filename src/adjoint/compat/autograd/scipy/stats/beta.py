"""The beta distribution with exponents a and b: z = (x - loc) / scale between 0 and 1."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.compat.autograd.scipy.stats.support import distribution, log_density, standard
from adjoint.numpy.dispatch import as_array

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """(a - 1) log z + (b - 1) log(1 - z) - log B(a, b) - log scale."""
    z, a, b, scale = standard(x, loc, scale), as_array(a), as_array(b), as_array(scale)

    def formula(z: Any, a: Any, b: Any, scale: Any) -> Any:
        return special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b) - np.log(scale)

    return log_density(formula, ~((z < 0) | (z > 1)), (a > 0) & (b > 0) & (scale > 0), z, a, b, scale)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """exp of logpdf."""
    return np.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """I_z(a, b), the incomplete beta function."""
    z, a, b = standard(x, loc, scale), as_array(a), as_array(b)
    allowed = (a > 0) & (b > 0) & (as_array(scale) > 0)
    return distribution(lambda z, a, b: special.betainc(a, b, z), 0.0, 1.0, allowed, z, a, b)
