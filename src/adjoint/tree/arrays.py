"""Leaves as arrays: numbers and ndarrays become plain ndarrays, traced arrays stay what they are."""

from typing import Any, TypeAlias, TypeGuard

import numpy as np

from adjoint.base.errors import DtypeError, TreeError
from adjoint.tree.kinds import Leaf

__all__ = ["Array", "as_array", "is_plain"]

# An ndarray, or a traced value that behaves like one.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def is_plain(x: object) -> TypeGuard[Array]:
    """One of NumPy's own arrays or scalars, whose elements can be looked at."""
    return isinstance(x, np.ndarray | np.generic)


def as_array(name: str, leaf: Leaf, path: str, kinds: str = "biufc") -> Array:
    """A leaf as an array. `kinds` are the kinds of element types that `name` can work with."""
    where = path or "the leaf"
    if isinstance(leaf, bool | int | float | complex) or is_plain(leaf):
        if np.any(getattr(leaf, "mask", False)):  # np.ma.MaskedArray, without importing np.ma
            raise DtypeError(f"{name}: {where} is a masked array with masked elements; fill them first.")
        array = np.asarray(leaf)
    elif hasattr(leaf, "__array_function__") and hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        array = leaf
    else:
        raise TreeError(f"{name}: {where} is of class {type(leaf).__name__}, which is neither an array nor a number.")
    if array.dtype.kind not in kinds:
        raise DtypeError(f"{name}: {where} has element type {array.dtype}; it takes numbers only.")
    return array
