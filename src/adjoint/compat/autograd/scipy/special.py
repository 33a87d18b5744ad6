"""scipy.special's names: `adjoint.scipy.special`."""

# pyright: basic

from __future__ import annotations

from typing import Any

import scipy.special as _scipy

import adjoint.scipy.special as _ours

__all__ = list(_scipy.__all__)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    return getattr(_ours, name)


def __dir__() -> list[str]:
    return sorted(__all__)
