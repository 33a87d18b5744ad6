"""Minimization of f + Ω as a function of all that it depends on, numbers of the method among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint import tree
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.optimize.composite.objective import Composite
from adjoint.optimize.setting import Setting
from adjoint.program.trace import TRACED, live_trace

__all__ = ["minimize_composite"]


def minimize_composite(
    method: Composite,
    setting: Setting,
    solve: Callable[..., Any],
    differentiate: Any,
    check: str,
    known: Any,
    args: Sequence[Any],
) -> tuple[Any, dict[str, Any]]:
    """x and what is told beside it, differentiable by the conditions of the method.

    Traced numbers of the method (a factor of its term, the radius of its set) are arguments like the others. The value
    is f + Ω at x, differentiated through x too: where a set changes with θ, its points do.
    """
    leaves, structure = tree.flatten(method)
    traced = [i for i, leaf in enumerate(leaves) if isinstance(leaf, TRACED)]
    own = [leaves[i] for i in traced]

    def rebuild(values: Sequence[Any]) -> Composite:
        if not traced:
            return method
        full = list(leaves)
        for i, value in zip(traced, values, strict=True):
            full[i] = value
        return tree.unflatten(structure, full)

    def run(start: Any, known: Any, values: Any, *theta: Any) -> Any:
        chosen = rebuild(values)
        x, reports = solve(start[0] if method.has_dual else start, known, *theta, method=chosen)
        return ((x, reports["state"].dual) if method.has_dual else x), reports

    def conditions(x: Any, known: Any, values: Any, *theta: Any) -> Any:
        return rebuild(values).conditions(setting)(x, known, *theta)

    start = (setting.x0, method.start_dual(setting)) if method.has_dual else setting.x0
    equation = equation_for(setting.title, (), method.linear, differentiate, check)
    function = ImplicitFunction(conditions, run, start, equation, True, setting.title)
    x, reports = function(known, own, *args)
    x = x[0] if method.has_dual else x
    if live_trace() is not None:
        total = lambda: method.evaluate_total(setting)(x, setting.fixed, *args)
        reports["fun"] = setting.attach_known(total, x, reports["fun"], args)
    return x, reports
