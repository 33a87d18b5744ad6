"""Containers that change when they are used: random generators.

A transformation runs a function on copies of its arguments, made of traced leaves. A container that the function
changes is changed in the copy; so the transformation reads the leaves of the copies when the function is done, and
hands them back to the containers of the caller.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from adjoint.base.errors import TreeError
from adjoint.tree.flatten import flatten
from adjoint.tree.kinds import Leaf, Tree
from adjoint.tree.registry import inside, outside
from adjoint.tree.structure import Structure

__all__ = ["StatePosition", "Stateful", "states"]


class Stateful(ABC):
    """A container whose leaves change when it is used. Its class is registered with `register`, too."""

    @abstractmethod
    def become(self, leaves: Sequence[Leaf]) -> None:
        """Take the state with these leaves."""

    @abstractmethod
    def share(self, other: Any) -> None:
        """Be another name of `other`, a container of the same class: what changes one changes both."""

    @abstractmethod
    def shares(self, other: Any) -> bool:
        """Whether this is another name of `other`."""

    @abstractmethod
    def renew(self) -> None:
        """Take a state that nothing has used yet."""

    @abstractmethod
    def furthest_of(self, leaves: Sequence[Leaf]) -> Sequence[Leaf]:
        """The state after runs that ended in these, stacked along a first axis: what any of them used is used."""

    @property
    @abstractmethod
    def is_stacked(self) -> bool:
        """Whether this stands for many, one behind the other along the first axis of each leaf."""

    @abstractmethod
    def stacked(self, size: int) -> Any:
        """As many new ones as asked for, stacked."""


class StatePosition(NamedTuple):
    """A stateful container in a tree, and the number of its first leaf."""

    state: Stateful
    first: int

    @property
    def width(self) -> int:
        """How many leaves it has."""
        return len(flatten(self.state)[0])


def states(what: str, tree: Tree, structure: Structure | None = None) -> list[StatePosition]:
    """The stateful containers in a tree, in order; `what` begins the message if one of them is there twice."""
    nodes = (flatten(tree)[1] if structure is None else structure).nodes
    if not any(node is not None and issubclass(node[0], Stateful) for node in nodes):
        return []
    positions: list[StatePosition] = []
    first = 0
    for value in _walk(tree):
        if not isinstance(value, Stateful):
            first += 1
            continue
        if any(value.shares(position.state) for position in positions):
            raise TreeError(
                f"{what}: the same {type(value).__name__} stands in two places, so that both would give the same "
                "numbers. Pass it once, or give each place its own with spawn(2)."
            )
        positions.append(StatePosition(value, first))
        first += positions[-1].width
    return positions


def _walk(tree: Tree) -> Iterator[Any]:
    """The leaves and stateful containers of a tree, in order."""
    waiting: list[tuple[Any, bool]] = [(tree, False)]  # the next one last; whether it stands inside a record
    while waiting:
        value, within = waiting.pop()
        kind = (inside if within else outside)[type(value)]
        if isinstance(value, Stateful) or kind is None:
            yield value
            continue
        node, children = kind.open(value)
        if node is None:
            yield value
        else:
            waiting += [(child, within or kind.is_record) for child in reversed(children)]
