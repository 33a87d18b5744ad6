"""Programs that are recorded once for each problem, and called compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint import tree
from adjoint.integrate.derivative import record_flat, types_of
from adjoint.jit.pipeline import run_program
from adjoint.ops.control.call import Call, run_with
from adjoint.program.program import Program
from adjoint.program.types import Value

__all__ = ["call_recorded"]

run_with(run_program)  # programs that are called run compiled, also where nothing else has loaded the compiler
_programs: dict[Any, tuple[Program, Any]] = {}
MOST_PROGRAMS = 512


def call_recorded(key: Any, function: Callable[..., Any], inputs: Sequence[Value]) -> Any:
    """function(*inputs), a tree, by a compiled program that is recorded once for each key and types."""
    types = types_of(inputs)
    whole = (key, tuple((t.shape, str(t.dtype)) for t in types))
    if whole not in _programs:
        if len(_programs) >= MOST_PROGRAMS:
            _programs.pop(next(iter(_programs)))
        found: list[Any] = []

        def flat(*values: Value) -> list[Value]:
            out, structure = tree.flatten(function(*values))
            found.append(structure)
            return out

        program, captured = record_flat(flat, types)
        assert not captured
        _programs[whole] = program, found[0]
    program, structure = _programs[whole]
    return tree.unflatten(structure, Call(program)(*inputs))
