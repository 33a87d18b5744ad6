"""A program as machine code, ready to be called."""

# pyright: basic

from __future__ import annotations

import ctypes
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.base.config import config
from adjoint.base.forking import free_in_child
from adjoint.base.loading import deferred
from adjoint.base.source import describe
from adjoint.compile import cache
from adjoint.compile.cache import object_for
from adjoint.compile.calls import Calls
from adjoint.compile.code import ENTRY, CachedCode, Code
from adjoint.compile.machine import Loaded, compile_object
from adjoint.compile.memory import most_bytes
from adjoint.compile.pool_state import RUN
from adjoint.compile.size_generic import Formulas, Reading, Rewriting, describe_reading
from adjoint.compile.statuses import MESSAGES, NO_MEMORY
from adjoint.compile.symbolic_sizes import (
    Fact,
    SizeError,
    Unsupported,
    collect,
    hold,
    is_of_found_sizes,
    stop,
    value_of,
)
from adjoint.program.program import Program

if TYPE_CHECKING:
    from adjoint.compile.expand import expand_program
    from adjoint.compile.lower import LoweredCode
    from adjoint.compile.runtime_sizes import name_sizes
else:  # code that is found on disk needs none of what writes it
    expand_program = deferred("adjoint.compile.expand", "expand_program")
    LoweredCode = deferred("adjoint.compile.lower", "LoweredCode")
    name_sizes = deferred("adjoint.compile.runtime_sizes", "name_sizes")

