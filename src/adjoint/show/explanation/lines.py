"""Cells as lines of text: columns side by side, no wider than the terminal."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence

__all__ = ["columns", "lay_out_lines", "natural_width", "width"]

NARROWEST = 24  # columns that a cell keeps when a table must become narrower


def columns() -> int | None:
    """The columns of the terminal that is printed to, or what COLUMNS says; None when it is a file or a pipe."""
    if (asked := os.environ.get("COLUMNS", "")).isdecimal() and int(asked) > 0:
        return int(asked)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    except (AttributeError, OSError, ValueError):  # a stream that is no file
        return None


def width(text: str) -> int:
    """Columns on a terminal: accents stand above the letter before them, letters of East Asia take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )  # fmt: skip


def natural_width(lines: Sequence[Sequence[str]]) -> int:
    """How wide the lines are when nothing is cut."""
    return sum(max(map(width, column)) + 2 for column in zip(*lines, strict=True) if any(column)) - 2


def lay_out_lines(lines: Sequence[Sequence[str]], limit: int | None = None) -> list[str]:
    """The lines, first that of the headings, with a rule below it. Empty columns are left out.

    Where that is wider than `limit`, the longest cells are cut.
    """
    keep = [j for j in range(len(lines[0])) if any(line[j] for line in lines)]
    widths = [max(width(line[j]) for line in lines) for j in keep]
    while limit is not None and sum(widths) + 2 * len(widths) - 2 > limit and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    text = [
        "  ".join(_pad(line[j], w) for j, w in zip(keep, widths, strict=True)).rstrip() for line in lines
    ]  # fmt: skip
    text.insert(1, "─" * max(map(width, text)))
    return text


def _pad(cell: str, wide: int) -> str:
    missing = wide - width(cell)
    if missing >= 0:
        return cell + " " * missing
    while width(cell) > wide - 1:
        cell = cell[:-1]
    return cell + "…" + " " * (wide - 1 - width(cell))
