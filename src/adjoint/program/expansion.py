"""Primitives composed of others: the program that a primitive expands to."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.program.op import Op
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Value


def expansion(op: Op, types: Sequence[ArrayType]) -> Program | None:
    """What `op.expand` does to arguments of these types, as a program; None where the primitive does not expand."""
    if "expand" not in op.stated:
        return None

    def results(*xs: Value) -> list[Value]:
        z = op.expand(*xs)
        return list(z) if op.several else [z]

    return record_program(results, types)[0]
