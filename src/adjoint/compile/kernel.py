"""A program as machine code: one function that reads a table of addresses and leaves a status."""

# pyright: basic

from __future__ import annotations

import ctypes
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.base.source import describe
from adjoint.compile import cumulative, loops, products, scatter  # noqa: F401  # they declare lowerings
from adjoint.compile.block import LOWERINGS, Block, Shared, Unsupported
from adjoint.compile.cache import object_for
from adjoint.compile.callbacks import Calls, write_callback
from adjoint.compile.expand import expanded
from adjoint.compile.families import Formulas, Reading, Rewriting
from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.machine import Loaded, vector_bits
from adjoint.compile.memory import ALIGNMENT
from adjoint.compile.sizes import Fact, SizeError, collecting, hold, stop, value_of
from adjoint.program.program import Equation, Program, Var

ENTRY = "adjoint_kernel"
HEAVY = 50_000.0  # additions: about 20 microseconds, worth releasing the interpreter for
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class Kernel:
    """Machine code of a program. `run` is the slow way to call it; the entry calls its address."""

    def __init__(
        self, program: Program, made: Written, code: Loaded, constants: Sequence[Any], sizes: Mapping[str, int]
    ) -> None:
        self.program = program
        self.input_types, self.output_types = program.input_types, program.output_types
        self.constants = list(constants)
        self.workspace = made.workspace if type(made.workspace) is int else value_of(made.workspace.polynomial, sizes)
        self.heavy = made.work > HEAVY
        self.notes: dict[str, Any] = {
            "steps": made.steps,
            "callbacks": [(eq.op.title, eq.location) for eq in made.callbacks],
            "any size": bool(sizes),
        }
        self._errors = made.errors
        self._code = code
        self.address = code.address(ENTRY)
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
    """A program as LLVM's text, and what must be known to run it; `names` are the sizes that it is given."""

    def __init__(self, program: Program, names: Sequence[str] = ()) -> None:
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
        self.constants = all_constants(program)
        first = inputs + outputs
        shared.constants = {v: entry(first + k) for k, v in enumerate(self.constants)}
        rest = first + len(self.constants)
        if names:
            sizes = entry(rest)
            rest += 1
            shared.given_sizes = {
                name: f.load("i64", f.element(sizes, f.index(k), "i64"), 8) for k, name in enumerate(names)
            }
        shared.workspace = _aligned(f, entry(rest))
        shared.context = entry(rest + 1)
        f.store(f.index(0), shared.status)
        Block(shared, program).emit(pointers, targets)
        f.jump(shared.leave)
        f.place(shared.leave)
        for room in shared.releases:
            f.call("free", "void", f.load("ptr", room), declared=True)  # of nothing, if the loop did not run
        f.ret(f.load("i64", shared.status))
        f.finish()
        self.text = str(module)
        self.workspace = shared.arena.size + ALIGNMENT
        self.work, self.steps, self.errors = shared.work, shared.steps, shared.errors
        self.callbacks: list[Equation] = shared.callbacks
        self.symbols = shared.symbols


def _aligned(f: Function, pointer: Value) -> Value:
    """The first address of a cache line from here on: vectors that cross lines are read twice."""
    after = f.element(pointer, f.index(ALIGNMENT - 1), "i8")
    return f.intrinsic("ptrmask", after, f.index(-ALIGNMENT), over=["ptr", "i64"])


def all_constants(program: Program) -> dict[Var, Any]:
    """The constants of a program and of those inside it, each once, contiguous."""
    found: dict[Var, Any] = {}

    def visit(p: Program) -> None:
        found.update(p.constants)
        for eq in p.equations:
            inner = getattr(eq.op, "programs", None)
            for sub in inner().values() if inner is not None else ():
                visit(sub)

    visit(program)
    return {v: np.ascontiguousarray(c).reshape(np.shape(c)) for v, c in found.items()}


def lower(block: Block, eq: Equation) -> None:
    """The instructions of an equation that is no part of a nest."""
    lowering = LOWERINGS.get(type(eq.op))
    if lowering is None:
        write_callback(block, eq)
    else:
        lowering(block, eq)


