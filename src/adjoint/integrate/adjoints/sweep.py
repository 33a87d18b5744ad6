"""The way back of an adjoint equation: what it integrates between two times, and what happens at times between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond
from adjoint.api.gradients import vjp, vmap
from adjoint.base.source import warn_user
from adjoint.debug import callback, check
from adjoint.integrate.algebraic import velocity
from adjoint.integrate.dense import Rows
from adjoint.integrate.derivative import detach
from adjoint.integrate.interpolation import evaluate
from adjoint.integrate.statuses import EVENT
from adjoint.integrate.stepping import Ending, Plan, Settings, run
from adjoint.integrate.system import System
from adjoint.program.types import Value, type_of

__all__ = [
    "NODE",
    "NODES",
    "Augmented",
    "Forward",
    "Marks",
    "Sweep",
    "block_diagonal",
    "gather_marks",
    "marks_back",
    "residual",
    "shifted",
]

ROUGH = 100.0  # tolerances that an integral may be wrong by before there is a warning
NODES = 32  # parts of a boundary value problem
SAVE, NODE = range(2)

# the rule of 15 points of Gauss and Kronrod on (0, 1)
_POSITIVE = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
])  # fmt: skip
_WEIGHTS = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
])  # fmt: skip
POINTS = 0.5 + 0.5 * np.concatenate([-_POSITIVE, _POSITIVE[-2::-1]])
_GAUSS = np.array([
    0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
])  # fmt: skip
GAUSS_WEIGHTS = np.zeros(15)  # the rule of 7 points among them, for the error
GAUSS_WEIGHTS[1::2] = 0.5 * np.concatenate([_GAUSS, _GAUSS[-2::-1]])
POINT_WEIGHTS = 0.5 * np.concatenate([_WEIGHTS, _WEIGHTS[-2::-1]])


class Forward(NamedTuple):
    """What is known of the solution: its end, all its steps, or its values at nodes."""

    y: Value
    rows: Rows | None = None
    nodes: tuple[Value, Value] | None = None
    context: Sequence[Value] = ()  # how far the last state of the method is from one that starts there


class Marks(NamedTuple):
    """Times at which something happens, in the order of the way back."""

    time: Value
    kind: Value
    ct: Value  # cotangents that enter there
    y: Value  # the state at a node
    index: Value  # the number among all, saves first


def gather_marks(plan: Plan, settings: Settings, nodes: Any, ct_saved: Value, n: int) -> Marks | None:
    """Saved times and nodes, from the last one to the first."""
    count = (plan.saves, 0 if nodes is None else nodes[0].shape[0])
    if not sum(count):
        return None
    dtype = ct_saved.dtype
    ct = np.zeros((plan.saves, n), dtype)
    if plan.saves:
        ct = np.concatenate([ct_saved, np.zeros((plan.saves, n - ct_saved.shape[1]), dtype)], axis=1)
    ys = np.zeros((0, n), dtype) if nodes is None else nodes[1]
    if nodes is not None and ys.shape[1] < n:  # integrals are not needed on the way back
        ys = np.concatenate([ys, np.zeros((ys.shape[0], n - ys.shape[1]), dtype)], axis=1)
    times = np.concatenate([settings.saves, *([] if nodes is None else [nodes[0]])])
    whole = Marks(
        times, np.repeat(np.array([SAVE, NODE]), count), np.concatenate([ct, np.zeros((count[1], n), dtype)]),
        np.concatenate([np.zeros((count[0], n), dtype), ys]), np.arange(sum(count)),
    )  # fmt: skip
    plain, t0, t1 = detach([times, settings.t0, settings.t1])
    order = np.argsort(np.where(t1 >= t0, -1.0, 1.0) * plain, kind="stable")
    nothing = 0 * order[0]  # plain arrays are read by traced indices once they are traced themselves
    return Marks(*[np.take(part + nothing.astype(part.dtype), order, axis=0) for part in whole])


def marks_back(plan: Plan, marks: Marks, found: Value) -> Value:
    """Cotangents of the saved times."""
    return np.take(found, np.argsort(marks.index))[: plan.saves] if plan.saves else None


def residual(system: System, bases: Any, t: Value, y: Value, moving: Sequence[int], values: Sequence[Value]) -> Any:
    """f - M y′ as a function of y and of the moving values of θ, with y′ as it is."""
    at_mass = system.mass_index
    v = velocity(system.with_theta(values), bases, t, y) if at_mass in moving else None

    def f(y: Value, *part: Value) -> Value:
        whole = list(values)
        for i, p in zip(moving, part, strict=True):
            whole[i] = p
        now = system.with_theta(whole)
        if v is None:
            return now(t, y)
        return now(t, y) - (now.mass - system.with_theta(values).mass).astype(y.dtype) @ v

    return f


class Augmented(System):
    """An equation with more unknowns, as stepping sees one; `mass` gives its matrix from θ."""

    controls_integrals = True

    def __init__(
        self, right: Any, base: System, theta: Sequence[Value], size: int, width: int, mass: Any = None
    ) -> None:  # fmt: skip
        self._right, self._mass, self.theta = right, mass, list(theta)
        self.program, self.layout, self.extra = base.program, base.layout, []
        self.size, self.width, self.dtype = size, width, base.dtype

    def evaluate(self, t: Value, y: Value) -> Value:
        return self._right(t, y, self.own_theta)

    @property
    def mass(self) -> Value | None:
        return None if self._mass is None else self._mass(self.own_theta)

    @property
    def is_large(self) -> bool:
        return True


def block_diagonal(blocks: Sequence[Value], width: int) -> Value:
    """Square blocks one after the other, then ones up to a width."""
    whole = np.eye(width, dtype=blocks[0].dtype) + 0 * blocks[0][0, 0]
    at = 0
    for block in blocks:
        n = block.shape[0]
        whole[at : at + n, at : at + n] = block
        at += n
    return whole


@final
class Sweep:
    """z = (y or nothing, λ, μ) between two times, for one of the adjoints."""

    def __init__(
        self, name: str, plan: Plan, settings: Settings, system: System, forward: Forward, wanted: Sequence[bool]
    ) -> None:  # fmt: skip
        self.name, self.plan, self.settings, self.system, self.forward = name, plan, settings, system, forward
        self.n, theta = system.width, list(system.theta)
        self.moving = [i for i, v in enumerate(theta) if wanted[i] and is_moving(v)]
        self.kinds = [type_of(theta[i]) for i in self.moving]
        self.sizes = [int(np.prod(kind.shape, dtype=int)) for kind in self.kinds]
        self.has_y = name in ("backsolve", "bvp")
        self.after = name == "quadrature"
        self.offset = self.n if self.has_y else 0
        n, p = self.n, sum(self.sizes)
        self.inner = n + self.offset  # without μ
        rows = [] if forward.rows is None else list(forward.rows)
        count = len(theta)

        def right(t: Value, z: Value, values: Sequence[Value]) -> Value:
            own, kept = values[:count], values[count:]
            y = z[:n] if self.has_y else _on_rows(Rows(*kept), t, n, z.dtype)
            value, back, parts = self._pulled(t, y, z[self.offset : self.offset + n], own)
            if self.after:
                return -back
            return np.concatenate([*([value] if self.has_y else []), -back, -parts])

        width = self.inner if self.after else self.inner + p

        def mass(values: Sequence[Value]) -> Value:
            M = system.with_theta(values[:count]).mass
            return block_diagonal([*([M] if self.has_y else []), M.T], width)

        has_mass = system.mass is not None
        self.augmented: Any = Augmented(
            right, system, [*theta, *rows], self.inner, width, mass if has_mass else None
        )  # fmt: skip
        times = self.inner // n
        largest = settings.max_step
        if forward.rows is not None:  # what made the steps of y small is in ∂f/∂θ too
            start, size = detach([forward.rows.start, forward.rows.size])
            largest = np.minimum(largest, np.max(np.where(np.isfinite(start), np.abs(size), 0.0)))
        self.own_settings = settings._replace(
            max_step=largest, rtol=widened(settings.rtol, times, n), atol=widened(settings.atol, times, n),
            saves=np.zeros(0),
        )  # fmt: skip
        self.own_plan = plan._replace(saves=0, dense=plan.kept if self.after else 0, keeps_state=bool(forward.context))

    def _pulled(self, t: Value, y: Value, lam: Value, values: Sequence[Value]) -> tuple[Value, Value, Value]:
        """f, (∂f/∂y)ᵀ λ and (∂f/∂θ)ᵀ λ."""
        f = residual(self.system, self.plan.algebraic, t, y, self.moving, values)
        value, pull = vjp(f, y, *[values[i] for i in self.moving])
        back, *parts = pull(lam)
        flat = [np.reshape(v, (-1,)).astype(y.dtype) for v in parts]
        return value, back, np.concatenate(flat) if flat else np.zeros(0, y.dtype)

    def begin(self, y: Value, lam: Value) -> Value:
        """z at the end."""
        zero = np.zeros(sum(self.sizes), y.dtype) + 0 * y[0]
        return np.concatenate([*([y] if self.has_y else []), lam, zero])

    def reset(self, z: Value, y: Value, lam: Value) -> Value:
        """z with another state and adjoint."""
        return np.concatenate([*([y] if self.has_y else []), lam, z[self.inner :]])

    def adjoint(self, z: Value) -> Value:
        """λ."""
        return z[self.offset : self.offset + self.n]

    def state(self, t: Value, z: Value) -> Value:
        """y there."""
        return z[: self.n] if self.has_y else _on_rows(self.forward.rows, t, self.n, z.dtype)

    def parameters(self, z: Value) -> list[Value]:
        """μ by its parts."""
        found: list[Value] = []
        at = self.inner
        for kind, size in zip(self.kinds, self.sizes, strict=True):
            found.append(np.reshape(z[at : at + size], kind.shape).astype(kind.dtype))
            at += size
        return found

    def run(self, z: Value, shifts: list[Value], start: Value, end: Value) -> tuple[Value, list[Value]]:
        """z from one time back to another, and the shifts of the method's state there."""
        beside = lambda: (self._beside(z, start, end), shifts)
        return cond(np.abs(end - start) > 0, lambda: self._integrate(z, shifts, start, end), beside)

    def _beside(self, z: Value, start: Value, end: Value) -> Value:
        """z at a time that is the same, with the derivative in their distance."""
        if self.system.mass is not None:
            return z
        value, back, parts = self._pulled(start, self.state(start, z), self.adjoint(z), self.system.theta)
        rates = np.concatenate([*([value] if self.has_y else []), -back, -parts])
        return z + (end - start).astype(z.dtype) * rates

    def _integrate(self, z: Value, shifts: list[Value], start: Value, end: Value) -> tuple[Value, list[Value]]:
        own, equation = self.own_settings._replace(t0=start, t1=end), self.augmented
        if not self.after:
            rest = equation.width - self.n
            context = [np.concatenate([v, np.zeros(rest, z.dtype)]) for v in shifts]
            ending = run(self.own_plan, equation, own, z, context=context)
            self._check(ending)
            return ending.y, shifted(self.plan.method, equation, end, ending, self.n) if shifts else shifts
        ending = run(self.own_plan, equation, own, z[: self.n])
        self._check(ending)
        check(
            np.all(ending.counts.steps < self.plan.kept),
            f"integrate.solve: adjoint='quadrature' keeps {self.plan.kept} steps of the way back, and it took {{}} of "
            "them. Use adjoint='interpolate'.",
            ending.counts.steps,
        )
        return np.concatenate([ending.y, z[self.n :] + self._integrated(ending.dense)]), shifts

    def _check(self, ending: Ending) -> None:
        """A way back that failed has no gradient; y that is integrated back is known to fail, and its drift warns."""
        if self.has_y:
            return
        check(
            np.all(ending.code <= EVENT),
            f"integrate.solve: adjoint={self.name!r} could not integrate the adjoint equation back: status {{}} at "
            "t = {}. Use adjoint='discretize', or other tolerances.",
            ending.code, ending.t,
        )  # fmt: skip

    def _integrated(self, rows: Rows) -> Value:
        """∫ (∂f/∂θ)ᵀ λ over all steps of λ."""
        theta = self.system.theta

        def step(start: Value, size: Value, lam: Value, coefficients: Value) -> tuple[Value, Value]:
            taken = np.isfinite(start)
            begin, length = np.where(taken, start, self.settings.t0), np.where(taken, size, 0.0)

            def point(x: Value) -> Value:
                t = begin + x * length
                y = _on_rows(self.forward.rows, t, self.n, lam.dtype)
                return self._pulled(t, y, evaluate(lam, coefficients, x.astype(lam.dtype)), theta)[2]

            values, length = vmap(point)(POINTS), length.astype(lam.dtype)
            whole = length * (POINT_WEIGHTS.astype(lam.dtype) @ values)
            plain, dt = detach([values, length])
            off = np.abs(dt * ((POINT_WEIGHTS - GAUSS_WEIGHTS).astype(lam.dtype) @ plain))
            mean = POINT_WEIGHTS @ plain
            rough = np.abs(dt) * (POINT_WEIGHTS @ np.abs(plain - mean))  # as QUADPACK has it
            return whole, rough * np.minimum(1.0, (200.0 * off / np.where(rough > 0, rough, 1.0)) ** 1.5)

        parts, errors = vmap(step)(*rows)
        total, error = -np.sum(parts, axis=0), np.sum(errors, axis=0)
        if self.sizes:
            settings, size = self.settings, np.max(np.abs(detach([total])[0]))
            bound = ROUGH * (np.mean(settings.atol) + np.min(settings.rtol) * size)
            callback(_warn_of_error, *detach([np.max(error), bound]))
        return total


