"""What methods for stiff equations state about themselves, unless a method says otherwise."""

from __future__ import annotations

from typing import Any

from adjoint.program.types import Value

__all__ = ["Renewing", "Stiff"]


class Stiff:
    """A method that solves equations in each step; its states begin with y and f."""

    stiff = True
    implicit = True
    symmetric = False
    reversible = False
    symplectic = False
    adaptive = True
    takes_mass = False

    def value(self, state: Any) -> Value:
        """y of a state."""
        return state[0]

    def derivative(self, state: Any) -> Value:
        """f of a state."""
        return state[1]


class Renewing(Stiff):
    """One whose Jacobian and factors, `kept` in the state, serve for several steps."""

    uses_tolerances = True
    evaluations = 0  # counted step by step

    def after_rejection(self, before: Any, tried: Any) -> Any:
        """What an attempt has learned: its Jacobian and factors."""
        return before._replace(kept=tried.kept)
