"""Stores of converted code: items, attributes and variables, with NumPy's and Python's meaning, and a log."""

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import functools
import operator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import adjoint.numpy as numpy
from adjoint.base.errors import ControlFlowError
from adjoint.conversion.calls import METHODS, call
from adjoint.conversion.growing import growing_list, read_growing
from adjoint.conversion.lifting import any_traced, maker_of, refuse_or_lift
from adjoint.conversion.log import CONTAINERS, Attribute, Elements, active_log, note, note_container
from adjoint.conversion.questions import is_undecided
from adjoint.conversion.regions import live_region
from adjoint.conversion.sharing import refuse_shared
from adjoint.conversion.special_methods import compare_values, is_written_in_python, own_method
from adjoint.conversion.stacking import is_stacked, read_stacked, refuse_stacked, set_stacked
from adjoint.numpy.dispatch import as_array, is_traced
from adjoint.program.trace import Tracer, live_trace
from adjoint.tree import leaves


def set_item(value: Any, owner: Any, key: Any) -> None:
    """owner[key] = value."""
    kind = type(owner)
    if kind is np.ndarray:
        if isinstance(value, Tracer) and owner.dtype.kind in "biu":
            value = value.astype(owner.dtype)  # as NumPy does: no derivative is lost
        prepare_array(owner, "z[i] = x", value, key)
    elif isinstance(owner, CONTAINERS):
        note_container(owner)
        if kind is list and is_stacked(owner):
            set_stacked(owner, key, value)
            return
        if isinstance(key, Tracer) and kind is list and is_undecided(key):
            _set_at_traced(owner, key, value)
            return
    elif is_written_in_python(owner, "__setitem__"):
        call(owner.__setitem__)(key, value)
        return
    owner[key] = value


def prepare_array(owner: Any, what: str, *values: Any) -> None:
    """A plain array is about to be written to: as it is, or as a traced one in another run."""
    if live_trace() is None:
        return
    refuse_shared(owner)
    if (any_traced(*values) and not _is_served(owner, values)) or _is_older(owner):
        refuse_or_lift(owner, what)
    log = active_log()
    if log is not None and maker_of(owner) is None:
        log.note(Elements(owner))


def _is_served(owner: Any, values: Any) -> bool:
    """Whether NumPy's own assignment loses nothing: objects are kept, and of known numbers whole parts are taken."""
    kind = owner.dtype.kind
    return kind == "O" or (kind in "biu" and not any(is_undecided(v) for v in leaves(values)))


def _is_older(array: Any) -> bool:
    """Whether an array is older than the branch or body that is traced now, which may not run or run many times."""
    region = live_region()
    if region is None:
        return False
    maker = maker_of(array)
    return maker is None or maker[2] < region.begun


def _set_at_traced(owner: list[Any], key: Any, value: Any) -> None:
    """A list whose item at an unknown index is set: every item may be it."""
    index = np.where(np.less(key, 0), key + len(owner), key)
    for number, old in enumerate(owner):
        owner[number] = np.where(np.equal(index, number), value, old)


def delete_item(owner: Any, key: Any) -> None:
    """del owner[key]."""
    refuse_stacked(owner)
    if isinstance(owner, CONTAINERS):
        note_container(owner)
    del owner[key]


def set_attribute(value: Any, owner: Any, name: str) -> None:
    """owner.name = value."""
    if not isinstance(owner, Tracer | np.ndarray | type) and active_log() is not None:
        setter = _class_attribute(type(owner), name)
        if isinstance(setter, property):
            if setter.fset is not None:
                call(setter.fset)(owner, value)
                return
        elif (write := own_method(setter, "__set__")) is not None:
            write(owner, value)
            return
        elif (write := own_method(owner, "__setattr__")) is not None:
            write(name, value)
            return
        elif type(owner).__setattr__ is object.__setattr__:
            note(Attribute(owner, name))
    elif isinstance(owner, type):
        note(Attribute(owner, name))
    setattr(owner, name, value)


