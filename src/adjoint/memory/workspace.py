"""What operations take while they run: the workspace of primitives and of control flow, and the peak of a program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.control import Cond
from adjoint.ops.convolution import Convolution
from adjoint.ops.convolving import ROOM
from adjoint.ops.fourier import Fourier
from adjoint.ops.index import ScatterSum, Slice
from adjoint.ops.loops import While
from adjoint.ops.pointwise import MaskedProduct
from adjoint.ops.policies import Mark
from adjoint.ops.rearrange import Broadcast, Imag, Real, Reshape, Transpose
from adjoint.ops.reversible import Reversible
from adjoint.ops.rewind import Rewind
from adjoint.ops.select import StopGradient
from adjoint.ops.sweep import Sweep
from adjoint.program.program import Equation, Program, Var, last_uses
from adjoint.program.types import ArrayType

VIEWS = (Slice, Transpose, Reshape, Broadcast, StopGradient, Real, Imag, Mark)  # they give no memory of their own


def size_of(kind: ArrayType) -> int:
    """Bytes; a length that is not known counts as one."""
    return math.prod(n if isinstance(n, int) else 1 for n in kind.shape) * kind.dtype.itemsize


def in_files(op: Any) -> int:
    """How many of an operation's last results are in files: the states that a loop keeps there."""
    return op.carries if isinstance(op, Sweep) and op.checkpoint.disk is not None else 0


def workspace(op: Any, types: Sequence[ArrayType], kinds: Sequence[ArrayType]) -> int:
    """Bytes that an operation on these types needs while it runs, beside its arguments and results."""
    if isinstance(op, MaskedProduct):
        return size_of(ArrayType(kinds[0].shape, np.dtype(bool)))
    if isinstance(op, ScatterSum):  # the indices are compared with zero, and counted with weights
        plain = len(op.shape) == 1 and op.dtype == np.float64
        return max([2 * size_of(t) for t in types[len(op.keys) :] if plain and t.shape != (1,)], default=0)
    if isinstance(op, Convolution):  # windows are copied
        windows = ArrayType((*types[0].shape[:3], *types[1].shape[3:], *op.lengths), kinds[0].dtype)
        return min(size_of(windows), ROOM * windows.dtype.itemsize)
    if isinstance(op, Fourier):  # rows are copied, one at a time
        return max([size_of(ArrayType((types[0].shape[axis],), kinds[0].dtype)) for axis in op.axes], default=0)
    if not op.several or not hasattr(op, "programs"):
        return 0
    results = sum(map(size_of, kinds))
    if isinstance(op, Rewind):
        loop = op.loop
        state = sum(map(size_of, loop.body.input_types[loop.constants : loop.constants + loop.carries]))
        slots = loop.checkpoint.capacity(loop.length if not loop.has_condition else 0)
        spare = 0 if loop.checkpoint.disk is not None else max(slots - 1, 0) * state
        return spare + max(program_peak(op.turn), program_peak(op.advancing()) + state)
    if isinstance(op, Cond):
        return max(max(map(program_peak, op.branches)) - results, 0)
    if isinstance(op, Reversible):
        return max(max(map(program_peak, op.layers)) - results, 0)
    if isinstance(op, While):  # rows are listed, then stacked
        return max(sum(map(size_of, kinds[op.carries :])), program_peak(op.body))
    if hasattr(op, "carries"):
        return program_peak(op.body)
    return max(max(map(program_peak, op.programs().values())) - results, 0)


def program_peak(program: Program) -> int:
    """The most bytes that reading a program takes at once, its results among them, its inputs not."""
    cached = program.__dict__.get("_memory_peak")
    if cached is None:
        cached = program.__dict__["_memory_peak"] = _program_peak(program)
    return cached


def _program_peak(program: Program) -> int:
    last = last_uses(program)
    bases: dict[Var, set[Var]] = {}
    holders: Counter[Var] = Counter()
    now = peak = 0
    for position, eq in enumerate(program.equations):
        extra = workspace(eq.op, [a.type for a in eq.inputs], [v.type for v in eq.outputs])
        for v in eq.outputs:
            bases[v] = _bases(eq, bases) if isinstance(eq.op, VIEWS) else {v}
            now += 0 if isinstance(eq.op, VIEWS) else size_of(v.type)
            holders.update(bases[v])
        peak = max(peak, now + extra)
        for v in last.get(position, ()):
            for base in bases.pop(v, ()):
                holders[base] -= 1
                now -= 0 if holders[base] else size_of(base.type)
    return peak


def _bases(eq: Equation, bases: dict[Var, set[Var]]) -> set[Var]:
    return set().union(*[bases.get(a, set[Var]()) for a in eq.inputs if isinstance(a, Var)])
