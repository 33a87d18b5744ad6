"""numpy.random's names: NumPy's own. Samples are constants; adjoint.random draws with derivatives in the parameters."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as _np

__all__ = list(_np.random.__all__)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    return getattr(_np.random, name)


def __dir__() -> list[str]:
    return sorted(__all__)
