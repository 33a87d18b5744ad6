"""What a function writes, while it is traced, to objects and containers that it did not make.

Values that it stores in attributes and items are results of the program, and written back after each call. What cannot
be written back is taken back: a list that grows, an object in an attribute. If a traced value is in it, that is
an error; if not, the function runs as plain Python from then on.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.jit.captures import EMPTY
from adjoint.jit.objects import attribute_setter, attributes_of, set_attribute
from adjoint.program.record import RecordTracer
from adjoint.program.trace import Tracer, primal

_ARRAY: Any = np.ndarray
_NUMBERS: Any = (int, float, complex, np.number)
_PLAIN: Any = (bool, int, float, complex, str, bytes, np.generic, np.dtype, type(None))
_MAPPINGS: Any = dict
_SETS: Any = (set, frozenset)
_SEQUENCES: Any = (list, tuple)
_ITEMS: Any = (list, tuple, set, frozenset, deque)
_PYTHON = {"b": bool, "i": int, "f": float, "c": complex}
DEEPEST = 8


class OutsideWrite(Exception):
    """The function changes something that it did not make, and that cannot be written back."""


class StateFound(Exception):
    """A number in a container is written: it is an input from now on, and the call is to be read again."""


class Target(NamedTuple):
    """Where a value is written back: an attribute of an object, or an item of a container that the function reads."""

    name: str
    owner: Any  # the object; None for a container
    container: tuple[Any, ...]  # number of the read, and the keys that lead from there to the container
    key: Any
    kind: type | None  # of a Python number
    is_deleted: bool


class Held(NamedTuple):
    """An object or container as it was before."""

    original: Any
    shown: Any  # what the function is given for it: itself, or a copy
    name: str
    container: tuple[Any, ...]
    before: Any
    names: Any = None  # the attributes that count; None: all

    def attributes(self) -> dict[str, Any]:
        """What an object holds now."""
        held = attributes_of(self.shown)
        return held if self.names is None else {name: v for name, v in held.items() if name in self.names}


class Change(NamedTuple):
    """One attribute or item that is another than before."""

    held: Held
    key: Any
    before: Any
    now: Any

    @property
    def name(self) -> str:
        """What the user calls it."""
        return f"{self.held.name}[{self.key!r}]" if self.held.container else f"{self.held.name}.{self.key}"


class Outside:
    """All objects and containers that a function is shown, and what is in them before it runs."""

    def __init__(self, state: set[str]) -> None:
        self._state = state  # names of numbers in containers that are written
        self.targets: list[Target] = []  # in the order of the values that the program returns for them
        self._objects: list[Held] = []
        self._containers: list[Held] = []
        self._logs: list[Held] = []

    def add_object(self, original: Any, shown: Any, name: str, names: Any = None) -> None:
        """An object, whose attributes are remembered, or those of some names."""
        held = Held(original, shown, name, (), {}, names)
        self._objects.append(held._replace(before=held.attributes()))

    def add_container(self, original: Any, shown: Any, name: str, container: tuple[Any, ...]) -> None:
        """A list or dict, whose items are remembered."""
        if not isinstance(original, tuple):
            before: Any = dict(shown) if isinstance(original, _MAPPINGS) else list(shown)
            self._containers.append(Held(original, shown, name, container, before))

    def add_log(self, original: Any, name: str) -> None:
        """A container that is only written to: what it may not hold is a traced value."""
        self._logs.append(Held(original, original, name, (), len(original)))

    def returning_writes(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which returns (its result, the values to be written back) if there are any."""
        if not (self._objects or self._containers or self._logs):
            return function

        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            values = self._collect()
            return (result, values) if self.targets else result

        return call

    def _collect(self) -> list[Any]:
        """Values to be written back; raises for what cannot be."""
        self._refuse_logs()
        values: list[Any] = []
        given: list[Change] = []
        for change in self._changes():
            now = change.now
            if _is_computed_again(change):
                continue
            if now is EMPTY:
                self.targets.append(_target(change, None, is_deleted=True))
                continue
            is_number = isinstance(change.before, _NUMBERS) and isinstance(now, _NUMBERS) and not isinstance(now, bool)
            if is_number and change.held.container and change.name not in self._state:
                self._state.add(change.name)
                self.undo()
                raise StateFound
            if not _can_return(now) or is_number:
                self._refuse(change)
            if not change.held.container and _is_unset(change.before) and not holds_tracer(now):
                given.append(change)  # made once: the next call finds it, and traces what it does then
                continue
            value = _without_derivatives(now, change)
            weak = isinstance(value, RecordTracer) and value.type.weak
            self.targets.append(_target(change, _PYTHON.get(value.dtype.kind) if weak else None))
            if change.held.container and isinstance(value, Tracer | np.generic) and not value.shape:
                self._state.add(change.name)
            values.append(value)
        for change in given:
            set_attribute(change.held.original, change.key, change.now)
        return values

    def _changes(self) -> list[Change]:
        found: list[Change] = []
        for held in [*self._objects, *self._containers]:
            now: Any = held.shown if held.container else held.attributes()
            if isinstance(now, _MAPPINGS):
                keys: Iterable[Any] = [*held.before, *[key for key in now if key not in held.before]]
                pairs = [(key, held.before.get(key, EMPTY), now.get(key, EMPTY)) for key in keys]
            elif len(now) == len(held.before):
                pairs = list(zip(range(len(now)), held.before, now, strict=True))
            else:
                self._refuse(Change(held, slice(len(held.before), len(now)), EMPTY, list(now)))
            found += [Change(held, key, a, b) for key, a, b in pairs if a is not b]
        return found

    def _refuse(self, change: Change) -> Any:
        self.undo()
        name = change.held.name if isinstance(change.key, slice) else change.name
        if holds_tracer(change.now):
            raise TraceError(
                f"jit: the function stores a computed value in {name} in a way that compiled functions cannot repeat. "
                "Arrays and numbers, and tuples, lists and dicts of them, can be stored in attributes and items; "
                "return anything else, and store it where the function is called."
            )
        raise OutsideWrite(name)

    def _refuse_logs(self) -> None:
        for held in self._logs:
            log, count = held.original, held.before
            items = log.values() if isinstance(log, _MAPPINGS) else log if isinstance(log, _SETS) else list(log)[count:]
            if any(map(holds_tracer, items)):
                self.undo()
                if isinstance(log, list):
                    del log[count:]
                raise TraceError(
                    f"jit: the function puts a computed value into {held.name}, which outlives the call. Return the "
                    f"value, or write it down at every call with ad.debug.callback({held.name}.append, x)."
                )

    def undo(self) -> None:
        """Everything as it was: what was shown as itself is set back."""
        for held in self._objects:
            if held.shown is held.original:
                for name in held.attributes().keys() - held.before.keys():
                    set_attribute(held.original, name, EMPTY)
                for name, value in held.before.items():
                    set_attribute(held.original, name, value)
        for held in self._containers:
            if held.shown is held.original:
                held.original.clear()
                (held.original.update if isinstance(held.original, _MAPPINGS) else held.original.extend)(held.before)


