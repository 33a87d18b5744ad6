"""Jumps inside an integrand, whose movement the derivative of the integrand does not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.control_flow import cond, fori_loop
from adjoint.api.gradients import vmap
from adjoint.base.source import warn_user
from adjoint.debug import callback
from adjoint.integrate.quadrature.adaptive import Computed
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.select import StopGradient
from adjoint.program.program import Equation, Program, Var
from adjoint.program.subprograms import all_equations
from adjoint.program.types import Value

__all__ = ["NAME", "SEGMENTS", "STAND_STILL", "may_jump", "segments_of", "warn_of_jumps"]

FEW = 32  # intervals that are looked at, the narrowest ones: integrals cut where f jumps
SEGMENTS = 64
HALVINGS = 44
HIGH = 1e-4  # of the values of f
NAME = "Name it: points=(…,), an expression of what it depends on."
STAND_STILL = (
    "Use integrate.nquad, with ranges that are functions and end where f jumps, or substitute variables such that the "
    "jump stands still."
)


def may_jump(program: Program, moving: Sequence[bool]) -> bool:
    """Whether a program compares, rounds or asks for the sign of what depends on inputs that move.

    What was stopped (`stop_gradient`) stands still: so the steps and iterations inside integrals and solutions do.
    """
    return _followed(program, moving)[0]


def _followed(program: Program, moving: Sequence[bool]) -> tuple[bool, list[bool]]:
    """Whether there is a jump, and which outputs move."""
    moved = {v for v, flag in zip(program.inputs, moving, strict=True) if flag}
    found = False
    for eq in program.equations:
        flags = [isinstance(x, Var) and x in moved for x in eq.inputs]
        if not any(flags) or isinstance(eq.op, StopGradient):
            continue
        op: Any = eq.op
        if isinstance(op, Scan | While):
            jumps, out = _followed_loop(op.body, op.carries, op.constants, flags[len(flags) - len(op.body.inputs) :])
        elif isinstance(op, Cond) and not flags[0]:
            each = [_followed(branch, flags[1:]) for branch in op.branches]
            jumps, out = any(j for j, _ in each), [any(column) for column in zip(*[o for _, o in each], strict=True)]
        elif isinstance(op, Call):
            jumps, out = _followed(op.program, flags)
        else:
            inside = [e for sub in op.programs().values() for e in all_equations(sub)]
            jumps, out = any(map(_jumps, (eq, *inside))), [True] * len(eq.outputs)
        found = found or jumps
        moved.update(v for v, flag in zip(eq.outputs, out, strict=True) if flag)
    return found, [isinstance(x, Var) and x in moved for x in program.outputs]


def _followed_loop(body: Program, carries: int, constants: int, flags: list[bool]) -> tuple[bool, list[bool]]:
    """The same for all iterations of a loop: what moves in one of them moves in those after it."""
    while True:
        jumps, out = _followed(body, flags)
        carry = [a or b for a, b in zip(flags[constants : constants + carries], out[:carries], strict=True)]
        if carry == flags[constants : constants + carries]:
            return jumps, [*carry, *out[carries:]]
        flags = [*flags[:constants], *carry, *flags[constants + carries :]]


def _jumps(eq: Equation) -> bool:
    kinks = eq.op.kinks
    return eq.op.flat or (kinks is not None and kinks.kind == "jump") or any(
        v.type.dtype.kind in "bi" for v in eq.outputs
    )  # fmt: skip


def segments_of(found: Computed, named: Value) -> tuple[Value, Value]:
    """Pieces of intervals of an integral, from left to right, the narrowest among neighbors: a jump is in one of them.

    It may be where two intervals meet. At the places that are named, which are the ends as well, it may not.
    """
    widths = np.abs(found.right - found.left)
    widths = np.where(widths == 0, np.inf, widths)
    row = np.argsort(np.where(np.isinf(widths), np.inf, found.left))  # neighbors beside each other
    widths = np.take(widths, row)
    beside = np.concatenate([[np.inf], widths, [np.inf]])
    is_least = np.logical_and(widths <= beside[:-2], widths <= beside[2:])
    span = np.max(np.abs(named - named[0]))
    least = np.take(row, np.argsort(np.where(is_least, widths, widths + 2.0 * span))[:FEW])
    # few intervals are cut into many pieces, many into few
    number = np.arange(SEGMENTS)
    count = np.clip(np.sum(np.isfinite(widths)), 1, least.shape[0])
    pieces = SEGMENTS // count
    which = np.take(least, number % count)
    left, right = np.take(found.left, which), np.take(found.right, which)
    width = right - left
    aside = (1e-6 * np.abs(width) + 1e-13 * np.max(np.abs(named))) * np.sign(width)
    is_named = lambda s: np.any(np.abs(s[:, None] - named) <= 1e-13 * np.max(np.abs(named)), axis=1)
    first = np.where(is_named(left), left + aside, left)
    last = np.where(is_named(right), right - aside, right)
    last = np.where((last - first) * width > 0, last, first)
    piece = np.minimum(number // count, pieces - 1)
    return first + (last - first) * (piece / pieces), first + (last - first) * ((piece + 1) / pieces)


def warn_of_jumps(
    title: str, values: Callable[[Value], Value], there: Callable[[Value], Value], segments: tuple[Value, Value],
    around: Value, remedy: str,
) -> None:  # fmt: skip
    """Warn, whenever the program runs, where f jumps on one of the segments from a point to another.

    Of each segment the half remains in which f is less like a line, again and again: where f is continuous, the change
    goes. It is compared with f at both points, and with the mean of |f| at the points `around`. `values(x)` are those
    of f, and `there(s)` is x in the variable of the points.
    """
    look = vmap(lambda s: values(there(s)))
    distance = lambda u, v: np.max(np.abs(v - u), axis=1)
    size = lambda u: np.max(np.where(np.isfinite(u), np.abs(u), 0.0), axis=1)
    beside = lambda flags, s: np.reshape(flags, (-1, *[1] * (len(s.shape) - 1)))

    def halve(_: Value, now: Any) -> Any:
        a, b, u, w, v = now
        middle = 0.5 * (a + b)
        one, two = look(0.5 * (a + middle)), look(0.5 * (middle + b))
        # a middle between both values, as np.sign has one, makes a jump a line: the change counts a little too
        bend = lambda u, w, v: distance(u + v, 2.0 * w) + 0.01 * distance(u, v)
        first = bend(u, one, w) >= bend(w, two, v)
        at, of = beside(first, a), first[:, None]
        ends = np.where(at, a, middle), np.where(at, middle, b)
        return *ends, np.where(of, u, w), np.where(of, one, two), np.where(of, w, v)

    with np.errstate(all="ignore"):
        begin, end = look(segments[0]), look(segments[1])
        scale = np.maximum(np.mean(size(look(around))), np.maximum(size(begin), size(end)))
        middle = look(0.5 * (segments[0] + segments[1]))
        a, _, u, _, v = fori_loop(0, HALVINGS, halve, (*segments, begin, middle, end))
        jumps = distance(u, v) > HIGH * scale

    def tell() -> Value:
        callback(lambda x: _warn(title, x, remedy), there(a[np.argmax(jumps)]))
        return np.bool_(True)

    cond(np.any(jumps), tell, lambda: np.bool_(False))


def _warn(title: str, x: Any, remedy: str) -> None:
    shown = np.array2string(np.asarray(x), precision=6) if np.ndim(x) else f"{float(x):.6g}"
    warn_user(f"{title}: f jumps near x = {shown}, and its derivative does not know that the jump moves. {remedy}")
