"""`auto`: Tsitouras' pair, with a stiff method in its place where stability, not accuracy, limits the steps, and back.

Stiffness is seen in the last two stages of a step (Shampine 1977): ρ = |Δf| / |Δy|. It switches when h ρ has been near
the stability limit for some steps, or in sight of it for many: at tight tolerances the error of what decays quickly
limits explicit steps before stability does. It switches back when h ‖J‖ has been far inside for some steps, and when
the stiff steps have not become longer than explicit ones by what they cost; then it is slower to try again. The stiff
method is Rodas5P for few equations, BDF for many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond
from adjoint.integrate.bdf import BDF
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import RungeKutta, Step, named_explicit
from adjoint.integrate.rosenbrock import named_rosenbrock
from adjoint.integrate.stiff import Stiff
from adjoint.program.types import Value

__all__ = ["Switching", "named_switching"]

PATIENCE = 12  # steps near the limit before it switches
FAR = 20  # a step in sight of the limit says as little as this part of one near it
RETURN = 30  # steps far inside before it switches back
TRIAL = 25  # steps after which stiff ones must be longer
LONGER = 3.0  # by this factor


class _State(NamedTuple):
    y: Value
    f: Value
    inner: Any  # of the stiff method
    is_stiff: Value
    fresh: Value  # whether the stiff method starts here
    votes: Value  # steps that speak for a change
    age: Value  # steps since the last change
    reference: Value  # the explicit step there
    patience: Value


@dataclass(frozen=True)
class Switching(Stiff):
    """An explicit and a stiff method, each where it is better.

    ```python
    path = ad.integrate.solve(lambda t, y: -1e5 * (y - np.cos(t)), (0.0, 5.0), 0.0, method="auto")
    path.status, bool(path.steps < 200)  # → ('finished', True)
    ```
    """

    explicit: RungeKutta
    stiff_method: Any
    name: str = "auto"
    controller: Controller = field(default=Controller())

    evaluations = 0

    @property
    def order(self) -> int:
        return min(self.explicit.order, self.stiff_method.order)

    @property
    def estimate_order(self) -> int:
        return self.explicit.estimate_order

    @property
    def uses_tolerances(self) -> bool:
        return getattr(self.stiff_method, "uses_tolerances", False)

    def start(self, f: Any, t: Value, y: Value) -> _State:
        """It begins with the explicit method."""
        inner = self.stiff_method.start(f, t, y)
        zero, no, yes = np.int64(0), np.bool_(False), np.bool_(True)
        derivative = self.stiff_method.derivative(inner)
        return _State(y, derivative, inner, no, yes, zero, zero, np.float64(0.0), np.int64(PATIENCE * FAR))

    def after_rejection(self, before: _State, tried: _State) -> _State:
        """What an attempt of the stiff method has learned."""
        if not hasattr(self.stiff_method, "after_rejection"):
            return before
        learned = self.stiff_method.after_rejection(before.inner, tried.inner)
        known = np.logical_or(before.fresh, np.logical_not(before.is_stiff))
        return before._replace(inner=tree.map(lambda a, b: np.where(known, a, b), before.inner, learned))

    def step(self, f: Any, t: Value, h: Value, state: _State) -> Step:
        """One step of the method that is in charge."""
        limit, stiff = self.explicit.stability_limit, self.stiff_method

        def explicitly() -> Any:
            found = self.explicit.step(f, t, h, (state.y, state.f))
            reach = np.abs(h) * found.radius
            vote = np.where(reach > 0.7 * limit, FAR, np.where(reach > 0.25 * limit, 1, -2 * FAR))
            work = np.array([self.explicit.evaluations, 0, 0])
            notes = np.float64(0.0), np.float64(self.explicit.estimate_order + 1.0), np.bool_(False)
            return (*found.state, state.inner), found.error, vote, found.radius, work, notes

        def implicitly() -> Any:
            found = stiff.step(f, t, h, self._begun(f, t, state))
            vote = np.where(np.abs(h) * found.radius < min(0.3 * limit, 1.0), 1, -2)
            work = np.array([stiff.evaluations, 1, 1]) if found.work is None else found.work
            notes = (
                np.float64(0.0) if found.growth is None else found.growth,
                np.float64(stiff.estimate_order + 1.0) if found.exponent is None else found.exponent,
                np.bool_(False) if found.failed is None else found.failed,
            )
            after = stiff.value(found.state), stiff.derivative(found.state), found.state
            return after, found.error, vote, found.radius, work, notes

        after, error, vote, radius, work, notes = cond(state.is_stiff, implicitly, explicitly)
        votes = np.maximum(state.votes + vote, 0)
        in_vain = np.logical_and(state.is_stiff, state.age == TRIAL)
        in_vain = np.logical_and(in_vain, np.abs(h) < LONGER * state.reference)
        changes = np.logical_or(votes >= np.where(state.is_stiff, RETURN, state.patience), in_vain)
        is_stiff = np.logical_xor(state.is_stiff, changes)
        fresh = np.logical_or(changes, np.logical_and(state.fresh, np.logical_not(state.is_stiff)))
        y, yp, inner = after
        reference = np.where(np.logical_and(changes, is_stiff), np.abs(h), state.reference)
        patience = np.where(in_vain, np.minimum(4 * state.patience, 1 << 40), state.patience)
        new = _State(
            y, yp, inner, is_stiff, fresh, np.where(changes, 0, votes), np.where(changes, 0, state.age + 1), reference,
            patience,
        )  # fmt: skip
        growth, exponent, failed = notes
        growth = np.where(changes, 0.0, growth)
        radius = np.where(state.is_stiff, 0.0, radius)
        return Step(new, error, radius, failed=failed, work=work, growth=growth, exponent=exponent)

    def _begun(self, f: Any, t: Value, state: _State) -> Any:
        return self.stiff_method.resumed(f, t, state.y, state.f, state.inner, state.fresh)

    def differentiable_step(self, f: Any, t: Value, h: Value, state: _State, after: _State) -> _State:
        """The state after a step, with the derivative of the method that took it."""
        stiff = self.stiff_method

        def explicitly() -> Any:
            return *self.explicit.step(f, t, h, (state.y, state.f)).state, state.inner

        def implicitly() -> Any:
            begun = self._begun(f, t, state)
            if hasattr(stiff, "differentiable_step"):
                new = stiff.differentiable_step(f, t, h, begun, after.inner)
            else:
                new = stiff.step(f, t, h, begun).state
            return stiff.value(new), stiff.derivative(new), new

        y, yp, inner = cond(state.is_stiff, implicitly, explicitly)
        return after._replace(y=y, f=yp, inner=inner)

    def interpolant(self, f: Any, t: Value, h: Value, before: _State, after: _State) -> Value:
        """The dense output of the method that took the step, five rows."""
        pad = lambda c: np.concatenate([c, np.zeros((5 - c.shape[0], *c.shape[1:]), c.dtype)])
        one = lambda: pad(self.stiff_method.interpolant(f, t, h, self._begun(f, t, before), after.inner))
        other = lambda: pad(self.explicit.interpolant(f, t, h, (before.y, before.f), (after.y, after.f)))
        return cond(before.is_stiff, one, other)


def named_switching(is_large: bool = False) -> Switching:
    explicit = named_explicit("tsit5")
    assert explicit is not None
    return Switching(explicit, BDF() if is_large else named_rosenbrock("rodas5p"))
