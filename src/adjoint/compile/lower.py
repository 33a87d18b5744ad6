"""A program as LLVM's text: one function that reads a table of addresses and leaves a status."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.compile import (  # noqa: F401  # they declare lowerings
    blas,
    cumulative,
    loops,
    philox,
    pool,
    products,
    scatter,
    searching,
    sorting,
    ufunc_loops,
    ufuncs,
)
from adjoint.compile.attention import interpreter
from adjoint.compile.callbacks import write_callback, write_raised
from adjoint.compile.emit import Emitter, Lowering, Shared
from adjoint.compile.families import read_rules
from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.memory import ALIGNMENT
from adjoint.compile.pool_state import BEGIN_BLAS, END_BLAS
from adjoint.compile.stack_regions import write_stack
from adjoint.program.program import Equation, Program, Var
from adjoint.program.subprograms import all_equations, all_programs

ENTRY = "adjoint_kernel"


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
        self.threads = facts["threads"]


def _address(symbol: str) -> int:
    """Where a function that machine code names is; KeyError where it is not found in this installation."""
    if symbol in interpreter():
        return interpreter()[symbol]
    if symbol.startswith("adjoint_pool_"):
        return pool.address(symbol)
    return ufunc_loops.address(symbol) if "." in symbol else blas.address(symbol)


class LoweredCode(Code):
    """A program as LLVM's text; `names` are the sizes that it is given.

    With `inside`, a module and a name, it is an internal function of that module which needs no Python.
    """

    def __init__(self, program: Program, names: Sequence[str] = (), inside: tuple[Module, str] | None = None) -> None:
        read_rules(all_equations(program))
        module, name = inside or (Module(), ENTRY)
        width = f'"prefer-vector-width"="{vector_bits()}"'
        linkage = "internal" if inside else ""
        f = Function(module, name, ["ptr noalias"], "i64", linkage=linkage, attributes=f"nounwind {width}")
        shared = Shared(module, f, Lowering(lambda emitter, op, eq: write_callback(emitter, eq)), write_stack)
        shared.standalone = inside is not None
        table = f.params[0]

        def entry(k: int) -> Value:
            return f.load("ptr", f.element(table, f.index(k), "ptr"), 8)

        inputs, outputs = len(program.inputs), len(program.outputs)
        pointers = {v: entry(k) for k, v in enumerate(program.inputs)}
        targets = {k: entry(inputs + k) for k in range(outputs)}
        self.constants = all_constants(program)
        first = inputs + outputs
        shared.constants = {v: entry(first + k) for k, v in enumerate(self.constants)}
        rest = first + len(self.constants)
        if names:
            sizes = entry(rest)
            rest += 1
            shared.sizes = {name: f.load("i64", f.element(sizes, f.index(k), "i64"), 8) for k, name in enumerate(names)}
        shared.workspace = _align(f, entry(rest))
        shared.context = entry(rest + 1)
        f.store(f.index(0), shared.status)
        with f.apart([]) as steps:
            Emitter(shared, program).emit(pointers, targets)
            f.jump(shared.leave)
        calls_blas = any(name.startswith(("adjoint_blas_", "adjoint_lapack_")) for name in shared.symbols)
        calls_blas = calls_blas and not shared.standalone and pool.is_available()
        if calls_blas:
            shared.symbols.update((name, pool.address(name)) for name in (BEGIN_BLAS, END_BLAS))
            f.call(BEGIN_BLAS, "void", declared=True)
        f.include(steps, [])
        f.begin(shared.leave)
        if calls_blas:
            f.call(END_BLAS, "void", declared=True)
        for slot in shared.releases:
            f.call("free", "void", f.load("ptr", slot), declared=True)  # of nothing, if the loop did not run
        if shared.may_raise:
            write_raised(shared)
        f.ret(f.load("i64", shared.status))
        f.finish()
        self.text = "" if inside else str(module)
        self.workspace = shared.arena.size + ALIGNMENT
        self.work, self.steps, self.errors = shared.work, shared.steps, shared.errors
        self.callbacks, self.looped = shared.callbacks, shared.looped
        self.symbols, self.threads = shared.symbols, shared.threads


def _align(f: Function, pointer: Value) -> Value:
    """The first address of a cache line from here on: vectors that cross lines are read twice."""
    after = f.element(pointer, f.index(ALIGNMENT - 1), "i8")
    return f.intrinsic("ptrmask", after, f.index(-ALIGNMENT), over=["ptr", "i64"])


def all_constants(program: Program) -> dict[Var, Any]:
    """The constants of a program and of those inside it, each once, contiguous."""
    constants: dict[Var, Any] = {}
    for p in all_programs(program):
        constants.update(p.constants)
    return {v: np.ascontiguousarray(c).reshape(np.shape(c)) for v, c in constants.items()}
