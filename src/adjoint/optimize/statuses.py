"""How a solver of `optimize` ended: codes, their words, and what to do."""

from __future__ import annotations

__all__ = [
    "ADVICE",
    "CONVERGED",
    "INFEASIBLE",
    "INTERRUPTED",
    "LINE_SEARCH_FAILED",
    "MAX_EVALUATIONS",
    "MAX_ITERATIONS",
    "NOT_A_CONTRACTION",
    "NOT_FINITE",
    "NO_BRACKET",
    "NO_PROGRESS",
    "RUNNING",
    "SADDLE_POINT",
    "SINGULAR",
    "STATUSES",
    "STOPPED",
    "UNBOUNDED",
    "advice_for",
]

RUNNING = -1
(CONVERGED, NO_PROGRESS, MAX_ITERATIONS, MAX_EVALUATIONS, LINE_SEARCH_FAILED, NOT_FINITE, UNBOUNDED, INFEASIBLE,
 NO_BRACKET, SINGULAR, SADDLE_POINT, NOT_A_CONTRACTION, STOPPED, INTERRUPTED) = range(14)  # fmt: skip
STATUSES = (
    "converged",
    "no further progress",
    "max iterations",
    "max evaluations",
    "line search failed",
    "not finite",
    "unbounded",
    "infeasible",
    "no bracket",
    "singular",
    "saddle point",
    "not a contraction",
    "stopped",
    "interrupted",
)

ADVICE = {
    NO_PROGRESS: "Rounding hides what is left: ask for a looser tol, scale the unknowns (scale=), or compute the "
    "function with less cancellation.",
    MAX_ITERATIONS: "Give a larger max_iterations, a looser tol, scale= where the unknowns differ much in size, or "
    "another method.",
    MAX_EVALUATIONS: "Give a larger max_evaluations, or a looser tol.",
    LINE_SEARCH_FAILED: "No step along a direction of descent makes the function smaller. Its gradient does not fit "
    "its values (look with ad.check_grads), or it has a kink here (ad.kinks).",
    NOT_FINITE: "NaN or infinity came out of the function or its gradient at the point itself: start elsewhere, or "
    "give bounds that keep x in the domain.",
    UNBOUNDED: "The function falls without end: give bounds, a penalty, or look at its sign.",
    INFEASIBLE: "No point that obeys the constraints was found: look whether they contradict each other, or start "
    "nearer to them.",
    NO_BRACKET: "No root lies between the ends: the function has the same sign at both, or a pole or a jump where its "
    "sign changes. Give a bracket whose ends differ in sign, or a method that starts at a point (newton, secant).",
    SINGULAR: "The derivative is singular, so that nothing determines a step: start elsewhere, or use least squares "
    "(method='lm').",
    SADDLE_POINT: "The gradient vanishes, but the function falls along a direction of negative curvature: start a "
    "little aside, or use method='trust-exact' or 'cubic', which leave it.",
    NOT_A_CONTRACTION: "The map moves points apart: damp it (damping=), use Anderson's method, or solve x - T(x) = 0 "
    "with root.",
    STOPPED: "The function given as stop= said so.",
    INTERRUPTED: "It was interrupted from the keyboard; this is the best point until then.",
}


def advice_for(code: int) -> str:
    """What to do after a failure; nothing after success."""
    return ADVICE.get(code, "")