def write_back(targets: Sequence[Target], values: Iterable[Any], find: Callable[[tuple[Any, ...]], Any]) -> None:
    """Store the values of one call; `find` gives the containers of this call."""
    rest = iter(values)
    for target in targets:
        value = EMPTY if target.is_deleted else next(rest)
        if target.kind is not None and not isinstance(value, Tracer):
            value = target.kind(value)
        if not target.container:
            set_attribute(target.owner, target.key, value)
        elif target.is_deleted:
            find(target.container).pop(target.key, None)
        else:
            find(target.container)[target.key] = value


def attribute_writer(targets: Sequence[Target]) -> Callable[[Any], Any]:
    """(result, plain values) → result, after the values are stored in attributes."""
    deleted = [(target.owner, target.key) for target in targets if target.is_deleted]
    stores = [(attribute_setter(t.owner, t.key), t.kind) for t in targets if not t.is_deleted]

    def store(returned: tuple[Any, list[Any]]) -> Any:
        result, values = returned
        for owner, key in deleted:
            set_attribute(owner, key, EMPTY)
        for (give, kind), value in zip(stores, values, strict=True):
            give(value if kind is None else kind(value))
        return result

    return store


def _target(change: Change, kind: type | None, *, is_deleted: bool = False) -> Target:
    held = change.held
    return Target(change.name, None if held.container else held.original, held.container, change.key, kind, is_deleted)


def _is_unset(value: Any) -> bool:
    return value is EMPTY or value is None


def _is_computed_again(change: Change) -> bool:
    """Whether an attribute is one that `functools.cached_property` has left."""
    if change.held.container:
        return False
    found = inspect.getattr_static(cast(Any, type(change.held.original)), change.key, None)
    return isinstance(found, functools.cached_property)


def _inside(value: Any) -> Iterable[Any] | None:
    return value.values() if isinstance(value, _MAPPINGS) else value if isinstance(value, _ITEMS) else None


def holds_tracer(value: Any, depth: int = 0) -> bool:
    """Whether a value is traced, or holds such a value in its items or attributes."""
    if isinstance(value, Tracer):
        return True
    if depth > DEEPEST or isinstance(value, (*_PLAIN, _ARRAY, type)):
        return False
    inside = _inside(value)
    if inside is None:
        inside = attributes_of(value).values() if hasattr(value, "__dict__") and not callable(value) else ()
    return any(holds_tracer(item, depth + 1) for item in list(inside))


def _can_return(value: Any, depth: int = 0) -> bool:
    """Whether a value can be a result of the program: arrays, numbers, texts, and containers of them."""
    if isinstance(value, (*_PLAIN, _ARRAY, Tracer)):
        return True
    if type(value) not in (*_SEQUENCES, _MAPPINGS) or depth > DEEPEST:
        return False
    return all(_can_return(item, depth + 1) for item in cast(Any, _inside(value)))


def _without_derivatives(value: Any, change: Change) -> Any:
    """A value as it is outside of transformations that have ended inside the function."""
    if isinstance(value, Tracer):
        plain = primal(value)
        if isinstance(plain, Tracer) and not isinstance(plain, RecordTracer):
            raise TraceError(
                f"jit: the function stores a value of a transformation inside it in {change.name}. Return the value."
            )
        return plain
    if isinstance(value, _MAPPINGS):
        return {key: _without_derivatives(item, change) for key, item in value.items()}
    return type(value)(_without_derivatives(v, change) for v in value) if isinstance(value, _SEQUENCES) else value
