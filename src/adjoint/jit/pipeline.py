"""From a call to machine code, in five steps.

| step | file | from | to |
|---|---|---|---|
| read | jit/signature, jit/environment | a call | `Signature`: what is static, the types of the inputs, the captures |
| trace | jit/trace | a function and a call | `GuardedProgram`: equations, and the guards they hold for |
| simplify | simplify/passes | a program | a cheaper program |
| compile | compile/kernel | a program | `Kernel`: machine code |
| specialize | jit/patterns | a guarded program and its kernel | `Specialization`: which calls run it, without Python |

`jit/function` reads the call, keeps the guarded programs of a function as the variants of a signature, and runs them.
`jit/program_cache` keeps the results of simplify and compile on disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.base.forking import free_in_child
from adjoint.base.garbage import uncollected
from adjoint.compile.callable import Specialization
from adjoint.jit.executable import (
    COMPILED,
    Executable,
    compile_or_report,
    known_executable,
    remember_executable,
    simplify_or_report,
)
from adjoint.jit.patterns import match_calls
from adjoint.jit.program_cache import ProgramCache
from adjoint.jit.signature import Call, CallReader
from adjoint.jit.trace import GuardedProgram, trace_call
from adjoint.ops.control import call as calls
from adjoint.program.program import Program
from adjoint.program.types import Value

__all__ = ["build_executable", "compile_call", "run_first", "run_program", "specialize"]

_compiling = free_in_child(threading.RLock())


def compile_call(
    function: Callable[..., Any], reader: CallReader, call: Call, *, why: str, branches: str = "auto"
) -> GuardedProgram:
    """What the function does for calls like this one, compiled."""
    guarded = trace_call(function, reader, call, why=why, branches=branches)
    if not guarded.captured:  # what reads values of a running transformation is good for this call alone
        build_executable(guarded.program)
    return guarded


def build_executable(program: Program) -> Executable:
    """A program, simplified and compiled: once for each program."""
    if (known := known_executable(program)) is not None:
        return known
    with _compiling, uncollected():
        if (known := known_executable(program)) is not None:  # another thread was first
            return known
        begin, cache = time.perf_counter(), ProgramCache(program)
        simple, how = (program, COMPILED) if cache.finished is not None else simplify_or_report(program)
        simplified = time.perf_counter()
        executable = compile_or_report(simple, program, how, cache.finished, cache.plain, cache.code)
        cache.keep(executable)
        executable.seconds.update({"simplify": simplified - begin, "compile": time.perf_counter() - simplified})
        return remember_executable(program, executable)


def specialize(guarded: GuardedProgram, call: Call) -> Specialization | None:
    """The calls that a guarded program answers, for the entry of its function; None: only Python can match them."""
    return match_calls(guarded, build_executable(guarded.program).kernel, call)


def run_program(program: Program, values: Sequence[Value]) -> list[Value]:
    """Run a program on plain values; what `Call` does."""
    return build_executable(program).run(values)


def run_first(program: Program, values: Sequence[Value]) -> list[Value]:
    """The same, once compiled for the first time; how long that takes is kept for the report."""
    executable = build_executable(program)
    begin = time.perf_counter()
    outputs = executable.run(values)
    executable.seconds["first run"] = time.perf_counter() - begin
    return outputs


calls.run_with(run_program)
