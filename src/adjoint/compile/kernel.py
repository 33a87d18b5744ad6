"""A program as machine code: one function that reads a table of addresses and leaves a status."""

# pyright: basic

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.source import describe
from adjoint.compile import cumulative, loops, products, scatter  # noqa: F401  # they declare lowerings
from adjoint.compile.block import LOWERINGS, Block, Shared, Unsupported
from adjoint.compile.callbacks import Calls, write_callback
from adjoint.compile.expand import expanded
from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.machine import Loaded, compiled_object, vector_bits
from adjoint.program.program import Equation, Program, Var

ENTRY = "adjoint_kernel"
HEAVY = 50_000.0  # additions: about 20 microseconds, worth releasing the interpreter for
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class Kernel:
    """Machine code of a program. `run` is the slow way to call it; the entry calls its address."""

    def __init__(self, program: Program, made: Written, content: bytes) -> None:
        self.program = program
        self.input_types, self.output_types = program.input_types, program.output_types
        self.constants = made.constants
        self.workspace: int = made.workspace
        self.heavy = made.work > HEAVY
        self.notes = {"steps": made.steps, "callbacks": [(eq.op.title, eq.location) for eq in made.callbacks]}
        self._errors = made.errors
        self._code = Loaded(content, made.symbols)
        self.address = self._code.address(ENTRY)
        self._calls = Calls(made.callbacks)
        self._context = (ctypes.c_int64 * 8)(self._calls.address)
        self.context = ctypes.addressof(self._context)
        self._function = SIGNATURE(self.address)

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Call the kernel on arrays of its input types; raises what went wrong."""
        status, outputs = self.attempt(arrays)
        if status:
            raise self.failure(status)
        return outputs

    def attempt(self, arrays: Sequence[Any]) -> tuple[int, list[Any]]:
        """Call the kernel; (status, outputs)."""
        given = [np.require(a, t.dtype, ["C", "A"]) for a, t in zip(arrays, self.input_types, strict=True)]
        outputs = [np.empty(t.shape, t.dtype) for t in self.output_types]
        room = np.empty(self.workspace, np.uint8)
        pointers = [a.ctypes.data for a in (*given, *outputs, *self.constants)] + [room.ctypes.data, self.context]
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        status = self._function(ctypes.addressof(table))
        return status, [o if o.ndim else o[()] for o in outputs]

    def failure(self, status: int) -> BaseException:
        """The exception that a status stands for."""
        if status == -1 and self._calls.failure is not None:
            problem, self._calls.failure = self._calls.failure, None
            return problem
        if status == -2:
            number, index, size = self._context[1], self._context[2], self._context[3]
            eq = self._errors[number]
            there = f", at {describe(eq.location)}" if eq.location is not None else ""
            return IndexError(f"index {index} is out of bounds for an axis of size {size}, in {eq.op.title}{there}")
        if status == -4:
            return MemoryError("no memory for the rows that reverse mode keeps of a while loop")
        return RuntimeError(f"the kernel left with status {status}")


class Written:
    """A program as LLVM's text, and what must be known to run it."""

    def __init__(self, program: Program) -> None:
        program = expanded(program)
        module = Module()
        width = f'"prefer-vector-width"="{vector_bits()}"'
        f = Function(module, ENTRY, ["ptr noalias"], "i64", linkage="", attributes=f"nounwind {width}")
        shared = Shared(module, f)
        shared.lowering = lower
        table = f.params[0]

        def entry(k: int) -> Value:
            return f.load("ptr", f.element(table, f.index(k), "ptr"), 8)

        inputs, outputs = len(program.inputs), len(program.outputs)
        pointers = {v: entry(k) for k, v in enumerate(program.inputs)}
        targets = {k: entry(inputs + k) for k in range(outputs)}
        constants = all_constants(program)
        self.constants = [np.ascontiguousarray(c) for _, c in constants]
        shared.constants = {v: entry(inputs + outputs + k) for k, (v, _) in enumerate(constants)}
        rest = inputs + outputs + len(constants)
        shared.workspace, shared.context = entry(rest), entry(rest + 1)
        f.store(f.index(0), shared.status)
        Block(shared, program).emit(pointers, targets)
        f.jump(shared.leave)
        f.place(shared.leave)
        for room in shared.releases:
            f.call("free", "void", f.load("ptr", room), declared=True)  # of nothing, if the loop did not run
        f.ret(f.load("i64", shared.status))
        f.finish()
        self.text = str(module)
        self.workspace = int(shared.arena.size)
        self.work, self.steps, self.errors = shared.work, shared.steps, shared.errors
        self.callbacks: list[Equation] = shared.callbacks
        self.symbols = shared.symbols


def all_constants(program: Program) -> list[tuple[Var, Any]]:
    """The constants of a program and of those inside it, each once."""
    found: dict[Var, Any] = {}

    def visit(p: Program) -> None:
        found.update(p.constants)
        for eq in p.equations:
            inner = getattr(eq.op, "programs", None)
            for sub in inner().values() if inner is not None else ():
                visit(sub)

    visit(program)
    return list(found.items())


def lower(block: Block, eq: Equation) -> None:
    """The instructions of an equation that is no part of a nest."""
    lowering = LOWERINGS.get(type(eq.op))
    if lowering is None:
        write_callback(block, eq)
    else:
        lowering(block, eq)


def compile_program(program: Program) -> Kernel:
    """Machine code for a program; raises `Unsupported` when it must be interpreted."""
    begun = time.perf_counter()
    made = Written(program)
    written = time.perf_counter()
    content = compiled_object(made.text)
    kernel = Kernel(program, made, content)
    kernel.notes["seconds"] = {"write": written - begun, "compile": time.perf_counter() - written}
    return kernel


__all__ = ["Kernel", "Unsupported", "compile_program"]
