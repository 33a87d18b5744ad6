"""How a solution of a differential equation ends: codes, their words, and what to do."""

from __future__ import annotations

__all__ = [
    "ADVICE",
    "EVENT",
    "FINISHED",
    "GRAZING",
    "INCONSISTENT",
    "MAX_STEPS",
    "NEWTON_FAILED",
    "NOT_FINITE",
    "NOT_INDEX_1",
    "RUNNING",
    "STATUSES",
    "TOO_SMALL",
]

RUNNING = -1
(FINISHED, EVENT, MAX_STEPS, TOO_SMALL, NOT_FINITE, NEWTON_FAILED, NOT_INDEX_1, INCONSISTENT, GRAZING) = range(9)
STATUSES = (
    "finished",
    "event",
    "max steps",
    "step too small",
    "not finite",
    "newton failed",
    "not index 1",
    "inconsistent start",
    "grazing event",
)
ADVICE = {
    MAX_STEPS: "Give a larger max_steps or looser tolerances; a stiff equation needs method='rodas5p'.",
    TOO_SMALL: "Steps became too small to go on: the solution grows without bound there, f has a jump (name its times "
    "as stops=), or the tolerances are below rounding.",
    NOT_FINITE: "NaN or infinity came out of f or stands in span or y0, or NaN came out of an event: look at its "
    "domain, or start elsewhere.",
    NEWTON_FAILED: "Newton's method does not converge at any step size: f or its derivative has a jump there; name its "
    "times as stops=.",
    NOT_INDEX_1: "The algebraic equations do not determine the algebraic unknowns (their Jacobian is singular): "
    "differentiate constraints until they do.",
    INCONSISTENT: "The start does not fulfill the algebraic equations: start='fix algebraic' finds values that do.",
    GRAZING: "An event function touches zero without crossing it, or is zero all along: the time of the event has no "
    "derivative. Move its level, or give a function that crosses zero.",
}
