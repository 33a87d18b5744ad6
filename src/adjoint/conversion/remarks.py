"""What conversion could not do, and why: shown in the report of a compiled function."""

from __future__ import annotations

from adjoint.base.source import describe, here
from adjoint.program.trace import live_trace


def remark(text: str) -> None:
    """Note a reason with the line of the user's code, in the outermost trace that keeps them."""
    trace = live_trace()
    keeper = None
    while trace is not None:
        if hasattr(trace, "remarks"):
            keeper = trace
        trace = trace.outer
    if keeper is not None:
        keeper.remarks[f"{text}, at {describe(here())}"] = None  # type: ignore[attr-defined]


def first_sentence(problem: Exception) -> str:
    """What a problem says, without its remedy."""
    return str(problem).partition(". ")[0]
