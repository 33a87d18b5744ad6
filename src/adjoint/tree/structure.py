"""The shape of a tree without its leaves: a flat list of nodes in the order in which the tree is read.

    (a, {"w": b})   ->   tuple of 2, leaf, dict with key 'w', leaf

A flat list needs no recursion: comparing, hashing and pickling cost one pass however deep the tree is.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, final

from adjoint.base.errors import TreeError
from adjoint.tree.kinds import Kind, Leaf, Node, Tree
from adjoint.tree.registry import kind_of, outside

__all__ = ["Structure"]

T = TypeVar("T")

_LONGEST_TEXT = 400


@final
class Structure:
    """The structure of a tree: its containers, keys, field names and static values, with a place for each leaf.

    ```python
    ad.tree.structure({"a": 1.0, "b": [2.0]}).num_leaves  # → 2
    ```
    """

    __slots__ = ("_hash", "nodes", "num_leaves")

    nodes: tuple[Node, ...]
    num_leaves: int

    def __init__(self, nodes: tuple[Node, ...], num_leaves: int) -> None:
        self.nodes = nodes
        self.num_leaves = num_leaves
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return self is other or (self.num_leaves == other.num_leaves and self.nodes == other.nodes)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.nodes)
        return self._hash

    def __reduce__(self) -> tuple[type["Structure"], tuple[tuple[Node, ...], int]]:
        return Structure, (self.nodes, self.num_leaves)

    def __copy__(self) -> "Structure":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Structure":
        return self  # static values may be compared by identity, and nothing here changes

    def unflatten(self, leaves: Iterable[Leaf]) -> Tree:
        """The tree of this structure with these leaves."""
        values = list(leaves)
        nodes = self.nodes
        if len(values) != self.num_leaves:
            raise TreeError(f"unflatten: {self} takes {self.num_leaves} leaves, got {len(values)}.")
        if len(nodes) == len(values):  # one leaf
            return values[0]
        if len(nodes) == len(values) + 1 and (outermost := nodes[0]) is not None:  # one container
            return kind_of(outermost[0]).build(outermost[2], values)
        return self._fold(values.pop, _build)

    def _fold(self, leaf: Callable[[], T], build: Callable[[Kind, Any, list[T]], T]) -> T:
        """Put together from the last node to the first: the children of a container are ready when it is met."""
        stack: list[T] = []  # the first child of the next container lies on top
        for node in reversed(self.nodes):
            if node is None:
                stack.append(leaf())
                continue
            cls, arity, data = node
            children = stack[: -arity - 1 : -1]
            if arity:
                del stack[-arity:]
            stack.append(build(outside[cls] or kind_of(cls), data, children))
        return stack[0]

    def children(self) -> list["Structure"]:
        """The structures of the children of the outermost container."""
        children: list[Structure] = []
        start = 1
        while start < len(self.nodes):
            end, num_leaves = self.subtree(start)
            children.append(Structure(self.nodes[start:end], num_leaves))
            start = end
        return children

    def subtree(self, start: int) -> tuple[int, int]:
        """Where the subtree that begins at node number `start` ends, and how many leaves it has."""
        missing, position, num_leaves = 1, start, 0
        while missing:
            node = self.nodes[position]
            if node is None:
                num_leaves += 1
            else:
                missing += node[1]
            missing -= 1
            position += 1
        return position, num_leaves

    def node_paths(self) -> Iterator[tuple[Node, list[str]]]:
        """Each node with the labels that lead to it. The list changes from one to the next: use it at once."""
        labels: list[str] = []
        waiting: list[list[str]] = []  # the labels still to come in each open container, the next one last
        for node in self.nodes:
            if waiting:
                labels[len(waiting) - 1 :] = [waiting[-1].pop()]
            yield node, labels
            if node is not None and node[1]:
                waiting.append(kind_of(node[0]).labels(node[2], node[1])[::-1])
            while waiting and not waiting[-1]:
                waiting.pop()

    def node_path(self, number: int) -> str:
        """The path of a node by its number; "" at the top."""
        for position, (_, labels) in enumerate(self.node_paths()):
            if position == number:
                return _joined("", labels)
        raise IndexError(f"node {number} of a structure with {len(self.nodes)} nodes")

    def paths(self, root: str = "") -> list[str]:
        """The path of every leaf: `layers[1].bias`, or `params.layers[1].bias` when `root` is "params"."""
        return [_joined(root, labels) for node, labels in self.node_paths() if node is None]

    def path(self, leaf: int, root: str = "") -> str:
        """The path of one leaf, by its number."""
        number = -1
        for node, labels in self.node_paths():
            number += node is None
            if number == leaf:
                return _joined(root, labels)
        raise IndexError(f"leaf {leaf} of a tree with {self.num_leaves} leaves")

    def text(self) -> str:
        """The structure with `*` for each leaf; in a few words when that would be long."""
        if len(self.nodes) > _LONGEST_TEXT and (outermost := self.nodes[0]) is not None:
            cls, arity, data = outermost
            return f"{kind_of(cls).describe(data, arity)}, {self.num_leaves} leaves in all"
        return self._fold(lambda: "*", lambda kind, data, children: kind.text(data, children))

    def __repr__(self) -> str:
        return f"Structure({self.text()})"


def _build(kind: Kind, data: Any, children: list[Any]) -> Any:
    return kind.build(data, children)


def _joined(root: str, labels: list[str]) -> str:
    path = root + "".join(labels)
    return path if root else path.removeprefix(".")
