"""Functions that stand for operators, attributes and iterators: getattr and setattr, `operator`, `itertools`.

They do what the syntax does: attributes are written with a note, operators and functions of the user's are converted.
"""

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import functools
import itertools
import operator
from types import FunctionType, MethodType
from typing import Any

from adjoint.conversion.advancing import advance, note_mover
from adjoint.conversion.calls import METHODS, call, instead_of, note_container_made
from adjoint.conversion.growing import refuse_growing
from adjoint.conversion.log import Attribute, note
from adjoint.conversion.special_methods import contains, iterate, own_method
from adjoint.conversion.stacking import refuse_stacked
from adjoint.conversion.stores import (
    apply_binary,
    apply_comparison,
    apply_unary,
    augment,
    delete_attribute,
    delete_item,
    get_attribute,
    get_item,
    set_attribute,
    set_item,
)

_NOTHING = object()


@instead_of(getattr)
def getattr_(owner: Any, name: str, default: Any = _NOTHING, /) -> Any:
    """getattr(o, name), getattr(o, name, default)."""
    if default is _NOTHING:
        return get_attribute(owner, name)
    try:
        return get_attribute(owner, name)
    except AttributeError:
        return default


@instead_of(setattr)
def setattr_(owner: Any, name: str, value: Any, /) -> None:
    """setattr(o, name, value)."""
    set_attribute(value, owner, name)


@instead_of(delattr)
def delattr_(owner: Any, name: str, /) -> None:
    """delattr(o, name)."""
    delete_attribute(owner, name)


@instead_of(object.__setattr__)
def set_plainly(owner: Any, name: str, value: Any, /) -> None:
    """object.__setattr__(o, name, value)."""
    note(Attribute(owner, name))
    object.__setattr__(owner, name, value)


@instead_of(object.__delattr__)
def delete_plainly(owner: Any, name: str, /) -> None:
    """object.__delattr__(o, name)."""
    note(Attribute(owner, name))
    object.__delattr__(owner, name)


def _attribute_slot(method: Any) -> Any:
    """super().__setattr__, o.__setattr__ of a class that has none of its own."""

    def write(name: str, *value: Any) -> None:
        note(Attribute(method.__self__, name))
        method(name, *value)

    return write


def _list_method(owner: Any) -> None:
    refuse_growing(owner, "more")
    refuse_stacked(owner)


METHODS["list"] = _list_method
METHODS["__setattr__"] = METHODS["__delattr__"] = _attribute_slot


# ---------------------------------------------------------------------- operator


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    instead_of(getattr(operator, _name))(lambda a, b, /, name=_name: apply_binary(a, b, name))
    instead_of(getattr(operator, f"i{_name}"))(lambda a, b, /, sign=f"i{_name}": augment(a, b, sign))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    instead_of(getattr(operator, _name))(lambda a, b, /, name=_name: apply_comparison(a, b, name))
for _name in ("neg", "pos", "invert"):
    instead_of(getattr(operator, _name))(lambda a, /, name=_name: apply_unary(a, name))
instead_of(operator.getitem)(get_item)
instead_of(operator.setitem)(lambda owner, key, value, /: set_item(value, owner, key))
instead_of(operator.delitem)(delete_item)
instead_of(operator.contains)(lambda container, item, /: contains(item, container))


@instead_of(divmod)
def divmod_(a: Any, b: Any, /) -> Any:
    """divmod(a, b)."""
    for owner, other, name in ((a, b, "__divmod__"), (b, a, "__rdivmod__")):
        method = own_method(owner, name)
        if method is not None and (result := method(other)) is not NotImplemented:
            return result
    return divmod(a, b)


# ---------------------------------------------------------------------- iterators


def converted_function(value: Any) -> Any:
    """A function of the user's that somebody else will call; all else as it is."""
    if isinstance(value, FunctionType | MethodType | functools.partial):
        return lambda *args, **kwargs: call(value)(*args, **kwargs)
    return value


def _passing(function: Any) -> None:
    """A function that goes through what it is given, and calls functions that it is given."""

    @functools.wraps(function, updated=())
    def pass_on(*args: Any, **kwargs: Any) -> Any:
        named = {name: _passed(value) for name, value in kwargs.items()}
        return note_container_made(function(*[_passed(a) for a in args], **named))

    instead_of(function)(pass_on)


def _passed(value: Any) -> Any:
    return converted_function(iterate(value))


for _function in (
    itertools.chain, itertools.combinations, itertools.combinations_with_replacement, itertools.compress,
    itertools.cycle, itertools.dropwhile, itertools.filterfalse, itertools.groupby, itertools.islice,
    itertools.pairwise, itertools.permutations, itertools.product, itertools.starmap, itertools.takewhile,
    itertools.zip_longest, functools.cmp_to_key, list, tuple, set, frozenset,
):  # fmt: skip
    _passing(_function)
instead_of(dict)(lambda *args, **kwargs: note_container_made(dict(*args, **kwargs)))
if hasattr(itertools, "batched"):
    _passing(itertools.batched)


@instead_of(itertools.accumulate)
def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """itertools.accumulate, with operators of the user's."""
    step = (lambda a, b: apply_binary(a, b, "add")) if func is None else converted_function(func)
    return itertools.accumulate(iterate(iterable), step, initial=initial)


@instead_of(len)
def len_(value: Any, /) -> int:
    """len(value)."""
    refuse_growing(value, "the length")
    return len(value)


@instead_of(next)
def next_(iterator: Any, *default: Any) -> Any:
    """next(iterator)."""
    method = own_method(iterator, "__next__")
    if method is None:
        advance(iterator)
        return next(iterator, *default)
    try:
        return method()
    except StopIteration:
        if default:
            return default[0]
        raise


@instead_of(iter)
def iter_(value: Any, *sentinel: Any) -> Any:
    """iter(value); iter(function, sentinel)."""
    return note_mover(iter(converted_function(value), *sentinel)) if sentinel else _begun(value)


def _begun(value: Any) -> Any:
    iterator = iter(iterate(value))
    return iterator if iterator is value else note_mover(iterator)
