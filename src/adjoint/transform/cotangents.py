"""The cotangents of a sweep: sums of what arrives from all uses of a variable, in memory of our own where possible."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.calculus import fit, total
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of


class Pending:
    """The cotangent of a variable that was only indexed: the parts are added into one dense array when it is read."""

    __slots__ = ("dense", "kind", "parts")

    def __init__(self, kind: ArrayType) -> None:
        self.kind = kind
        self.parts: list[tuple[Any, Value, Sequence[Value]]] = []
        self.dense: Value = None

    def assemble(self) -> Value:
        cts = [ct for _, ct, _ in self.parts]
        keys = tuple(op.key() for op, _, _ in self.parts)
        indices = [i for _, _, xs in self.parts for i in xs[1:]]
        return total(self.dense, ScatterSum(self.kind.shape, self.kind.dtype, keys)(*cts, *indices))


def accumulate(cts: list[Any], i: int, g: Value, owned: set[int]) -> None:
    """cts[i] += g, in place once the sum is an array of our own."""
    old = cts[i]
    if old is None:
        cts[i] = g
    elif type(old) is Pending:
        old.dense = total(old.dense, g)
    elif i in owned and type(old) is np.ndarray and type(g) is np.ndarray:
        np.add(old, g, out=old)
    else:
        new = cts[i] = old + g
        if type(new) is np.ndarray:
            owned.add(i)


def scatter(cts: list[Any], i: int, op: Any, ct: Value, xs: Sequence[Any], owned: set[int]) -> None:
    """Add the cotangent of x[index] to that of x without making a dense array each time."""
    old = cts[i]
    if isinstance(ct, Tracer) and ct._trace.counts:  # as the plain arrays that it stands for: dense from the start
        trace: Any = ct._trace
        cts[i] = trace.scattered(old if i in owned else None, op, ct, xs)
        owned.add(i)
        return
    if (
        isinstance(ct, Tracer)
        or isinstance(old, Tracer)
        or type(old) is Pending
        or any(isinstance(x, Tracer) for x in xs[1:])
    ):
        if type(old) is not Pending:
            cts[i] = pending = Pending(xs[0] if isinstance(xs[0], ArrayType) else type_of(xs[0]))
            pending.dense = old
        cts[i].parts.append((op, ct, xs))
        return
    if old is None:
        cts[i] = np.zeros(xs[0].shape, xs[0].dtype)
        owned.add(i)
    elif i not in owned or type(old) is not np.ndarray:  # a sum of 0-d arrays is a scalar, which cannot be written to
        cts[i] = np.array(old)
        owned.add(i)
    op.pull_into(cts[i], ct, xs)


def unwrite(cts: list[Any], ix: Sequence[int], op: Any, ct: Value, xs: Sequence[Any], owned: set[int]) -> None:
    """Undo x[…] = v in a cotangent of our own: what was written takes its part, and x keeps the rest."""
    if ix[1] >= 0:
        accumulate(cts, ix[1], fit(np.array(op.read(ct, xs[0], xs[2:])), xs[1]), owned)
    if ix[0] >= 0:
        ct[op.subscript(xs[2:])] = 0
        if cts[ix[0]] is None:
            cts[ix[0]] = ct
            owned.add(ix[0])
        else:
            accumulate(cts, ix[0], ct, owned)
