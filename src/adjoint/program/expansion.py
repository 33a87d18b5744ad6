"""Primitives composed of others: the program that a primitive expands to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

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
        return expanded_results(op, z) if op.several else [z]

    return record_program(results, types)[0]


def expanded_results(op: Op, z: Any) -> list[Value]:
    """What `op.expand` gave, where it gives several results; an array would be taken for as many as it has rows."""
    if not isinstance(z, tuple | list):
        raise TypeError(
            f"{op.title}: expand returns a tuple of results, of one result too; got a {type(z).__name__}. Write "
            "return (z,)."
        )
    return list(cast(Any, z))
