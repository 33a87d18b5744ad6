"""NumPy's functions in C that sort 64-bit integers: where they are in memory.

NumPy picks them by the instructions that the processor has, which makes them several times as quick as merging. They
stand in the table of functions of a dtype, which NumPy's C interface gives:

    sort(first, count, array) and argsort(first, positions, count, array), of which the last argument is not read

What is found there has to sort an example, or nothing is found.
"""

# pyright: basic

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

NAME = "adjoint_numpy_"
TABLE = 365  # PyDataType_GetArrFuncs in the interface of NumPy 2
SORT, ARGSORT = 33, 36  # behind 21 conversions and twelve other functions; three kinds of each, the quickest first


@cache
def symbols() -> dict[str, int]:
    """`adjoint_numpy_sort` and `adjoint_numpy_argsort` → address; nothing where they are not found."""
    try:
        interface: Any = __import__("numpy._core._multiarray_umath", fromlist=["_ARRAY_API"])._ARRAY_API
    except (ImportError, AttributeError):
        return {}
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = (ctypes.c_void_p * (TABLE + 1)).from_address(get(interface, None) or 0)
    of_dtype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(functions[TABLE] or 0)
    found = (ctypes.c_void_p * (ARGSORT + 1)).from_address(of_dtype(np.dtype(np.int64)) or 0)
    sort, argsort = found[SORT], found[ARGSORT]
    return {f"{NAME}sort": sort, f"{NAME}argsort": argsort} if sort and argsort and _work(sort, argsort) else {}


def _work(sort: int, argsort: int) -> bool:
    """Whether both sort an example."""
    numbers = np.random.default_rng(0).integers(-50, 50, 300)
    order, own = np.arange(numbers.size), numbers.copy()
    size = ctypes.c_ssize_t
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, size, ctypes.c_void_p)(sort)(own.ctypes.data, own.size, None)
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, size, ctypes.c_void_p)(argsort)(
        numbers.ctypes.data, order.ctypes.data, order.size, None
    )
    wanted = np.sort(numbers)
    return bool((own == wanted).all() and (numbers[order] == wanted).all())


def address(name: str) -> int:
    """Where a function is; KeyError where it is not found in this installation."""
    return symbols()[name]
