"""Where a density lives: outside it is zero, at forbidden parameters it is not a number."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array


def standard(x: Any, loc: Any, scale: Any) -> Any:
    """(x - loc) / scale."""
    return (as_array(x) - as_array(loc)) / as_array(scale)


def log_density(
    formula: Callable[..., Any], inside: Any, allowed: Any, z: Any, *parameters: Any, harmless: float = 0.5
) -> Any:
    """formula(z, …) where z is inside, -∞ outside, nan where the parameters are not allowed.

    Where it does not count the formula is evaluated at a harmless position, so that no derivative there is nan.
    """
    safe = [np.where(allowed, p, 1.0) for p in parameters]
    value = formula(np.where(inside & allowed, z, harmless), *safe)
    return np.where(allowed, np.where(inside, value, -np.inf), np.nan)


def distribution(formula: Callable[..., Any], low: Any, high: Any, allowed: Any, z: Any, *parameters: Any) -> Any:
    """formula(z, …) between low and high; 0 below, 1 above, nan where the parameters are not allowed."""
    inside = (z > low) & (z < high) & allowed
    middle = 0.5 if np.isfinite(high) else 1.0
    safe = [np.where(allowed, p, 1.0) for p in parameters]
    value = formula(np.where(inside, z, middle), *safe)
    edge = np.where(np.isnan(z), np.nan, np.where(z <= low, 0.0, 1.0))
    return np.where(allowed, np.where(inside, value, edge), np.nan)
