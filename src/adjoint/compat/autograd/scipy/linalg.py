"""scipy.linalg's names: `adjoint.scipy.linalg`, and for what that has not, SciPy's own."""

# pyright: basic

from __future__ import annotations

from typing import Any

import scipy.linalg as _scipy

import adjoint.scipy.linalg as _ours

__all__ = list(_scipy.__all__)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    return getattr(_ours, name) if hasattr(_ours, name) else getattr(_scipy, name)


def __dir__() -> list[str]:
    return sorted(__all__)
