"""The computation graph as a picture: one SVG without scripts, fonts or anything else from outside.

Inputs are rounded, constants slanted, steps rectangles, results have a double border. What is written in the second
color are derivatives: adjoints or tangents on the boxes, partials beside the arrows.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Collection
from html import escape
from typing import Any

from adjoint.show.drawing.labels import BAR, LINE, SIZE, lines, measure_width
from adjoint.show.drawing.scene import TITLE, placed
from adjoint.show.explanation.summaries import BARS

__all__ = ["STYLE", "draw_graph"]

MARGIN = 12.0
STYLE = """
.graph { --paper: #ffffff; --ink: #1c2733; --soft: #5f6b78; --line: #44515e; --faint: #aab4be; --input: #e8f1fb;
  --constant: #f3f1ea; --step: #ffffff; --result: #eef7ee; --frame: #f6f8fa; --adjoint: #b3390b; --tangent: #0b6e5b;
  --second: #7a2fa0; --partial: #b3390b; }
@media (prefers-color-scheme: dark) { .graph { --paper: #14191f; --ink: #e6ebf0; --soft: #9aa7b4; --line: #a3afbb;
  --faint: #4d5965; --input: #1d2f42; --constant: #2e2b22; --step: #1b222a; --result: #1c3022; --frame: #181e25;
  --adjoint: #ff9d73; --tangent: #5fd3bb; --second: #d3a2f0; --partial: #ff9d73; } }
.graph.forward { --partial: var(--tangent); }
.graph text { font-family: "Helvetica Neue", Helvetica, Arial, "Liberation Sans", "DejaVu Sans", sans-serif;
  font-size: 13px; fill: var(--ink); }
.graph .paper { fill: var(--paper); }
.graph .box > * { stroke: var(--line); stroke-width: 1.2; fill: var(--step); }
.graph .box > text { stroke: none; fill: var(--ink); }
.graph .input > .outline { fill: var(--input); }
.graph .constant > .outline { fill: var(--constant); }
.graph .result > .outline { fill: var(--result); stroke-width: 1.4; }
.graph .box > .inner { fill: none; }
.graph .still > .outline { stroke: var(--faint); }
.graph .name .id { font-weight: 600; font-style: italic; }
.graph .value .id { font-style: italic; fill: var(--soft); }
.graph .box > .adjoint { fill: var(--adjoint); }
.graph .box > .tangent { fill: var(--tangent); }
.graph .box > .second { fill: var(--second); }
.graph .box > .bars { stroke: none; fill: var(--soft); }
.graph .box > .bars.adjoint { fill: var(--adjoint); }
.graph .box > .bars.tangent { fill: var(--tangent); }
.graph .closed > .outline, .graph .closed > .behind { fill: var(--frame); }
.graph .closed.more > .outline { stroke-dasharray: 5 3; }
.graph .closed .note { font-size: 11px; fill: var(--soft); }
.graph .frame > rect { fill: var(--frame); stroke: var(--faint); }
.graph .frame.iteration > rect, .graph .frame.more > rect { stroke-dasharray: 5 3; }
.graph .frame.odd > rect { fill: var(--paper); }
.graph .title > text { font-size: 12px; font-weight: 600; fill: var(--soft); }
.graph .title > rect { fill: var(--frame); }
.graph .odd.title > rect { fill: var(--paper); }
.graph .arrow > path { fill: none; stroke: var(--line); stroke-width: 1.3; }
.graph .arrow.still > path { stroke: var(--faint); stroke-dasharray: 2 3; }
.graph .arrow > text { font-size: 11px; fill: var(--partial); text-anchor: middle; }
.graph .arrow > rect { fill: var(--paper); }
.graph .arrow.even > rect { fill: var(--frame); }
.graph marker > path { fill: var(--line); stroke: none; }
.graph marker.pale > path { fill: var(--faint); }
@media print { .graph { --paper: #ffffff; } }
""".strip()


def draw_graph(data: dict[str, Any], opened: Collection[int] | None = None) -> str:
    """The picture of a graph's data with some frames open: by default those that are open at first."""
    scene = placed(data, opened)
    depth = {0: 0}
    for frame in scene["frames"][1:]:
        depth[frame["group"]] = depth[data["groups"][frame["group"]]["parent"]] + 1
    width, height = scene["width"] + 2 * MARGIN, scene["height"] + 2 * MARGIN - TITLE / 2
    body = [
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN - TITLE / 2)})">',
        *[_frame(frame, data, depth) for frame in scene["frames"][1:]],
        *[_arrow(arrow, data, depth) for arrow in scene["arrows"]],
        *[_title(frame, data, depth) for frame in scene["frames"][1:]],
        *[_label(arrow, depth) for arrow in scene["arrows"] if arrow["label"] is not None],
        *[_box(box, data) if "variable" in box else _closed(box, data) for box in scene["boxes"]],
        "</g>",
    ]
    name = escape(f"Computation graph of {data['title']}")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph {data["mode"]}" role="img" aria-labeledby="t d" '
        f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}">',
        f'<title id="t">{name}</title>', f'<desc id="d">{escape(_describe(data))}</desc>', f"<style>{STYLE}</style>",
        "<defs>", _marker("head", ""), _marker("head-pale", "pale"), "</defs>",
        f'<rect class="paper" width="{_n(width)}" height="{_n(height)}"/>', *body, "</svg>", "",
    ])  # fmt: skip


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _marker(name: str, kind: str) -> str:
    return (f'<marker id="{name}" class="{kind}" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="8" '
            f'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
            '<path d="M0.5 0.8 L7.5 4 L0.5 7.2 Z"/></marker>')  # fmt: skip


