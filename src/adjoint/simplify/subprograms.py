"""Programs inside primitives: the branches of a cond, the bodies of loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from adjoint.program.op import Op
from adjoint.program.program import Program


def holds_programs(op: Op) -> bool:
    """Whether a primitive has programs inside."""
    return hasattr(op, "programs")


def map_programs(op: Op, change: Callable[[Program], Program]) -> Op:
    """The primitive with each program inside changed; the very same one when none did."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(op):  # type: ignore[arg-type]
        value: Any = getattr(op, field.name)
        if isinstance(value, Program):
            new: Any = change(value)
            if new is not value:
                changes[field.name] = new
        elif isinstance(value, tuple) and value and isinstance(value[0], Program):
            new = tuple(map(change, value))
            if any(a is not b for a, b in zip(new, value, strict=True)):
                changes[field.name] = new
    return dataclasses.replace(op, **changes) if changes else op  # type: ignore[type-var]