def _class_attribute(cls: type, name: str) -> Any:
    """What a class has under a name, as it stands there: a property is not asked."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def delete_attribute(owner: Any, name: str) -> None:
    """del owner.name."""
    if isinstance(owner, type) or type(owner).__delattr__ is object.__delattr__:
        note(Attribute(owner, name))
    delattr(owner, name)


def augment(old: Any, value: Any, sign: str) -> Any:
    """old += value, and its like: what the variable is afterwards."""
    kind = type(old)
    value = beside_array(value, old)
    if kind is np.ndarray:
        prepare_array(old, "z += x", value)
    elif isinstance(old, CONTAINERS):
        note_container(old)
    else:
        method = f"__{sign}__"
        if is_written_in_python(old, method):
            return call(getattr(old, method))(value)
    return getattr(operator, sign)(old, value)


def augment_item(owner: Any, key: Any, value: Any, sign: str) -> None:
    """owner[key] += value, and its like."""
    if type(owner) is np.ndarray:
        prepare_array(owner, "z[i] += x", value, key)
    old = get_item(owner, key)
    set_item(augment(old, value, sign), owner, key)


def augment_attribute(owner: Any, name: str, value: Any, sign: str) -> None:
    """owner.name += value, and its like."""
    set_attribute(augment(get_attribute(owner, name), value, sign), owner, name)


METHODS["array.__setitem__"] = lambda owner, key, value: set_item(value, owner, key)
for _sign in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor"):
    METHODS[f"array.__{_sign}__"] = lambda owner, value, sign=_sign: augment(owner, value, sign)


def get_item(owner: Any, key: Any) -> Any:
    """owner[key]; a list of equal numbers may be read at an index that is not known."""
    if isinstance(owner, dict) and hasattr(owner, "__missing__"):
        note_container(owner)  # a defaultdict makes what it does not have
    if type(owner) is list and (growing := growing_list(owner)) is not None:
        return read_growing(growing, key)
    if type(owner) is list and is_stacked(owner):
        return read_stacked(owner, key)
    if type(owner) in (list, tuple) and isinstance(key, Tracer) and is_undecided(key):
        return _read_at_traced(owner, key)
    if type(owner) is np.ndarray and any_traced(key):
        return np.asarray(owner)[key] if live_trace() is None else _traced_array(owner)[key]
    if owner is np.r_ or owner is np.c_:
        return (numpy.r_ if owner is np.r_ else numpy.c_)[key] if any_traced(key) else owner[key]
    if is_written_in_python(owner, "__getitem__"):
        return call(owner.__getitem__)(key)
    return owner[key]


def _traced_array(owner: Any) -> Any:
    trace = live_trace()
    assert trace is not None
    return trace.constant(owner)


def _read_at_traced(owner: Any, key: Any) -> Any:
    numbers = [v for v in owner if isinstance(v, Tracer | bool | int | float | complex | np.generic | np.ndarray)]
    if len(numbers) != len(owner) or len({np.shape(v) for v in numbers}) > 1 or not numbers:
        raise ControlFlowError(f"a {type(owner).__name__} of other things than equal numbers is read at a traced index")
    stacked = np.stack([np.asarray(v) if not isinstance(v, Tracer) else v for v in numbers])
    return (stacked if isinstance(stacked, Tracer) else _traced_array(stacked))[key]


def beside_array(value: Any, other: Any) -> Any:
    """An operand: a list of traced values beside an array is one, too."""
    if type(value) in (list, tuple) and isinstance(other, Tracer | np.ndarray | np.generic) and is_traced(value):
        return as_array(value)
    return value


def apply_binary(left: Any, right: Any, name: str) -> Any:
    """left + right, and its like; operators of the user's classes are converted."""
    left, right = beside_array(left, right), beside_array(right, left)
    if is_written_in_python(left, f"__{name}__"):
        result = call(getattr(left, f"__{name}__"))(right)
        if result is not NotImplemented:
            return result
    elif is_written_in_python(right, f"__r{name}__"):
        result = call(getattr(right, f"__r{name}__"))(left)
        if result is not NotImplemented:
            return result
    return getattr(operator, name)(left, right)


def apply_unary(value: Any, name: str) -> Any:
    """-value, and its like."""
    if is_written_in_python(value, f"__{name}__"):
        return call(getattr(value, f"__{name}__"))()
    return getattr(operator, name)(value)


def get_attribute(owner: Any, name: str) -> Any:
    """owner.name; what the user's class computes there (a property, a descriptor, `__getattr__`) is converted."""
    cls = type(owner)
    if cls in _PLAIN or isinstance(owner, Tracer | type | ModuleType):
        return getattr(owner, name)
    found = _class_attribute(cls, name)
    if type(found) is property:
        return call(found.fget)(owner) if found.fget is not None else getattr(owner, name)
    if type(found) is functools.cached_property:
        return _cached(owner, name, found)
    if (read := own_method(found, "__get__")) is not None and type(found) is not FunctionType:
        return read(owner, cls)
    if found is None and is_written_in_python(owner, "__getattr__"):
        try:
            return object.__getattribute__(owner, name)
        except AttributeError:
            return call(owner.__getattr__)(name)
    return getattr(owner, name)


def _cached(owner: Any, name: str, found: functools.cached_property[Any]) -> Any:
    held = vars(owner)
    if name not in held:
        value = call(found.func)(owner)
        note_container(held)
        held[name] = value
    return held[name]


apply_comparison = compare_values
_PLAIN = frozenset({bool, int, float, complex, str, list, tuple, dict, np.ndarray, np.float64, np.int64})
