"""A model as a table: its layers, what each gives, and how many parameters it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

import numpy as np

from adjoint import tree
from adjoint.nn.locating import title_of
from adjoint.nn.statistics import trainable
from adjoint.nn.tapping import tapped

__all__ = ["Summary", "summary"]


WIDE = 80  # columns


@dataclass(frozen=True)
class Row:
    """One layer."""

    path: str
    title: str
    shape: str
    parameters: int


@dataclass(frozen=True)
class Summary:
    """The table that `summary` makes: `rows`, `parameters` in all, and `state`, numbers that are not trained.

    ```python
    made = ad.nn.summary(ad.nn.MLP.init(ad.random.default_rng(0), [2, 3, 1]))
    made.parameters, [row.title for row in made.rows]  # → (13, ['MLP 2 → 3 → 1', 'Linear 2 → 3', 'Linear 3 → 1'])
    ```
    """

    rows: list[Row]
    parameters: int
    state: int
    bytes: int

    def __str__(self) -> str:
        lines = [("path", "layer", "output", "parameters")]
        lines += [(r.path, r.title, r.shape, f"{r.parameters:,}") for r in self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        if sum(widths) + 6 > WIDE:  # paths by what they add to those above, and long titles cut
            names = ["path", *_indented([row.path for row in self.rows])]
            least = max(map(len, names)) + widths[2] + widths[3] + 6
            titles = [_cut(line[1], max(WIDE - least, 16)) for line in lines]
            lines = [(name, title, *line[2:]) for name, title, line in zip(names, titles, lines, strict=True)]
            widths = [max(len(line[i]) for line in lines) for i in range(4)]
        table = [
            "  ".join([*(cell.ljust(w) for cell, w in zip(line[:3], widths)), line[3].rjust(widths[3])]).rstrip()
            for line in lines
        ]
        state = f", {self.state:,} numbers of state" if self.state else ""
        return "\n".join([*table, f"{self.parameters:,} parameters{state}, {self.bytes:,} bytes"])

    __repr__ = __str__


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip(" ,") + "…"


def _indented(paths: list[str]) -> list[str]:
    """Each path without that of the layer it stands in, two columns further to the right."""
    shown: list[str] = []
    above: list[str] = []
    for path in paths:
        while above and not (path.startswith(above[-1]) and path[len(above[-1])] in ".["):
            above.pop()
        rest = path[len(above[-1]) :] if above else path
        shown.append("  " * len(above) + rest.removeprefix("."))
        above += [path] if path else []
    return shown


def summary(model: Any, *inputs: Any, **options: Any) -> Summary:
    """The layers of a model with their parameters, and, for example inputs, the shapes of what they give.

    ```python
    model = ad.nn.MLP.init(ad.random.default_rng(0), [2, 3, 1])
    print(ad.nn.summary(model, np.ones((5, 2))))
    # path       layer          output  parameters
    #            MLP 2 → 3 → 1  (5, 1)          13
    # layers[0]  Linear 2 → 3   (5, 3)           9
    # layers[1]  Linear 3 → 1   (5, 1)           4
    # 13 parameters, 104 bytes
    ad.nn.summary(model).parameters  # → 13
    ```
    """
    found = list(layers_of(model))
    shapes: dict[str, list[str]] = {}

    def note(path: str, value: Any) -> None:
        shape = ", ".join(str(leaf.shape) for leaf in tree.leaves(value))
        if shape not in shapes.setdefault(path, []):
            shapes[path].append(shape)

    if inputs:
        tapped(model, [path for path, _ in found], note)(*inputs, **options)
    rows = [Row(path, title_of(layer), "; ".join(shapes.get(path, [])), _count(layer)) for path, layer in found]
    leaves = [np.asarray(leaf) for leaf in tree.leaves(model)]
    count = _count(model)
    return Summary(rows, count, sum(a.size for a in leaves) - count, sum(a.nbytes for a in leaves))


def layers_of(model: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The layers in a tree (dataclasses that can be called), outer ones first, with their paths."""
    if is_dataclass(model) and not isinstance(model, type):
        if callable(model):
            yield path, model
        for field in fields(cast(Any, model)):
            if not field.metadata.get("static"):
                yield from layers_of(getattr(model, field.name), f"{path}.{field.name}".lstrip("."))
    elif isinstance(model, list | tuple):
        for i, part in enumerate(cast("list[Any]", model)):
            yield from layers_of(part, f"{path}[{i}]")
    elif isinstance(model, dict):
        for key, part in cast("dict[Any, Any]", model).items():
            yield from layers_of(part, f"{path}[{key!r}]")


def _count(layer: Any) -> int:
    flags = tree.leaves(trainable(layer))
    return sum(int(np.size(leaf)) for leaf, is_trained in zip(tree.leaves(layer), flags, strict=True) if is_trained)
