"""Writes docs/coverage.md: the table of coverage, with counts.

Run it from anywhere: `python tools/coverage_page.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, KINDS, REFUSED, SIZES, TABLES, TYPES, VALUES, Row, Table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"

HEADER = """\
# What is covered

Written by `tools/coverage_page.py` from the table in `adjoint.coverage`, which also words the errors; tests compare the
table with the installed NumPy and SciPy, and differentiate every function that is called differentiable here.

* **differentiable**: at any order, forwards and backwards, batched and compiled. Where not all real arguments are
  differentiable, those that are follow in parentheses; the others must be constant.
* **constant**: the result carries no derivative. It is piecewise constant (comparisons, indices, counts), or it depends
  on shapes and element types alone, or the arguments are plain numbers, names or settings in the first place.
* **refused**: a traced value raises an error with the reason and what to do instead.

Most functions are called by NumPy's or SciPy's own names. NumPy does not hand every function over to traced values, and
SciPy's Python functions convert their arguments: what is listed as `adjoint.numpy` or `adjoint.scipy` is called by that
name, which is NumPy's or SciPy's own function for plain values.
"""

CONSTANTS = {
    VALUES: "Piecewise constant",
    TYPES: "Of shapes and element types",
    SIZES: "Of plain numbers, names and settings",
}


def page() -> str:
    """The text of docs/coverage.md."""
    lines = [HEADER, *counts(), ""]
    for table in TABLES.values():
        lines += [f"## {table.namespace}", "", *section(table)]
    return "\n".join(lines).rstrip() + "\n"


def counts() -> list[str]:
    """How many functions are of each kind."""
    rows = [[t.namespace, *[len(t.named(kind)) for kind in KINDS]] for t in TABLES.values()]
    total = ["**all**", *[f"**{sum(row[k] for row in rows)}**" for k in (1, 2, 3)]]
    named = [[f"`{row[0]}`", *row[1:]] for row in rows]
    return [written(["namespace", *KINDS]), "|---|---|---|---|", *map(written, [*named, total])]


def written(cells: Iterable[object]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def section(table: Table) -> Iterator[str]:
    """The rows of one namespace, by kind."""
    rows = sorted(table.rows.values(), key=lambda row: row.name.lower())
    for own, title in ((False, "Differentiable"), (True, f"Differentiable, as `adjoint.{table.namespace}`")):
        yield from paragraph(title, [r for r in rows if r.kind == DIFFERENTIABLE and r.own is own])
    for takes, title in CONSTANTS.items():
        yield from paragraph(title, [r for r in rows if r.kind == CONSTANT and r.takes == takes])
    refused = [r for r in rows if r.kind == REFUSED]
    if refused:
        yield from ["**Refused**", "", written(["function", "why", "what to do"]), "|---|---|---|"]
        for reason, remedy in dict.fromkeys((r.reason, r.remedy) for r in refused):
            names = ", ".join(entry(r) for r in refused if (r.reason, r.remedy) == (reason, remedy))
            yield written([names, reason.replace("|", "\\|"), remedy.replace("|", "\\|")])
        yield ""


def paragraph(title: str, rows: list[Row]) -> Iterator[str]:
    """A title and names, in lines that a reader of the source can bear."""
    if not rows:
        return
    yield from [f"**{title}** ({len(rows)})", ""]
    line = ""
    for k, row in enumerate(rows):
        word = entry(row) + ("" if k == len(rows) - 1 else ",")
        if line and len(line) + 1 + len(word) > 120:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield from [line, ""]


def entry(row: Row) -> str:
    """A function, the arguments it is differentiable in, and the versions that have it."""
    versions = [f"from {row.since}"] * bool(row.since) + [f"before {row.until}"] * bool(row.until)
    inputs = f"({', '.join(row.arguments)})" if row.arguments else ""
    package = "NumPy" if row.namespace.startswith("numpy") else "SciPy"
    return f"`{row.name}{inputs}`" + (f" ({package} {' '.join(versions)})" if versions else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
