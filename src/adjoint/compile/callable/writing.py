"""How the machine code of a call is written: fields by name, early returns, switches, and the functions it calls."""

# pyright: basic

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from adjoint.compile.callable.layout import Unsupported, offset
from adjoint.compile.ir import Function, Value

NULL = Value("null", "ptr")
ZERO = Value("0", "i64")
ONE = Value("1", "i64")

# CPython's functions that are called: result, arguments. All are part of its documented interface.
CPYTHON: dict[str, tuple[str, tuple[str, ...]]] = {
    "Py_IncRef": ("void", ("ptr",)),
    "Py_DecRef": ("void", ("ptr",)),
    "PyContextVar_Get": ("i32", ("ptr", "ptr", "ptr")),
    "PyDict_GetItemWithError": ("ptr", ("ptr", "ptr")),
    "PyDict_New": ("ptr", ()),
    "PyDict_SetItem": ("i32", ("ptr", "ptr", "ptr")),
    "PyDict_Size": ("i64", ("ptr",)),
    "PyErr_Clear": ("void", ()),
    "PyErr_NoMemory": ("ptr", ()),
    "PyErr_Occurred": ("ptr", ()),
    "PyErr_SetString": ("void", ("ptr", "ptr")),
    "PyEval_RestoreThread": ("void", ("ptr",)),
    "PyEval_SaveThread": ("ptr", ()),
    "PyList_GetItem": ("ptr", ("ptr", "i64")),
    "PyList_New": ("ptr", ("i64",)),
    "PyList_SetItem": ("i32", ("ptr", "i64", "ptr")),
    "PyList_Size": ("i64", ("ptr",)),
    "PyLong_AsLongLongAndOverflow": ("i64", ("ptr", "ptr")),
    "PyLong_FromLongLong": ("ptr", ("i64",)),
    "PyMem_RawFree": ("void", ("ptr",)),
    "PyMem_RawMalloc": ("ptr", ("i64",)),
    "PyMethod_New": ("ptr", ("ptr", "ptr")),
    "PyObject_CallObject": ("ptr", ("ptr", "ptr")),
    "PyObject_GenericGetAttr": ("ptr", ("ptr", "ptr")),
    "PyObject_GenericGetDict": ("ptr", ("ptr", "ptr")),
    "PyObject_RichCompareBool": ("i32", ("ptr", "ptr", "i32")),
    "PyTuple_GetItem": ("ptr", ("ptr", "i64")),
    "PyTuple_New": ("ptr", ("i64",)),
    "PyTuple_SetItem": ("i32", ("ptr", "i64", "ptr")),
    "PyTuple_Size": ("i64", ("ptr",)),
    "PyUnicode_Compare": ("i32", ("ptr", "ptr")),
}

# NumPy's, by their index in its table of functions, which never changes within a major version.
NUMPY: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "adjoint_numpy_scalar": (60, "ptr", ("ptr", "ptr", "ptr")),
    "adjoint_numpy_array": (94, "ptr", ("ptr", "ptr", "i32", "ptr", "ptr", "ptr", "i32", "ptr")),
}


@cache
def symbols() -> dict[str, int]:
    """Where the functions are that the machine code calls."""
    addresses = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in CPYTHON}
    api = np._core._multiarray_umath._ARRAY_API  # pyright: ignore[reportAttributeAccessIssue]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = (ctypes.c_void_p * 100).from_address(pointer(api, None))
    if functions[2] != id(np.ndarray):
        raise Unsupported("calls at C speed are off: NumPy's table of functions is not as expected")
    addresses |= {name: functions[index] or 0 for name, (index, *_) in NUMPY.items()}
    addresses |= {"adjoint_numpy_array_type": id(np.ndarray), "adjoint_runtime_error": id(RuntimeError)}
    return addresses


def outer(f: Function, name: str, *args: Value) -> Value:
    """Call a function of CPython or NumPy."""
    returns, params = CPYTHON[name] if name in CPYTHON else NUMPY[name][1:]
    assert [a.type for a in args] == list(params), (name, args)
    return f.call(name, returns, *args, declared=True, attributes="nounwind")


def at(f: Function, base: Value, offset: int | Value) -> Value:
    """base + a number of bytes."""
    return f.element(base, Value(str(offset), "i64") if isinstance(offset, int) else offset, "i8")


def word(f: Function, base: Value, fields: Sequence[str], name: str, kind: str = "i64") -> Value:
    """A field of a row."""
    return f.load(kind, at(f, base, offset(fields, name)))


def set_word(f: Function, base: Value, fields: Sequence[str], name: str, value: Value) -> None:
    f.store(value, at(f, base, offset(fields, name)))


def item(f: Function, base: Value, index: Value) -> Value:
    """The pointer at an index of a list of pointers."""
    return f.load("ptr", f.element(base, index, "ptr"))


def set_item(f: Function, base: Value, index: Value, value: Value) -> None:
    f.store(value, f.element(base, index, "ptr"))


def row(f: Function, base: Value, index: Value, fields: Sequence[str]) -> Value:
    """Where a row of a table starts."""
    return f.element(base, index, f"[{len(fields)} x i64]")


def leave_if(f: Function, condition: Value, value: Value) -> None:
    """Return early."""
    yes, no = f.new_block("leave"), f.new_block("stay")
    f.branch(condition, yes, no)
    f.begin(yes)
    f.ret(value)
    f.begin(no)


def leave_unless(f: Function, condition: Value, value: Value) -> None:
    yes, no = f.new_block("stay"), f.new_block("leave")
    f.branch(condition, yes, no)
    f.begin(no)
    f.ret(value)
    f.begin(yes)


def is_null(f: Function, pointer: Value) -> Value:
    return f.icmp("eq", pointer, NULL)


def switch(f: Function, value: Value, cases: Sequence[int]) -> Mapping[int, str]:
    """Jump to one block of several; a value that is none of them does not occur."""
    blocks = {case: f.new_block("case") for case in cases}
    never = f.new_block("never")
    listed = " ".join(f"i64 {case}, label %{block}" for case, block in blocks.items())
    f.line(f"switch i64 {value.text}, label %{never} [ {listed} ]")
    f.begin(never)
    f.line("unreachable")
    return blocks
