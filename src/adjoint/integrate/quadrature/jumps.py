"""Jumps inside an integrand, whose movement the derivative of the integrand does not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.api.gradients import vmap
from adjoint.debug import callback
from adjoint.integrate.quadrature.adaptive import Computed
from adjoint.integrate.quadrature.statuses import Doubts
from adjoint.linear.solvers.iteration import both, loop
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.implicit_solve import ImplicitSolve
from adjoint.ops.linalg.linear_solve import LinearSolve
from adjoint.program.program import Equation, Program, Var
from adjoint.program.subprograms import all_equations
from adjoint.program.types import Value

__all__ = ["NAME", "SEGMENTS", "STAND_STILL", "may_jump", "mean_size", "segments_of", "warn_of_jumps"]

FEW = 32  # intervals that are looked at, the narrowest ones: integrals cut where f jumps
SEGMENTS = 64
TOGETHER = 8  # segments that are halved side by side
HALVINGS = 44
HIGH = 1e-4  # of the values of f
SMOOTH = 1e-9  # the error, of ∫ |f|, of an integral that would be larger if a node had seen a jump
UNSEEN = 0.0025  # of an interval, at both ends: there is one node of the rules at most
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
    for eq in _needed(program):
        flags = [isinstance(x, Var) and x in moved for x in eq.inputs]
        if not any(flags) or isinstance(eq.op, StopGradient):
            continue
        op: Any = eq.op
        if isinstance(op, Scan | While):
            jumps, out = _followed_loop(op.body, op.carries, op.constants, flags[len(flags) - len(op.body.inputs) :])
        elif isinstance(op, Cond) and not flags[0]:
            each = [_followed(branch, flags[1:]) for branch in op.branches]
            jumps, out = any(j for j, _ in each), [any(column) for column in zip(*[o for _, o in each], strict=True)]
        elif isinstance(op, ImplicitSolve | LinearSolve):
            jumps, out = _followed_solution(op, flags, len(eq.outputs))
        elif isinstance(op, Call):
            jumps, out = _followed(op.program, flags)
        else:
            inside = [e for sub in op.programs().values() for e in all_equations(sub)]
            jumps, out = any(map(_jumps, (eq, *inside))), [True] * len(eq.outputs)
        found = found or jumps
        moved.update(v for v, flag in zip(eq.outputs, out, strict=True) if flag)
    return found, [isinstance(x, Var) and x in moved for x in program.outputs]


def _needed(program: Program) -> list[Equation]:
    """The equations that outputs depend on: what is only told to somebody may jump."""
    needed = {x for x in program.outputs if isinstance(x, Var)}
    found: list[Equation] = []
    for eq in reversed(program.equations):
        if not needed.isdisjoint(eq.outputs):
            found.append(eq)
            needed.update(x for x in eq.inputs if isinstance(x, Var))
    return found[::-1]


def _followed_loop(body: Program, carries: int, constants: int, flags: list[bool]) -> tuple[bool, list[bool]]:
    """The same for all iterations of a loop: what moves in one of them moves in those after it."""
    while True:
        jumps, out = _followed(body, flags)
        carry = [a or b for a, b in zip(flags[constants : constants + carries], out[:carries], strict=True)]
        if carry == flags[constants : constants + carries]:
            return jumps, [*carry, *out[carries:]]
        flags = [*flags[:constants], *carry, *flags[constants + carries :]]


def _followed_solution(op: ImplicitSolve | LinearSolve, flags: list[bool], count: int) -> tuple[bool, list[bool]]:
    """The same for the solution of an equation, which jumps where the equation does; reports do not move."""
    equation = op.residual if isinstance(op, ImplicitSolve) else op.matrix
    jumps, _ = _followed(equation, [*flags[: op.constants], *[True] * op.unknowns])
    return jumps, [i < op.unknowns for i in range(count)]


def _jumps(eq: Equation) -> bool:
    kinks = eq.op.kinks
    return eq.op.flat or (kinks is not None and kinks.kind == "jump") or any(
        v.type.dtype.kind in "bi" for v in eq.outputs
    )  # fmt: skip


def segments_of(found: Computed, named: Value, initial: int, mass: Value) -> tuple[Value, Value, Value]:
    """Pieces of an integral's intervals, of which one has the jump if f jumps, and how many of them to look at.

    A jump may be where two intervals meet. At named points, which are the ends as well, it may not.
    `initial` is the number of intervals at the start (0: not known), `mass` the integral of |f|, or less: where the
    first intervals were enough for a small error, no node has seen a jump, so it is at their ends.
    """
    left, right, part, width, number = _narrowest(found, named)
    few = 0 < 2 * initial <= SEGMENTS
    smooth = (
        both(np.sum(found.right != found.left) <= initial, found.error <= SMOOTH * mass) if few else np.bool_(False)
    )
    if few:
        slots = np.arange(SEGMENTS) % (2 * initial)
        at_end = slots >= initial
        ends = np.take(found.left, slots % initial), np.take(found.right, slots % initial)
        left, right = np.where(smooth, ends[0], left), np.where(smooth, ends[1], right)
        part = np.where(smooth, np.where(at_end, 1.0 - UNSEEN, 0.0), part)
        width, number = np.where(smooth, UNSEEN, width), np.where(smooth, 2 * initial, number)
    whole = right - left
    aside = (1e-6 * np.abs(whole) + 1e-13 * np.max(np.abs(named))) * np.sign(whole)
    is_named = lambda s: np.any(np.abs(s[:, None] - named) <= 1e-13 * np.max(np.abs(named)), axis=1)
    first = np.where(is_named(left), left + aside, left)
    last = np.where(is_named(right), right - aside, right)
    last = np.where((last - first) * whole > 0, last, first)
    return first + (last - first) * part, first + (last - first) * (part + width), number


def _narrowest(found: Computed, named: Value) -> tuple[Value, Value, Value, Value, Any]:
    """Intervals, from left to right, the narrowest among neighbors; where in them pieces begin, and how wide they are.

    Few intervals are cut into many pieces, many into few.
    """
    widths = np.abs(found.right - found.left)
    widths = np.where(widths == 0, np.inf, widths)
    row = np.argsort(np.where(np.isinf(widths), np.inf, found.left))  # neighbors beside each other
    widths = np.take(widths, row)
    beside = np.concatenate([[np.inf], widths, [np.inf]])
    is_least = np.logical_and(widths <= beside[:-2], widths <= beside[2:])
    span = np.max(np.abs(named - named[0]))
    least = np.take(row, np.argsort(np.where(is_least, widths, widths + 2.0 * span))[:FEW])
    number = np.arange(SEGMENTS)
    count = np.clip(np.sum(np.isfinite(widths)), 1, least.shape[0])
    pieces = SEGMENTS // count
    which = np.take(least, number % count)
    piece = np.minimum(number // count, pieces - 1)
    return np.take(found.left, which), np.take(found.right, which), piece / pieces, 1.0 / pieces, np.int64(SEGMENTS)


def mean_size(values: Callable[[Value], Value], there: Callable[[Value], Value], around: Value) -> Value:
    """The mean of |f| at some points, where it is finite."""
    with np.errstate(all="ignore"):
        return np.mean(_sizes(vmap(lambda s: values(there(s)))(around)))


def _sizes(u: Value) -> Value:
    return np.max(np.where(np.isfinite(u), np.abs(u), 0.0), axis=1)


class _Halved(NamedTuple):
    """Segments from a to b, and the values of f at a, in the middle, and at b."""

    times: Value
    a: Value
    b: Value
    u: Value
    w: Value
    v: Value


def warn_of_jumps(
    doubts: Doubts, values: Callable[[Value], Value], there: Callable[[Value], Value], segments: tuple[Value, Value],
    mean: Value, remedy: str, count: Value | None = None, words: str = "f jumps near x",
) -> None:  # fmt: skip
    """Warn, whenever the program runs, where f jumps on one of the segments from a point to another.

    Of each segment the half remains in which f is less like a line, again and again: where f is continuous, the change
    goes. It is compared with f at both points, and with the mean of |f|. `values(x)` are those of f, and `there(s)` is
    x in the variable of the points. Of the segments the first `count` are looked at (None: all).
    """
    together = TOGETHER if count is not None else segments[0].shape[0]
    last = segments[0].shape[0] if count is None else count

    def look(*s: Value) -> list[Value]:
        stack = vmap(lambda s: values(there(s)))(np.concatenate(s))
        return [stack[i * len(s[0]) : (i + 1) * len(s[0])] for i in range(len(s))]

    with np.errstate(all="ignore"):

        def look_on(now: Any) -> Any:
            first = now[0]
            rows = np.minimum(first + np.arange(together), last - 1)
            a, b = np.take(segments[0], rows, axis=0), np.take(segments[1], rows, axis=0)
            u, w, v = look(a, 0.5 * (a + b), b)
            high = HIGH * np.maximum(mean, np.maximum(_sizes(u), _sizes(v)))
            a, jumps = _halve_again_and_again(look, _Halved(0 * first, a, b, u, w, v), high)
            return first + together, np.any(jumps), a[np.argmax(jumps)]

        start = 0 * last + np.int64(0), np.bool_(False), segments[0][0]
        _, found, position = loop(lambda now: both(now[0] < last, np.logical_not(now[1])), look_on, start)

    def tell() -> Value:
        callback(lambda x: _tell(doubts, x, remedy, words), there(position))
        return np.bool_(True)

    cond(found, tell, lambda: np.bool_(False))


def _halve_again_and_again(look: Callable[..., list[Value]], start: _Halved, high: Value) -> tuple[Value, Value]:
    """Where segments begin in the end, and whether f changes by more than `high` on them.

    If f jumps by that much, then on one half at least by half as much, wherever its slope hides a part: less, and f is
    continuous.
    """
    distance = lambda u, v: np.max(np.abs(v - u), axis=1)
    beside = lambda flags, s: np.reshape(flags, (-1, *[1] * (len(s.shape) - 1)))
    # a middle between both values, as np.sign has one, makes a jump a line: the change counts a little too
    bend = lambda u, w, v: distance(u + v, 2.0 * w) + 0.01 * distance(u, v)

    def going(now: _Halved) -> Any:
        changes = np.maximum(distance(now.u, now.w), distance(now.w, now.v))
        return both(now.times < HALVINGS, np.any(changes > 0.25 * high))

    def halve(now: _Halved) -> _Halved:
        times, a, b, u, w, v = now
        middle = 0.5 * (a + b)
        one, two = look(0.5 * (a + middle), 0.5 * (middle + b))
        first = bend(u, one, w) >= bend(w, two, v)
        at, of = beside(first, a), first[:, None]
        a, b = np.where(at, a, middle), np.where(at, middle, b)
        return _Halved(times + 1, a, b, np.where(of, u, w), np.where(of, one, two), np.where(of, w, v))

    end = loop(going, halve, start)
    return end.a, distance(end.u, end.v) > high


def _tell(doubts: Doubts, x: Any, remedy: str, words: str) -> None:
    shown = np.array2string(np.asarray(x), precision=6) if np.ndim(x) else f"{float(x):.6g}"
    doubts.say(f"{words} = {shown}, and its derivative does not know that the jump moves. {remedy}")
