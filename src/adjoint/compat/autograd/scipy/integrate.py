"""scipy.integrate's `odeint`, with derivatives in the start, the times, the parameters and what func closes over."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.integrate import scipy_names

__all__ = ["odeint"]


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Any = (), **kwargs: Any) -> Any:
    """scipy.integrate.odeint: the solution of y' = func(y, t, *args) at the times t, one row for each.

    `args` is a tuple of anything; arrays of floats in it, and in containers in it, are differentiated. Keywords are
    SciPy's. It is the `odeint` of adjoint.scipy.integrate.
    """
    return scipy_names.odeint(func, np.atleast_1d(y0) if isinstance(y0, float | int) else y0, t, args, **kwargs)
