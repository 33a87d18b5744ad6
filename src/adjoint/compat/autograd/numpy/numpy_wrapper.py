"""What autograd.numpy has beside NumPy's names."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import numpy as _ours

# names of older NumPy that autograd's users still write
RENAMED: dict[str, Any] = {"row_stack": np.vstack, "product": np.prod, "float_": np.float64, "complex_": np.complex128}


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:  # noqa: N803  (autograd's name)
    """Arrays with D along their last two axes' diagonal: the transpose of np.diagonal."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal: only offset=0, axis1=-1, axis2=-2. Use D[..., None] * np.eye(n).")
    return D[..., None] * np.eye(D.shape[-1], dtype=D.dtype)


def concatenate_args(axis: int, *args: Any) -> Any:
    """np.concatenate of the arguments."""
    return np.concatenate([_ours.asarray(a) for a in args], axis)


def array_from_args(array_args: Any, array_kwargs: Any, *args: Any) -> Any:
    """np.array of the arguments."""
    return _ours.array(list(args), *array_args, **array_kwargs)


def metadata(A: Any) -> tuple[Any, int, Any, bool]:  # noqa: N803
    """(shape, number of axes, element type, whether it is complex)."""
    return np.shape(A), np.ndim(A), np.result_type(A), np.iscomplexobj(A)


def __getattr__(name: str) -> Any:
    return RENAMED[name] if name in RENAMED else getattr(_ours, name)
