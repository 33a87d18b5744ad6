"""Coordinates for the graph with any frames open: the computation that a page does again when somebody opens one.

A frame was laid out with its children as they are at first. When a child becomes wider or narrower, x is stretched:

    f'(x) = max over the items that stand above or below x of  (new room) / (old room),

the room of an item being its width and the space that it keeps free. So each item has the room that it needs on either
side of f(x), order and distances within layers hold, and what was straight below something stays there.
Heights of layers are simply added up.
"""

# pyright: basic
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from itertools import pairwise
from typing import Any

__all__ = ["TITLE", "inside", "placed"]

PAD, TITLE, LABEL_HEIGHT = 14.0, 26.0, 15.0
GAP, GAP_GROWTH, MOST_GAP = 18.0, 0.1, 54.0  # between layers: more where lines go far to the side


def placed(data: dict[str, Any], opened: Collection[int] | None = None) -> dict[str, Any]:
    """Frames, boxes and arrows at absolute places: x and y are of left upper corners.

    An arrow has points in pairs: from one of each pair to the other it runs straight down; between pairs it swings.
    """
    chosen = set(data["opened"] if opened is None else opened) | {0}
    scene: dict[str, Any] = {"frames": [], "boxes": [], "arrows": []}
    inner = inside(data, 0, chosen)
    _draw(data, 0, chosen, 0.0, 0.0, scene, inner)
    scene["width"], scene["height"] = inner["w"], inner["h"]
    return scene