def _warn_of_error(error: Any, bound: Any) -> None:
    if not error <= bound:
        warn_user(
            f"adjoint='quadrature': integrals for parameters may be wrong by {float(error):.3g}, as ∂f/∂θ is "
            "rough between steps. Use adjoint='interpolate' or 'discretize'."
        )


def shifted(method: Any, system: System, t: Value, ending: Any, n: int) -> list[Value]:
    """How far the state of a symmetric method is from one that starts at y: what a step back needs to undo a step."""
    fresh = tree.leaves(method.start(system, t, ending.y))
    return [detach([a - b])[0][:n] for a, b in zip(tree.leaves(ending.state), fresh, strict=True)]


def _on_rows(rows: Any, t: Value, n: int, dtype: Any) -> Value:
    """y at a time of the solution, with zeros for its integrals."""
    starts, plain = detach([rows.start, t])
    sign = np.where(detach([rows.size])[0][0] > 0, 1.0, -1.0)
    at = np.clip(np.searchsorted(sign * starts, sign * plain, side="right") - 1, 0, starts.shape[0] - 1)
    start, size, y, polynomial = (np.take(part, at, axis=0) for part in rows)
    found = evaluate(y, polynomial, ((t - start) / size).astype(dtype))
    return found if found.shape[0] == n else np.concatenate([found, np.zeros(n - found.shape[0], dtype)])


def widened(tolerance: Value, times: int, n: int) -> Value:
    """The tolerance of y for all that is integrated beside it."""
    return tolerance if not type_of(tolerance).shape else np.concatenate([tolerance] * times)


def is_moving(value: Value) -> bool:
    """Whether a value is differentiated."""
    return type_of(value).dtype.kind == "f"
