"""`quad`: integrals over an interval, and `Integral`, what it answers.

    d/dθ ∫ₐᵇ f(x, θ) dx = ∫ₐᵇ ∂f/∂θ dx + f(b) b′ - f(a) a′ + Σ (f(p⁻) - f(p⁺)) p′

The first term is an integral of its own, with its own error control; so derivatives of any order are as accurate as the
integral itself, and breakpoints p, where f may jump, move like the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.base.errors import SolveError
from adjoint.base.source import user_facing
from adjoint.debug import check
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.integrate.derivative import detach, record_flat, types_of
from adjoint.integrate.elsewhere import INTEGRAL, explain_name
from adjoint.integrate.quadrature.adaptive import (
    CONVERGED,
    Computed,
    Substitution,
    integrate_adaptively,
)
from adjoint.integrate.quadrature.jumps import NAME, may_jump, mean_size, segments_of, warn_of_jumps
from adjoint.integrate.quadrature.reading import (
    reachable,
    read_count,
    read_end,
    read_integrand,
    read_points,
    read_tolerances,
)
from adjoint.integrate.quadrature.statuses import LEGEND, STATUSES, Doubts, advise
from adjoint.linear.solvers.answer import Coded
from adjoint.ops.custom import Attach
from adjoint.program.program import Program, interpret
from adjoint.program.trace import TRACED, Tracer, primal
from adjoint.program.types import Value
from adjoint.transform.custom import BatchedRule
from adjoint.transform.subprograms import jvp_program, pulled

__all__ = ["Integral", "Quadrature", "inner", "integrate_program", "is_known_finite", "quad"]

METHODS = ("gauss-kronrod", "tanh-sinh", "clenshaw-curtis", "gauss")
ADAPTIVE = ("gauss-kronrod", "clenshaw-curtis")


@final
@dataclass(frozen=True, eq=False)
class Integral(Coded):
    """An integral, an estimate of its error, and how it was found: a tree, so it goes through jit, vmap and grad.

    ```python
    found = ad.integrate.quad(np.sin, 0.0, np.pi)
    float(np.round(found.value, 12)), found.status, bool(found.error < 1e-9)  # → (2.0, 'converged', True)
    ```
    """

    STATUSES = STATUSES

    value: Any  # in the structure of what f returns
    error: Value  # of the largest component; no derivative
    code: Value
    evaluations: Value
    method: str = field(default="", metadata={"static": True})

    def __getattr__(self, name: str) -> Any:
        known = [k for k in (*self.__dataclass_fields__, *dir(type(self))) if not k.startswith("_")]
        raise AttributeError(explain_name("an Integral", name, INTEGRAL, known))

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("integrate.quad gives an Integral, not a pair: .value is the number, .error its estimate.")

    @property
    def converged(self) -> Any:
        """Whether the error is as small as was asked for."""
        return self.code == CONVERGED

    @property
    def advice(self) -> str:
        """What to do, in words; empty when all is well."""
        if isinstance(self.code, Tracer):
            return ""
        return " ".join(filter(None, (advise(self.method, int(code)) for code in np.unique(np.asarray(self.code)))))

    def raise_if_failed(self) -> Integral:
        """Itself if it converged, else an error with the advice."""
        if isinstance(self.code, Tracer):
            check(np.all(self.code == CONVERGED), f"{self.method}: the integral was not found (status {{}} of "
                  f"{LEGEND}); the error is {{}}", self.code, self.error)  # fmt: skip
        elif not np.all(np.asarray(self.code) == CONVERGED):
            raise SolveError(
                f"{self.method}: {self.status}; the error is {np.max(np.asarray(self.error)):.3g}. {self.advice}"
            )
        return self

    def __repr__(self) -> str:
        if isinstance(self.code, Tracer) or np.ndim(self.code):
            return f"Integral({self.method})"
        advice = f". {self.advice}" if self.advice else ""
        error = float(np.asarray(primal(self.error)))
        return f"Integral({primal(self.value)} ± {error:.2g}, {self.status}, {self.evaluations} evaluations{advice})"


@dataclass(frozen=True)
class Quadrature:
    """How an integral is computed: all that is no number of the program."""

    method: str
    substitution: Substitution
    points: int
    rtol: float
    atol: float
    most: int
    doubts: Doubts


def _values(program: Program, theta: Sequence[Value], x: Value) -> list[Value]:
    """f at one x."""
    return interpret(program, [x, np.float64(0.0), *theta])


def integrate_program(
    program: Program, how: Quadrature, a: Value, b: Value, points: Value, theta: Sequence[Value]
) -> tuple[list[Value], Computed]:
    """The integrals of a program's outputs over its first input, and how they were found."""
    types = program.output_types
    plain = detach([a, b, points, *theta])
    low, high, cuts, *rest = plain
    substitution = how.substitution

    def f(s: Value) -> Value:
        x, weight = substitution.forth(s, low, high)
        stacks = vmap(lambda x: to_vector(_values(program, rest, x), types))(x)
        return stacks * weight[:, None]

    first, last = substitution.ends(low, high)
    ends = [first, *_order(substitution.back(substitution.clip(cuts, low, high), low, high), first, last), last]
    size = sum(t.size * (2 if t.dtype.kind == "c" else 1) for t in types)
    with np.errstate(all="ignore"):
        found = integrate_adaptively(f, ends, how.method, how.rtol, how.atol, how.most, size)
    values = to_arrays(found.value, types)
    rule = IntegralRule(program, how)
    attached = list(Attach(rule, len(values))(*detach(values), a, b, points, *theta))
    return attached, found._replace(error=detach([found.error])[0])


