"""The view of an explanation in a notebook: the trace table and the notes, as HTML that needs no script.

All rules of its style begin with a class of its own, so nothing else on the page changes. Colors follow the notebook's
theme where it says one (Jupyter), else the system's.
"""

# pyright: basic
from __future__ import annotations

import re
from html import escape
from typing import Any

from adjoint.show.explanation.table import cells, rows, shown

__all__ = ["notebook"]

ROWS = 80  # of a table in a notebook
_SYMBOL = re.compile("([vct])([\u0304\u0307]{0,2})([₋₀-₉]+)")
_BAD = re.compile("nan|inf|not finite")
_DIGITS = str.maketrans("₋₀₁₂₃₄₅₆₇₈₉", "−0123456789")
STYLE = """
.adjoint-view { --adjoint-ink: var(--jp-content-font-color1, #1c2733); --adjoint-soft: var(--jp-content-font-color2, #5b6774);
  --adjoint-line: var(--jp-border-color2, #d9dee3); --adjoint-bar: #a8330a; --adjoint-dot: #0b6656; --adjoint-two: #6f2a94; --adjoint-warn: #b00020;
  color: var(--adjoint-ink); overflow-x: auto; font-size: 14px; }
.adjoint-view.adjoint-view table { border-collapse: collapse; margin: 6px 0; border: 0; }
.adjoint-view.adjoint-view caption { caption-side: top; text-align: left; padding: 0 0 4px; color: var(--adjoint-soft); }
.adjoint-view.adjoint-view th { text-align: left; border: 0; border-bottom: 1.5px solid currentColor; padding: 3px 10px; background: none; }
.adjoint-view.adjoint-view td { text-align: left; border: 0; border-bottom: 1px solid var(--adjoint-line); padding: 3px 10px; background: none;
  vertical-align: baseline; white-space: nowrap; }
.adjoint-view td.adjoint-formula { font: 16px/1.4 "STIX Two Text", Cambria, Georgia, "DejaVu Serif", serif; }
.adjoint-view.adjoint-view td.adjoint-number { font: 13px/1.6 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; text-align: right; }
.adjoint-view .adjoint-reverse { color: var(--adjoint-bar); } .adjoint-view .adjoint-tangent { color: var(--adjoint-dot); }
.adjoint-view .adjoint-second { color: var(--adjoint-two); } .adjoint-view.adjoint-view .adjoint-bad { color: var(--adjoint-warn); font-weight: 700; }
.adjoint-view .adjoint-quiet { color: var(--adjoint-soft); font-size: 12px; }
.adjoint-view sub { font-size: 0.72em; line-height: 0; }
.adjoint-view ul { margin: 4px 0 0; padding-left: 20px; color: var(--adjoint-soft); }
[data-jp-theme-light="false"] .adjoint-view { --adjoint-bar: #ff9d73; --adjoint-dot: #5fd3bb; --adjoint-two: #d3a2f0; --adjoint-warn: #ff7d8c; }
@media (prefers-color-scheme: dark) { :root:not([data-jp-theme-light]) .adjoint-view { --adjoint-ink: #e6ebf0; --adjoint-soft: #9aa7b4;
  --adjoint-line: #303b46; --adjoint-bar: #ff9d73; --adjoint-dot: #5fd3bb; --adjoint-two: #d3a2f0; --adjoint-warn: #ff7d8c; } }
""".strip()  # noqa: E501


def notebook(explanation: Any) -> str:
    """HTML for a cell of a notebook."""
    model, mode = explanation.model, explanation.mode
    variables = shown(model)
    left_out, half = len(variables) - ROWS, ROWS // 2
    some = variables if left_out <= 0 else [*variables[:half], *variables[-half:]]
    lines = ["".join(_cells(row, mode)) for row in rows(model, mode, some)]
    if left_out > 0:
        lines.insert(half, f'<td></td><td class="adjoint-quiet" colspan="7">… {left_out} more rows …</td>')
    notes = "".join(f"<li>{escape(note)}</li>" for note in explanation.notes)
    return "".join([
        f'<div class="adjoint-view"><style>{STYLE}</style><table><caption>{escape(explanation._title())}</caption>',
        f"<thead><tr>{_head(mode)}</tr></thead><tbody>", *[f"<tr>{line}</tr>" for line in lines], "</tbody></table>",
        f"<ul>{notes}</ul>" if notes else "", "</div>",
    ])  # fmt: skip


def _head(mode: str) -> str:
    parts = ["<th></th>", '<th colspan="2">↓ Forward primal trace</th>']
    if mode != "reverse":
        parts.append('<th colspan="2" class="adjoint-tangent">↓ Forward tangent trace</th>')
    if mode != "forward":
        parts.append('<th colspan="2" class="adjoint-reverse">↑ Reverse adjoint trace</th>')
    if mode == "second":
        parts.append('<th class="adjoint-second">↑ Its derivative</th>')
    return "".join([*parts, "<th></th>"])


def _cells(row: Any, mode: str) -> list[str]:
    """The cells of a row, as in print, with their classes."""
    label, formula, value, *rest, line = cells(row, mode)
    out = [f'<td class="adjoint-quiet"><i>{escape(label)}</i></td>', _formula(formula), _number(value, "")]
    kinds = {"reverse": ["reverse"], "forward": ["tangent"], "second": ["tangent", "reverse"]}[mode]
    for kind in kinds:
        written, number, *rest = rest
        out += [_formula(written), _number(number, f" adjoint-{kind}")]
    out += [_number(number, " adjoint-second") for number in rest]
    return [*out, f'<td class="adjoint-quiet">{escape(line)}</td>']


def _formula(text: str) -> str:
    """A formula with true subscripts."""
    written = _SYMBOL.sub(lambda m: f"<i>{m[1]}{m[2]}</i><sub>{m[3].translate(_DIGITS)}</sub>", escape(text))
    return f'<td class="adjoint-formula">{written}</td>'


def _number(text: str, kind: str) -> str:
    bad = " adjoint-bad" if _BAD.search(text) else ""
    return f'<td class="adjoint-number{kind}{bad}">{escape(text)}</td>'
