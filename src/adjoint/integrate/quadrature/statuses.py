"""How integrals end, in words, and what they say of derivatives that are doubtful."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.base.source import warn_user
from adjoint.implicit.diagnosis import call_where
from adjoint.integrate.derivative import detach
from adjoint.integrate.quadrature.adaptive import CONVERGED, MAX_INTERVALS, NO_PROGRESS, NOT_FINITE, Computed
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value

__all__ = ["LEGEND", "STATUSES", "Doubts", "advise"]

STATUSES = ("converged", "max intervals", "no further progress", "not finite")
_ADVICE = {
    MAX_INTERVALS: "f is rough or oscillates: give a larger max_intervals, name its jumps and kinks as points=, or use "
    "method='tanh-sinh' for singularities at the ends.",
    NO_PROGRESS: "Rounding hides what is left, or f is not integrable: ask for a looser rtol, or look at f near its "
    "singularities; where numbers are too far apart next to one, substitute such that it lies at 0.",
    NOT_FINITE: "NaN or infinity came out of f: name singularities as points=, or use method='tanh-sinh', which does "
    "not ask for the ends.",
}
# boxes have other options
_OF_BOXES = {
    MAX_INTERVALS: "f is rough or oscillates: give a larger max_boxes or a looser rtol, or substitute variables such "
    "that its kinks lie on planes xᵢ = c, and cut the box there.",
    NOT_FINITE: "NaN or infinity came out of f: cut the box, or substitute variables, where it is singular.",
}
LEGEND = ", ".join(f"{code} {words}" for code, words in enumerate(STATUSES))
CHECKS = ("warn", "raise", "ignore")
SIX_DIGITS = 1e-6


def advise(title: str, code: int) -> str:
    """What to do where an integral was not found."""
    own = _OF_BOXES if title.startswith("integrate.cubature") else {}
    return own.get(code, _ADVICE.get(code, ""))


@final
@dataclass(frozen=True)
class Doubts:
    """What an integral does about a derivative that may be wrong: it warns, raises, or says nothing."""

    title: str
    check: str

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"{self.title}: check={self.check!r}; it is 'warn', 'raise' or 'ignore'.")

    @property
    def are_ignored(self) -> bool:
        """Whether nobody wants to know."""
        return self.check == "ignore"

    def say(self, words: str) -> None:
        """Warn, or raise."""
        message = f"{self.title}: {words}"
        if self.check == "raise":
            raise SolveError(message)
        warn_user(message)

    def of_a_derivative(
        self, values: Sequence[Value], found: Computed, atol: float, itself: Callable[[], Computed]
    ) -> None:
        """Tell, whenever the program runs, where the integral of a derivative has less than six digits.

        Nobody sees its status. Where the integral itself was not found either, its own status says so: on plain values
        it is computed again to know.
        """
        if self.are_ignored:
            return
        code, error, *known = detach([found.code, found.error, *values])
        size: Value = np.float64(0.0)
        for v in known:
            size = np.maximum(size, np.max(np.abs(v), initial=0.0))
        enough = error <= np.maximum(atol, SIX_DIGITS * size)
        is_lost = np.logical_and(code != CONVERGED, np.logical_not(enough))
        if not isinstance(primal(is_lost), Tracer) and (
            not np.any(primal(is_lost)) or np.any(np.asarray(primal(itself().code)) != CONVERGED)
        ):
            return
        call_where(is_lost, self._tell, code, error)

    def of_an_end(self, x: Value, values: Sequence[Value]) -> None:
        """Tell, whenever the program runs, that f is not finite at an end that moves."""
        if self.are_ignored:
            return
        end, *known = detach([x, *values])
        is_lost = np.logical_not(np.all(np.stack([np.all(np.isfinite(v)) for v in known])))
        if isinstance(primal(is_lost), Tracer) or np.any(primal(is_lost)):
            call_where(is_lost, self._tell_of_an_end, end)

    def _tell_of_an_end(self, x: Any) -> None:
        self.say(
            f"f is not finite at the end x = {float(x):.6g}, and the derivative in this end is f itself there. Write f "
            "in s = x - a, or in s = b - x: its singularity stands still then, at s = 0."
        )

    def _tell(self, code: Any, error: Any) -> None:
        self.say(
            f"the integral of the derivative of f was not found ({STATUSES[int(code)]}; its error is "
            f"{float(error):.3g}). {advise(self.title, int(code))}"
        )
