"""The loops in C behind the ufuncs of NumPy and SciPy: where they are in memory, by name.

A ufunc is a table of C functions, one for each list of dtypes, in a structure that is part of NumPy's public interface:

    loop(addresses of the operands, sizes, strides in bytes, data)

Machine code names a loop (`adjoint_loop.special.jv.dd_d`) and its data, and gets both addresses when it is loaded, so
that object files can be kept on disk. What cannot be found is None: then Python is asked for the value instead.
"""

# SciPy has no types.
# pyright: basic

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import cache
from typing import Any, NamedTuple

HOMES = {
    "special": "scipy.special._ufuncs",
    "fft": "numpy.fft._pocketfft_umath",
    "numpy": "numpy",
}
FUNCTION, DATA = "adjoint_loop", "adjoint_data"


class _Ufunc(ctypes.Structure):
    """PyUFuncObject behind the head that all Python objects have."""

    _fields_ = [
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
    ]


class Loop(NamedTuple):
    """A loop in C and what it is to be given as its last argument, as symbols with their addresses."""

    function: str
    data: str | None
    symbols: dict[str, int]


@cache
def find_loop(home: str, name: str, types: str) -> Loop | None:
    """The loop of a ufunc for dtypes in NumPy's letters, "dd->d"; None where there is none."""
    symbols = _symbols(home, name, types)
    if symbols is None:
        return None
    function, *data = symbols
    return Loop(function, data[0] if data else None, symbols)


def _symbols(home: str, name: str, types: str) -> dict[str, int] | None:
    ufunc = getattr(_module(home), name, None)
    if ufunc is None or types not in ufunc.types or sys.implementation.name != "cpython":
        return None
    table = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if (table.nin, table.nout, table.ntypes, table.name) != (ufunc.nin, ufunc.nout, ufunc.ntypes, name.encode()):
        return None  # another layout than the one above
    at = ufunc.types.index(types)
    if not table.functions[at]:
        return None
    rest = f"{home}.{name}.{types.replace('->', '_')}"
    symbols = {f"{FUNCTION}.{rest}": table.functions[at]}
    if table.data and table.data[at]:
        symbols[f"{DATA}.{rest}"] = table.data[at]
    return symbols


@cache
def _module(home: str) -> Any:
    try:
        return importlib.import_module(HOMES[home])
    except ImportError:
        return None


def address(symbol: str) -> int:
    """Where a loop or its data is, by our name for it; KeyError where it is not found in this installation."""
    _, home, name, types = symbol.split(".")
    return (_symbols(home, name, types.replace("_", "->")) or {})[symbol]
