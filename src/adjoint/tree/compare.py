"""Comparing the structures of trees, with errors that show where they part."""

from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.base.errors import TreeError
from adjoint.tree.flatten import flatten
from adjoint.tree.kinds import Leaf, Node, Static, Tree
from adjoint.tree.registry import kind_of, outside
from adjoint.tree.structure import Structure

__all__ = ["broadcast_prefix", "check_same_structure", "leaves_like"]


def check_same_structure(
    name: str, first: Tree, second: Tree, first_name: str = "the first", second_name: str = "the second"
) -> None:
    """Raise when two trees (or structures) differ: `name` says who asks, the error where they part, and both sides.

    ```python
    ad.tree.check_same_structure("example", {"a": 1.0}, {"b": 1.0})  # → TreeError: the trees differ
    ```
    """
    one = first if isinstance(first, Structure) else flatten(first)[1]
    two = second if isinstance(second, Structure) else flatten(second)[1]
    if one == two:
        return
    # The two lists of nodes agree up to the first difference, so that it has one path in both trees.
    for number, (left, right) in enumerate(zip(one.nodes, two.nodes, strict=False)):
        if left != right:
            _refuse(name, one.node_path(number), left, right, first_name, second_name)


def _refuse(name: str, path: str, left: Node, right: Node, left_name: str, right_name: str) -> NoReturn:
    raise TreeError(
        f"{name}: the trees differ {f'at {path}' if path else 'at the top'}: "
        f"{left_name} has {_describe(left)}, {right_name} has {_describe(right)}.{_unshared(left, right)}"
    )


def _describe(node: Node) -> str:
    if node is None:
        return "a leaf"
    cls, arity, data = node
    return kind_of(cls).describe(data, arity)


def _unshared(left: Node, right: Node) -> str:
    """The labels that only one of two containers of one class has."""
    if left is None or right is None or left[0] is not right[0]:
        return ""
    kind = kind_of(left[0])
    mine, theirs = kind.labels(left[2], left[1]), kind.labels(right[2], right[1])
    only = sorted(set(mine) ^ set(theirs))
    return f" Only one of them has {', '.join(only[:8])}." if only else ""


def _open(value: Any, expected: Node) -> tuple[Node, Sequence[Any]]:
    """The node and children of a value; where a static value is expected, the value is read as one."""
    if expected is not None and expected[0] is Static:
        return (Static, 0, value if isinstance(value, Static) else Static(value)), ()
    kind = outside[type(value)]
    return (None, ()) if kind is None else kind.open(value)


def leaves_like(
    name: str, structure: Structure, tree: Tree, first_name: str = "the first", tree_name: str = "the other"
) -> list[Leaf]:
    """What stands in `tree` where `structure` has its leaves: leaves, or whole subtrees.

    ```python
    ad.tree.leaves_like("example", ad.tree.structure({"a": 1.0}), {"a": (2.0, 3.0)})  # → [(2.0, 3.0)]
    ```
    """
    leaves: list[Leaf] = []
    waiting: list[Any] = [tree]
    for number, expected in enumerate(structure.nodes):
        value = waiting.pop()
        if expected is None:
            leaves.append(value)
            continue
        node, children = _open(value, expected)
        if node != expected:
            _refuse(name, structure.node_path(number), expected, node, first_name, tree_name)
        waiting += reversed(children)
    return leaves


def broadcast_prefix(
    name: str, prefix: Tree, tree: Tree, prefix_name: str = "the prefix", tree_name: str = "the tree"
) -> list[Leaf]:
    """One value for each leaf of `tree` (or structure): `prefix` has its structure, or ends earlier.

    Where `prefix` ends, in a leaf or in None, its value holds for all leaves below:
    (0, None) for ((x, y), z) gives [0, 0, None].

    ```python
    ad.tree.broadcast_prefix("example", (0, None), ((1.0, 2.0), 3.0))  # → [0, 0, None]
    ```
    """
    structure = tree if isinstance(tree, Structure) else flatten(tree)[1]
    leaves: list[Leaf] = []
    waiting: list[Any] = [prefix]
    number = 0
    while number < len(structure.nodes):
        expected = structure.nodes[number]
        value = waiting.pop()
        node, children = _open(value, expected)
        if value is None or node is None:
            number, num_leaves = structure.subtree(number)
            leaves += [value] * num_leaves
            continue
        if node != expected:
            _refuse(name, structure.node_path(number), node, expected, prefix_name, tree_name)
        waiting += reversed(children)
        number += 1
    return leaves
