"""What methods for stiff equations state about themselves, unless a method says otherwise."""

from __future__ import annotations

from typing import Any

from adjoint.integrate.explicit import Method

__all__ = ["Renewing", "Stiff"]


class Stiff(Method):
    """A method that solves equations in each step."""

    stiff = True
    implicit = True
    adaptive = True


class Renewing(Stiff):
    """One whose Jacobian and factors, `kept` in the state, serve for several steps."""

    uses_tolerances = True
    evaluations = 0  # counted step by step

    def after_rejection(self, before: Any, tried: Any) -> Any:
        """What an attempt has learned: its Jacobian and factors."""
        return before._replace(kept=tried.kept)