def _describe(data: dict[str, Any]) -> str:
    """The graph in words, for those who do not see it."""
    boxes = list(data["variables"].values())
    said = [f"{len(boxes)} variables"]
    for kind in ("input", "constant"):
        said.append(f"{sum(v['kind'] == kind for v in boxes)} {kind}s")
    results = [" = ".join(v[key] for key in ("label", "value") if v.get(key)) for v in boxes if v.get("result")]
    if results:
        said.append("results: " + "; ".join(results[:6]))
    return ", ".join(said) + "."


def _frame(frame: Any, data: Any, depth: Any) -> str:
    group = data["groups"][frame["group"]]
    odd = " odd" if depth[frame["group"]] % 2 == 0 else ""
    return (f'<g class="frame {group["kind"]}{odd}" data-group="{frame["group"]}"><title>{escape(group["title"])}: '
            f'{escape(group["note"])}</title><rect x="{_n(frame["x"])}" y="{_n(frame["y"])}" width="{_n(frame["w"])}" '
            f'height="{_n(frame["h"])}" rx="7"/></g>')  # fmt: skip


def _title(frame: Any, data: Any, depth: Any) -> str:
    title = data["groups"][frame["group"]]["title"]
    odd = " odd" if depth[frame["group"]] % 2 == 0 else ""
    x, y = frame["x"] + 6, frame["y"] + 4
    return (f'<g class="title{odd}" data-group="{frame["group"]}"><rect x="{_n(x)}" y="{_n(y)}" '
            f'width="{_n(measure_width(title, 11.5) + 6)}" height="18" rx="3"/><text x="{_n(x + 4)}" y="{_n(y + 13)}">'
            f"{escape(title)}</text></g>")  # fmt: skip


def path(points: list[list[float]]) -> str:
    """Straight down within pairs of points, a swing between pairs."""
    out = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for k in range(1, len(points)):
        (x0, y0), (x1, y1) = points[k - 1], points[k]
        if k % 2 or abs(x1 - x0) < 0.05:
            if abs(y1 - y0) > 0.05:
                out.append(f"L{_n(x1)} {_n(y1)}")
        else:
            middle = (y0 + y1) / 2
            out.append(f"C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(y1)}")
    return "".join(out)


def _arrow(arrow: Any, data: Any, depth: Any) -> str:
    still = "" if arrow["active"] else " still"
    marker = f' marker-end="url(#head{"-pale" if still else ""})"' if arrow["head"] else ""
    edge = f' data-edge="{arrow["edge"]}"' if arrow["edge"] else ""
    said = arrow["formula"] or arrow["text"]
    title = f"<title>{escape(said)}</title>" if said else ""
    return (f'<g class="arrow{still}" data-source="{arrow["variable"]}" data-within="{arrow["group"]}"{edge}>{title}'
            f'<path d="{path(arrow["points"])}"{marker}/></g>')  # fmt: skip


