"""Objects that a function reads through: where their attributes stand, which of them are looked at, copies of them."""

from __future__ import annotations

import enum
import functools
import gc
import inspect
import io
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Set
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from adjoint.jit.captures import EMPTY, Capture, functions_inside
from adjoint.jit.mentions import mentions
from adjoint.program.trace import Tracer

_NO_OBJECTS: Any = (
    *(bool, int, float, complex, str, bytes, bytearray, memoryview, type(None), type(...), range, slice),
    *(functools.partial, np.ndarray, np.generic, np.dtype, Tracer),
    *(type, ModuleType, FunctionType, enum.Enum, BaseException),
)
_CONTAINERS: Any = (tuple, list, dict, set, frozenset, deque, OrderedDict, defaultdict, Counter)
# Classes of Python's whose own code reads what they hold, and bases that read nothing.
_HOLDERS: Any = (UserDict, UserList, ChainMap, WeakKeyDictionary, WeakValueDictionary)
_BARE = frozenset(["builtins", "abc", "typing", "typing_extensions"])
_HEAP_TYPE = 1 << 9  # in __flags__: the class is made by a class statement
# Called by Python itself where the code shows no name; those that make, show, copy or destroy objects are not counted.
_UNCOUNTED = frozenset(
    (
        *("__new__", "__init__", "__del__", "__init_subclass__", "__set_name__", "__class_getitem__"),
        *("__subclasshook__", "__repr__", "__str__", "__format__", "__dir__", "__sizeof__", "__copy__"),
        *("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
    )
)
_FUNCTIONS: Any = (FunctionType, MethodType, functools.partial)
# Where objects of this library stand that hold functions of the user's.
_HOLDING = tuple(f"adjoint.{one}." for one in ("optimize", "implicit", "integrate", "linear", "data", "tree"))
_MOST_HELD = 4096  # that are looked at
MAKING = frozenset(["__new__", "__init__", "__post_init__"])


def is_object(value: Any) -> bool:
    """Whether a value can have attributes that are looked at: no number, container, function, class or module."""
    return type(value) not in _CONTAINERS and not isinstance(value, _NO_OBJECTS)


def is_holder(cls: type, is_user_class: Callable[[type], bool]) -> bool:
    """Whether code of a library may read any attribute of an object: its class is made from one of a library's."""
    if issubclass(cls, _HOLDERS) or is_layer(cls):
        return True
    return is_user_class(cls) and not all(is_user_class(b) or b.__module__ in _BARE for b in cls.__mro__)


def is_namespace(cls: type) -> bool:
    """Whether a class is Python's own for objects that are names and values, and nothing else."""
    return cls is SimpleNamespace or (cls.__module__, cls.__qualname__) == ("argparse", "Namespace")


def is_layer(cls: type) -> bool:
    """Whether a class is one of `adjoint.nn`: code of this library, on arrays of the user's."""
    return cls.__module__.startswith("adjoint.nn.")


def functions_held(value: Any) -> list[Any]:
    """The functions that an object of this library holds: the loss of a training step, the schedule of a rule."""
    found: dict[int, Any] = {}
    waiting, seen = [value] if _is_holding(value) else [], set[int]()
    while waiting and len(seen) < _MOST_HELD:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType) and one.__module__ and one.__module__.startswith("adjoint."):
            cells = [Capture(cell, "cell", "", "").value() for cell in one.__closure__ or ()]
            waiting += [held for held in cells if _may_hold(held)]
        elif isinstance(one, _FUNCTIONS):
            found[id(one)] = one
        elif isinstance(one, dict):
            waiting += [held for held in cast(Any, one).values() if _may_hold(held)]
        elif isinstance(one, tuple | list):
            waiting += [held for held in cast(Any, one) if _may_hold(held)]
        elif _is_holding(one):
            waiting += [held for held in attributes_of(one).values() if _may_hold(held)]
        elif callable(one) and not isinstance(one, type):
            found[id(one)] = one
    return list(found.values())


def _is_holding(value: Any) -> bool:
    return cast(Any, type(value)).__module__.startswith(_HOLDING)


def _may_hold(value: Any) -> bool:
    return isinstance(value, (tuple, list, dict, *_FUNCTIONS)) or (is_object(value) and value is not EMPTY)


def is_used_up(value: Any) -> bool:
    """Whether a value is an iterator of Python's: what is taken from it while tracing is gone."""
    return hasattr(cast(Any, type(value)), "__next__") and not isinstance(value, io.IOBase)


@functools.lru_cache(maxsize=1024)
def class_names(cls: type) -> dict[str, Any]:
    """The dict in which a class keeps its attributes: behind the proxy that `__dict__` gives."""
    (names,) = gc.get_referents(type.__dict__["__dict__"].__get__(cls))
    return names


def instance_names(thing: Any) -> dict[str, Any] | None:
    """The dict in which an object keeps its attributes; None when it has none."""
    try:
        names: Any = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None
    return names if type(names) is dict else None


