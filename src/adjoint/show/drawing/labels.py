"""What is written on the boxes of a graph, and how much room it takes."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adjoint.show.explanation.formulas import forward_formula
from adjoint.show.explanation.model import Variable
from adjoint.show.explanation.notation import text, write_subscript
from adjoint.show.explanation.summaries import BARS, summary

__all__ = ["BAR", "LINE", "SIZE", "Line", "lines", "measure_width", "shorten", "written"]

SIZE, LINE = 13.0, 18.0  # of letters, and from one line to the next
DIGITS = 5
LONGEST = 34
BAR = 4.0  # from one bar of a sparkline to the next
ACCENTS = {"value": "", "tangent": "\u0307", "adjoint": "\u0304", "second": "\u0304"}  # two accents are not legible

# Widths in parts of the size, for a font that is rather wide: in others there is a little more room.
_WIDTHS = {
    **dict.fromkeys("ijl.,:;'|!", 0.32), **dict.fromkeys("()[]ft/ r", 0.42), **dict.fromkeys("mwMW", 0.95),
    **dict.fromkeys("₀₁₂₃₄₅₆₇₈₉", 0.42), **dict.fromkeys("=+−<>≥≤≠@", 0.84), "₋": 0.54, "·": 0.34, "…": 1.0,
    **dict.fromkeys("▁▂▃▄▅▆▇█", 0.78), "×": 0.84, "²": 0.41, "ᵀ": 0.5, "▸": 0.8,
}  # fmt: skip


class _Widths(dict[str, float]):
    def __missing__(self, c: str) -> float:
        wide = unicodedata.east_asian_width(c) in "WF"
        self[c] = 0.0 if unicodedata.combining(c) else 1.05 if wide else 0.72 if c.isupper() else 0.64
        return self[c]


_width = _Widths(_WIDTHS).__getitem__


def measure_width(written: str, size: float = SIZE) -> float:
    """The width of a text, about."""
    return size * sum(map(_width, written))


@dataclass(frozen=True)
class Line:
    """One line on a box: `kind` is "name", "value", "tangent", "adjoint" or "second"."""

    kind: str
    head: str
    tail: str = ""
    bars: str = ""

    @property
    def width(self) -> float:
        """How wide it is."""
        sign = " = " if self.head and self.tail else ""
        bars = 6 + BAR * len(self.bars) if self.bars else 0.0
        return measure_width(self.head + sign + self.tail) + bars


def shorten(written: str, longest: int = LONGEST) -> str:
    """At most so many letters."""
    return written if len(written) <= longest else written[: longest - 1] + "…"


def written(v: Variable, mode: str) -> dict[str, str]:
    """What is to be read about a variable: formula, the user's name, value, and the derivatives of the mode."""
    out = {"name": write_subscript(v.name)}
    if v.event is not None:
        out["formula"] = shorten(text(forward_formula(v.event)))
    if v.label:
        out["label"] = shorten(v.label, 20)
    values: dict[str, Any] = {"value": v.value}
    if mode in ("forward", "second"):
        values["tangent"] = v.tangent
    if mode in ("reverse", "second"):
        values["adjoint"] = v.adjoint
    if mode == "second":
        values["second"] = v.adjoint_tangent
    return out | {key: summary(value, DIGITS, 8) for key, value in values.items() if value is not None}


def lines(read: Mapping[str, Any]) -> list[Line]:
    """The lines on a box, out of what is to be read about its variable."""
    name = read["name"]
    out = [Line("name", name, read.get("formula", ""))]
    for kind, accent in ACCENTS.items():
        if kind in read:
            tail, bars = _bars(read[kind])
            head = read.get("label", "") if kind == "value" else name[:1] + accent + name[1:]
            out.append(Line(kind, f"d/dt {head}" if kind == "second" else head, tail, bars))
    return out


def _bars(text: str) -> tuple[str, str]:
    """A summary, and the line of bars at its end."""
    if not text.startswith("["):
        return text, ""
    tail = text.rstrip(BARS + "×")
    return (tail.rstrip(), text[len(tail) :]) if tail.endswith(" ") else (text, "")
