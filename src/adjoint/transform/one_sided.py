"""Derivatives from one side: x and a point beside it run together, and where a value sits at a kink the other decides.

A pair (x, s) stands for x, approached from s = x ± h. Primitives act on both. A comparison at equality, a sign of zero,
a position where steps jump is answered by s; so partials, which are written with them, are those of that side: |x|' at
0 is sign(0±) = ±1. Nothing is divided by h.

The derivative that comes out is itself a pair (v, g): at the point along the branches of the side, and beside it. Where
rules meet 0 · ∞ they give 0 or NaN, and g tells the limit: v is kept if g comes closer to it as h falls, else g is it.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, NonFiniteError
from adjoint.base.source import here
from adjoint.program.op import Op
from adjoint.program.program import interpret
from adjoint.program.trace import Trace, Tracer, running
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import leave_trace, run

__all__ = ["Pair", "Sided", "one_sided_gradient"]

Gradients = Callable[[Sequence[Value]], tuple[Value, Any, list[Value]]]


class Pair(Tracer):
    """A value, and the same beside the point."""

    __slots__ = ("_beside",)

    def __init__(self, trace: Sided, value: Value, beside: Value) -> None:
        self._trace, self._value, self._beside = trace, value, beside

    def snapshot(self) -> Pair:
        return Pair(self._trace, self._value, self._beside)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        mine = isinstance(other, Pair) and other._trace is self._trace
        self._value, self._beside = (other._value, other._beside) if mine else (other, other)


class Sided(Trace):
    """Runs primitives on pairs."""

    title = "a derivative from one side"
    unrolls = True

    def constant(self, value: Value) -> Pair:
        return Pair(self, value, value)

    def asked(self, x: Any) -> Value:
        """Python's questions (`if x:`, int(x), math.floor(x)) are steps too: the side answers them."""
        return x._beside

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if op.is_control:
            return tuple(op.unroll(args, interpret))
        mine = [isinstance(a, Pair) and a._trace is self for a in args]
        xs = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        with np.errstate(all="ignore"):
            z = op(*xs)
            s = op(*[a._beside if m else a for a, m in zip(args, mine, strict=True)])
            if op.several:
                return tuple(self._join(op, xs, *both) for both in zip(z, s, strict=True))
            return self._join(op, xs, z, s)

    def _join(self, op: Op, xs: Sequence[Value], z: Value, s: Value) -> Value:
        steps = op.kinks.steps if op.kinks is not None else ""
        if steps == "tie":
            return _either(np.equal(xs[0], xs[1]), s, z)
        if steps == "zero":
            z = _either(np.equal(xs[0], 0), s, z)
        elif steps == "everywhere" or type_of(z).dtype.kind not in "fc":
            z = s
        return Pair(self, z, s) if type_of(z).dtype.kind in "fc" else z


def one_sided_gradient(
    gradients: Gradients, values: Sequence[Value], side: str, transformation: str
) -> tuple[Value, Any, list[Value]]:
    """(value, aux, gradient from a side) of what gives (value, aux, gradient): all numbers approached from there."""
    if side not in ("left", "right"):
        raise ValueError(f'{transformation}: side is "left" or "right" (or None); got {side!r}.')
    for value in values:
        if type_of(value).dtype.kind != "f":
            raise DtypeError(f"{transformation}: complex numbers have no left and right; got {type_of(value)}.")
    trace = Sided()
    with running(trace):
        trace.started = here()
        pairs = [Pair(trace, x, _move(x, side, 0.75)) for x in values]
        value, aux, found = run(trace, gradients, pairs)
        mine = [isinstance(g, Pair) and g._trace is trace for g in found]
        at_point = [leave_trace(g, trace) for g in found]
        beside = [g._beside if m else g for g, m in zip(found, mine, strict=True)]
        height: Any = value._beside if isinstance(value, Pair) and value._trace is trace else value
        value = leave_trace(value, trace)
        leaves, structure = tree.flatten(aux)
        aux = tree.unflatten(structure, [leave_trace(leaf, trace) for leaf in leaves])
    known = not any(isinstance(v, Tracer) for v in (*at_point, *beside, value, height))
    if known and np.isnan(height) and not np.isnan(value):
        raise NonFiniteError(
            f"{transformation}(side={side!r}): the function is not defined on the {side} of its arguments (it is NaN "
            "there), so that it has no derivative from this side. Take the other side."
        )
    if known and all(np.allclose(v, g, 1e-6, 1e-6) for v, g in zip(at_point, beside, strict=True)):
        return value, aux, at_point
    with np.errstate(all="ignore"):
        farther = gradients([_move(x, side, 0.375) for x in values])[2]
        limits = [_limit(v, g, f) for v, g, f in zip(at_point, beside, farther, strict=True)]
        if not known:  # a program cannot raise: NaN where there is no side
            absent = np.isnan(height) & ~np.isnan(value)
            limits = [_either(absent, type_of(v).dtype.type(np.nan), v) for v in limits]
        return value, aux, limits


def _move(x: Value, side: str, power: float) -> Value:
    """x ± h, with h = ε^power max(1, |x|)."""
    kind = type_of(x).dtype
    h = kind.type(float(np.finfo(kind).eps) ** power) * np.maximum(kind.type(1), np.abs(x))
    return x + h if side == "right" else x - h


def _limit(v: Any, g: Any, farther: Any) -> Any:
    """v where the derivatives beside the point come closer to it, or grow towards it if it is infinite; else g."""
    closer = np.abs(g - v) <= np.maximum(0.5 * np.abs(farther - v), 1e-6 * (1 + np.abs(g)))
    grows = np.isinf(v) & (np.sign(v) * g > 2 * np.abs(farther))
    return _either(np.isfinite(v) & closer | grows, v, g)


def _either(first: Any, a: Any, b: Any) -> Any:
    return cast(Any, np).where(first, a, b)[()]
