"""The Array API standard where NumPy's own functions do not take what it asks: orders, bounds, arrays for dtypes.

Everything else of the standard is NumPy's function of the same name, which takes traced values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, normal_axis
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

VERSION = "2024.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", VERSION)


def check_version(api_version: str | None) -> None:
    """Raise for a version of the standard that this namespace does not follow."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"adjoint.numpy follows the Array API standard in the versions {', '.join(VERSIONS)}, not "
            f"{api_version!r}. Leave api_version out, or ask for one of these."
        )


def check_device(call: str, device: Any) -> None:
    """Raise for a device other than the one there is."""
    if device is not None and device != "cpu":
        raise ValueError(f"{call} was asked for the device {device!r}: arrays live on 'cpu'. Leave device out.")


def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Value:
    """np.sort, also from the largest to the smallest."""
    if not descending:
        return np.sort(as_array(a), axis=axis, kind=kind, order=order, stable=stable)
    a, axis = _along(a, axis)
    # turned around before and after, so that equal elements, and their derivatives, keep their order
    return np.flip(np.sort(np.flip(a, axis), axis=axis, kind=kind, order=order, stable=stable), axis)


def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Value:
    """np.argsort, also from the largest to the smallest; stable unless it is asked not to be."""
    stable = True if kind is None and stable is None else stable
    if not descending:
        return np.argsort(as_array(a), axis=axis, kind=kind, order=order, stable=stable)
    a, axis = _along(a, axis)
    turned = np.argsort(np.flip(a, axis), axis=axis, kind=kind, order=order, stable=stable)
    return a.shape[axis] - 1 - np.flip(turned, axis)


def _along(a: Any, axis: int | None) -> tuple[Value, int]:
    a = as_array(a)
    return (np.ravel(a), 0) if axis is None else (a, normal_axis(axis, a.ndim))


def clip(
    a: Any,
    a_min: Any = NO_VALUE,
    a_max: Any = NO_VALUE,
    out: Any = None,
    *,
    min: Any = NO_VALUE,
    max: Any = NO_VALUE,
    **kwargs: Any,
) -> Value:
    """np.clip; the bounds are a_min and a_max, or min and max, by position or by name."""
    low, high = _one_of("min", a_min, min), _one_of("max", a_max, max)
    return np.clip(as_array(a), low, high, out=out, **kwargs)


def _one_of(name: str, by_position: Any, by_name: Any) -> Any:
    if by_position is not NO_VALUE and by_name is not NO_VALUE:
        raise ValueError(f"adjoint.numpy.clip was given a_{name} and {name}, which are the same bound. Give one.")
    bound = by_name if by_position is NO_VALUE else by_position
    return None if bound is NO_VALUE else bound


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Value:
    """np.take_along_axis, whose axis is the last one unless another is given."""
    return np.take_along_axis(as_array(arr), as_array(indices), axis=axis)


def finfo(dtype: Any) -> np.finfo[Any]:
    """np.finfo of a dtype, or of an array's."""
    return np.finfo(_dtype_of(dtype))


def iinfo(int_type: Any) -> np.iinfo[Any]:
    """np.iinfo of a dtype, or of an array's."""
    return np.iinfo(_dtype_of(int_type))


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, np.ndarray | np.generic | Tracer) else value


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Value:
    """An array of another library, without a copy where that can be. A traced value, which has no memory to share, is
    given back as it is.
    """
    check_device("adjoint.numpy.from_dlpack", device)
    if isinstance(x, Tracer):
        return x.copy() if copy else x  # type: ignore[attr-defined]
    given: dict[str, Any] = {name: value for name, value in (("device", device), ("copy", copy)) if value is not None}
    return np.from_dlpack(x, **given)  # which has the keywords from NumPy 2.1 on


class Info:
    """What the standard lets a program ask of a namespace."""

    _KINDS = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
    _DTYPES = (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )

    def capabilities(self) -> dict[str, Any]:
        """What plain arrays can do.

        A mask as an index, and functions whose result has a size that depends on values, ask a traced value for what it
        holds: inside ad.vmap, where batch elements may differ, they raise.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes that arrays have when nothing is said."""
        check_device("default_dtypes", device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.intp),
            "indexing": np.dtype(np.intp),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard by name, all or those of some kinds."""
        check_device("dtypes", device)
        found = {name: np.dtype(name) for name in self._DTYPES}
        return found if kind is None else {name: d for name, d in found.items() if np.isdtype(d, kind)}


def namespace_info() -> Info:
    """The object that answers questions about this namespace."""
    return Info()


OWN: dict[str, Any] = {
    "__array_api_version__": VERSION,
    "__array_namespace_info__": namespace_info,
    "sort": sort,
    "argsort": argsort,
    "clip": clip,
    "take_along_axis": take_along_axis,
    "finfo": finfo,
    "iinfo": iinfo,
    "from_dlpack": from_dlpack,
}
