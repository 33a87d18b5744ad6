"""Derivatives of the equation, not of its steps: the adjoint equation backwards, the variational equation forwards.

    interpolate   λ′ = -(∂f/∂y)ᵀ λ, μ′ = -(∂f/∂θ)ᵀ λ from t₁ back to t₀, with y from the dense output of the solution
    quadrature    λ alone, kept as a dense output; then ∫ (∂f/∂θ)ᵀ λ by a rule of Gauss and Kronrod on each step
    backsolve     y′ = f is integrated back beside λ and μ. Memory does not grow with the steps. What comes back of y is
                  compared with y₀: the drift
    bvp           y and λ as a boundary value problem, by multiple shooting: y is known at nodes, and integrated back
                  between two of them alone, so that it does not drift
    forward       S′ = (∂f/∂y) S + ∂f/∂θ with errors of S controlled too: all sensitivities in one pass
    tangents      forward mode as `forward`, reverse mode by the steps (control="state and tangents")

Cotangents of saved values enter where they were saved. All are solved by the method of the solution, and are themselves
differentiated by their steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.api.gradients import jvp, vjp, vmap
from adjoint.base.source import warn_user
from adjoint.debug import callback, check
from adjoint.integrate.adjoints.sweep import (
    NODE,
    NODES,
    Augmented,
    Forward,
    Marks,
    Sweep,
    block_diagonal,
    gather_marks,
    is_moving,
    marks_back,
    residual,
    shifted,
    widened,
)
from adjoint.integrate.algebraic import consistent, lifted, tangent_start, velocity
from adjoint.integrate.derivative import detach
from adjoint.integrate.reading import known_value
from adjoint.integrate.stepping import Ending, Plan, Settings, run
from adjoint.integrate.system import System
from adjoint.ops.custom import Attach
from adjoint.program.types import Value, type_of
from adjoint.transform.custom import BatchedRule

__all__ = ["NAMES", "check_plan", "solve_continuous"]

NAMES = ("interpolate", "quadrature", "backsolve", "bvp", "forward")
DRIFT = 1e3  # how many tolerances the state may drift before there is a warning


def solve_continuous(name: str, plan: Plan, system: System, settings: Settings, y0: Value) -> Ending:
    """The solution of an equation without stops and events, with its derivative."""
    plain = Settings(*detach(list(settings)))
    ending = run(plan, system.with_theta(detach(system.theta)), plain, *detach([y0]))
    rule = _Rule(name, plan.quiet, system)
    inputs = [*settings, y0, *system.theta]
    y, saved, t = Attach(rule, 3)(*detach([ending.y, ending.saved, ending.t]), *inputs)
    if plan.algebraic is not None:  # the rule is that of cotangents which are orthogonal to algebraic unknowns
        y = consistent(system, plan.algebraic, settings.t1, y)
        if plan.saves:
            rest = np.zeros(system.width - system.size, y.dtype)
            fit = lambda t, y: consistent(system, plan.algebraic, t, np.concatenate([y, rest]))[: system.size]
            saved = vmap(fit)(settings.saves, saved)
    return ending._replace(y=y, saved=saved, t=t)


@final
class _Rule:
    """The derivative of (y₁, saved values, t₁) in all numbers of a solution."""

    def __init__(self, name: str, plan: Plan, system: System) -> None:
        self.title, self.plan = name, plan
        self.system = system.with_theta([])  # its program alone
        self.is_adjoint = name != "forward"

    def _parts(self, xs: Sequence[Value]) -> tuple[Settings, Value, System]:
        k = len(Settings._fields)
        return Settings(*xs[:k]), xs[k], self.system.with_theta(xs[k + 1 :])

    def _solved(self, xs: Sequence[Value]) -> Ending:
        settings, y0, system = self._parts(xs)
        return solve_continuous(self.title, self.plan, system, settings, y0)

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        """The variational equation for one tangent."""
        columns = [(_zero(x) if dx is None else dx)[None] for x, dx in zip(xs, dxs, strict=True)]
        y, saved, t = self._sensitivities(xs, columns, 1, [dx is not None for dx in dxs])
        return y[0], saved[0], t[0]

    def _sensitivities(self, xs: Sequence[Value], columns: Sequence[Value], count: int, given: Sequence[bool]) -> Any:
        """Tangents of (y₁, saved values, t₁) for stacked tangents of all numbers."""
        settings, y0, system = self._parts(xs)
        k, bases = len(Settings._fields), self.plan.algebraic
        tangents, dy0, dtheta = Settings(*columns[:k]), columns[k], columns[k + 1 :]
        n, theta = system.width, list(system.theta)
        moving = [i for i, v in enumerate(theta) if given[k + 1 + i] and is_moving(v)]

        def push(t: Value, y: Value, own: Sequence[Value]) -> Any:
            f = residual(system, bases, t, y, moving, own)
            return lambda v, *steps: jvp(f, (y, *[own[i] for i in moving]), (v, *steps))[1]

        def right(t: Value, z: Value, values: Sequence[Value]) -> Value:
            own, steps = values[: len(theta)], values[len(theta) :]
            y, S = z[:n], np.reshape(z[n:], (count, n))
            dS = vmap(push(t, y, own))(S, *steps)
            return np.concatenate([system.with_theta(own)(t, y), np.reshape(dS, (-1,))])

        def mass(values: Sequence[Value]) -> Value:
            M = system.with_theta(values[: len(theta)]).mass
            return block_diagonal([M] * (1 + count), n * (1 + count))

        steps = [dtheta[i] for i in moving]
        S0 = dy0 - np.reshape(tangents.t0, (-1, 1)).astype(y0.dtype) * velocity(system, bases, settings.t0, y0)
        pushed = push(settings.t0, y0, theta)
        begin = lambda S, *d: tangent_start(system, bases, settings.t0, y0, S, lambda v: pushed(v, *d))
        S0 = S0 if bases is None else vmap(begin)(S0, *steps)
        augmented = Augmented(
            right, system, [*theta, *steps], n * (1 + count), n * (1 + count), mass if system.has_mass else None
        )  # fmt: skip
        wide = settings._replace(rtol=widened(settings.rtol, 1 + count, n), atol=widened(settings.atol, 1 + count, n))
        ending = run(self.plan, augmented, wide, np.concatenate([y0, np.reshape(S0, (-1,))]))
        S1 = np.reshape(ending.y[n:], (count, n))
        end = velocity(system, bases, settings.t1, ending.y[:n])
        dy = S1 + np.reshape(tangents.t1, (-1, 1)).astype(y0.dtype) * end
        m, size = self.plan.saves, system.size
        rows = np.reshape(ending.saved, (m, 1 + count, n)) if m else np.zeros((0, 1 + count, n), y0.dtype)
        saved = np.moveaxis(rows[:, 1:], 1, 0)
        if m:
            rates = vmap(lambda t, y: velocity(system, bases, t, y))(settings.saves, rows[:, 0])
            saved = saved + tangents.saves[:, :, None].astype(y0.dtype) * rates[None]
        return dy, saved[:, :, :size], tangents.t1

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        if self.title == "tangents":
            return self._pulled(xs, cts, wanted)
        cotangents = self._backwards(xs, cts, wanted) if self.is_adjoint else self._by_sensitivities(xs, cts, wanted)
        filled = zip(cotangents, xs, wanted, strict=True)
        return [(_zero(x) if v is None else v) if w else None for v, x, w in filled]

    def _pulled(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        """The derivative of the steps."""

        def steps(*moving: Value) -> tuple[Value, ...]:
            given = iter(moving)
            settings, y0, system = self._parts([next(given) if w else x for x, w in zip(xs, wanted, strict=True)])
            ending = run(self.plan._replace(adjoint="discretize"), system, settings, y0)
            return ending.y, ending.saved, ending.t

        pulled = iter(vjp(steps, *[x for x, w in zip(xs, wanted, strict=True) if w])[1](tuple(cts)))
        return [next(pulled) if w else None for w in wanted]

    def _by_sensitivities(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> list[Value]:
        count = lambda x: int(np.prod(type_of(x).shape, dtype=int))
        sizes = [count(x) if w and is_moving(x) else 0 for x, w in zip(xs, wanted, strict=True)]
        total = sum(sizes)
        at, columns = 0, []
        for x, size in zip(xs, sizes, strict=True):
            kind = type_of(x)
            block = np.zeros((total, *kind.shape), kind.dtype)
            if size:
                block[at : at + size] = np.reshape(np.eye(size, dtype=kind.dtype), (size, *kind.shape))
            columns.append(block)
            at += size
        y, saved, t = self._sensitivities(xs, columns, total, wanted)
        ct_y, ct_saved, ct_t = cts
        flat = y @ ct_y + np.reshape(saved, (total, -1)) @ np.reshape(ct_saved, (-1,)) + t * ct_t
        out: list[Value] = []
        at = 0
        for x, size in zip(xs, sizes, strict=True):
            kind = type_of(x)
            out.append(np.reshape(flat[at : at + size], kind.shape).astype(kind.dtype) if size else None)
            at += size
        return out

    def _backwards(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> list[Value]:
        """The adjoint equation from t₁ back to t₀, in parts between saved times and nodes."""
        settings, y0, system = self._parts(xs)
        ct_y, ct_saved, ct_t = cts
        n, theta, k, bases = system.width, list(system.theta), len(Settings._fields), self.plan.algebraic
        forward = self._forward(settings, y0, system)
        sweep = Sweep(self.title, self.plan, settings, system, forward, wanted[k + 1 :])
        marks = gather_marks(self.plan, settings, forward.nodes, ct_saved, n)
        last = lifted(system, bases, settings.t1, forward.y, ct_y)
        z, t, shifts = sweep.begin(forward.y, last), settings.t1, list(forward.context)
        ct_saves, gaps = None, np.zeros(1)
        if marks is not None:

            def back(carry: Any, mark: Marks) -> Any:
                z, t, shifts = carry
                z, shifts = sweep.run(z, shifts, t, mark.time)
                y = sweep.state(mark.time, z)
                gap = np.where(mark.kind == NODE, _distance(y, mark.y, system.size), 0.0)
                added = lifted(system, bases, mark.time, y, mark.ct)
                ct_time = np.float64(1.0) * np.sum(added * system(mark.time, y))
                z = sweep.reset(z, np.where(mark.kind == NODE, mark.y, y), sweep.adjoint(z) + added)
                return (z, mark.time, shifts), (ct_time, gap)

            (z, t, shifts), (ct_times, gaps) = scan(back, (z, t, shifts), marks)
            ct_saves = marks_back(self.plan, marks, ct_times)
        z, _ = sweep.run(z, shifts, t, settings.t0)
        if sweep.has_y:
            drift = np.maximum(np.max(gaps), _distance(sweep.state(settings.t0, z), y0, system.size))
            bound = DRIFT * np.max(settings.atol + settings.rtol * np.max(np.abs(y0)))
            callback(partial(_warn_of_drift, self.title), *detach([drift, bound]))
        lam = sweep.adjoint(z)
        cotangents: list[Value] = [None] * len(xs)
        at = Settings._fields.index
        cotangents[at("t0")] = -np.sum(lam * system(settings.t0, y0)) * np.float64(1.0)
        cotangents[at("t1")] = np.sum(last * system(settings.t1, forward.y)) * np.float64(1.0) + ct_t
        cotangents[at("saves")] = ct_saves
        cotangents[k] = lam if system.mass is None else system.mass.astype(lam.dtype).T @ lam
        for i, part in zip(sweep.moving, sweep.parameters(z), strict=True):
            cotangents[k + 1 + i] = part
        assert len(theta) == len(xs) - k - 1
        return cotangents

    def _forward(self, settings: Settings, y0: Value, system: System) -> Forward:
        """The solution again, with what the way back needs of it."""
        if self.title == "backsolve":
            method = self.plan.method
            carries = method.symmetric and method.reversible
            ending = solve_continuous(self.title, self.plan._replace(keeps_state=carries), system, settings, y0)
            return Forward(
                ending.y, context=shifted(method, system, settings.t1, ending, system.width) if carries else ()
            )
        if self.title == "bvp":
            parts = np.arange(1, NODES) / NODES
            nodes = settings.t0 + (settings.t1 - settings.t0) * parts
            ending = run(self.plan._replace(saves=NODES - 1), system, settings._replace(saves=nodes), y0)
            return Forward(ending.y, nodes=(nodes, ending.saved))
        ending = run(self.plan._replace(dense=self.plan.kept), system, settings, y0)
        check(
            np.all(ending.counts.steps < self.plan.kept),
            f"integrate.solve: adjoint={self.title!r} keeps {self.plan.kept} steps while a program is traced, and it "
            "took {} of them. Give looser tolerances or adjoint='discretize'.",
            ending.counts.steps,
        )
        return Forward(ending.y, ending.dense)

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def _distance(y: Value, other: Value, size: int) -> Value:
    return np.sqrt(np.sum(np.abs((y - other)[:size]) ** 2) * np.float64(1.0))


def _warn_of_drift(title: str, drift: Any, bound: Any) -> None:
    if not drift <= bound:
        where = "the start" if title == "backsolve" else f"where the solution is at one of {NODES} nodes"
        warn_user(
            f"adjoint={title!r}: the state that was integrated back is {float(drift):.3g} away from {where}, and "
            f"{float(bound):.3g} would be rounding: the gradient is wrong. Use adjoint='discretize'."
        )


def _zero(x: Value) -> Value:
    kind = type_of(x)
    return np.zeros(kind.shape, kind.dtype)


def check_plan(title: str, name: str, plan: Plan, mass: Value | None) -> None:
    """What these derivatives are not made for is refused."""
    if plan.has_mass and name == "reversible":
        raise ValueError(f"{title}: adjoint='reversible' undoes steps, and no method for mass= has an inverse step. "
                         "Use adjoint='discretize', with checkpoint= to save memory.")  # fmt: skip
    if plan.has_mass and known_value(mass) is None:
        raise ValueError(f"{title}: adjoint={name!r} needs a mass matrix that is known while a program is traced: its "
                         "algebraic equations are looked at. Make it a constant, and divide f by numbers that change, "
                         "or use 'discretize'.")  # fmt: skip
    if plan.has_mass and (plan.stops or plan.events.size):
        raise ValueError(f"{title}: adjoint={name!r} is not made for mass= together with stops= or events=: after each "
                         "of them the state would have to be made consistent. Use 'discretize'.")  # fmt: skip
    if plan.method.symplectic and name != "reversible":
        raise ValueError(f"{title}: adjoint={name!r} integrates more than y, and {plan.method.name} splits y = (q, p) "
                         "in halves. Use adjoint='reversible', which keeps no states, or 'discretize'.")  # fmt: skip