def _label(arrow: Any, depth: Any) -> str:
    x, y, _ = arrow["label"]
    even = " even" if depth[arrow["group"]] % 2 else ""
    wide = measure_width(arrow["text"], 11) + 4
    return (f'<g class="arrow{even}" data-edge="{arrow["edge"]}"><rect x="{_n(x - wide / 2)}" y="{_n(y - 7)}" '
            f'width="{_n(wide)}" height="14"/><text x="{_n(x)}" y="{_n(y + 4)}">{escape(arrow["text"])}</text></g>'
    )  # fmt: skip


def _outline(kind: str, x: float, y: float, w: float, h: float, name: str) -> str:
    if kind == "constant":
        s = 8.0
        corners = [(x + s, y), (x + w, y), (x + w - s, y + h), (x, y + h)]
        return f'<polygon class="{name}" points="{" ".join(f"{_n(a)},{_n(b)}" for a, b in corners)}"/>'
    round_ = min(h / 2, 33.0) if kind == "input" else 3.0  # of a high box the corners stay clear of the letters
    return f'<rect class="{name}" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(round_)}"/>'


def _box(box: Any, data: Any) -> str:
    v = data["variables"][box["variable"]]
    x, y, w, h = box["x"], box["y"], box["w"], box["h"]
    classes = ["box", v["kind"], *(["result"] if v.get("result") else []), *(["still"] if v.get("still") else [])]
    out = [f'<g class="{" ".join(classes)}" data-variable="{box["variable"]}">']
    out.append(_outline(v["kind"], x, y, w, h, "outline"))
    if v.get("result"):
        out.append(_outline(v["kind"], x + 3, y + 3, w - 6, h - 6, "inner"))
    for k, line in enumerate(lines(v)):
        left, base = x + w / 2 - line.width / 2, y + 6 + LINE * k + SIZE
        middle = x + w / 2 - (6 + BAR * len(line.bars)) / 2 if line.bars else x + w / 2
        first = f'<tspan class="id">{escape(line.head)}</tspan>' if line.head else ""
        sign = " = " if line.head and line.tail else ""
        out.append(f'<text class="{line.kind}" x="{_n(middle)}" y="{_n(base)}" text-anchor="middle">'
                   f"{first}{sign}{escape(line.tail)}</text>")  # fmt: skip
        if line.bars:
            out.append(_bars(line.bars, line.kind, left + line.width - BAR * len(line.bars), base))
    return "".join([*out, "</g>"])


def _bars(bars: str, kind: str, x: float, base: float) -> str:
    """A sparkline, drawn; × is where nothing is finite."""
    pieces: list[str] = []
    for k, bar in enumerate(bars):
        at, height = x + BAR * k, 1.5 * (BARS.find(bar) + 1)
        pieces.append(f"M{_n(at)} {_n(base)}v{_n(-height)}h{_n(BAR - 1)}v{_n(height)}z" if height
                      else f"M{_n(at)} {_n(base - 3)}l3 3m0 -3l-3 3")  # fmt: skip
    return f'<path class="bars {kind}" d="{"".join(pieces)}"/>'


def _closed(box: Any, data: Any) -> str:
    group = data["groups"][box["group"]]
    x, y, w, h = box["x"], box["y"], box["w"], box["h"]
    middle = _n(x + w / 2)
    return "".join([
        f'<g class="box closed {group["kind"]}" data-group="{box["group"]}">',
        _outline("step", x + 4, y + 4, w - 4, h - 4, "behind"), _outline("step", x, y, w - 4, h - 4, "outline"),
        f'<text class="id" x="{middle}" y="{_n(y + 7 + SIZE)}" text-anchor="middle">{escape(group["title"])}</text>',
        f'<text class="note" x="{middle}" y="{_n(y + 5 + LINE + SIZE)}" text-anchor="middle">'
        f'{escape(group["note"])}</text></g>',
    ])  # fmt: skip
