"""A program as LLVM's text: one function that reads a table of addresses and leaves a status."""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence

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
from adjoint.compile.callbacks import write_callback, write_raised
from adjoint.compile.code import ENTRY, Code, all_constants
from adjoint.compile.emit import Emitter, Lowering, Shared
from adjoint.compile.families import read_rules
from adjoint.compile.giants import giant_block
from adjoint.compile.growing import free_all
from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.memory import ALIGNMENT
from adjoint.compile.pool_state import BEGIN_BLAS, END_BLAS
from adjoint.compile.stack_regions import write_stack
from adjoint.program.program import Program
from adjoint.program.subprograms import all_equations


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
            f.mark(last=True)
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
        free_all(f, shared.releases)
        if shared.may_raise:
            write_raised(shared)
        f.ret(f.load("i64", shared.status))
        f.finish(shared.leave)
        self.text = "" if inside else str(module)
        self.workspace = shared.arena.size + ALIGNMENT
        self.giant = giant_block(self.text)
        self.work, self.steps, self.errors = shared.work, shared.steps, shared.errors
        self.callbacks, self.looped = shared.callbacks, shared.looped
        self.symbols, self.threads = shared.symbols, shared.threads


def _align(f: Function, pointer: Value) -> Value:
    """The first address of a cache line from here on: vectors that cross lines are read twice."""
    after = f.element(pointer, f.index(ALIGNMENT - 1), "i8")
    return f.intrinsic("ptrmask", after, f.index(-ALIGNMENT), over=["ptr", "i64"])
