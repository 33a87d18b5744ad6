"""Reaching one part of a tree by its path: `layers[0].w`, `['w']`, `[1]`."""

import ast
import re
from typing import Any, TypeVar

from adjoint.base.errors import TreeError
from adjoint.tree.flatten import structure
from adjoint.tree.kinds import Kind, Static, Tree, listed
from adjoint.tree.registry import outside

__all__ = ["get", "paths", "replace"]

T = TypeVar("T")

_ATTRIBUTE = r"\.?([^\W\d]\w*)"


def paths(tree: Tree, root: str = "") -> list[str]:
    """The path of every leaf: `.name` for fields, `['key']` for dicts, `[0]` for sequences.

    ```python
    ad.tree.paths({"a": 1.0, "b": [2.0, 3.0]})  # → ["['a']", "['b'][0]", "['b'][1]"]
    ```
    """
    return structure(tree).paths(root)


def get(tree: Tree, path: str) -> Tree:
    """What stands at `path`: a leaf, a subtree, or a static field.

    ```python
    ad.tree.get({"a": 1.0, "b": [2.0, 3.0]}, "['b'][1]")  # → 3.0
    ```
    """
    for position, label in enumerate(labels := _labels(path)):
        _, _, children, index = _step(tree, label, labels[:position])
        tree = children[index]
        if isinstance(tree, Static):
            tree = tree.value
    return tree


def replace(tree: T, path: str, value: object) -> T:
    """A copy of `tree` with `value` at `path`; what is not on the way is shared with the old tree.

    ```python
    ad.tree.replace({"a": 1.0, "b": [2.0, 3.0]}, "['b'][1]", 0.0)  # → {'a': 1.0, 'b': [2.0, 0.0]}
    ```
    """
    labels = _labels(path)
    path_steps: list[tuple[Kind, Any, list[Any], int]] = []
    current: Any = tree
    for position, label in enumerate(labels):
        step = _step(current, label, labels[:position])
        path_steps.append(step)
        current = step[2][step[3]]
        if isinstance(current, Static):
            current = current.value
    result: Any = value
    for kind, data, children, index in reversed(path_steps):
        children[index] = result
        result = kind.build(data, children)
    return result


def _labels(path: str) -> list[str]:
    """`layers[0].w` -> .layers, [0], .w"""
    steps: list[str] = []
    position = 0
    while position < len(path):
        if path[position] == "[":
            position, label = _bracket(path, position)
            steps.append(label)
        elif (match := re.match(_ATTRIBUTE, path[position:])) and (position == 0 or path[position] == "."):
            steps.append(f".{match[1]}")
            position += match.end()
        else:
            raise TreeError(
                f"The path {path!r} cannot be read from {path[position:]!r} on; write e.g. layers[0].w or ['w']."
            )
    return steps


def _bracket(path: str, start: int) -> tuple[int, str]:
    """The label that begins at an opening bracket, and where the next one begins."""
    first = end = path.find("]", start)
    while end != -1:
        try:
            return end + 1, f"[{ast.literal_eval(path[start + 1 : end].strip())!r}]"
        except (ValueError, SyntaxError):
            end = path.find("]", end + 1)  # the bracket may stand inside a string
    if first == -1:
        raise TreeError(f"The path {path!r} has a bracket that is not closed.")
    return first + 1, path[start : first + 1]  # a key that is no literal, as it is printed


def _step(tree: Any, label: str, path_steps: list[str]) -> tuple[Kind, Any, list[Any], int]:
    """One step down: the kind and data of the container, its children, and which of them the label means."""
    here = "".join(path_steps).removeprefix(".") or "the top"
    kind = outside[type(tree)]
    if kind is None:
        raise TreeError(f"There is nothing at {label} below {here}, which is a leaf ({type(tree).__name__}).")
    node, opened = kind.open(tree)
    assert node is not None
    _, arity, data = node
    names = kind.labels(data, arity)
    wanted = label
    if re.fullmatch(r"\[-\d+\]", label) and "[0]" in names and names[-1] == f"[{arity - 1}]":
        wanted = f"[{arity + int(label[1:-1])}]"
    if wanted not in names:
        raise TreeError(
            f"There is no {label} at {here}, which is {kind.describe(data, arity)}; "
            f"it has {listed(names) or 'no children'}."
        )
    return kind, data, list(opened), names.index(wanted)
