"""Values that are static inside a record: strings, flags, functions, types ...; and the mark that makes a field so."""

import dataclasses
import enum
import functools
import os
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, cast, final

import numpy as np

from adjoint.tree.kinds import Kind, Node

__all__ = ["CallableKind", "is_array_type", "is_static_type", "slot_names", "speaks", "static"]

# Values of these classes carry no number to differentiate. An object of any other class stays a leaf, so that
# whoever wants an array there says so: an object that hides arrays must not lose its derivative in silence.
STATIC_TYPES: tuple[type, ...] = (
    str, bytes, bool, type, enum.Enum, np.dtype, slice, range, set, frozenset, types.EllipsisType, types.ModuleType,
    types.GenericAlias, re.Pattern, os.PathLike,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType, np.ufunc,
)  # fmt: skip

ARRAY_PROTOCOLS = ("__array_function__", "__array_ufunc__", "__array__", "__array_interface__", "__array_namespace__")


def static(*, metadata: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """A field of a dataclass that is part of the structure: `name: str = static(default="a")`.

    Takes what `dataclasses.field` takes. In attrs classes write `attrs.field(metadata={"static": True})`.

    ```python
    import dataclasses
    @dataclasses.dataclass
    class Layer:
        w: float
        size: int = ad.tree.static(default=3)
    ad.tree.leaves(Layer(2.0))  # → [2.0]
    ```
    """
    marked: Callable[..., Any] = dataclasses.field
    return marked(metadata={**(metadata or {}), "static": True}, **arguments)


def is_array_type(cls: Any) -> bool:
    """Is this a class of arrays: NumPy's, or one that speaks one of NumPy's protocols?"""
    if issubclass(cls, str | bytes | type):  # np.str_ is a str
        return False
    return issubclass(cls, np.ndarray | np.generic) or speaks(cls, *ARRAY_PROTOCOLS)


def is_static_type(cls: type) -> bool:
    """Are values of this class static inside a record?"""
    return issubclass(cls, STATIC_TYPES)


def speaks(cls: type, *protocols: str) -> bool:
    """Does the class define one of these protocols of NumPy?"""
    # `__array_ufunc__ = None` says that NumPy's operators are to leave the object alone.
    return any(getattr(cls, name, None) is not None for name in protocols)


def slot_names(cls: type) -> list[str]:
    """The names of all slots of a class."""
    names: list[str] = []
    for parent in cls.__mro__:
        slots: Any = parent.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return [name for name in dict.fromkeys(names) if not name.startswith("__")]


@final
class CallableKind(Kind):
    """An object inside a record that can be called: static, unless it carries arrays; it is a leaf then."""

    __slots__ = ("contains_arrays", "slots", "static")

    def __init__(self, container: type, static: Kind, contains_arrays: Callable[[object], bool]) -> None:
        super().__init__(container)
        self.static = static
        self.contains_arrays = contains_arrays
        self.slots = slot_names(container)

    def open(self, value: Any) -> tuple[Node, Sequence[Any]]:
        # A function in disguise (a compiled one, say) may cache arrays: they are no parameters of it.
        is_wrapper = hasattr(value, "__wrapped__")
        return (None, ()) if not is_wrapper and self.contains_arrays(self.carried(value)) else self.static.open(value)

    def carried(self, value: Any) -> list[object]:
        """What the object holds."""
        contents: list[object] = [*getattr(value, "__dict__", {}).values()]
        contents += [getattr(value, name, None) for name in self.slots]
        if isinstance(value, functools.partial):
            partial = cast("functools.partial[object]", value)
            contents += [*partial.args, *partial.keywords.values()]
        return contents

    # The node of such an object is that of a static value, so that a structure never asks this kind.

    def build(self, data: Any, children: list[Any]) -> Any:
        raise NotImplementedError

    def labels(self, data: Any, arity: int) -> list[str]:
        raise NotImplementedError

    def text(self, data: Any, children: list[str]) -> str:
        raise NotImplementedError

    def describe(self, data: Any, arity: int) -> str:
        raise NotImplementedError
