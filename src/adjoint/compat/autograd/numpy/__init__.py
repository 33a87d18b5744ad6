"""NumPy's names. Everything of `adjoint.numpy`, and what autograd has beside it.

Plain `import numpy` serves as well: traced values are passed on to it. This package is for lists of traced values and
for arrays that traced values are assigned to, as `adjoint.numpy` is.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as _np

from adjoint import numpy as _ours
from adjoint.compat.autograd.numpy import fft, linalg, numpy_boxes, numpy_vjps, numpy_wrapper, random
from adjoint.compat.autograd.numpy.numpy_wrapper import array_from_args, concatenate_args, make_diagonal, metadata

__version__ = numpy_version = _np.__version__

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *(name for name in _np.__all__ if not name.startswith("__")),
    "array_from_args",
    "concatenate_args",
    "make_diagonal",
    "metadata",
]


def __getattr__(name: str) -> Any:
    value = numpy_wrapper.RENAMED[name] if name in numpy_wrapper.RENAMED else getattr(_ours, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
