"""From a program to something that runs, in four steps.

| step | file | from | to |
|---|---|---|---|
| read | jit/signature, jit/environment | a call | `Signature`: its inputs, what is static, what it captures |
| trace | jit/trace | a function and a signature | `GuardedProgram`: equations, and the answers they hold for |
| simplify | simplify/passes | a program | a cheaper program |
| compile | compile/kernel | a program | `Kernel`: machine code |

`jit/function` keeps the guarded programs of a function, and `jit/patterns` makes each a `Specialization` of its entry,
so that the next call like it runs no line of Python. `jit/program_cache` keeps the last two steps on disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.base.forking import free_in_child
from adjoint.base.garbage import uncollected
from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.source import warn_user
from adjoint.compile.kernel import Kernel, Unsupported, compile_program
from adjoint.jit.program_cache import Shortcut
from adjoint.jit.run import Run, native_call
from adjoint.ops.control import call as calls
from adjoint.program.evaluate import Evaluator
from adjoint.program.program import Program
from adjoint.program.types import Value
from adjoint.simplify import simplify

_compiling = free_in_child(threading.RLock())


@dataclass
class Executable:
    """A program that runs on plain values, and how it came to be."""

    program: Program  # after simplification
    run: Run
    how: str  # "compiled", or why it is read by NumPy
    kernel: Kernel | None
    seconds: dict[str, float]


def executable(program: Program) -> Executable:
    """A program as something that runs; made once for each program."""
    made = made_of(program)
    if made is None:
        with _compiling:
            made = made_of(program)
            if made is None:
                made = program.__dict__["_executable"] = _executable(program)
    return made


def made_of(program: Program) -> Executable | None:
    """What was made of a program already."""
    return program.__dict__.get("_executable")


def _executable(program: Program) -> Executable:
    begin = time.perf_counter()
    with uncollected():
        known = Shortcut(program)
        simple, how = known.simple, "compiled"
        if simple is None:
            try:
                simple = simplify(program)
            except Exception as problem:  # a fault of ours: the program as it was traced computes the same
                simple, how = program, f"compiled, not simplified: simplification failed with {_named(problem)}"
                _report_fault(how, program)
        simplified = time.perf_counter()
        seconds = {"simplify": simplified - begin}
        try:
            kernel = compile_program(simple, known.code)
        except (Unsupported, ImportError) as problem:
            return Executable(
                simple, with_lines_of_users(Evaluator(simple)), f"read by NumPy: {problem}", None, seconds
            )
        except Exception as problem:  # a fault of ours, perhaps of simplification: NumPy reads what was traced
            how = f"read by NumPy: the compiler failed with {_named(problem)}"
            _report_fault(how, simple)
            return Executable(program, with_lines_of_users(Evaluator(program)), how, None, seconds)
        if how == "compiled":
            known.keep(simple, kernel.notes["name"])
    seconds["compile"] = time.perf_counter() - simplified
    return Executable(simple, native_call(kernel), how, kernel, seconds)


def _named(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _report_fault(how: str, program: Program) -> None:
    """Warn that a program runs slower than it should; where sizes are not known yet, NumPy is what is expected."""
    if _sizes_are_known(program):
        warn_user(f"jit: a program is {how}. The results are right; please report it.")


def _sizes_are_known(program: Program) -> bool:
    """Whether the sizes of all values are known before the program runs."""
    return all(isinstance(n, int) for eq in program.equations for v in eq.outputs for n in v.type.shape)


def run_program(program: Program, values: Sequence[Value]) -> list[Value]:
    """Run a program on plain values; what `Call` does."""
    return executable(program).run(values)


calls.run_with(run_program)
