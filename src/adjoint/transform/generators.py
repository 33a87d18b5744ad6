"""Random generators among the arguments of a function that runs on copies of them: the caller's move on with these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.program.types import Value
from adjoint.tree.state import Stateful, states


class GeneratorArguments:
    """The stateful containers among the arguments of a function; false when there are none."""

    def __init__(self, what: str, arguments: Any, structure: Any = None) -> None:
        self.what = what
        self.positions = states(what, arguments, structure)
        self._split: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.positions)

    @property
    def numbers(self) -> set[int]:
        """The numbers of their leaves among all leaves of the arguments."""
        return {i for position in self.positions for i in range(position.first, position.first + position.width)}

    def copies(self, arguments: Any) -> list[Stateful]:
        """Their copies in a copy of the arguments."""
        return [position.state for position in states(self.what, arguments)] if self.positions else []

    def links(self, copies: Sequence[Stateful], result: Any) -> list[int | None]:
        """For each stateful container in the function's result: the number of the argument that it is, if any."""
        if not self.positions:
            return []
        states_in_result = states(self.what, result)
        return [
            next((i for i, c in enumerate(copies) if c.shares(position.state)), None) for position in states_in_result
        ]

    def write_back(self, leaves: Sequence[Value], which: Sequence[int] | None = None) -> None:
        """The copies ended with these leaves: so do the originals, those of these numbers or all."""
        rest = iter(leaves)
        for number in range(len(self.positions)) if which is None else which:
            position = self.positions[number]
            position.state.become([next(rest) for _ in range(position.width)])

    def join(self, links: Sequence[int | None], result: Any) -> None:
        """What the function was given and returned is the caller's own again."""
        if not self.positions:
            return
        for position, link in zip(states(self.what, result), links):
            if link is not None:
                position.state.share(self.positions[link].state)

    def split(self, leaves: list[Any], axes: Sequence[int | None], size: int | None) -> list[Any]:
        """The leaves, where a single container that is to be mapped has become a stack: one for each batch element."""
        leaves = list(leaves)
        own = self.numbers
        if size is None:
            shapes = [(np.shape(x), a) for i, (x, a) in enumerate(zip(leaves, axes)) if a is not None and i not in own]
            size = next((shape[a] for shape, a in shapes if -len(shape) <= a < len(shape)), None)
        for number, (state, first) in enumerate(self.positions):
            axis = axes[first]
            if axis is None:
                continue
            if state.is_stacked:
                if axis != 0:
                    raise ShapeError(
                        f"{self.what}: a stack of random generators is mapped along its first axis; in_axes is {axis}."
                    )
            elif size is not None:
                elements = tree.leaves(state.stacked(size))
                leaves[first : first + len(elements)] = elements
                self._split.add(number)
        return leaves

    def write_back_batch(
        self, leaves: Sequence[Value], mapped: Sequence[bool], axes: Sequence[int | None], size: int
    ) -> None:
        """As `write_back`, of batch elements: a container that is not mapped takes the state of the furthest one."""
        rest = iter(zip(leaves, mapped))
        for number, position in enumerate(self.positions):
            ends = [next(rest) for _ in range(position.width)]
            if number in self._split:
                continue
            is_mapped = axes[position.first] is not None
            if is_mapped or any(m for _, m in ends):
                stacked = [x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in ends]
                position.state.become(stacked if is_mapped else position.state.furthest_of(stacked))
            else:
                position.state.become([x for x, _ in ends])


def leaves_of(containers: Sequence[Stateful]) -> list[Value]:
    """The leaves of several stateful containers as they are now."""
    return [leaf for container in containers for leaf in tree.leaves(container)]
