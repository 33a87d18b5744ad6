"""The script of a page: what every page has, and of the rarer functions those that its primitives need.

Such functions stand in page/special/*.js. A file says in its first lines what it is for:

    // Bessel functions of real order.
    // gives: jv yv ParameterDerivative.jv
    // gives complex: jv
    // needs: gamma complexes

`gives` are names of primitives that it registers in numbers.of, numbers.several or numbers.given (see numbers.js), and
`gives complex` those in complexes.of, complexes.several or complexes.given, which a page has only if the story has
complex values; `needs` are files that must stand before it. A line without names may be left out.
"""

# pyright: basic
from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["evaluator", "file", "heads", "key", "ordered", "script"]

SHOWN = ("engine", "format", "entries", "state", "trace", "scene", "frames", "graph", "paper", "main")
MEMBERS = {"ParameterDerivative": "of", "Placed": "rule", "FunctionSequence": "function"}  # as in primitives.js


@dataclass(frozen=True)
class Head:
    """What the first lines of a file in page/special say."""

    gives: frozenset[str]
    complexes: frozenset[str]
    needs: tuple[str, ...]


@functools.cache
def file(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("adjoint.show").joinpath("page", name).read_text(encoding="utf-8")


@functools.cache
def heads() -> dict[str, Head]:
    """All files in page/special."""
    folder = resources.files("adjoint.show").joinpath("page", "special")
    names = sorted(f.name.removesuffix(".js") for f in folder.iterdir() if f.name.endswith(".js"))
    return {name: _head(file(f"special/{name}.js")) for name in names}


def _head(text: str) -> Head:
    said: dict[str, list[str]] = {"gives": [], "gives complex": [], "needs": []}
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        word, _, rest = line.removeprefix("//").strip().partition(":")
        if word in said:
            said[word] += rest.split()
    return Head(frozenset(said["gives"]), frozenset(said["gives complex"]), tuple(said["needs"]))


def key(op: dict[str, Any]) -> str:
    """The name under which the page looks for a primitive."""
    name = op.get("name", "")
    return f"{name}.{op['parameters'][MEMBERS[name]]}" if name in MEMBERS else name


def special(wanted: set[str], with_complex: bool) -> list[str]:
    """The files in page/special that these primitives need."""
    return ordered(
        name for name, head in heads().items() if wanted & head.gives or (with_complex and wanted & head.complexes)
    )


def ordered(names: Iterable[str]) -> list[str]:
    """Files in page/special, each after those that it needs itself."""
    chosen: dict[str, None] = {}

    def choose(name: str) -> None:
        if name not in chosen:
            for other in heads()[name].needs:
                choose(other)
            chosen[name] = None

    for name in names:
        choose(name)
    return list(chosen)


def has_complex(data: dict[str, Any]) -> bool:
    """Whether a value of the story, or one inside a rule, is complex."""
    typed = [*data["literals"], *(c for rule in data["rules"] for c in rule["constants"])]
    dtypes = {*data["variables"]["dtype"], *(x["dtype"] for x in typed)}
    dtypes |= {dtype for rule in data["rules"] for step in rule["steps"] for dtype in step[2]}
    return any(dtype.startswith("complex") for dtype in dtypes)


def script(data: dict[str, Any]) -> str:
    """The whole script for the data of an explanation."""
    return evaluator(data["ops"], has_complex(data)) + "\n".join(file(f"{name}.js") for name in SHOWN)


def evaluator(ops: Iterable[dict[str, Any]], with_complex: bool) -> str:
    """The part of it that computes these primitives."""
    chosen = special({key(op) for op in ops}, with_complex)
    names = ("numbers", *(f"special/{name}" for name in chosen), "arrays", "primitives")
    return "".join(file(f"{name}.js") for name in names)