@functools.lru_cache(maxsize=1024)
def slots_of(cls: type) -> Mapping[str, Any]:
    """The descriptors of `__slots__`, by name; not those by which C code lays its objects out."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__flags__ & _HEAP_TYPE:
            slots = {k: v for k, v in class_names(base).items() if isinstance(v, MemberDescriptorType)}
            found |= {k: v for k, v in slots.items() if not k.endswith("__")}
    return found


def is_implicit(name: str, value: Any) -> bool:
    """Whether an attribute of a class is a method that Python calls by itself: `__call__`, `__add__`, `__getattr__`."""
    if not (name[:2] == name[-2:] == "__") or name in _UNCOUNTED:
        return False
    code = getattr(value, "__code__", None)  # what dataclass writes reads all fields
    return code is not None and code.co_filename != "<string>"


def property_names(cls: type, names: Set[str]) -> frozenset[str]:
    """What the properties of a library's class read, as far as they are named themselves."""
    found = [vars(base)[name] for base in cls.__mro__ for name in names & vars(base).keys()]
    getters = [one.fget for one in found if isinstance(one, property) and isinstance(one.fget, FunctionType)]
    return frozenset[str]().union(*[mentions(getter.__code__).attributes for getter in getters])


def is_data_descriptor(value: Any) -> bool:
    """Whether an attribute of a class comes before one of the same name that an object has."""
    return isinstance(value, property) or hasattr(cast(Any, type(value)), "__set__")


def can_copy(thing: Any) -> bool:
    """Whether an object can be made again without its class's own code."""
    cls = type(thing)
    if cls is SimpleNamespace:
        return True
    return cls.__new__ is object.__new__ or _is_plain_layout(cls) if not hasattr(cls, "__del__") else False


@functools.lru_cache(maxsize=1024)
def _is_plain_layout(cls: type) -> bool:
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def empty_copy(thing: Any) -> Any:
    """An object of the same class, without attributes."""
    return SimpleNamespace() if type(thing) is SimpleNamespace else object.__new__(cast(Any, type(thing)))


def fill_copy(made: Any, thing: Any) -> None:
    """Give a copy the attributes of an object."""
    if (names := instance_names(thing)) is not None:
        cast(Any, instance_names(made)).update(names)
    for descriptor in slots_of(cast(Any, type(thing))).values():
        try:
            descriptor.__set__(made, descriptor.__get__(thing))
        except AttributeError:  # it has no value
            continue


def attributes_of(thing: Any) -> dict[str, Any]:
    """All attributes that an object itself has, by name."""
    held = dict(instance_names(thing) or {})
    for name, descriptor in slots_of(cast(Any, type(thing))).items():
        value = Capture(thing, "slot", name, name, descriptor).value()
        if value is not EMPTY:
            held[name] = value
    return held


def held_by_library(thing: Any) -> frozenset[str]:
    """The attributes of a library's object under which arrays stand, or objects of the same library that may have some:
    the entries of a sparse matrix, coefficients of a polynomial, the parameters of a distribution.
    """
    package = _package(thing)
    return frozenset(
        name
        for name, value in attributes_of(thing).items()
        if _holds_array(value) or (is_object(value) and _package(value) == package)
    )


def _holds_array(value: Any) -> bool:
    if type(value) in (tuple, dict):
        return any(isinstance(v, np.ndarray) for v in (value.values() if type(value) is dict else value))
    return isinstance(value, np.ndarray)


def _package(thing: Any) -> str:
    return cast(Any, type(thing)).__module__.partition(".")[0]


def set_attribute(thing: Any, name: str, value: Any) -> None:
    """Give an object an attribute, without the code of its class; `EMPTY` takes it away."""
    if (descriptor := slots_of(cast(Any, type(thing))).get(name)) is not None:
        if value is EMPTY:
            descriptor.__delete__(thing)
        else:
            descriptor.__set__(thing, value)
    elif value is EMPTY:
        cast(Any, instance_names(thing)).pop(name, None)
    else:
        cast(Any, instance_names(thing))[name] = value


def attribute_setter(thing: Any, name: str) -> Callable[[Any], None]:
    """What gives an object an attribute, as `set_attribute` does."""
    found = inspect.getattr_static(cast(Any, type(thing)), name, None)
    if isinstance(found, MemberDescriptorType) or not is_data_descriptor(found):
        return functools.partial(object.__setattr__, thing, name)
    return functools.partial(set_attribute, thing, name)


def class_captures(bases: list[type], is_wanted: Callable[[str], bool], *, making: bool) -> Iterator[Capture]:
    """What is read of a class: in its bases that have it, and that those before the first have it not."""
    done: set[str] = set()
    for number, base in enumerate(bases):
        for name, value in list(class_names(base).items()):
            if isinstance(value, MemberDescriptorType):
                continue
            if is_wanted(name) or is_implicit(name, value) or (making and name in MAKING):
                # of those behind the first, `super()` reads
                for cls in [base] if name in done else bases[: number + 1]:
                    yield Capture(cls, "attribute", name, f"{cls.__qualname__}.{name}", class_names(cls))
                done.add(name)


def instance_captures(
    thing: Any, called: str, is_wanted: Callable[[str], bool], in_class: Mapping[str, Any], every: bool
) -> Iterator[Capture]:
    """What is read of an object itself; `in_class`: what its class has, which it could hide."""
    names = instance_names(thing)
    if names is not None:
        hidden = [
            n for n, v in in_class.items() if n not in names and not is_data_descriptor(v) and not n.startswith("__")
        ]
        wanted = [name for name in names if is_wanted(name)]
        for name in [*wanted, *([] if every else hidden)]:
            yield Capture(thing, "attribute", name, f"{called}.{name}", names)
    for name, descriptor in slots_of(cast(Any, type(thing))).items():
        if is_wanted(name):
            yield Capture(thing, "slot", name, f"{called}.{name}", descriptor)


def is_method_like(value: Any) -> bool:
    """Whether an attribute of a class holds functions that run when it is read or called."""
    return isinstance(value, FunctionType) or functions_inside(value) is not None
