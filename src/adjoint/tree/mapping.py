"""Applying a function to every leaf."""

from collections.abc import Callable
from typing import Any

from adjoint.tree.compare import leaves_like
from adjoint.tree.flatten import flatten
from adjoint.tree.kinds import Tree

__all__ = ["map", "map_with_path"]


def map(f: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """f(leaf, leaf of rest[0], ...) for every leaf, in a tree of the same structure.

    The trees in `rest` have the structure of `tree`, or go on where it has a leaf: `f` then gets a whole subtree.

    ```python
    ad.tree.map(np.add, {"a": 1.0, "b": 2.0}, {"a": 10.0, "b": 20.0})  # → {'a': 11.0, 'b': 22.0}
    ```
    """
    first, structure = flatten(tree)
    others = [leaves_like("map", structure, other) for other in rest]
    return structure.unflatten([f(*group) for group in zip(first, *others, strict=True)])


def map_with_path(f: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """f(path, leaf, leaf of rest[0], ...) for every leaf: as `map`, with the path of the leaf.

    ```python
    ad.tree.map_with_path(lambda path, leaf: path, {"a": 1.0, "b": [2.0]})  # → {'a': "['a']", 'b': ["['b'][0]"]}
    ```
    """
    first, structure = flatten(tree)
    others = [leaves_like("map_with_path", structure, other) for other in rest]
    return structure.unflatten([f(*group) for group in zip(structure.paths(), first, *others, strict=True)])
