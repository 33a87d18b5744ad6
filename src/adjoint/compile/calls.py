"""The Python side of what machine code asks Python for.

A kernel calls one Python function, with the number of the equation and a table of addresses. Arrays made of these
addresses go through the operation's own `evaluate`, so the result is NumPy's.
"""

# pyright: basic

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.compile.statuses import BOUNDS, RAISED
from adjoint.program.program import Equation, Literal

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Calls:
    """The Python side of a kernel's callbacks. What went wrong is kept for the thread in which it did."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self.equations = list(equations)
        self.function = CALLBACK(self._call)
        self._own = threading.local()

    @property
    def address(self) -> int:
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def take(self) -> Any:
        """What this thread's last call left: an exception, (number, index, size) of an index, or None."""
        left, self._own.left = getattr(self._own, "left", None), None
        return left

    def _call(self, slot: int, table: int) -> int:
        try:
            if slot == BOUNDS:
                self._own.left = tuple((ctypes.c_int64 * 3).from_address(table + 8))
            elif slot == RAISED:
                self._own.left = _take_exception(table)
            else:
                self._evaluate(self.equations[slot], table)
                ctypes.c_int64.from_address(table).value = 1
        except BaseException as problem:  # handed to whoever called the kernel
            self._own.left = problem
        return 0

    def _evaluate(self, eq: Equation, table: int) -> None:
        variables = [a for a in eq.inputs if not isinstance(a, Literal)]
        count = len(variables) + len(eq.outputs)
        addresses = (ctypes.c_void_p * count).from_address(table + 8)
        arrays = [
            array_at(address or 0, v.type) for address, v in zip(addresses, (*variables, *eq.outputs), strict=True)
        ]
        remaining = iter(arrays)
        inputs = []
        for a in eq.inputs:
            if isinstance(a, Literal):
                inputs.append(a.value)
            else:
                x = next(remaining)
                x.flags.writeable = False
                inputs.append(x if x.ndim else x[()])
        with np.errstate(all="ignore") if eq.quiet else nullcontext():
            results = with_lines_of_users(eq.op.evaluate)(*inputs)
        for target, result in zip(remaining, results if eq.op.several else (results,), strict=True):
            np.copyto(target, result, casting="unsafe")


def _take_exception(table: int) -> BaseException:
    """The exception that PyErr_Fetch has put into a table: (type, value, traceback), each given away once."""
    addresses = (ctypes.c_void_p * 3).from_address(table + 8)
    objects = [ctypes.cast(a, ctypes.py_object) if a else None for a in addresses]
    problem = objects[1].value if objects[1] is not None else KeyboardInterrupt()
    for thing in objects:
        if thing is not None:
            ctypes.pythonapi.Py_DecRef(thing)
    return problem


def array_at(address: int, kind: Any) -> np.ndarray:
    """An array over memory that somebody else holds."""
    nbytes = kind.size * kind.dtype.itemsize
    if not nbytes:
        return np.empty(kind.shape, kind.dtype)
    content = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(content, kind.dtype).reshape(kind.shape)