@dataclass(frozen=True)
class IntegralRule:
    """The derivative of an integral: that of the integrand, and what moves at the ends and breakpoints."""

    program: Program
    how: Quadrature
    title: str = "integral"

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        a, b, points, *theta = xs
        da, db, dpoints, *dtheta = dxs
        types = self.program.output_types
        result: list[Value] = [None] * len(types)
        active = [d is not None for d in dtheta]
        if any(active):
            count = len(self.program.outputs)
            derived, flags = jvp_program(self.program, (False, False, *active), (False,) * count)
            if any(flags):
                tangents = _select(derived, count)
                moved = [d for d in dtheta if d is not None]
                parts = iter(self._integrate(tangents, a, b, points, [*theta, *moved]))
                result = [next(parts) if flag else None for flag in flags]
            self._look_for_jumps(xs, active)
        for end, tangent in ((a, da), (b, db)):
            if tangent is not None and self._may_be_finite(end is a):
                sign = -1.0 if end is a else 1.0
                result = _plus(result, [sign * v * tangent for v in self._at_end(end, xs)])
        if dpoints is not None:
            for i in range(self.how.points):
                result = _plus(result, [jump * dpoints[i] for jump in self._jump(i, xs)])
        return [np.zeros(t.shape, t.dtype) if r is None else r for r, t in zip(result, types, strict=True)]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        a, b, points, *theta = xs
        result: list[Value] = [None] * len(xs)
        needed = list(wanted[3:])
        if any(needed):
            n, program = len(theta), self.program

            def back(x: Value, unused: Value, *given: Value) -> list[Value]:
                found = pulled(program, [x, unused, *given[:n]], [False, False, *needed], given[n:])
                kept = [(ct, v) for ct, v, w in zip(found[2:], given[:n], needed, strict=True) if w]
                return [(0.0 * x + (0.0 * v if ct is None else ct)).astype(v.dtype) for ct, v in kept]

            x = np.float64(0.0)
            made, captured = record_flat(back, types_of([x, x, *theta, *cts]))
            parts = iter(self._integrate(made, a, b, points, [*theta, *cts, *captured]))
            result[3:] = [next(parts) if w else None for w in needed]
            self._look_for_jumps(xs, needed)
        for number, end in ((0, a), (1, b)):
            if wanted[number]:
                sign = -1.0 if number == 0 else 1.0
                finite = self._may_be_finite(number == 0)
                values = self._at_end(end, xs) if finite else []
                result[number] = sign * inner(values, cts) if finite else np.zeros_like(end)
        if wanted[2]:
            jumps = [inner(self._jump(i, xs), cts) for i in range(self.how.points)]
            result[2] = np.stack(jumps) if jumps else np.zeros_like(points)
        return result

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)

    def _integrate(self, program: Program, a: Value, b: Value, points: Value, theta: Sequence[Value]) -> list[Value]:
        """The integral of a derivative."""
        values, found = integrate_program(program, self.how, a, b, points, theta)
        plain = detach([a, b, points, *theta[: len(self.program.inputs) - 2]])
        itself = lambda: integrate_program(self.program, self.how, plain[0], plain[1], plain[2], plain[3:])[1]
        self.how.doubts.of_a_derivative(values, found, self.how.atol, itself)
        return values

    def _may_be_finite(self, is_first: bool) -> bool:
        kind = self.how.substitution.kind
        return kind in ("finite", "any") or kind == ("above" if is_first else "below")

    def _at_end(self, end: Value, xs: Sequence[Value]) -> list[Value]:
        """f at an end; 0 where it is infinite, and does not move."""
        a, b, _, *theta = xs
        substitution = self.how.substitution
        may_be_infinite = substitution.kind == "any"
        finite = np.isfinite(end)
        at = np.where(finite, end, self._inside(*detach([a, b]))) if may_be_infinite else end
        values = _values(self.program, theta, at)
        self.how.doubts.of_an_end(at, values)
        return values if not may_be_infinite else [np.where(finite, v, 0.0) for v in values]

    def _inside(self, low: Value, high: Value) -> Value:
        """A point between the ends."""
        first, last = self.how.substitution.ends(low, high)
        return self.how.substitution.forth(0.5 * (first + last), low, high)[0]

    def _jump(self, i: int, xs: Sequence[Value]) -> list[Value]:
        """f(p⁻) - f(p⁺) at the i-th breakpoint p, in the direction from a to b.

        Outside of the interval nothing moves, and k breakpoints in one place share its jump.
        """
        a, b, points, *theta = xs
        low, high, cuts = detach([a, b, points])
        tiny = 8.0 * np.finfo(np.float64).eps * (np.abs(cuts[i]) + 1e-8)
        substitution = self.how.substitution
        inside = cuts[i] == substitution.clip(cuts[i], low, high)
        point = np.where(inside, points[i], self._inside(low, high))
        share = np.where(low <= high, 1.0, -1.0) / np.sum(np.abs(cuts - cuts[i]) <= tiny)
        before, after = (_values(self.program, theta, x) for x in (point - tiny, point + tiny))
        return [np.where(inside, share * (u - v), 0.0) for u, v in zip(before, after, strict=True)]

    def _look_for_jumps(self, xs: Sequence[Value], active: Sequence[bool]) -> None:
        """Warn where f jumps without a breakpoint: the derivative of the position is lost."""
        if self.how.doubts.are_ignored or not may_jump(self.program, (False, False, *active)):
            return
        a, b, points, *theta = detach(list(xs))
        _, found = integrate_program(self.program, self.how, a, b, points, theta)
        substitution = self.how.substitution
        there = lambda s: substitution.forth(s, a, b)[0]
        values = lambda x: to_vector(_values(self.program, theta, x), self.program.output_types)
        first, last = substitution.ends(a, b)
        named = np.concatenate([np.stack([first, last]), substitution.back(substitution.clip(points, a, b), a, b)])
        around = first + (last - first) * ((np.arange(32) + 0.5) / 32)
        mean = mean_size(values, there, around)
        initial = max(2, self.how.points + 1) if self.how.method in ADAPTIVE else 0
        begin, end, count = segments_of(found, named, initial, mean * np.abs(last - first))
        warn_of_jumps(self.how.doubts, values, there, (begin, end), mean, NAME, count)


