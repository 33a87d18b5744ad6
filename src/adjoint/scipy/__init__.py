"""SciPy's Python functions for traced values; the ufuncs of scipy.special take traced values as they are.

Its parts are loaded, and SciPy with them, when they are first asked for.
"""

# pyright: reportUnsupportedDunderAll=false
# (what waits until it is asked for)

import importlib
from typing import Any

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"adjoint.scipy.{name}")
    raise AttributeError(f"adjoint.scipy has no {name!r}; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
