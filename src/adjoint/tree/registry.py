"""Which classes are containers: two tables from class to kind, filled as classes are met.

`outside` holds outside records, `inside` within dataclasses and attrs classes, where strings, functions, flags
and the like are static instead of leaves. A class that maps to None is a class of leaves.
"""

import threading
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, final

import numpy as np

from adjoint.base.errors import TreeError
from adjoint.base.forking import free_in_child
from adjoint.tree.containers import (
    DefaultDictKind,
    DictKind,
    ListKind,
    NamedTupleKind,
    NoneKind,
    OrderedDictKind,
    StaticKind,
    TupleKind,
)
from adjoint.tree.kinds import Kind, Static
from adjoint.tree.records import RecordKind, is_record_type
from adjoint.tree.registered import RegisteredKind
from adjoint.tree.static_values import CallableKind, is_array_type, is_static_type

__all__ = ["inside", "kind_of", "outside", "register", "register_leaf"]

C = TypeVar("C", bound=type)

STATIC = StaticKind(Static)
BUILT_IN: dict[type, Kind] = {
    tuple: TupleKind(tuple),
    list: ListKind(list),
    dict: DictKind(dict),
    OrderedDict: OrderedDictKind(OrderedDict),
    defaultdict: DefaultDictKind(defaultdict),
    types.NoneType: NoneKind(types.NoneType),
    Static: STATIC,
}

# Classes made inside functions must not pile up for ever: a table that outgrows this is filled anew.
_TABLE_LIMIT = 10_000

_lock = free_in_child(threading.Lock())
_registered: dict[type, Kind] = {}
_leaf_classes: set[type] = set()


@final
class Table(dict[type, Kind | None]):
    """From class to kind; a class that is not there yet is classified. `leaf_types` are those known as leaves."""

    def __init__(self, classify: Callable[[type], Kind | None]) -> None:
        super().__init__()
        self.classify = classify
        self.leaf_types: set[type] = set()

    def __missing__(self, cls: type) -> Kind | None:
        if len(self) > _TABLE_LIMIT:
            self.clear()
            self.leaf_types.clear()
        kind = self[cls] = self.classify(cls)
        if kind is None:
            self.leaf_types.add(cls)
        return kind

    def forget(self, cls: type) -> None:
        """Classify `cls` and its subclasses anew when they are met again."""
        for known in [known for known in list(self) if cls in known.__mro__]:
            del self[known]
            self.leaf_types.discard(known)


def _classify_outside(cls: Any) -> Kind | None:
    if cls in BUILT_IN:
        return BUILT_IN[cls]
    if cls in _registered:
        return _registered[cls]
    if not _leaf_classes.isdisjoint(cls.__mro__):
        return None
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):  # pyright: ignore[reportUnknownArgumentType]
        return NamedTupleKind(cls)
    if is_record_type(cls):
        return RecordKind(cls, contains_arrays)
    return None


def _classify_inside(cls: type) -> Kind | None:
    kind = outside[cls]
    if kind is not None or is_array_type(cls) or not _leaf_classes.isdisjoint(cls.__mro__):
        return kind
    if is_static_type(cls):
        return STATIC
    # hasattr would find the __call__ of the metaclass.
    is_callable = any("__call__" in parent.__dict__ for parent in cls.__mro__)
    return CallableKind(cls, STATIC, contains_arrays) if is_callable else None


outside = Table(_classify_outside)
inside = Table(_classify_inside)


def kind_of(cls: type) -> Kind:
    """The kind of a class that is known to be a class of containers."""
    kind = outside[cls]
    if kind is None:
        raise TreeError(f"{cls.__name__} was a class of containers when this structure was made, and is not any more.")
    return kind


def contains_arrays(value: object) -> bool:
    """Does an array stand anywhere inside this value? NumPy's scalars are numbers and do not count."""
    waiting: list[object] = [value]
    opened: dict[int, object] = {}
    while waiting:
        current = waiting.pop()
        cls = type(current)
        if is_array_type(cls) and not issubclass(cls, np.generic):
            return True
        kind = outside[cls]
        if kind is not None and id(current) not in opened:
            opened[id(current)] = current
            waiting += kind.open(current)[1]
    return False


def register(
    cls: C,
    flatten: Callable[[Any], tuple[Iterable[Any] | Mapping[str, Any], object]],
    unflatten: Callable[[Any, Any], Any],
) -> C:
    """Make the objects of a class containers. Holds for this class alone, not for its subclasses.

    flatten(object) -> (children, static data): the children as a sequence, or as a dict when they have names
    (they then appear in paths as `.name`); static data is compared by equality and becomes part of the structure.
    unflatten(static data, children) -> object: the children come as a tuple, or as a dict when they have names.

    ```python
    class Point:
        def __init__(self, x, y): self.x, self.y = x, y
    ad.tree.register(Point, lambda p: ((p.x, p.y), None), lambda _, children: Point(*children))
    ad.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)).x  # → 3.0
    ```
    """
    _refuse(cls)
    with _lock:
        _leaf_classes.discard(cls)
        _registered[cls] = RegisteredKind(cls, flatten, unflatten)
        outside.forget(cls)
        inside.forget(cls)
    return cls


def register_leaf(cls: C) -> C:
    """Make the objects of a class, and of its subclasses, leaves, whatever they look like. Usable as a decorator.

    ```python
    @ad.tree.register_leaf
    class Units(tuple):
        pass
    ad.tree.leaves([Units((1, 2)), 3.0])  # → [(1, 2), 3.0]
    ```
    """
    _refuse(cls)
    with _lock:
        _registered.pop(cls, None)
        _leaf_classes.add(cls)
        outside.forget(cls)
        inside.forget(cls)
    return cls


def _refuse(cls: object) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"A class is registered, not an object; got {cls!r}.")
    if cls in BUILT_IN:
        raise TreeError(f"{cls.__name__} is a container already and cannot be registered anew.")