def _select(program: Program, start: int) -> Program:
    """The program with its outputs from one on."""
    return Program(program.inputs, program.equations, program.outputs[start:], program.constants)


def _order(cuts: Value, first: Value, last: Value) -> list[Value]:
    """Cuts in the order in which they stand between the first and the last."""
    if cuts.shape[0] > 1:
        cuts = np.sort(cuts)
        cuts = np.where(first <= last, cuts, cuts[::-1])
    return [cuts[i] for i in range(cuts.shape[0])]


def _plus(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
    return [y if x is None else x + y for x, y in zip(a, b, strict=True)]


def inner(values: Sequence[Value], cts: Sequence[Value]) -> Value:
    """Re ⟨ct, v⟩, summed over the leaves."""
    total: Value = np.float64(0.0)
    for v, ct in zip(values, cts, strict=True):
        total = total + np.sum(np.real(np.conjugate(ct) * v))
    return total


def is_known_finite(end: Value) -> bool:
    """Whether all of an end is finite, and known to be while the program is traced."""
    value = primal(end)
    return not isinstance(value, Tracer) and bool(np.all(np.isfinite(np.asarray(value))))


@user_facing
def quad(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    args: Sequence[Any] = (),
    points: Sequence[Any] = (),
    rtol: float = 1e-10,
    atol: float = 1e-12,
    method: str = "gauss-kronrod",
    max_intervals: int = 200,
    check: str = "warn",
) -> Integral:
    """∫ f(x, *args) dx from a to b, where f returns a number, an array, or any tree of them, real or complex.

    Ends may be infinite, in a compiled program too. `points` are where f jumps or has kinks; those beyond the ends do
    not count. The derivative in `args`, in what f closes over, in the ends and in the points is exact, to any order.

    A peak above nothing is looked for, and found down to about 1/10000 of the interval. One that is narrower, or is
    narrower than 1/100 above a smooth background, can fall between all nodes: name two points that enclose it, some
    ten of its widths apart.

    `method` "gauss-kronrod" (21 nodes, the worst interval is halved) is for smooth functions, "clenshaw-curtis" the
    same with nodes at the ends, "tanh-sinh" for singularities at the ends, "gauss" a fixed rule of 20 nodes.

    `check` is what happens where a derivative may be wrong, since f jumps at a place that moves or the integral of the
    derivative is not found: "warn", "raise" or "ignore".

    ```python
    charge = lambda c, start: ad.integrate.quad(lambda x: c / (1 + x**2), start, np.inf).value
    ad.grad(charge, argnums=(0, 1))(-1.0, 0.0)  # → (1.570796…, 1.0)
    step = lambda p: ad.integrate.quad(lambda x: np.where(x < p, 1.0, 0.0), 0.0, 1.0, points=(p,)).value
    ad.value_and_grad(step)(0.3)  # → (0.3, 1.0)
    ```
    """
    title = "integrate.quad"
    if method not in METHODS:
        raise ValueError(f"{title}: method={method!r}; it is one of {', '.join(METHODS)}.")
    tolerances, most = read_tolerances(title, rtol, atol), read_count(title, "max_intervals", max_intervals)
    low, high = read_end(title, "a", a), read_end(title, "b", b)
    sign = 1.0
    plain = not any(isinstance(v, TRACED) for v in (low, high))
    if plain and low == high and np.isinf(low):
        raise ValueError(f"{title}: both ends are {low}; there is nothing between them. Change the sign of one.")
    first, last = (None if isinstance(v, TRACED) else float(v) for v in (low, high))
    if (plain and low > high) or first == np.inf or last == -np.inf:
        low, high, sign = high, low, -1.0
    made = read_integrand(title, f, args)
    inner = read_points(title, points)
    may_be_infinite = any(isinstance(v, TRACED) and not is_known_finite(v) for v in (low, high))
    kinds = [np.float64(0.0) if isinstance(v, TRACED) else v for v in (low, high)]
    substitution = Substitution("any") if may_be_infinite else Substitution.of(float(kinds[0]), float(kinds[1]))
    how = Quadrature(method, substitution, len(inner), *reachable(tolerances, made), most, Doubts(title, check))
    cuts = np.stack(inner) if inner else np.zeros(0)
    values, found = integrate_program(made.program, how, low, high, cuts, made.theta)
    values = values if sign > 0 else [-v for v in values]
    value = tree.unflatten(made.structure, [v if v.shape else v[()] for v in values])
    return Integral(value, found.error, found.code, found.evaluations, f"{title} by {method}")
