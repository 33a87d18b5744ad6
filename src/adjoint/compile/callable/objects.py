"""Entries: Python callables whose calls are machine code.

The class is made of two layers. `Entry` is a Python class with slots: CPython itself looks after its references, weak
references aside. Under it stands a class made with PyType_FromSpec, which adds the pointer of PEP 590's vectorcall,
`__dict__`, weak references and `__get__`. Where that cannot be made, `Entry` itself is used, slower.
"""

# pyright: basic

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any

from adjoint.base.loading import deferred
from adjoint.compile import cache, machine
from adjoint.compile.callable import reference
from adjoint.compile.callable.functions import CALL, GET, symbols
from adjoint.compile.callable.layout import Unsupported, facts
from adjoint.compile.callable.packing import Packed, table
from adjoint.compile.callable.specialization import Specialization

if TYPE_CHECKING:
    from adjoint.compile.callable.calling import module_text
else:  # written once for all processes
    module_text = deferred("adjoint.compile.callable.calling", "module_text")

Miss = Callable[["Entry", tuple[Any, ...], dict[str, Any]], Any]
Failed = Callable[["Entry", int, int, tuple[Any, ...], dict[str, Any]], Any]


class Entry:
    """A callable that runs the first specialization that takes the call; `miss` answers when there is none.

    miss(entry, args, kwargs)                      no specialization takes the call; its result is the call's result
    failed(entry, number, status, args, kwargs)    specialization `number` took it and its kernel gave a status ≠ 0

    Subclasses add methods; they say `__slots__ = ()`, since every entry has a `__dict__` of its own.
    """

    __slots__ = ("_failed", "_miss", "_next", "_owner", "_packed")

    _failed: Failed
    _miss: Miss
    _owner: tuple[Any, ...]  # what a call reads; replaced as a whole
    _packed: dict[int, Packed]  # by number, in the order in which they were added
    _next: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(fast_class(cls) or slow_class(cls))

    def __init_subclass__(cls) -> None:
        if "__slots__" not in vars(cls):
            raise TypeError(f"{cls.__name__}: a subclass of Entry must say __slots__ = ().")

    def __init__(self, miss: Miss, failed: Failed) -> None:
        self._miss, self._failed = miss, failed
        self._packed, self._next = {}, 0
        self._owner = table([])
        offset = _vectorcall_offsets.get(type(self))
        if offset is not None:
            ctypes.c_void_p.from_address(id(self) + offset).value = _machine_code().address(CALL)

    # Specializations

    def add(self, specialization: Specialization) -> int:
        """Take another kind of call; its number. The newest is tried first."""
        number = self._next
        reference.check(specialization)
        self._packed = {**self._packed, number: Packed(specialization, number)}
        self._next = number + 1
        self._list()
        return number

    def remove(self, number: int) -> None:
        """Forget one specialization; calls that run it now end as they would have."""
        self._packed = {k: packed for k, packed in self._packed.items() if k != number}
        self._list()

    def clear(self) -> None:
        """Forget all specializations."""
        self._packed = {}
        self._list()

    def _list(self) -> None:
        self._owner = table(list(self._packed.values())[::-1])

    @property
    def specializations(self) -> Mapping[int, Specialization]:
        """All specializations by number."""
        return {number: packed.specialization for number, packed in self._packed.items()}

    @property
    def calls(self) -> Mapping[int, int]:
        """How many calls each specialization has answered."""
        return {number: packed.hits for number, packed in self._packed.items()}

    # As a Python function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        first_failed: tuple[int, int] | None = None
        for packed in self._owner[1:]:
            try:
                status, result = reference.run(packed.specialization, args, kwargs)
            except reference.Other:
                continue
            if status == 0:
                packed.count()
                return result
            if not (packed.specialization.retry and status > 0):
                return self._failed(self, packed.number, status, args, kwargs)
            first_failed = first_failed or (packed.number, status)
        if first_failed:
            return self._failed(self, *first_failed, args, kwargs)
        return self._miss(self, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __copy__(self) -> Entry:
        return self  # as functions do

    def __deepcopy__(self, memo: dict[int, Any]) -> Entry:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("compiled functions cannot be pickled; pickle the Python function, and compile it there.")


# The class made with PyType_FromSpec


class _Member(ctypes.Structure):
    """PyMemberDef"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _GetSet(ctypes.Structure):
    """PyGetSetDef"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    )


class _Slot(ctypes.Structure):
    """PyType_Slot"""

    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    """PyType_Spec"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


_TP_CALL, _TP_DESCR_GET, _TP_MEMBERS, _TP_GETSET = 50, 54, 72, 73  # from CPython's stable interface
_HAVE_VECTORCALL, _METHOD_DESCRIPTOR, _DEFAULT = 1 << 11, 1 << 17, 1 << 18
_PYSSIZET, _READONLY = 19, 1

_kept: list[Any] = []  # classes and what they point to live as long as the process
_vectorcall_offsets: dict[type, int] = {}  # where the objects of a class keep their vectorcall pointer


@functools.cache
def _slot_offsets() -> dict[str, int]:
    """Where entries keep their slots: found in an entry whose slots are filled with known objects."""
    probe = object.__new__(Entry)
    offsets: dict[str, int] = {}
    for name in ("_owner", "_miss", "_failed"):
        mark = [name]
        setattr(probe, name, mark)
        content = (ctypes.c_size_t * (Entry.__basicsize__ // 8)).from_address(id(probe))
        indices = [i for i, word in enumerate(content) if word == id(mark)]
        if len(indices) != 1:
            raise Unsupported("calls at C speed are off: the slots of a class are not where they are expected")
        offsets[name[1:]] = 8 * indices[0]
    return offsets


@functools.cache
def _machine_code() -> machine.Loaded:
    """The code of calls, of which there is one for all entries."""
    layout, slots = facts(), _slot_offsets()
    content = cache.object_of("calls", lambda: module_text(layout, slots), repr(layout), repr(slots))
    return machine.Loaded(content, symbols())


def _is_free_threaded() -> bool:
    """Whether this Python was built without the lock of the interpreter."""
    if not hasattr(sys, "_is_gil_enabled"):  # before there were such
        return False
    import sysconfig  # it takes a millisecond to load

    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@functools.cache
def fast_class(base: type[Entry]) -> type[Entry] | None:
    """The class with machine code under an `Entry` class; None where it cannot be made."""
    if base in _vectorcall_offsets:
        return base
    if sys.implementation.name != "cpython" or _is_free_threaded():
        return None  # the code knows CPython's objects, and counts on one thread at a time
    try:
        return _make_class(base)
    except (Unsupported, ImportError):
        return None


@functools.cache
def slow_class(base: type[Entry]) -> type[Entry]:
    """The class under an `Entry` class where calls are Python code: it adds `__dict__` and weak references."""
    if hasattr(base, "__dict__") and base.__dictoffset__:
        return base
    return type(base.__name__, (base,), {"__slots__": ("__dict__", "__weakref__"), "__module__": base.__module__})


def _function(name: str) -> int | None:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value


def _make_class(base: type[Entry]) -> type[Entry]:
    code = _machine_code()
    vectorcall, names, weak = (base.__basicsize__ + 8 * i for i in range(3))
    offsets = ((b"__vectorcalloffset__", vectorcall), (b"__dictoffset__", names), (b"__weaklistoffset__", weak))
    members = (_Member * 4)(*[_Member(name, _PYSSIZET, offset, _READONLY, None) for name, offset in offsets])
    accessors = (_GetSet * 2)(
        _GetSet(b"__dict__", _function("PyObject_GenericGetDict"), _function("PyObject_GenericSetDict"), None, None)
    )
    slots = (_Slot * 5)(
        _Slot(_TP_CALL, _function("PyVectorcall_Call")),
        _Slot(_TP_DESCR_GET, code.address(GET)),
        _Slot(_TP_MEMBERS, ctypes.addressof(members)),
        _Slot(_TP_GETSET, ctypes.addressof(accessors)),
    )
    name = f"{base.__module__}.{base.__qualname__}".encode()
    # No flag for the collector: it is inherited, together with the functions that know the slots of `base`.
    flags = _DEFAULT | _HAVE_VECTORCALL | _METHOD_DESCRIPTOR
    spec = _Spec(name, base.__basicsize__ + 24, 0, flags, slots)
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object)
    cls = make(ctypes.addressof(spec), (base,))
    _kept.append((cls, members, accessors, slots, spec, name, code))
    _vectorcall_offsets[cls] = vectorcall
    return cls
