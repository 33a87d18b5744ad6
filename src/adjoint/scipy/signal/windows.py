"""scipy.signal.windows: windows are constants, and those with parameters are differentiable in them.

What is not defined here is SciPy's own.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.signal.windows
import scipy.special

from adjoint.program.types import Value
from adjoint.scipy.signal.along import array, for_traced, is_traced, refuse

__all__ = ["exponential", "gaussian", "general_cosine", "general_gaussian", "general_hamming", "kaiser", "tukey"]

of_windows = functools.partial(for_traced, module=scipy.signal.windows)


def __getattr__(name: str) -> Any:
    """Everything else of scipy.signal.windows."""
    theirs = getattr(scipy.signal.windows, name)
    if name.startswith("_") or not callable(theirs):
        return theirs

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_traced(args, kwargs):
            refuse(f"scipy.signal.windows.{name}", "it has no derivative rule in its parameters", "Give plain numbers")
        return theirs(*args, **kwargs)

    return call


def __dir__() -> list[str]:
    return sorted({*__all__, *scipy.signal.windows.__all__})


def _sample_points(M: int, sym: bool) -> Any:  # noqa: N803
    """0 … M-1, and the length of the symmetric window that they belong to."""
    return np.arange(M), M if sym else M + 1


@of_windows
def gaussian(M: int, std: Any, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """exp(-n² / 2 std²)."""
    n, length = _sample_points(M, sym)
    return np.exp(-0.5 * ((n - (length - 1) / 2) / array(std)) ** 2)


@of_windows
def general_gaussian(M: int, p: Any, sig: Any, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """exp(-½ |n / sig|²ᵖ)."""
    n, length = _sample_points(M, sym)
    return np.exp(-0.5 * np.abs((n - (length - 1) / 2) / array(sig)) ** (2 * p))


@of_windows
def exponential(M: int, center: Any = None, tau: Any = 1.0, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """exp(-|n - center| / tau)."""
    if sym and center is not None:
        raise ValueError("exponential: if sym is True, center must be None.")
    n, length = _sample_points(M, sym)
    return np.exp(-np.abs(n - ((length - 1) / 2 if center is None else array(center))) / array(tau))


@of_windows
def kaiser(M: int, beta: Any, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """I₀(beta √(1 - (n / middle)²)) / I₀(beta)."""
    n, length = _sample_points(M, sym)
    if length == 1:
        return np.ones(M) + 0.0 * array(beta)
    middle = (length - 1) / 2
    beta = array(beta)
    return scipy.special.i0(beta * np.sqrt(1 - ((n - middle) / middle) ** 2)) / scipy.special.i0(beta)


@of_windows
def general_cosine(M: int, a: Any, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """Σ a[k] cos(k φ), φ from -π to π."""
    n, length = _sample_points(M, sym)
    a = array(a)
    angle = -np.pi + 2 * np.pi * n / max(length - 1, 1)
    return np.matmul(np.cos(angle[:, None] * np.arange(a.shape[0])), a)


@of_windows
def general_hamming(M: int, alpha: Any, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """alpha - (1 - alpha) cos φ, φ from 0 to 2π."""
    alpha = array(alpha)
    return general_cosine(M, np.stack([alpha, 1.0 - alpha]), sym)


@of_windows
def tukey(M: int, alpha: Any = 0.5, sym: bool = True, **_: Any) -> Value:  # noqa: N803
    """Ones with half a cosine at both ends, over a part alpha of the length."""
    n, length = _sample_points(M, sym)
    alpha = array(alpha)
    near = np.minimum(n, length - 1 - n) / (length - 1)  # the distance to the nearer end
    inside = near >= alpha / 2
    safe = np.where(inside, 1.0, alpha)
    return np.where(inside, 1.0, 0.5 * (1 + np.cos(np.pi * (2.0 * near / safe - 1))))
