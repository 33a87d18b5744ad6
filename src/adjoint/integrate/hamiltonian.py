"""Hamilton's equations of an energy H: q′ = ∂H/∂p, p′ = -∂H/∂q."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from adjoint import tree
from adjoint.api.gradients import grad

__all__ = ["Hamiltonian"]


@final
@dataclass(frozen=True)
class Hamiltonian:
    """The right side of Hamilton's equations for H(q, p, *args), as `integrate.solve` takes one: y is the pair (q, p).

        q′ = ∂H/∂p,   p′ = -∂H/∂q

    q and p are trees of one structure. With `has_time`, H is called as H(t, q, p, *args). Symplectic methods want
    H = T(p) + V(q).

    ```python
    from adjoint import integrate
    pendulum = integrate.Hamiltonian(lambda q, p, g: 0.5 * p**2 - g * np.cos(q))
    path = integrate.solve(pendulum, (0.0, 100.0), (1.0, 0.0), args=(9.81,), method="yoshida4", first_step=0.02)
    bool(abs(pendulum.H(*path.last, 9.81) - pendulum.H(1.0, 0.0, 9.81)) < 1e-4)  # → True
    ```
    """

    H: Callable[..., Any]
    has_time: bool = False

    def __call__(self, t: Any, y: Any, *args: Any) -> Any:
        """(∂H/∂p, -∂H/∂q)."""
        if not (isinstance(y, tuple | list) and len(y) == 2):
            raise TypeError(f"integrate.Hamiltonian: y is a pair (q, p), not {type(y).__name__}. Start from a pair, "
                            "integrate.solve(f, span, (q0, p0)).")  # fmt: skip
        q, p = y
        before = (t,) if self.has_time else ()
        by_q, by_p = grad(lambda q, p: self.H(*before, q, p, *args), argnums=(0, 1))(q, p)
        return type(y)([by_p, tree.map(lambda x: -x, by_q)])
