"""A program as something that runs on plain values, and what happens when simplifying or compiling it fails.

A fault of the library costs speed, never the result: a program that cannot be simplified is compiled as it was traced,
one that cannot be compiled is read by NumPy, and the user is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.base.loading import deferred
from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.records import record
from adjoint.base.source import warn_user
from adjoint.compile.kernel import Kernel, Unsupported, compile_program
from adjoint.jit.run import Run, native_call
from adjoint.program.evaluate import Evaluator
from adjoint.program.program import Program

if TYPE_CHECKING:
    from adjoint.simplify import simplify
    from adjoint.simplify.finish import finish
else:  # programs that are found on disk are simplified already
    simplify = deferred("adjoint.simplify", "simplify")
    finish = deferred("adjoint.simplify.finish", "finish")

COMPILED = "compiled"


@record(frozen=False)
class Executable:
    """A program that runs on plain values, and how it came to be."""

    program: Program  # after simplification; the finished one, if there is machine code
    run: Run
    how: str  # "compiled", or why it is read by NumPy
    kernel: Kernel | None
    seconds: dict[str, float]


def known_executable(program: Program) -> Executable | None:
    """What was compiled of a program already."""
    return program.__dict__.get("_executable")


def remember_executable(program: Program, executable: Executable) -> Executable:
    """Keep it with its program."""
    program.__dict__["_executable"] = executable
    return executable


def simplify_or_report(program: Program) -> tuple[Program, str]:
    """The simplified program, and how it runs; the program itself if simplification fails."""
    try:
        return simplify(program), COMPILED
    except Exception as problem:
        how = f"{COMPILED}, not simplified: simplification failed with {_describe(problem)}"
        _report_fault(how, program)
        return program, how


def compile_or_report(
    simple: Program, traced: Program, how: str, finished: Program | None, plain: Program | None, code: str | None
) -> Executable:
    """Machine code of a simplified program; an earlier process may have finished it, written it out
    in plainer operations, and know its code by a name.

    NumPy reads it if it needs what is not compiled. If the compiler fails, simplification may be at fault: NumPy reads
    the program as it was `traced`.
    """
    try:
        finished = finish(simple) if finished is None else finished
        kernel = compile_program(finished, code, plain)
    except (Unsupported, ImportError) as problem:
        return Executable(simple, with_lines_of_users(Evaluator(simple)), f"read by NumPy: {problem}", None, {})
    except Exception as problem:
        how = f"read by NumPy: the compiler failed with {_describe(problem)}"
        _report_fault(how, simple)
        return Executable(traced, with_lines_of_users(Evaluator(traced)), how, None, {})
    return Executable(finished, native_call(kernel), how, kernel, {})


def _describe(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _report_fault(how: str, program: Program) -> None:
    """Warn that a program runs slower than it should; where sizes are not known yet, NumPy is what is expected."""
    if all(isinstance(n, int) for eq in program.equations for v in eq.outputs for n in v.type.shape):
        warn_user(f"jit: a program is {how}. The results are right; please report it.")
