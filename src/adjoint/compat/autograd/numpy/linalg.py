"""numpy.linalg's names."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as _np

from adjoint import numpy as _ours

__all__ = [name for name in dir(_np.linalg) if not name.startswith("_") and callable(getattr(_np.linalg, name))]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    return getattr(_ours.linalg, name)


def __dir__() -> list[str]:
    return sorted(__all__)
