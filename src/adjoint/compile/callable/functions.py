"""The functions of CPython and NumPy that the machine code of a call calls, and the names of its own."""

# pyright: basic

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from adjoint.compile.callable.layout import Unsupported

CALL, GET = "adjoint_entry_call", "adjoint_entry_get"  # the functions that CPython calls

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
