"""Layers inside layers: how one calls another, and errors that say where in the model they happened."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import AdjointError, DtypeError, ShapeError
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = [
    "LayerDtypeError",
    "LayerShapeError",
    "apply",
    "check_init",
    "checked_array",
    "checked_input",
    "shown",
    "title_of",
]


FEW = 24  # numbers that are shown one by one


class _Located(AdjointError):
    """An error of one layer. Each layer around it puts its own part of the path in front."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title, text)
        self.title, self.text, self.path = title, text, ""

    def __str__(self) -> str:
        return f"model{self.path} ({self.title}): {self.text}"


class LayerShapeError(_Located, ShapeError):
    """What a layer is given does not fit its parameters."""


class LayerDtypeError(_Located, DtypeError):
    """What a layer is given has an element type that would change that of the model."""


def apply(layer: Any, label: str, *inputs: Any, rng: Any = None) -> Any:
    """Call a part of a model, which stands at `label` in it. A plain function is not given the generator."""
    try:
        return layer(*inputs, rng=rng) if takes_generator(layer) else layer(*inputs)
    except _Located as error:
        error.path = label + error.path
        raise


def takes_generator(layer: Any) -> bool:
    """Whether a part of a model has an argument `rng`."""
    if isinstance(layer, FunctionType | MethodType | BuiltinFunctionType | np.ufunc):
        return isinstance(layer, FunctionType) and _has_generator(layer)
    return _has_generator(type(layer).__call__)


@cache
def _has_generator(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return "rng" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def title_of(layer: Any) -> str:
    """A layer in a few words: Linear 128 → 64."""
    title = getattr(layer, "title", None)
    return title if isinstance(title, str) else getattr(layer, "__name__", type(layer).__name__)


def shown(self: Any) -> str:
    """A layer as text: <Linear 128 → 64: 8,256 numbers, float32>; all numbers where they are few."""
    leaves = tree.leaves(self)
    if sum(map(np.size, leaves)) > FEW and all(hasattr(leaf, "dtype") for leaf in leaves):
        kinds = ", ".join(dict.fromkeys(str(leaf.dtype) for leaf in leaves))
        return f"<{title_of(self)}: {sum(map(np.size, leaves)):,} numbers, {kinds}>"
    parts = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
    return f"{type(self).__name__}({parts})"


def checked_array(layer: Any, name: str, call: str) -> None:
    """Refuse a size where arrays or layers belong: layers are made by `init`."""
    given = getattr(layer, name)
    first = given[0] if isinstance(given, list | tuple) and given else given
    if isinstance(first, int):
        kind = type(layer).__name__
        raise TypeError(f"{kind}: {name} is {given!r}, and no array. Write nn.{kind}.init({call}), which makes one.")


def check_init(kind: str, weight: Any, **sizes: Any) -> None:
    """Refuse sizes that are no positive integers, and initial values that are no function."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"{kind}: {name}={size!r}; sizes are integers, at least 1.")
    if not callable(weight):
        raise TypeError(f"{kind}: weight={weight!r}; it is a function, one of nn.initializers, as he_normal.")


def checked_input(layer: Any, x: Any, weight: Value, size: int, axis: int = -1, name: str = "x") -> Value:
    """x as an array, whose axis has the size that a layer needs, and whose element type leaves that of the model."""
    value: Value = as_values(x)
    if value.dtype.kind not in "biufc":
        what = f"of type {value.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
        raise LayerDtypeError(title_of(layer), f"{name} is {what}; give an array of numbers")
    if value.ndim < (-axis if axis < 0 else axis + 1) or value.shape[axis] != size:
        which = {-1: "last", 0: "first"}.get(axis, f"{axis + 1}." if axis >= 0 else f"{-axis}. from the end")
        raise LayerShapeError(title_of(layer), f"{name} is {value.shape}; its {which} axis must be {size}")
    check_dtype(layer, value, weight, name)
    return value


def check_dtype(layer: Any, value: Value, weight: Value, name: str = "x") -> None:
    """Refuse data that would make a model of single precision one of double precision, in silence."""
    kind = value.dtype
    if kind is not weight.dtype and kind.kind != "c" and np.result_type(kind, weight.dtype) != weight.dtype:
        raise LayerDtypeError(
            title_of(layer), f"{name} is {kind}, but the model is {weight.dtype}; write {name}.astype({weight.dtype!s})"
        )
