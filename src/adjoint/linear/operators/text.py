"""How a linear map shows itself: its shape, its facts, and what it is made of, in a terminal and in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["describe_map", "html", "outline"]

# What is left unsaid, because something else that is said implies it.
_WEAKER = {
    "identity": {"permutation", "diagonal", "positive definite", "unit diagonal"},
    "permutation": {"orthonormal", "orthonormal rows", "invertible"},
    "positive definite": {"positive semidefinite", "symmetric", "invertible"},
    "positive semidefinite": {"symmetric"},
    "negative definite": {"negative semidefinite", "symmetric", "invertible"},
    "negative semidefinite": {"symmetric"},
    "diagonal": {"lower triangular", "upper triangular", "tridiagonal"},
    "orthonormal": {"invertible"},
}
_MOST_LINES = 40


def describe_facts(facts: frozenset[str], square: bool) -> list[str]:
    """The facts that imply all the others, in order."""
    hidden: set[str] = {"orthonormal rows"} if square and "orthonormal" in facts else set()
    for fact in facts:
        hidden |= _WEAKER.get(fact, set())
    for fact in list(hidden):
        hidden |= _WEAKER.get(fact, set())
    return sorted(facts - hidden)


def _line(a: Any) -> str:
    rows, columns = a.shape
    facts = describe_facts(a.facts, a.is_square)
    return f"{a._label()} {rows}×{columns}" + (f", {', '.join(facts)}" if facts else "")


def outline(a: Any) -> list[tuple[int, str]]:
    """The map and its parts, each as (depth, line)."""
    found: list[tuple[int, str]] = []
    waiting = [(0, a)]
    while waiting and len(found) <= _MOST_LINES:
        depth, part = waiting.pop()
        found.append((depth, _line(part)))
        waiting += [(depth + 1, p) for p in reversed(part._parts())]
    return found if len(found) <= _MOST_LINES else [*found[:_MOST_LINES], (0, "…")]


def _spaces(a: Any) -> str:
    return "" if a.domain.is_vector and a.range.is_vector else f"{a.domain} → {a.range}"


def describe_map(a: Any) -> str:
    """One line for the map, and one for each part."""
    (_, first), *rest = outline(a)
    spaces = _spaces(a)
    stack = f"{'×'.join(map(str, a.batch_shape))} stacked: " if a.batch_shape else ""
    head = f"<{stack}{first}{f': {spaces}' if spaces else ''}>"
    return "\n".join([head, *["  " * depth + line for depth, line in rest]])


def html(a: Any) -> str:
    """The same as a table, indented by depth."""
    rows = [
        f'<tr><td style="text-align:left;padding-left:{depth * 1.5 + 0.5}em">{escape(line)}</td></tr>'
        for depth, line in outline(a)
    ]
    spaces = escape(_spaces(a))
    caption = f'<caption style="text-align:left">{spaces}</caption>' if spaces else ""
    return f"<table>{caption}{''.join(rows)}</table>"
