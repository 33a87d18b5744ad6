"""What a page tells beside the trace: programs, costs, kinks, as titled texts."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["MOST_DRAWN", "sections"]

MOST_DRAWN = 12_000  # operations, up to which a page has the graph: beyond, it would grow past 5 MB
SHORT = 600  # operations, up to which costs and simplified programs are worked out for a page
SMALL = 1_000_000  # elements of all values, likewise: costs are measured, so its operations run again
LINES = 400  # of a text


def sections(explanation: Any) -> list[dict[str, str]]:
    """Titles and texts, in the order of a page; what cannot be worked out says why."""
    model = explanation.model
    short = len(model.events) <= SHORT and sum(int(np.size(v.value)) for v in model.variables) <= SMALL
    parts: list[tuple[str, str, Callable[[], str]]] = []
    if short:
        parts += [
            ("Program", "as it was recorded", lambda: str(explanation.programs.value)),
            ("Program, simplified", "the value alone", lambda: str(explanation.programs.simplified)),
            (
                "Value and derivative", "simplified: this is what ad.jit compiles",
                lambda: str(explanation.programs.derivative_simplified),
            ),
            ("Cost", "operations and bytes, by line", lambda: _shown(explanation, "cost")),
            ("Kinks", "where the function is not smooth", lambda: _shown(explanation, "kinks")),
        ]  # fmt: skip
    out = [{"title": title, "about": about, "text": text} for title, about, make in parts if (text := _text_of(make))]
    if not short:
        drawn = "" if len(model.events) <= MOST_DRAWN else f" The graph is left out from {MOST_DRAWN} operations on."
        out.append({
            "title": "Left out", "about": "",
            "text": f"There are more than {SHORT} operations or {SMALL} numbers: programs, costs and kinks are not "
            "worked out for a page. Ask for them: explanation.programs, explanation.cost, explanation.kinks." + drawn,
        })  # fmt: skip
    return out


def _shown(explanation: Any, name: str) -> str:
    value = getattr(explanation, name, None)
    return "" if value is None else str(value)


def _text_of(make: Callable[[], str]) -> str:
    try:
        text = make()
    except Exception as problem:  # a page is made also where one of its parts cannot be
        text = f"not available: {problem}"
    lines = text.split("\n")
    if len(lines) > LINES:
        lines[LINES:] = [f"… {len(lines) - LINES} more lines"]
    return "\n".join(lines)
