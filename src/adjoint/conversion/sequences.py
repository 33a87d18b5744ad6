"""Python's functions of sequences in converted code: range, zip, map, sorted, max, sum, any, all."""

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adjoint.conversion.advancing import note_mover
from adjoint.conversion.builtins import bool_
from adjoint.conversion.calls import METHODS, call, instead_of, note_container_made
from adjoint.conversion.growing import rejoin
from adjoint.conversion.iterables import Backwards, Counted, Lazy, TracedRange, Zipped, items_of
from adjoint.conversion.questions import in_program, is_undecided
from adjoint.conversion.special_methods import Ordered, has_own_order, is_written_in_python, iterate, own_method
from adjoint.conversion.truths import choose
from adjoint.program.trace import Tracer


@instead_of(range)
def range_(*args: Any) -> Any:
    """range(…): with a traced end, what a loop of the program goes through."""
    if not any(isinstance(a, Tracer) and is_undecided(a) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return TracedRange(start, stop, step)


@instead_of(enumerate)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """enumerate(…)."""
    iterable = iterate(iterable)
    items = items_of(iterable) if in_program() else None
    if items is None or items.length is None or isinstance(start, Tracer):
        return note_mover(enumerate(iterable, start))
    first = operator.index(start)
    return note_mover(Lazy(enumerate(iterable, first), Zipped([Counted(range(first, first + items.length)), items])))


@instead_of(zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    """zip(…)."""
    iterables = tuple(map(iterate, iterables))
    parts = [items_of(one) for one in iterables] if in_program() and not strict else [None]
    known = [part for part in parts if part is not None and part.length is not None]
    if not parts or len(known) < len(parts):
        return note_mover(zip(*iterables, strict=strict))
    return note_mover(Lazy(zip(*iterables, strict=strict), Zipped(known)))


@instead_of(reversed)
def reversed_(sequence: Any) -> Any:
    """reversed(…)."""
    if (method := own_method(sequence, "__reversed__")) is not None:
        return method()
    items = items_of(sequence) if in_program() else None
    if items is None or items.length is None:
        return note_mover(reversed(sequence))
    iterator = iter(list(items.plain())[::-1]) if not items.is_plain else reversed(sequence)
    return note_mover(Lazy(iterator, Backwards(items)))


@instead_of(map)
def map_(function: Any, *iterables: Iterable[Any]) -> Any:
    """map(f, …) with f as converted code calls it."""
    return note_mover(map(lambda *items: call(function)(*items), *map(iterate, iterables)))


@instead_of(filter)
def filter_(function: Any, iterable: Iterable[Any]) -> Any:
    """filter(f, …) with f as converted code calls it."""
    return note_mover(filter(None if function is None else lambda item: call(function)(item), iterate(iterable)))


@instead_of(functools.reduce)
def reduce_(function: Any, iterable: Any, *first: Any) -> Any:
    """functools.reduce(f, …) with f as converted code calls it."""
    return functools.reduce(lambda a, b: call(function)(a, b), iterate(iterable), *first)


@instead_of(sorted)
def sorted_(iterable: Iterable[Any], /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    """sorted(…), by value; a list of undecided numbers by a network of the program."""
    values = list(iterate(iterable))
    if key is None and values and all(_is_single(v) for v in values) and any(map(is_undecided, values)):
        ordered = np.sort(np.stack(values))
        return note_container_made(list(ordered[::-1] if reverse else ordered))
    return note_container_made(sorted(values, key=_order(values, key), reverse=reverse))


def _order(values: list[Any], key: Any) -> Any:
    """What is compared: what a key of the user's gives, in an order of the user's."""
    if key is not None:
        return lambda item: Ordered(call(key)(item))
    return Ordered if has_own_order(values) else None


def _is_single(value: Any) -> bool:
    return isinstance(value, Tracer | int | float | np.generic) and np.ndim(value) == 0


def _extreme(name: str, better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    plain = getattr(builtins, name)

    def pick(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        values = list(iterate(args[0])) if len(args) == 1 else list(args)
        if (order := _order(values, key)) is not None:
            return plain(values, key=order, **kwargs)
        if not any(isinstance(v, Tracer) and is_undecided(v) for v in values):
            return plain(values, **kwargs)
        return functools.reduce(lambda best, v: choose(better(v, best), lambda: v, lambda: best), values)

    pick.__doc__ = f"{name}(…): of undecided numbers, part of the program."
    return pick


instead_of(max)(_extreme("max", operator.gt))
instead_of(min)(_extreme("min", operator.lt))


@instead_of(sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    """sum(…): of a whole array at once."""
    if isinstance(iterable, Tracer) and iterable.ndim == 1 and in_program():
        return start + np.sum(iterable)
    values = list(iterate(iterable))
    if (array := rejoin(values)) is not None and array.ndim == 1:
        return start + np.sum(array)
    if any(is_written_in_python(v, "__add__") or is_written_in_python(v, "__radd__") for v in (start, *values)):
        return functools.reduce(lambda a, b: call(operator.add)(a, b), values, start)
    return sum(values, start)


@instead_of(any)
def any_(values: Any, /) -> Any:
    """any(…): of undecided truth values, part of the program."""
    return _fold(values, np.logical_or, any)


@instead_of(all)
def all_(values: Any, /) -> Any:
    """all(…): of undecided truth values, part of the program."""
    return _fold(values, np.logical_and, all)


def _fold(values: Any, both: Any, plain: Callable[[Iterable[Any]], bool]) -> Any:
    values = iterate(values)
    if not in_program():
        return plain(values)
    found = list(values)
    if not any(isinstance(v, Tracer) and is_undecided(v) for v in found):
        return plain(found)
    return functools.reduce(both, [bool_(v) for v in found])


def _list_sort(method: Any) -> Any:
    owner = method.__self__

    def sort(*, key: Any = None, reverse: bool = False) -> None:
        owner[:] = sorted_(owner, key=key, reverse=reverse)

    return sort if type(owner) is list else method


METHODS["sort"] = _list_sort
METHODS["copy"] = lambda method: lambda: note_container_made(method())
