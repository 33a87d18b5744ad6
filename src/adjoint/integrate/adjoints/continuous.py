"""Derivatives of the equation, not of its steps: the adjoint equation backwards, the variational equation forwards.

    backsolve   y′ = f, λ′ = -(∂f/∂y)ᵀ λ, μ′ = -(∂f/∂θ)ᵀ λ from t₁ back to t₀, with y integrated again; cotangents of
                saved values enter where they were saved. Memory does not grow with the steps. What comes back of y is
                compared with y₀: the drift.
    forward     y′ = f, S′ = (∂f/∂y) S + ∂f/∂θ with errors of S controlled too: all sensitivities in one pass.

Both are solved by the method of the solution, and are themselves differentiated by their steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.api.gradients import jvp, vjp, vmap
from adjoint.base.source import warn_user
from adjoint.debug import callback
from adjoint.integrate.derivative import detach
from adjoint.integrate.stepping import Ending, Plan, Settings, run
from adjoint.integrate.system import System
from adjoint.ops.custom import Attach
from adjoint.program.types import Value, type_of
from adjoint.transform.custom import BatchedRule

__all__ = ["NAMES", "check_plan", "solve_continuous"]

NAMES = ("backsolve", "forward")
DRIFT = 1e3  # how many tolerances the state may drift before there is a warning


def solve_continuous(name: str, plan: Plan, system: System, settings: Settings, y0: Value) -> Ending:
    """The solution, with the derivative of its equation."""
    plain = settings._replace(**dict(zip(Settings._fields, detach(list(settings)), strict=True)))
    ending = run(plan, system.with_theta(detach(system.theta)), plain, *detach([y0]))
    rule = _Rule(name, plan, system, len(system.theta))
    inputs = [*settings, y0, *system.theta]
    y, saved, t = Attach(rule, 3)(*detach([ending.y, ending.saved, ending.t]), *inputs)
    return ending._replace(y=y, saved=saved, t=t)


@final
class _Rule:
    """The derivative of (y₁, saved values, t₁) in all numbers of a solution."""

    def __init__(self, name: str, plan: Plan, system: System, count: int) -> None:
        self.title, self.plan, self.count = name, plan, count
        self.system = system.with_theta([])  # its program alone
        self.is_adjoint = name == "backsolve"

    def _parts(self, xs: Sequence[Value]) -> tuple[Settings, Value, System]:
        k = len(Settings._fields)
        return Settings(*xs[:k]), xs[k], self.system.with_theta(xs[k + 1 :])

    def _solved(self, xs: Sequence[Value]) -> Ending:
        settings, y0, system = self._parts(xs)
        return solve_continuous(self.title, self.plan, system, settings, y0)

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        """The variational equation for one tangent."""
        filled = [_zero(x) if dx is None else dx for x, dx in zip(xs, dxs, strict=True)]
        columns = [v[None] for v in filled]
        y, saved, t = self._sensitivities(xs, columns, 1)
        return y[0], saved[0], t[0]

    def _sensitivities(self, xs: Sequence[Value], columns: Sequence[Value], count: int) -> Any:
        """Tangents of (y₁, saved values, t₁) for stacked tangents of all numbers."""
        settings, y0, system = self._parts(xs)
        k = len(Settings._fields)
        given, dy0, dtheta = Settings(*columns[:k]), columns[k], columns[k + 1 :]
        n, theta = system.width, list(system.theta)
        moving = [i for i, v in enumerate(theta) if _is_moving(v)]

        def right(t: Value, z: Value, values: Sequence[Value]) -> Value:
            own, steps = values[: len(theta)], values[len(theta) :]
            y, S = z[:n], np.reshape(z[n:], (count, n))

            def one(v: Value, *tangents: Value) -> Value:
                def f(y: Value, *part: Value) -> Value:
                    whole = list(own)
                    for i, p in zip(moving, part, strict=True):
                        whole[i] = p
                    return system.with_theta(whole)(t, y)

                return jvp(f, (y, *[own[i] for i in moving]), (v, *tangents))[1]

            dS = vmap(one)(S, *steps)
            return np.concatenate([system.with_theta(own)(t, y), np.reshape(dS, (-1,))])

        f0 = system(settings.t0, y0)
        S0 = dy0 - np.reshape(given.t0, (-1, 1)).astype(y0.dtype) * f0
        augmented = _Augmented(right, system, [*theta, *[dtheta[i] for i in moving]], n * (1 + count), n * (1 + count))
        wide = settings._replace(rtol=_widened(settings.rtol, 1 + count, n), atol=_widened(settings.atol, 1 + count, n))
        ending = run(self.plan, augmented, wide, np.concatenate([y0, np.reshape(S0, (-1,))]))
        S1 = np.reshape(ending.y[n:], (count, n))
        end = ending.y[:n]
        f1 = system(settings.t1, end)
        dy = S1 + np.reshape(given.t1, (-1, 1)).astype(y0.dtype) * f1
        m = self.plan.saves
        rows = np.reshape(ending.saved, (m, 1 + count, n)) if m else np.zeros((0, 1 + count, n), y0.dtype)
        saved = np.moveaxis(rows[:, 1:], 1, 0)
        if m:
            rates = vmap(system)(settings.saves, rows[:, 0])
            saved = saved + given.saves[:, :, None].astype(y0.dtype) * rates[None]
        return dy, saved, given.t1

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        found = self._backsolved(xs, cts) if self.is_adjoint else self._by_sensitivities(xs, cts, wanted)
        filled = zip(found, xs, wanted, strict=True)
        return [(_zero(x) if v is None else v) if w else None for v, x, w in filled]

    def _by_sensitivities(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> list[Value]:
        count = lambda x: int(np.prod(type_of(x).shape, dtype=int))
        sizes = [count(x) if w and _is_moving(x) else 0 for x, w in zip(xs, wanted, strict=True)]
        total = sum(sizes)
        at, columns = 0, []
        for x, size in zip(xs, sizes, strict=True):
            kind = type_of(x)
            block = np.zeros((total, *kind.shape), kind.dtype)
            if size:
                block[at : at + size] = np.reshape(np.eye(size, dtype=kind.dtype), (size, *kind.shape))
            columns.append(block)
            at += size
        y, saved, t = self._sensitivities(xs, columns, total)
        ct_y, ct_saved, ct_t = cts
        flat = y @ ct_y + np.reshape(saved, (total, -1)) @ np.reshape(ct_saved, (-1,)) + t * ct_t
        out: list[Value] = []
        at = 0
        for x, size in zip(xs, sizes, strict=True):
            kind = type_of(x)
            out.append(np.reshape(flat[at : at + size], kind.shape).astype(kind.dtype) if size else None)
            at += size
        return out

    def _backsolved(self, xs: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        settings, y0, system = self._parts(xs)
        ending = self._solved(xs)
        ct_y, ct_saved, ct_t = cts
        n, theta = system.width, list(system.theta)
        moving = [i for i, v in enumerate(theta) if _is_moving(v)]
        kinds = [type_of(theta[i]) for i in moving]
        sizes = [int(np.prod(kind.shape, dtype=int)) for kind in kinds]
        p = sum(sizes)

        def right(t: Value, z: Value, values: Sequence[Value]) -> Value:
            y, lam = z[:n], z[n : 2 * n]

            def f(y: Value, *part: Value) -> Value:
                whole = list(values)
                for i, v in zip(moving, part, strict=True):
                    whole[i] = v
                return system.with_theta(whole)(t, y)

            value, pull = vjp(f, y, *[values[i] for i in moving])
            back, *parts = pull(lam)
            return np.concatenate([value, -back, *[-np.reshape(v, (-1,)).astype(y.dtype) for v in parts]])

        augmented = _Augmented(right, system, theta, 2 * n, 2 * n + p)
        wide = settings._replace(rtol=_widened(settings.rtol, 2, n), atol=_widened(settings.atol, 2, n))
        plan = self.plan._replace(saves=0, given_step=self.plan.given_step)

        def segment(z: Value, start: Value, end: Value) -> Value:
            return run(plan, augmented, wide._replace(t0=start, t1=end), z).y

        m = self.plan.saves
        z = np.concatenate([ending.y, ct_y, np.zeros(p, y0.dtype) + 0 * y0[0]])
        ct_saves: Any = None
        if m:
            times = settings.saves

            def back(carry: Any, k: Any) -> Any:
                z, t = carry
                s = times[k]
                moved = np.abs(s - t) > 0
                near = np.where(moved, s, t - (settings.t1 - settings.t0) * 1e-3)
                z = np.where(moved, segment(z, t, near), z)
                rate = system(s, z[:n])
                z = np.concatenate([z[:n], z[n : 2 * n] + ct_saved[k], z[2 * n :]])
                return (z, s), np.sum(ct_saved[k] * rate[: ct_saved.shape[1]]) * np.float64(1.0)

            (z, t), ct_saves = scan(back, (z, settings.t1), np.arange(m), reverse=True)
            moved = np.abs(settings.t0 - t) > 0
            near = np.where(moved, settings.t0, t - (settings.t1 - settings.t0) * 1e-3)
            z = np.where(moved, segment(z, t, near), z)
        else:
            z = segment(z, settings.t1, settings.t0)
        drift = np.sqrt(np.sum((z[:n] - y0) ** 2) * np.float64(1.0))
        bound = DRIFT * np.max(settings.atol + settings.rtol * np.max(np.abs(y0)))
        callback(_warn_of_drift, *detach([drift, bound]))
        lam = z[n : 2 * n]
        cotangents: list[Value] = [None] * len(xs)
        k = len(Settings._fields)
        cotangents[0] = -np.sum(lam * system(settings.t0, y0)) * np.float64(1.0)
        cotangents[1] = np.sum(ct_y * system(settings.t1, ending.y)) * np.float64(1.0) + ct_t
        cotangents[Settings._fields.index("saves")] = ct_saves
        cotangents[k] = lam
        at = 2 * n
        for i, kind, size in zip(moving, kinds, sizes, strict=True):
            cotangents[k + 1 + i] = np.reshape(z[at : at + size], kind.shape).astype(kind.dtype)
            at += size
        return cotangents

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def _warn_of_drift(drift: Any, bound: Any) -> None:
    if not drift <= bound:
        warn_user(
            f"adjoint='backsolve': the state that was integrated back is {float(drift):.3g} away from the start, where "
            f"{float(bound):.3g} would be rounding: the gradient is wrong. Use adjoint='discretize'."
        )


class _Augmented(System):
    """An equation with more unknowns, as stepping sees one."""

    def __init__(self, right: Any, base: System, theta: Sequence[Value], size: int, width: int) -> None:
        self._right, self.theta = right, list(theta)
        self.program, self.layout, self.extra = base.program, base.layout, []
        self.size, self.width, self.dtype = size, width, base.dtype

    def evaluate(self, t: Value, y: Value) -> Value:
        return self._right(t, y, self.own_theta)

    @property
    def is_large(self) -> bool:
        return True


def _widened(tolerance: Value, times: int, n: int) -> Value:
    """The tolerance of y for all that is integrated beside it."""
    return tolerance if not type_of(tolerance).shape else np.concatenate([tolerance] * times)


def _is_moving(value: Value) -> bool:
    return type_of(value).dtype.kind == "f"


def _zero(x: Value) -> Value:
    kind = type_of(x)
    return np.zeros(kind.shape, kind.dtype)


def check_plan(title: str, name: str, plan: Plan) -> None:
    """What these derivatives are not made for is refused."""
    what = "events" if plan.events.size else "stops" if plan.stops else "mass" if plan.has_mass else ""
    if what:
        raise ValueError(f"{title}: adjoint={name!r} is not made for {what}=. Use adjoint='discretize'.")
