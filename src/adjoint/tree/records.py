"""Records: dataclasses and attrs classes. Their fields are children; some values in them are static."""

import dataclasses
import enum
import functools
import os
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, cast, final

import numpy as np

from adjoint.base.errors import TreeError
from adjoint.tree.containers import named_text
from adjoint.tree.kinds import Kind, Node, Static, listed

__all__ = ["CallableKind", "RecordKind", "is_array_type", "is_record_type", "is_static_type", "static"]

# Values of these classes carry no number to differentiate. An object of any other class stays a leaf, so that
# whoever wants an array there says so: an object that hides arrays must not lose its derivative in silence.
STATIC_TYPES: tuple[type, ...] = (
    str, bytes, bool, type, enum.Enum, np.dtype, slice, range, set, frozenset, types.EllipsisType, types.ModuleType,
    types.GenericAlias, re.Pattern, os.PathLike,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType, np.ufunc,
)  # fmt: skip

ARRAY_PROTOCOLS = ("__array_function__", "__array_ufunc__", "__array__", "__array_interface__", "__array_namespace__")


class _Absent(enum.Enum):
    """The value of a declared field that was never set."""

    ABSENT = "not set"


def static(*, metadata: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """A field of a dataclass that is part of the structure: `name: str = static(default="a")`.

    Takes what `dataclasses.field` takes. In attrs classes write `attrs.field(metadata={"static": True})`.
    """
    marked: Callable[..., Any] = dataclasses.field
    return marked(metadata={**(metadata or {}), "static": True}, **arguments)


def is_array_type(cls: Any) -> bool:
    """Is this a class of arrays: NumPy's, or one that speaks one of NumPy's protocols?"""
    if issubclass(cls, str | bytes | type):  # np.str_ is a str
        return False
    return issubclass(cls, np.ndarray | np.generic) or _speaks(cls, *ARRAY_PROTOCOLS)


def is_static_type(cls: type) -> bool:
    """Are values of this class static inside a record?"""
    return issubclass(cls, STATIC_TYPES)


def is_record_type(cls: Any) -> bool:
    """A dataclass or an attrs class, unless it is an array to NumPy."""
    is_record = hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__attrs_attrs__")
    return is_record and not _speaks(cls, "__array_function__", "__array_ufunc__")


def _speaks(cls: type, *protocols: str) -> bool:
    # `__array_ufunc__ = None` says that NumPy's operators are to leave the object alone.
    return any(getattr(cls, name, None) is not None for name in protocols)


def _slots(cls: type) -> list[str]:
    """The names of all slots of a class."""
    found: list[str] = []
    for parent in cls.__mro__:
        slots: Any = parent.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return [name for name in dict.fromkeys(found) if not name.startswith("__")]


@final
class CallableKind(Kind):
    """An object inside a record that can be called: static, unless it carries arrays; it is a leaf then."""

    __slots__ = ("contains_arrays", "slots", "static")

    def __init__(self, container: type, static: Kind, contains_arrays: Callable[[object], bool]) -> None:
        super().__init__(container)
        self.static = static
        self.contains_arrays = contains_arrays
        self.slots = _slots(container)

    def open(self, value: Any) -> tuple[Node, Sequence[Any]]:
        # A function in disguise (a compiled one, say) may cache arrays: they are no parameters of it.
        is_wrapper = hasattr(value, "__wrapped__")
        return (None, ()) if not is_wrapper and self.contains_arrays(self.carried(value)) else self.static.open(value)

    def carried(self, value: Any) -> list[object]:
        """What the object holds."""
        found: list[object] = [*getattr(value, "__dict__", {}).values()]
        found += [getattr(value, name, None) for name in self.slots]
        if isinstance(value, functools.partial):
            partial = cast("functools.partial[object]", value)
            found += [*partial.args, *partial.keywords.values()]
        return found

    # The node of such an object is that of a static value, so that a structure never asks this kind.

    def build(self, data: Any, children: list[Any]) -> Any:
        raise NotImplementedError

    def labels(self, data: Any, arity: int) -> list[str]:
        raise NotImplementedError

    def text(self, data: Any, children: list[str]) -> str:
        raise NotImplementedError

    def describe(self, data: Any, arity: int) -> str:
        raise NotImplementedError


@final
class RecordKind(Kind):
    """Model(w=a, layers=b, activation=static): built without __init__, so that any class can be built again."""

    __slots__ = ("contains_arrays", "extra_slots", "fields", "names")

    is_record = True

    def __init__(self, container: Any, contains_arrays: Callable[[object], bool]) -> None:
        super().__init__(container)
        self.contains_arrays = contains_arrays
        declared = (
            dataclasses.fields(container) if hasattr(container, "__dataclass_fields__") else container.__attrs_attrs__
        )
        self.fields: list[tuple[str, bool]] = [(field.name, bool(field.metadata.get("static"))) for field in declared]
        self.names = tuple(name for name, _ in self.fields)
        self.extra_slots = [name for name in _slots(container) if name not in self.names]

    def open(self, value: Any) -> tuple[Node, Sequence[Any]]:
        children: list[Any] = []
        for name, is_marked in self.fields:
            child = getattr(value, name, _Absent.ABSENT)
            if is_marked:
                if self.contains_arrays(child):
                    raise TreeError(
                        f"{self.container.__name__}.{name} is declared static but holds an array "
                        f"({type(child).__name__}). Arrays are leaves: take the mark away, or store a tuple of numbers."
                    )
                child = Static(child)
            children.append(child)
        names = self.names
        attributes: dict[str, object] | None = getattr(value, "__dict__", None)
        if self.extra_slots or (attributes is not None and len(attributes) > len(names)):
            extras = self.extras(value, attributes or {})
            names = (*names, *extras)
            children += extras.values()
        return (self.container, len(children), names), children

    def extras(self, value: object, attributes: dict[str, object]) -> dict[str, Static]:
        """Attributes that are no fields: kept as static values, or refused when they hold numbers.

        Such an attribute was computed from the fields (in __post_init__, say). Copied into a tree with other fields
        it would be out of date, and a derivative through it would be lost.
        """
        found = {name: getattr(value, name) for name in self.extra_slots if hasattr(value, name)}
        found |= {name: held for name, held in attributes.items() if name not in self.names}
        kept: dict[str, Static] = {}
        for name, held in found.items():
            if isinstance(getattr(self.container, name, None), functools.cached_property):
                continue  # computed again when somebody asks
            if isinstance(held, float | complex) or self.contains_arrays(held):
                raise TreeError(
                    f"{self.container.__name__} has an attribute {name!r} that is not one of its fields and holds "
                    f"numbers ({type(held).__name__}). Declare it as a field, or compute it in a property."
                )
            kept[name] = Static(held)
        return kept

    def build(self, data: tuple[str, ...], children: list[Any]) -> Any:
        try:
            record = object.__new__(self.container)
        except TypeError:  # a class that also derives from a built-in one
            record = self.container.__new__(self.container)
        for name, child in zip(data, children, strict=True):
            plain = child.value if type(child) is Static else child
            if plain is not _Absent.ABSENT:
                object.__setattr__(record, name, plain)  # also when the class is frozen
        return record

    def labels(self, data: tuple[str, ...], arity: int) -> list[str]:
        return [f".{name}" for name in data]

    def text(self, data: tuple[str, ...], children: list[str]) -> str:
        return named_text(self.container.__name__, data, children)

    def describe(self, data: tuple[str, ...], arity: int) -> str:
        return f"a {self.container.__name__} with fields {listed(data) or '(none)'}"