HEAVY = 50_000.0  # additions: about 20 microseconds, worth releasing the interpreter for
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class Kernel:
    """Machine code of a program. `run` is the slow call; the entry calls its address."""

    def __init__(
        self, program: Program, lowered: Code, code: Loaded, constants: Sequence[Any], sizes: Mapping[str, int]
    ) -> None:
        self.program = program
        self.input_types, self.output_types = program.input_types, program.output_types
        self.constants = list(constants)
        self.workspace = (
            lowered.workspace if type(lowered.workspace) is int else value_of(lowered.workspace.polynomial, sizes)
        )
        self.heavy = lowered.work > HEAVY or RUN in lowered.symbols
        self.calls_back = (
            "PyErr_CheckSignals" in lowered.symbols
        )  # Python code, or handlers of signals, may run meanwhile
        self.notes: dict[str, Any] = {
            "steps": lowered.steps,
            "callbacks": [(eq.op.title, eq.location) for eq in lowered.callbacks],
            "looped": [(eq.op.title, eq.location) for eq in lowered.looped],
            "any size": bool(sizes),
            "threads": lowered.threads,
            "giant": lowered.giant,
        }
        self._errors = lowered.errors
        self._code = code
        self.address = code.address(ENTRY)
        self._calls = Calls(lowered.callbacks)
        # all that a kernel knows of Python, and how much memory it may take for what it finds the size of
        self._context = (ctypes.c_int64 * 2)(self._calls.address, most_bytes())
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
        inputs = [np.require(a, t.dtype, ["C", "A"]) for a, t in zip(arrays, self.input_types, strict=True)]
        outputs = [np.empty(t.shape, t.dtype) for t in self.output_types]
        buffer = np.empty(self.workspace + 64, np.uint8)
        aligned = -(-buffer.ctypes.data // 64) * 64
        pointers = [a.ctypes.data for a in (*inputs, *outputs, *self.constants)] + [aligned, self.context]
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        status = self._function(ctypes.addressof(table))
        return status, [o if o.ndim else o[()] for o in outputs]

    def failure(self, status: int) -> BaseException:
        """The exception that a status stands for."""
        left = self._calls.take()
        if status == -1:
            return left if isinstance(left, BaseException) else KeyboardInterrupt()
        if status == -2:
            if not isinstance(left, tuple):
                return left if isinstance(left, BaseException) else IndexError("an index is out of bounds")
            number, index, size = left
            eq = self._errors[number]
            there = f", at {describe(eq.location)}" if eq.location is not None else ""
            return IndexError(f"index {index} is out of bounds for an axis of size {size}, in {eq.op.title}{there}")
        if status == NO_MEMORY:
            return MemoryError(
                "no memory for what reverse mode keeps of the iterations of a while loop. Does the loop end? If it "
                'does, checkpoint="online" keeps a few states alone, and bounds the memory.'
            )
        if status in MESSAGES:
            return np.linalg.LinAlgError(MESSAGES[status])
        return RuntimeError(f"the kernel left with status {status}")


class SizeFamily:
    """Programs that differ in sizes alone: the first, and the code for any size once a second one came."""

    def __init__(self, program: Program, reading: Reading) -> None:
        self.program, self.reading = program, reading
        self.codes: list[SizeGenericCode] = []
        self.failed = False

    def member(self, program: Program, reading: Reading) -> Kernel | None:
        """A kernel for a program of other sizes without compiling for it alone; None when that cannot be."""
        for code in self.codes:
            kernel = code.kernel(program, reading)
            if kernel is not None:
                return kernel
        if self.failed or len(self.codes) >= MOST_GENERIC or reading.numbers == self.reading.numbers:
            return None
        try:
            code = SizeGenericCode(self.program, self.reading, program, reading)
        except (
            Exception
        ):  # mostly SizeError, from what needs a plain number; code for known sizes is right all the same
            self.failed = True
            return None
        self.codes.append(code)
        return code.kernel(program, reading)


class SizeGenericCode:
    """Code for programs of a family whose numbers follow some formulas."""

    def __init__(self, first: Program, first_reading: Reading, program: Program, reading: Reading) -> None:
        self.formulas = Formulas(first_reading, reading)
        rewriting = Rewriting(program, self.formulas)
        self._fixed = self._written_literals(reading)
        self._facts: list[Fact] = []
        token = collect(self._facts)
        try:
            self._lowered = LoweredCode(rewriting.program, list(self.formulas.names))
        finally:
            stop(token)
        self._facts = [fact for fact in dict.fromkeys(self._facts) if not is_of_found_sizes(fact.difference)]
        position = {v: k for k, v in enumerate(self._lowered.constants)}
        self._literals = [position[v] for v in rewriting.constants]
        content, self._hit = object_for(self._lowered.text)
        self._code = Loaded(content, self._lowered.symbols)

    def kernel(self, program: Program, reading: Reading) -> Kernel | None:
        """The kernel of a member; None when its sizes do not fit."""
        sizes = self.formulas.sizes(reading)
        if sizes is None or not hold(self._facts, sizes):
            return None
        constants: list[Any] = list(self._lowered.constants.values())
        own = [v for v, differs in zip(reading.literals, self.formulas.literals, strict=True) if differs]
        if self._written_literals(reading) != self._fixed:
            return None
        for position, value in zip(self._literals, own, strict=True):
            constants[position] = np.asarray(value)
        constants.append(np.array(list(sizes.values()), np.int64))
        kernel = Kernel(program, self._lowered, self._code, constants, sizes)
        kernel.notes["cached"] = True
        return kernel

    def _written_literals(self, reading: Reading) -> list[str]:
        """Literals that are written into the code."""
        return [repr(v) for v, differs in zip(reading.literals, self.formulas.literals, strict=True) if not differs]


_families: OrderedDict[Any, SizeFamily] = OrderedDict()
_unread: list[Program] = []  # what came from disk, and has no family yet
_lock = free_in_child(threading.RLock())
MOST_FAMILIES = 512
MOST_GENERIC = 3  # codes for any size in one family: sizes that answer comparisons differently need their own


def compile_program(program: Program, name: str | None = None, plain_program: Program | None = None) -> Kernel:
    """Machine code for a program; raises `Unsupported` when it must be interpreted.

    A program that differs from an earlier one in sizes alone shares code with it, where the code can be for any size.
    The name under which its code is on disk, and the program as it was written out there, need not be found again.
    """
    begun = time.perf_counter()
    if name is not None and plain_program is not None and (kernel := _load(plain_program, name, begun)) is not None:
        with _lock:
            _unread.append(plain_program)
            del _unread[:-MOST_FAMILIES]
        return kernel
    if plain_program is None:
        plain_program = name_sizes(expand_program(program))
    reading = _read(plain_program)
    with _lock:
        while _unread:  # what came from disk may be of the same family
            found = _unread.pop(0)
            if (known := _read(found)) is not None:
                _families.setdefault(known.skeleton, SizeFamily(found, known))
        family = _families.get(reading.skeleton) if reading is not None else None
        kernel = family.member(plain_program, reading) if family is not None and reading is not None else None
        if reading is not None and family is None:
            _families[reading.skeleton] = SizeFamily(plain_program, reading)
            if len(_families) > MOST_FAMILIES:
                _families.popitem(last=False)
    if kernel is None:
        kernel = _compile_alone(plain_program, reading, name, begun)
    else:
        kernel.notes["name"] = None
        kernel.notes["seconds"] = {"write": time.perf_counter() - begun, "compile": 0.0}
    return kernel


def _read(program: Program) -> Reading | None:
    """A program without its sizes; None when it holds what cannot be compared."""
    try:
        reading = Reading(program)
        hash(reading.skeleton)
    except TypeError:
        return None
    return reading


def _load(program: Program, name: str, begun: float) -> Kernel | None:
    """The machine code that is on disk under a name; None when there is none, or none for this installation."""
    cached = cache.lookup(name)
    if cached is None:
        return None
    try:
        code = CachedCode(program, cached[1])
    except KeyError:  # it calls a function that this installation does not have
        return None
    written = time.perf_counter()
    kernel = Kernel(program, code, Loaded(cached[0], code.symbols), list(code.constants.values()), {})
    kernel.notes["seconds"] = {"write": written - begun, "compile": time.perf_counter() - written}
    kernel.notes["cached"], kernel.notes["name"] = True, name
    return kernel


def _compile_alone(program: Program, reading: Reading | None, name: str | None, begun: float) -> Kernel:
    """Machine code for a program alone; what is on disk under the name of the program is not even written."""
    if name is None and config.cache:
        text = describe_reading(reading) if reading is not None else None
        name = cache.key(text) if text is not None else None
    if name is not None and (kernel := _load(program, name, begun)) is not None:
        return kernel
    try:
        lowered = LoweredCode(program)
    except SizeError as problem:
        raise Unsupported(str(problem)) from problem
    written = time.perf_counter()
    content, _ = object_for(lowered.text) if name is None else (compile_object(lowered.text), False)
    if name is not None:
        cache.keep(name, content, lowered.facts(program))
    kernel = Kernel(program, lowered, Loaded(content, lowered.symbols), list(lowered.constants.values()), {})
    kernel.notes["seconds"] = {"write": written - begun, "compile": time.perf_counter() - written}
    kernel.notes["cached"], kernel.notes["name"] = False, name
    return kernel


def emit_object(program: Program) -> tuple[str, bytes, dict[str, Any]]:
    """Machine code of a program for a file: what it is for, as text, the object, and the facts that `adopt` reads."""
    plain_program = name_sizes(expand_program(program))
    lowered = LoweredCode(plain_program)
    text = describe_reading(Reading(plain_program))
    if text is None:
        raise Unsupported("it holds what has no name")
    return text, compile_object(lowered.text), lowered.facts(plain_program)


def adopt(
    program: Program, digest: str, content: bytes, facts: Mapping[str, Any], of: Callable[[bytes], str]
) -> Kernel | None:
    """The kernel of a program from an object that `emit_object` made; None when it is that of another program.

    `of` gives the digest of the text that tells programs apart.
    """
    plain_program = name_sizes(expand_program(program))
    text = describe_reading(Reading(plain_program))
    if text is None or of(text.encode()) != digest:
        return None
    try:
        code = CachedCode(plain_program, facts)
    except KeyError:  # it calls a function that this installation does not have
        return None
    kernel = Kernel(plain_program, code, Loaded(content, code.symbols), list(code.constants.values()), {})
    kernel.notes |= {"cached": True, "name": None, "seconds": {"write": 0.0, "compile": 0.0}}
    return kernel


__all__ = ["Kernel", "Unsupported", "adopt", "compile_program", "emit_object"]
