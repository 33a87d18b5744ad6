"""What reverse mode keeps of the steps where nothing else is said, checkpoint="auto": all that fits, or online slots.

The number of steps is not known beforehand, only its bound K = max_steps. With b bytes for the vectors that a step
keeps, everything fits when K b is at most half of the machine's memory. Else there are S online slots, as many as go
into a quarter of it with all that a state holds (a Jacobian too), and steps are computed again from there: none of them
before there are more than S. Slots take memory when a state is written to them, so that a short solution takes little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.compile.memory import most_bytes
from adjoint.ops.checkpointing.schedule import Online, plan_of
from adjoint.program.types import type_of

__all__ = ["Fitting", "plan_steps", "read_checkpoint"]

MOST_SLOTS = 4096
VECTORS = 64  # more vectors than this no method keeps of a step; a leaf that is larger is a matrix, which is not kept


@final
@dataclass(frozen=True)
class Fitting:
    """All steps, as long as they fit; `most` is how many there are at most."""

    most: int


def read_checkpoint(title: str, checkpoint: Any, layout: Any, max_steps: int, known: bool = False) -> Any:
    """The plan that was asked for."""
    if not (isinstance(checkpoint, str) and checkpoint == "auto"):
        plan_of(checkpoint, known, title)  # refuses what is no plan
        return checkpoint
    vector = layout.size * np.dtype(layout.dtype).itemsize
    if max_steps * VECTORS * vector <= _half_of_memory():
        return None
    return Fitting(1 << (max_steps - 1).bit_length())  # few programs for many bounds


def plan_steps(checkpoint: Any, state: Any, width: int) -> Any:
    """The plan for steps of a method that carry such a state."""
    if not isinstance(checkpoint, Fitting):
        return checkpoint
    types = [type_of(leaf) for leaf in tree.leaves(state)]
    sizes = [math.prod(t.shape) * t.dtype.itemsize for t in types]
    vectors = [b for b, t in zip(sizes, types, strict=True) if math.prod(t.shape) <= VECTORS * width]
    if checkpoint.most * sum(vectors) <= _half_of_memory():
        return None
    return Online(max(2, min(MOST_SLOTS, checkpoint.most, _half_of_memory() // 2 // sum(sizes))))


def _half_of_memory() -> int:
    """Half of the machine's memory."""
    return most_bytes() * 10 // 9 // 2