def inside(
    data: dict[str, Any], number: int, opened: Collection[int], known: dict[int, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The size of an open frame and the places of everything in it, from its left upper corner."""
    group = data["groups"][number]
    layout = data["layouts"][group["layout"]]
    items, kinds, layers = layout["items"], layout["kinds"], layout["layers"]
    inner: dict[int, dict[str, Any]] = {}
    width, height = [item[1] for item in items], [0.0] * len(items)
    for k, (kind, n) in enumerate(zip(kinds, group["children"], strict=True)):
        if kind == "g" and n in opened:
            inner[k] = known[n] if known and n in known else inside(data, n, opened)
            width[k], height[k] = inner[k]["w"], inner[k]["h"]
        elif kind in "vg":
            box = data["variables" if kind == "v" else "groups"][n]
            width[k], height[k] = box["w"], box["h"]
    for item in layout["at"]:
        if item >= 0:
            height[item] = LABEL_HEIGHT
    x = _stretch(items, width)
    depth = [0.0] * layers
    for item, tall in zip(items, height, strict=True):
        depth[item[2]] = max(depth[item[2]], tall)
    aside = [0.0] * max(layers - 1, 0)
    for route in layout["routes"]:
        for a, b in pairwise(route):
            low = min(items[a][2], items[b][2])
            aside[low] = max(aside[low], abs(x[a] - x[b]))
    top = [TITLE]
    for k, wide in enumerate(aside):
        top.append(top[k] + depth[k] + min(GAP + GAP_GROWTH * wide, MOST_GAP))
    right = max((at + wide / 2 for at, wide in zip(x, width, strict=True)), default=0.0)
    whole = max(right + 2 * PAD, group["w"])
    left = (whole - right) / 2  # more than the padding where the title is wider than the content
    x = [at + left for at in x]
    ports: dict[str, dict[int, float]] = {"in": {}, "out": {}}
    for k, (kind, n) in enumerate(zip(kinds, group["children"], strict=True)):
        if kind in "io":
            ports["in" if kind == "i" else "out"][n] = x[k]
    below = (top[-1] + depth[-1] if depth else TITLE) + (4 if ports["out"] else PAD)
    return {
        "w": round(whole, 1), "h": round(below, 1), "x": x, "width": width, "height": height, "top": top,
        "depth": depth, "inner": inner, "ports": ports,
    }  # fmt: skip


def _stretch(items: Any, width: list[float]) -> list[float]:
    """f(x) of all items, from the left; x itself when all widths are as at first."""
    if all(abs(item[1] - wide) < 0.5 for item, wide in zip(items, width, strict=True)):
        return _from_left([item[0] for item in items], width)
    ranges = [
        (x - (w + space) / 2, x + (w + space) / 2, (wide + space) / (w + space))
        for (x, w, _, space), wide in zip(items, width, strict=True)
    ]
    cuts = sorted({edge for low, high, _ in ranges for edge in (low, high)})
    at = {cut: k for k, cut in enumerate(cuts)}
    rate = [0.0] * len(cuts)
    for low, high, ratio in ranges:
        for k in range(at[low], at[high]):
            rate[k] = max(rate[k], ratio)
    offsets = [0.0]
    for k, (low, high) in enumerate(pairwise(cuts)):
        offsets.append(offsets[k] + (high - low) * (rate[k] or 1.0))
    out: list[float] = []
    for x, _, _, _ in items:
        k = max(bisect_right(cuts, x) - 1, 0)
        out.append(offsets[k] + (x - cuts[k]) * (rate[k] or 1.0))
    return _from_left(out, width)


def _from_left(x: list[float], width: list[float]) -> list[float]:
    left = min((at - wide / 2 for at, wide in zip(x, width, strict=True)), default=0.0)
    return [at - left for at in x]


def _draw(
    data: dict[str, Any], number: int, opened: Collection[int], left: float, top: float, scene: Any, inner: Any
) -> None:
    """Put a frame and its content into the scene."""
    group = data["groups"][number]
    layout = data["layouts"][group["layout"]]
    items, kinds = layout["items"], layout["kinds"]
    x, tops, depth = inner["x"], inner["top"], inner["depth"]
    scene["frames"].append({"group": number, "x": left, "y": top, "w": inner["w"], "h": inner["h"]})
    edge: dict[int, tuple[float, float]] = {}  # upper and lower, of each child
    for k, (kind, n) in enumerate(zip(kinds, group["children"], strict=True)):
        wide, tall, layer = inner["width"][k], inner["height"][k], items[k][2]
        y = top + tops[layer] + (depth[layer] - tall) / 2
        corner = left + x[k] - wide / 2
        edge[k] = y, y + tall
        if kind in "io":
            border = top if kind == "i" else top + inner["h"]
            edge[k] = border, border
        elif k in inner["inner"]:
            _draw(data, n, opened, corner, y, scene, inner["inner"][k])
        else:
            scene["boxes"].append(
                {"variable" if kind == "v" else "group": n, "x": corner, "y": y, "w": wide, "h": tall}
            )
    labels, formulas, still = group.get("labels", {}), group.get("formulas", {}), group.get("still", ())
    for k, (route, (start, end), n) in enumerate(zip(layout["routes"], layout["ends"], group["carried"], strict=True)):
        xs = [left + x[item] for item in route]
        xs[0] += _end(inner, route[0], "out", n, start)
        xs[-1] += _end(inner, route[-1], "in", n, end)
        bands = [(top + tops[items[i][2]], top + tops[items[i][2]] + depth[items[i][2]]) for i in route]
        label = None
        if (item := layout["at"][k]) >= 0:
            label = [left + x[item], top + tops[items[item][2]] + depth[items[item][2]] / 2, inner["width"][item]]
        arrives = kinds[route[-1]] == "v"
        scene["arrows"].append({
            "group": number, "variable": n, "edge": f"{n}-{group['children'][route[-1]]}" if arrives else "",
            "text": labels.get(k, ""), "formula": formulas.get(k, ""),
            "active": k not in still, "points": _points(xs, bands, edge[route[0]], edge[route[-1]]), "label": label,
            "head": arrives or (kinds[route[-1]] == "g" and route[-1] not in inner["inner"]),
        })  # fmt: skip


def _end(inner: Any, child: int, side: str, variable: int, closed: float) -> float:
    """How far from the middle of a child an arrow touches it."""
    frame = inner["inner"].get(child)
    return closed if frame is None else frame["ports"][side][variable] - frame["w"] / 2


def _points(
    xs: list[float], bands: list[tuple[float, float]], first: tuple[float, float], last: tuple[float, float]
) -> list[list[float]]:
    """Through each layer straight, from edge to edge of the boxes at the ends."""
    upward = bands[0][0] > bands[-1][0]
    points: list[list[float]] = []
    for k, (x, (high, low)) in enumerate(zip(xs, bands, strict=True)):
        into, out = (low, high) if upward else (high, low)
        if k == 0:
            into = first[0] if upward else first[1]
        if k == len(xs) - 1:
            out = last[1] if upward else last[0]
        points += [[x, into], [x, out]]
    return points
