"""One math function over whole arrays, compiled by itself: for tests, measurements and tables of accuracy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adjoint.compile import machine
from adjoint.compile.ir import Function, Module, Value, vector_of

KINDS = {"float64": "double", "float32": "float"}
Writer = Callable[..., Value]  # (function, *operands) -> result


def loop_text(write: Writer, arity: int, kind: str, width: int) -> str:
    """A module whose `run(inputs…, output, n)` applies the function to n elements, n a multiple of the width."""
    module = Module()
    wide = '"prefer-vector-width"="512"' if machine.vector_bits() == 512 else ""
    pointers = ["ptr noalias"] * (arity + 1)
    run = Function(module, "run", [*pointers, "i64"], "void", linkage="", attributes=f"nounwind {wide}")
    *inputs, output, count = run.params
    size = 8 if kind == "double" else 4
    lanes = vector_of(kind, width)
    with run.loop(run.index(0), count, run.index(width)) as i:
        args = [run.load(lanes, run.element(p, i, kind), size) for p in inputs]
        run.store(write(run, *args), run.element(output, i, kind), size)
    run.ret()
    run.finish()
    return str(module)


class ArrayFunction:
    """A compiled function of arrays of one dtype, element by element."""

    def __init__(self, write: Writer, arity: int, dtype: str, width: int) -> None:
        self.dtype, self.width, self.arity = np.dtype(dtype), width, arity
        self.text = loop_text(write, arity, KINDS[dtype], width)
        self._loaded = machine.Loaded(machine.compile_object(self.text))
        kinds = [ctypes.c_void_p] * (arity + 1) + [ctypes.c_int64]
        self.run = ctypes.CFUNCTYPE(None, *kinds)(self._loaded.address("run"))

    def __call__(self, *args: Any) -> np.ndarray:
        arrays = np.broadcast_arrays(*(np.asarray(a, self.dtype) for a in args))
        shape, size = arrays[0].shape, arrays[0].size
        padded = [np.ones(-(-size // self.width) * self.width, self.dtype) for _ in range(self.arity + 1)]
        for buffer, a in zip(padded, arrays):
            buffer[:size] = a.ravel()
        self.run(*(buffer.ctypes.data for buffer in padded), padded[0].size)
        return padded[-1][:size].reshape(shape)


@cache
def default_width(dtype: str) -> int:
    """As many lanes as a register holds."""
    return machine.vector_bits() // (8 * np.dtype(dtype).itemsize)
