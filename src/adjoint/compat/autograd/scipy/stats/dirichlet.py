"""Dirichlet's distribution on the simplex. The last coordinate may be left out: it is what is missing to one."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.numpy.dispatch import as_array
from adjoint.program.trace import primal

__all__ = ["logpdf", "pdf", "rvs"]


def logpdf(x: Any, alpha: Any) -> Any:
    """Σ (αᵢ - 1) log xᵢ - Σ log Γ(αᵢ) + log Γ(Σ αᵢ)."""
    x, alpha = as_array(x), as_array(alpha)
    if x.shape[0] + 1 == alpha.shape[0]:
        x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)], axis=0)
    total = special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))
    return total + np.sum(special.xlogy((alpha - 1).T, x.T), axis=-1)


def pdf(x: Any, alpha: Any) -> Any:
    """exp of logpdf."""
    return np.exp(logpdf(x, alpha))


def rvs(alpha: Any, size: Any = 1, random_state: Any = None) -> Any:
    """Samples: constants."""
    import scipy.stats

    return scipy.stats.dirichlet.rvs(primal(alpha), size, random_state)
