"""The function of Rosenbrock with its derivatives, as scipy.optimize has it: for traced values as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as _theirs

from adjoint.api.gradients import grad
from adjoint.api.hessian_products import hvp
from adjoint.api.jacobians import hessian
from adjoint.scipy.arguments import floating, for_traced

__all__ = ["rosen", "rosen_der", "rosen_hess", "rosen_hess_prod"]


def _valley(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2, axis=0)


@for_traced(_theirs)
def rosen(x: Any) -> Any:
    """Σ 100 (xᵢ₊₁ - xᵢ²)² + (1 - xᵢ)²."""
    return _valley(floating(x))


@for_traced(_theirs)
def rosen_der(x: Any) -> Any:
    """The gradient of `rosen`."""
    return grad(lambda x: np.sum(_valley(x)))(floating(x))


@for_traced(_theirs)
def rosen_hess(x: Any) -> Any:
    """The Hessian of `rosen`."""
    return hessian(_valley)(floating(x))


@for_traced(_theirs)
def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The product of the Hessian of `rosen` with p."""
    return hvp(_valley, (floating(x),), (floating(p),))