class Family:
    """Programs that differ in sizes alone: the first, and the code for any size once a second one came."""

    def __init__(self, program: Program, reading: Reading) -> None:
        self.program, self.reading = program, reading
        self.generic: list[Generic] = []
        self.hopeless = False

    def member(self, program: Program, reading: Reading) -> Kernel | None:
        """A kernel for a program of other sizes without compiling for it alone; None when that cannot be."""
        for generic in self.generic:
            kernel = generic.kernel(program, reading)
            if kernel is not None:
                return kernel
        if self.hopeless or len(self.generic) >= MOST_GENERIC or reading.numbers == self.reading.numbers:
            return None
        try:
            generic = Generic(self.program, self.reading, program, reading)
        except (SizeError, Unsupported):
            self.hopeless = True
            return None
        self.generic.append(generic)
        return generic.kernel(program, reading)


class Generic:
    """Code for programs of a family whose numbers follow some formulas."""

    def __init__(self, first: Program, first_reading: Reading, program: Program, reading: Reading) -> None:
        self.formulas = Formulas(first_reading, reading)
        rewriting = Rewriting(program, self.formulas)
        self._fixed = self._written_literals(reading)
        self._facts: list[Fact] = []
        token = collecting(self._facts)
        try:
            self._made = Written(rewriting.program, list(self.formulas.names))
        finally:
            stop(token)
        self._facts = list(dict.fromkeys(self._facts))
        place = {v: k for k, v in enumerate(self._made.constants)}
        self._literals = [place[v] for v in rewriting.constants]
        content, self._hit = object_for(self._made.text)
        self._code = Loaded(content, self._made.symbols)

    def kernel(self, program: Program, reading: Reading) -> Kernel | None:
        """The kernel of a member; None when its sizes do not fit."""
        sizes = self.formulas.sizes(reading)
        if sizes is None or not hold(self._facts, sizes):
            return None
        constants: list[Any] = list(self._made.constants.values())
        own = [v for v, differs in zip(reading.literals, self.formulas.literals, strict=True) if differs]
        if self._written_literals(reading) != self._fixed:
            return None
        for place, value in zip(self._literals, own, strict=True):
            constants[place] = np.asarray(value)
        constants.append(np.array(list(sizes.values()), np.int64))
        kernel = Kernel(program, self._made, self._code, constants, sizes)
        kernel.notes["cached"] = True
        return kernel

    def _written_literals(self, reading: Reading) -> list[str]:
        """Literals that are written into the code."""
        return [repr(v) for v, differs in zip(reading.literals, self.formulas.literals, strict=True) if not differs]


_families: OrderedDict[Any, Family] = OrderedDict()
_lock = threading.RLock()
MOST_FAMILIES = 512
MOST_GENERIC = 3  # codes for any size in one family: sizes that answer comparisons differently need their own


def compile_program(program: Program) -> Kernel:
    """Machine code for a program; raises `Unsupported` when it must be interpreted.

    A program that differs from an earlier one in sizes alone shares code with it, where the code can be for any size.
    """
    begun = time.perf_counter()
    plain_program = expanded(program)
    try:
        reading = Reading(plain_program)
        hash(reading.skeleton)
    except TypeError:  # something that cannot be compared
        reading = None
    with _lock:
        family = _families.get(reading.skeleton) if reading is not None else None
        kernel = family.member(plain_program, reading) if family is not None and reading is not None else None
        if reading is not None and family is None:
            _families[reading.skeleton] = Family(plain_program, reading)
            if len(_families) > MOST_FAMILIES:
                _families.popitem(last=False)
    if kernel is None:
        made = Written(plain_program)
        written = time.perf_counter()
        content, hit = object_for(made.text)
        kernel = Kernel(plain_program, made, Loaded(content, made.symbols), list(made.constants.values()), {})
        kernel.notes["seconds"] = {"write": written - begun, "compile": time.perf_counter() - written}
        kernel.notes["cached"] = hit
    else:
        kernel.notes["seconds"] = {"write": time.perf_counter() - begun, "compile": 0.0}
    return kernel


__all__ = ["Kernel", "Unsupported", "compile_program"]
