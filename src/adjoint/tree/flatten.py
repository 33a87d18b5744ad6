"""Taking trees apart and putting them together."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from adjoint.base.errors import TreeError
from adjoint.tree.kinds import Leaf, Node, Tree
from adjoint.tree.registry import inside, outside
from adjoint.tree.structure import Structure

__all__ = ["flatten", "leaves", "structure", "unflatten"]

_SINGLE_LEAF = Structure((None,), 1)
_FLAT_TUPLES = [Structure(((tuple, size, None), *[None] * size), size) for size in range(33)]
_LEAF_TYPES = outside.leaf_types

_FIRST_CHECK = 256
_DEEPEST = 1_000_000


def flatten(tree: Tree) -> tuple[list[Leaf], Structure]:
    """The leaves of a tree, in order, and the structure that holds them.

    Containers are tuple, list, dict, OrderedDict, defaultdict, NamedTuple, dataclasses, attrs classes, None (empty)
    and what was registered; everything else is a leaf. The leaves of a dict stand in the order of its sorted keys.

    In a dataclass or attrs class, also in the lists and dicts in its fields, strings, flags (Python's bool),
    functions, enums, types, dtypes, slices ... are no leaves but static: part of the structure.

    ```python
    leaves, structure = ad.tree.flatten({"b": 2.0, "a": (1.0, None)})
    leaves  # → [1.0, 2.0]
    ```
    """
    cls = type(tree)  # pyright: ignore[reportUnknownVariableType]
    if cls in _LEAF_TYPES:
        return [tree], _SINGLE_LEAF
    if cls is tuple and len(tree) < 33 and _LEAF_TYPES.issuperset(map(type, tree)):
        return list(tree), _FLAT_TUPLES[len(tree)]
    return _walk(tree)


def unflatten(structure: Structure, leaves: Iterable[Leaf]) -> Tree:
    """The tree of this structure with these leaves.

    ```python
    leaves, structure = ad.tree.flatten({"a": 1.0, "b": [2.0]})
    ad.tree.unflatten(structure, [10.0, 20.0])  # → {'a': 10.0, 'b': [20.0]}
    ```
    """
    return structure.unflatten(leaves)


def leaves(tree: Tree) -> list[Leaf]:
    """The leaves of a tree, in order.

    ```python
    ad.tree.leaves({"a": 1.0, "b": [2.0, 3.0]})  # → [1.0, 2.0, 3.0]
    ```
    """
    return flatten(tree)[0]


def structure(tree: Tree) -> Structure:
    """The structure of a tree, without its leaves.

    ```python
    ad.tree.structure({"a": 1.0}) == ad.tree.structure({"a": 5.0})  # → True
    ```
    """
    return flatten(tree)[1]


def _walk(tree: Tree) -> tuple[list[Leaf], Structure]:
    values: list[Leaf] = []
    nodes: list[Node] = []
    levels: list[Iterator[Any]] = [iter((tree,))]  # the children still to be read, of each open container
    opened: list[Any] = [None]  # these containers
    table = outside
    record_level = 0  # the level of the outermost record
    checked_level = _FIRST_CHECK
    while levels:
        for value in levels[-1]:
            kind = table[type(value)]
            if kind is None:
                nodes.append(None)
                values.append(value)
                continue
            node, children = kind.open(value)
            nodes.append(node)
            if node is None:
                values.append(value)
            elif children:
                below = inside if kind.is_record else table
                if below.leaf_types.issuperset(map(type, children)):
                    nodes.extend(repeat(None, len(children)))
                    values.extend(children)
                    continue
                levels.append(iter(children))
                opened.append(value)
                if below is not table:
                    table, record_level = inside, len(levels)
                if len(levels) > checked_level:
                    _refuse_endless(opened)
                    checked_level *= 2
                break
        else:
            levels.pop()
            opened.pop()
            if len(levels) < record_level:
                table, record_level = outside, 0
    return values, Structure(tuple(nodes), len(values))


def _refuse_endless(opened: list[Any]) -> None:
    """Refuse a container that contains itself. Asked at depth 256, 512, ...: a cycle reaches every depth."""
    seen: dict[int, int] = {}
    for level, container in enumerate(opened):
        if id(container) in seen:
            period = level - seen[id(container)]
            raise TreeError(
                f"A {type(container).__name__} contains itself, {period} level{'s' * (period > 1)} down; "
                "a tree has no cycles."
            )
        seen[id(container)] = level
    if len(opened) > _DEEPEST:
        raise TreeError(
            f"A tree is nested more than {_DEEPEST:,} levels deep, the innermost in a {type(opened[-1]).__name__}."
        )
