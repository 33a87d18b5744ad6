"""Equations inside a step: simplified Newton iterations for their value, the implicit function theorem for derivatives.

The iteration stops when what is left, by the rate at which it converges, is small against the tolerances: with
changes δₖ and θ ≈ ‖δₖ₊₁‖ / ‖δₖ‖, when min(1, θ) ‖δₖ‖ is below the target. θ is kept from step to step, so that one
iteration is often enough. Derivatives are those of F(x, θ) = 0, with ∂F/∂x at the solution: no iteration is
differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.api.control_flow import cond, while_loop
from adjoint.implicit.equation import Stacked
from adjoint.implicit.sparse_equation import factor_sparse
from adjoint.integrate.derivative import detach, record_flat, types_of
from adjoint.integrate.forms import Sparse
from adjoint.ops.implicit_solve import Equation, ImplicitSolve
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value

__all__ = ["Iterated", "Kept", "begin", "iterate", "norm", "renewing", "solution_of", "target_for", "weights_for"]

MOST = 8  # iterations
TARGET = 1e-3  # of the tolerance
OLDEST = 50  # steps that a Jacobian serves


class Iterated(NamedTuple):
    """How an iteration ended."""

    x: Value
    converged: Value
    rate: Value
    count: Value
    ratio: Value = 0.0  # of the last two changes


def target_for(f: Any, y: Value, is_adaptive: bool, part: Value = TARGET) -> Value:
    """How small what is left must be, in units of the weights: not below rounding."""
    if not is_adaptive:
        return np.float64(1.0)
    return np.maximum(part, 4.0 * float(np.finfo(f.dtype).eps) * f.digits(y))


def weights_for(f: Any, y: Value, is_adaptive: bool) -> Value:
    """What changes of y are measured by: tolerances, or rounding where steps are given."""
    if is_adaptive:
        return f.weights(y)
    small = y.dtype.type(1e-12 if y.dtype == np.float64 else 1e-5)
    return small * (np.abs(y) + np.max(np.abs(y)) * small + y.dtype.type(1e-30))


def norm(x: Value, weights: Value) -> Value:
    """The root mean square of x in units of the weights."""
    ratio = x / weights
    return np.sqrt(np.float64(1.0) * np.mean(ratio * ratio))


def iterate(change: Callable[[Value], Value], x: Value, weights: Value, target: Value, rate: Value) -> Iterated:
    """x ← x + change(x) until what is left is below the target, or it does not converge."""

    def one(now: Any) -> Any:
        x, size, rate, _, _, _, count = now
        d = change(x)
        new = norm(d, weights)
        ratio = np.where(count > 0, new / np.where(size > 0, size, 1.0), 0.0)
        rate = np.where(count > 0, np.maximum(0.3 * rate, ratio), rate)
        done = np.logical_or(new * np.minimum(1.0, rate) <= target, new == 0)
        bad = np.logical_or(np.logical_not(np.isfinite(new)), np.logical_and(count > 0, new > 2.0 * size))
        return x + d, new, rate, ratio, done, np.logical_and(bad, np.logical_not(done)), count + 1

    def goes_on(now: Any) -> Value:
        _, _, _, _, done, bad, count = now
        return np.logical_and(np.logical_not(np.logical_or(done, bad)), count < MOST)

    no, zero = np.bool_(False), np.float64(0.0)
    x, _, rate, ratio, done, _, count = while_loop(goes_on, one, (x, zero, rate, zero, no, no, np.int64(0)))
    return Iterated(x, done, rate, count, ratio)


class Kept(NamedTuple):
    """What steps have in common: J, the factors of M - c J, how quickly iterations with them converge."""

    J: Value
    factors: Any
    c: Value  # of the factors; 0: there are none
    rate: Value
    ratio: Value  # of the last two changes in the last step
    age: Value  # steps since J was found; 0: it is that of the start


def begin(f: Any, t: Value, y: Value, make: Callable[[Any, Value, Value], Any]) -> Kept:
    """J at the start, and room for factors."""
    f, (t, y) = f.plain(), detach([t, y])
    J, zero = f.form.jacobian(f, t, y), y.dtype.type(0.0)
    return Kept(J, make(f, zero, J), zero, np.float64(1.0), np.float64(0.0), np.int64(0))


class _Try(NamedTuple):
    found: Any
    kept: Kept
    converged: Value
    fresh: Value
    number: Value
    work: Value


def renewing(
    f: Any, t: Value, y: Value, c: Value, kept: Kept, old: float, make: Callable[[Any, Value, Value], Any],
    solve: Callable[[Any, Value, Value], tuple[Any, Iterated]], nothing: Any, slow: float = np.inf,
) -> tuple[Any, Kept, Value, Value]:  # fmt: skip
    """The equations of a step, solved with the J that is kept, or where that fails with the one at (t, y).

    solve(factors, scale, rate) gives what it finds, and how its iterations ended; scale is for factors of another c,
    which may be `old` away. J is found anew as well where the last changes fell by less than `slow`. `nothing` has the
    types of what is found. The answer is (what was found, what is kept, whether it converged, the work).
    """

    def attempt(now: _Try) -> _Try:
        before = now.kept
        renew = np.logical_or(now.number > 0, before.age >= OLDEST)
        if np.isfinite(slow):
            renew = np.logical_or(renew, np.logical_and(before.ratio > slow, before.age > 0))
        J = cond(renew, lambda: f.form.jacobian(f, t, y), lambda: before.J)
        ratio = c / np.where(before.c == 0, 1, before.c)
        stale = np.logical_or(np.logical_or(before.c == 0, np.abs(ratio - 1) > old), renew)
        factors = cond(stale, lambda: make(f, c, J), lambda: before.factors)
        scale = np.where(stale, 1.0, 2.0 / (1.0 + ratio)).astype(c.dtype)
        found, ended = solve(factors, scale, np.where(stale, 1.0, before.rate))
        after = Kept(
            J, factors, np.where(stale, c, before.c), ended.rate, ended.ratio, np.where(renew, 1, before.age + 1)
        )
        work = np.stack([ended.count, renew.astype(np.int64), stale.astype(np.int64)])
        fresh = np.logical_or(renew, before.age == 0)
        return _Try(found, after, ended.converged, fresh, now.number + 1, now.work + work)

    def goes_on(now: _Try) -> Value:
        again = np.logical_and(np.logical_not(now.converged), np.logical_not(now.fresh))
        return np.logical_or(now.number == 0, np.logical_and(again, now.number < 2))

    no = np.bool_(False)
    last = while_loop(goes_on, attempt, _Try(nothing, kept, no, no, np.int64(0), np.zeros(3, np.int64)))
    return last.found, last.kept, last.converged, last.work


@final
@dataclass(frozen=True)
class StageEquation:
    """∂F/∂x t = b for the derivative of a stage, in the form that equations of the method have."""

    form: Any

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        F = lambda v: interpret(residual, [*theta, v])[0]
        (point,), (right,) = x, b
        form = self.form
        if isinstance(form, Sparse):
            if not form.is_whole:  # the iteration may have gone without some entries, the derivative may not
                return [factor_sparse(residual, theta, x).solve(right, "T" if adjoint else "N")]
            count = right.shape[0] // form.pattern.size
            form = form if count == 1 else form.stacked(count)
        return [form.equation(F, point, right, adjoint)]

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)


def solution_of(f: Any, F: Callable[..., Value], inputs: Sequence[Value], x: Value) -> Value:
    """x, at which F(*inputs, x) = 0, with its derivatives in the inputs and in θ of the equation f.

    F is called with the equation first: F(f, *inputs, x).
    """
    count, (x,) = len(inputs), detach([x])
    theta = list(f.theta)

    def residual(*flat: Value) -> list[Value]:
        return [F(f.with_theta(flat[count:-1]), *flat[:count], flat[-1])]

    program, captured = record_flat(residual, types_of([*inputs, *theta, x]))
    assert not captured
    solver, _ = record_flat(lambda *flat: [flat[-1]], types_of([*inputs, *theta, x]))
    return ImplicitSolve(program, solver, StageEquation(f.form), 1)(*inputs, *theta, x)[0]
