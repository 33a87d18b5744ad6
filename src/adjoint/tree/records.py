"""Records: dataclasses and attrs classes. Their fields are children; some values in them are static."""

import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, final

from adjoint.base.errors import TreeError
from adjoint.tree.containers import named_text
from adjoint.tree.kinds import Kind, Node, Static, listed
from adjoint.tree.static_values import slot_names, speaks

__all__ = ["RecordKind", "is_record_type"]


class _Absent(enum.Enum):
    """The value of a declared field that was never set."""

    ABSENT = "not set"


def is_record_type(cls: Any) -> bool:
    """A dataclass or an attrs class, unless it is an array to NumPy."""
    is_record = hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__attrs_attrs__")
    return is_record and not speaks(cls, "__array_function__", "__array_ufunc__")


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
        self.extra_slots = [name for name in slot_names(container) if name not in self.names]

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
        extra = {name: getattr(value, name) for name in self.extra_slots if hasattr(value, name)}
        extra |= {name: held for name, held in attributes.items() if name not in self.names}
        kept: dict[str, Static] = {}
        for name, held in extra.items():
            if isinstance(getattr(self.container, name, None), functools.cached_property):
                continue  # computed again when somebody asks
            if name == "_attrs_cached_hash":
                held = None  # so is this, of other fields
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

    def maker(self, data: tuple[str, ...], fixed: Sequence[object]) -> Callable[..., Any]:
        """All attributes at once, where they are plain ones."""
        cls = self.container
        is_set = not any(held is _Absent.ABSENT or type(held) is Static for held in fixed)
        held_by_class: list[object] = [inspect.getattr_static(cls, name, None) for name in data]
        is_plain = not any(hasattr(held, "__set__") for held in held_by_class)
        new = object.__new__
        try:
            object.__setattr__(new(cls), "__dict__", {})
        except (AttributeError, TypeError):  # slots, or a class that also derives from a built-in one
            is_plain = False
        if not (is_set and is_plain):
            return super().maker(data, fixed)
        set_attribute = object.__setattr__

        def make(*children: Any) -> Any:
            record = new(cls)
            set_attribute(record, "__dict__", dict(zip(data, children, strict=True)))
            return record

        return make

    def labels(self, data: tuple[str, ...], arity: int) -> list[str]:
        return [f".{name}" for name in data]

    def text(self, data: tuple[str, ...], children: list[str]) -> str:
        return named_text(self.container.__name__, data, children)

    def describe(self, data: tuple[str, ...], arity: int) -> str:
        return f"a {self.container.__name__} with fields {listed(data) or '(none)'}"
