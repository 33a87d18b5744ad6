"""Linear equations with constant coefficients, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.gradients import vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.integrate.reading import joined
from adjoint.program.types import Value
from adjoint.scipy.linalg import expm

__all__ = ["linear"]


@user_facing
def linear(A: Any, x: Any, t: Any) -> Value:
    """y(t) = exp(t A) x, the solution of y′ = A y, y(0) = x; its derivatives are those of the matrix exponential.

    For a vector of times there is one y for each, along the first axis.

    ```python
    np.round(ad.integrate.linear(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([1.0, 0.0]), np.pi), 12)  # → [-1.0, 0.0]
    ```
    """
    if len(np.shape(A)) != 2 or np.shape(A)[0] != np.shape(A)[1] or np.shape(x)[:1] != np.shape(A)[:1]:
        raise ShapeError(f"integrate.linear: A has shape {np.shape(A)} and x {np.shape(x)}; A is a square matrix, x "
                         "has one number (or row) for each of its rows.")  # fmt: skip
    A, t = np.asarray(A) if isinstance(A, list | tuple) else A, joined(t)
    if np.ndim(t) > 1:
        raise ShapeError(f"integrate.linear: t has shape {np.shape(t)}; it is one time or a vector of times.")
    y = lambda t: expm(t * A) @ x
    return y(t) if np.ndim(t) == 0 else vmap(y)(np.asarray(t) if isinstance(t, list | tuple) else t)
