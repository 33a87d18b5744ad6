"""`auto`: Tsitouras' pair, with Rodas5P in its place where stability, not accuracy, limits the steps, and back.

Stiffness is seen in the last two stages of a step (Shampine 1977): ρ = |Δf| / |Δy|. It switches when h ρ has been near
the stability limit for some steps, and back when h ‖J‖ has been far inside for some.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import RungeKutta, Step, named_explicit
from adjoint.integrate.rosenbrock import Rosenbrock, named_rosenbrock
from adjoint.program.types import Value

__all__ = ["Switching", "named_switching"]

PATIENCE = 12  # steps near the limit before it switches
RETURN = 30  # steps far inside before it switches back


@dataclass(frozen=True)
class Switching:
    """An explicit and a stiff method, each where it is better.

    ```python
    path = ad.integrate.solve(lambda t, y: -1e5 * (y - np.cos(t)), (0.0, 5.0), 0.0, method="auto")
    path.status, bool(path.steps < 200)  # → ('finished', True)
    ```
    """

    explicit: RungeKutta
    stiff_method: Rosenbrock
    name: str = "auto"
    controller: Controller = field(default=Controller())

    stiff = True
    implicit = True
    symmetric = False
    reversible = False
    symplectic = False
    adaptive = True
    takes_mass = False
    evaluations = 0

    @property
    def order(self) -> int:
        return min(self.explicit.order, self.stiff_method.order)

    @property
    def estimate_order(self) -> int:
        return self.explicit.estimate_order

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f, rows of the stiff method's dense output, whether it is stiff, steps that speak for a change)."""
        y, f0, rows = self.stiff_method.start(f, t, y)
        return y, f0, rows, np.bool_(False), np.int64(0)

    def value(self, state: Any) -> Value:
        return state[0]

    def derivative(self, state: Any) -> Value:
        return state[1]

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step of the method that is in charge."""
        y, f0, rows, is_stiff, votes = state
        limit = self.explicit.stability_limit

        def explicitly() -> Any:
            found = self.explicit.step(f, t, h, (y, f0))
            near = np.abs(h) * found.radius > 0.7 * limit
            return (*found.state, rows), found.error, near, found.radius, np.array([self.explicit.evaluations, 0, 0])

        def implicitly() -> Any:
            found = self.stiff_method.step(f, t, h, (y, f0, rows))
            near = np.abs(h) * found.radius < 0.3 * limit
            return found.state, found.error, near, found.radius, np.array([self.stiff_method.evaluations, 1, 1])

        after, error, vote, radius, work = cond(is_stiff, implicitly, explicitly)
        votes = np.where(vote, votes + 1, np.maximum(votes - 2, 0))
        changes = votes >= np.where(is_stiff, RETURN, PATIENCE)
        stiff = np.logical_xor(is_stiff, changes)
        state = (*after, stiff, np.where(changes, 0, votes))
        return Step(state, error, np.where(is_stiff, 0.0, radius), work=work)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """The dense output of the method that took the step, five rows."""
        pad = lambda c: np.concatenate([c, np.zeros((5 - c.shape[0], *c.shape[1:]), c.dtype)])
        one = lambda: pad(self.stiff_method.interpolant(f, t, h, before[:3], after[:3]))
        other = lambda: pad(self.explicit.interpolant(f, t, h, before[:2], after[:2]))
        return cond(before[3], one, other)


def named_switching() -> Switching:
    explicit, stiff = named_explicit("tsit5"), named_rosenbrock("rodas5p")
    assert explicit is not None
    return Switching(explicit, stiff)
