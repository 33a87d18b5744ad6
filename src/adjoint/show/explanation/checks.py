"""What `ad.check` asked on the way: an explanation holds for inputs that pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from adjoint.ops.effects import Check
from adjoint.show.explanation.model import Checked, Literal, Variable

__all__ = ["read_check"]


class _Placeholder:
    """Stands in a message where the value of an operand will be."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __format__(self, _: str) -> str:
        return f"\0{self.number}\0"

    __str__ = __repr__ = lambda self: format(self)


def read_check(op: Check, xs: Sequence[Variable | Literal]) -> Checked | None:
    """A check of an explanation; None when it is of constants, which are as they are."""
    if not any(isinstance(x, Variable) and x.kind != "constant" for x in xs[: op.guards + 1]):
        return None
    return Checked(tuple(xs), op.guards, op.batches, (*_message(op), f" (checked at {op.where})"))


def _message(op: Check) -> list[str | int]:
    """Texts, and numbers of the operands whose values stand between them."""
    count = op.arguments.structure.num_leaves - len(op.arguments.fixed)
    placeholders: list[Any] = [_Placeholder(op.guards + 1 + k) for k in range(count)]
    args, kwargs = op.arguments.put_back(placeholders)
    try:
        text = op.message.format(*args, **kwargs) if args or kwargs else op.message
    except (AttributeError, TypeError, KeyError, IndexError, ValueError):  # a part of a value: {0[1]}, {x.shape}
        return [op.message]
    return [int(part) if k % 2 else part for k, part in enumerate(re.split("\0(\\d+)\0", text)) if part]
