"""The page of an explanation: one file with everything in it, which opens from disk and asks for nothing else."""

# pyright: basic
from __future__ import annotations

import functools
import json
from html import escape
from importlib import resources
from typing import Any

from adjoint.base.garbage import uncollected
from adjoint.show.explanation.data import explanation_data
from adjoint.show.explanation.sections import MOST_DRAWN

__all__ = ["evaluator", "file", "page"]

EVALUATOR = ("numbers", "complexes", "arrays", "complex_arrays", "primitives")
SHOWN = ("engine", "format", "entries", "state", "trace", "scene", "frames", "graph", "paper", "main")
START = """
window.explanation = start(
  JSON.parse(document.getElementById("data").textContent),
  JSON.parse(document.getElementById("graph-data").textContent),
);
"""


def page(explanation: Any) -> str:
    """The text of the page."""
    with uncollected():
        return _page(explanation)


def _page(explanation: Any) -> str:
    data = explanation_data(explanation)
    filled = {
        "title": escape(f"{explanation.name}: explained"), "style": _style(),
        "script": evaluator() + _join(SHOWN) + START,
        "plain": escape(str(explanation)), "data": embed_json(data), "graph": embed_json(_graph(explanation)),
    }  # fmt: skip
    out: list[str] = []
    for k, piece in enumerate(_template()):
        out.append(filled[piece] if k % 2 else piece)
    return "".join(out)


@functools.cache
def file(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("adjoint.show").joinpath("page", name).read_text(encoding="utf-8")


def evaluator() -> str:
    """The part of the script that computes primitives."""
    return _join(EVALUATOR)


def _join(names: tuple[str, ...]) -> str:
    """The text of several scripts."""
    return "\n".join(file(f"{name}.js") for name in names)


def _graph(explanation: Any) -> Any:
    """The layout of the graph; the page knows the labels of its boxes from the trace. None for long explanations."""
    if len(explanation.model.events) > MOST_DRAWN:
        return None
    data = explanation.graph
    kept = ("kind", "w", "result", "still")
    count = len(explanation.model.variables)
    boxes = {n: {k: v[k] for k in kept if k in v} if n < count else v for n, v in data["variables"].items()}
    return {**data, "variables": boxes}


def embed_json(data: Any) -> str:
    """JSON that may stand in a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@functools.cache
def _template() -> list[str]:
    """Texts and names of what stands between them, in turn."""
    pieces: list[str] = []
    for k, part in enumerate(file("page.html").split("{{")):
        if k == 0:
            pieces.append(part)
        else:
            name, rest = part.split("}}", 1)
            pieces += [name, rest]
    return pieces


@functools.cache
def _style() -> str:
    dark = file("dark.css").replace("\n", " ")
    return file("page.css").replace("{{dark}}", dark) + file("graph.css")
