"""What must be known of machine code to run it: its constants, its memory, and the functions that it calls."""

# pyright: basic

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from adjoint.base.loading import deferred
from adjoint.compile import blas, numpy_sorting, pool, ufunc_loops
from adjoint.program.program import Equation, Program, Var
from adjoint.program.subprograms import all_equations, all_programs

ENTRY = "adjoint_kernel"
# how functions that code of our own writes are called; that code is read where one of them is asked for
NUMPYS_LOOP = "NumPy's loop in C"  # in a step that calls one with a workspace of its own
PANELS, SPECTRA = "adjoint_panels_", "adjoint_spectrum_"
_panels_address = deferred("adjoint.compile.panels", "address")
_spectra_address = deferred("adjoint.compile.spectra", "address")


class Code:
    """What must be known of machine code to run it."""

    constants: dict[Var, Any]
    workspace: Any  # bytes
    work: float  # about how many additions a call makes
    steps: list[str]
    callbacks: list[Equation]
    looped: list[Equation]  # of these, what every iteration of a loop calls
    errors: list[Equation]
    symbols: dict[str, int]
    giant: int  # lines of LLVM's text without a branch, if they are too many for its usual way; else 0
    threads: list[str]  # what several threads work on, and what they could not

    def facts(self, program: Program) -> dict[str, Any]:
        """The same for the cache on disk: equations by their number."""
        number = {id(eq): k for k, eq in enumerate(all_equations(program))}
        return {
            "workspace": self.workspace,
            "work": self.work,
            "steps": self.steps,
            "callbacks": [number[id(eq)] for eq in self.callbacks],
            "looped": [number[id(eq)] for eq in self.looped],
            "errors": [number[id(eq)] for eq in self.errors],
            "symbols": list(self.symbols),
            "threads": self.threads,
            "giant": self.giant,
        }


class CachedCode(Code):
    """What was written in an earlier process, from the facts that were kept."""

    def __init__(self, program: Program, facts: Mapping[str, Any]) -> None:
        equations = list(all_equations(program))
        self.constants = all_constants(program)
        self.workspace, self.work, self.steps = facts["workspace"], facts["work"], facts["steps"]
        self.callbacks = [equations[k] for k in facts["callbacks"]]
        self.looped = [equations[k] for k in facts["looped"]]
        self.errors = [equations[k] for k in facts["errors"]]
        self.symbols = {name: _address(name) for name in facts["symbols"]}
        self.threads, self.giant = facts["threads"], facts["giant"]


def _address(symbol: str) -> int:
    """Where a function that machine code names is; KeyError where it is not found in this installation."""
    if symbol in interpreter():
        return interpreter()[symbol]
    if symbol.startswith("adjoint_pool_"):
        return pool.address(symbol)
    if symbol.startswith(PANELS):
        return _panels_address(symbol)
    if symbol.startswith(numpy_sorting.NAME):
        return numpy_sorting.address(symbol)
    if symbol.startswith(SPECTRA):
        return _spectra_address(symbol)
    return ufunc_loops.address(symbol) if "." in symbol else blas.address(symbol)


def all_constants(program: Program) -> dict[Var, Any]:
    """The constants of a program and of those inside it, each once, contiguous."""
    constants: dict[Var, Any] = {}
    for p in all_programs(program):
        constants.update(p.constants)
    return {v: np.ascontiguousarray(c).reshape(np.shape(c)) for v, c in constants.items()}


@cache
def interpreter() -> dict[str, int]:
    """Addresses of what kernels ask the interpreter and the system for, by name."""
    names = (
        "PyGILState_Ensure", "PyGILState_Release", "PyEval_SaveThread", "PyEval_RestoreThread",
        "PyErr_CheckSignals", "PyErr_Occurred", "PyErr_Fetch", "PyErr_NormalizeException", "clock_gettime",
    )  # fmt: skip
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names}
