"""Programs inside primitives: the branches of a cond, the bodies of loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from adjoint.program.op import Op
from adjoint.program.program import Equation, Program

O = TypeVar("O", bound=Op)


def map_programs(op: O, change: Callable[[Program], Program]) -> O:
    """The primitive with each program inside changed; the very same one when none did."""
    if "programs" not in op.stated:
        return op
    changes: dict[str, Any] = {}
    for name, value in op.static_parameters().items():
        if isinstance(value, Program):
            new: Any = change(value)
            if new is not value:
                changes[name] = new
        elif isinstance(value, tuple) and value and isinstance(value[0], Program):
            new = tuple(map(change, value))  # type: ignore[arg-type]
            if any(a is not b for a, b in zip(new, value, strict=True)):  # type: ignore[arg-type]
                changes[name] = new
    return dataclasses.replace(op, **changes) if changes else op  # type: ignore[type-var]


def all_programs(program: Program) -> Iterator[Program]:
    """A program and those inside it, from the outside."""
    yield program
    for eq in program.equations:
        for sub in eq.op.programs().values():
            yield from all_programs(sub)


def all_equations(program: Program) -> Iterator[Equation]:
    """The equations of a program and of those inside it."""
    for p in all_programs(program):
        yield from p.equations
