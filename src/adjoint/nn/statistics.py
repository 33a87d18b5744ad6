"""Running statistics: what batch normalization remembers of training. They change when they are used, and are no
parameters: transformations hand their new state back to the caller, and gradients take them as constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError, TraceError
from adjoint.base.source import describe, here
from adjoint.program.journal import moment, note
from adjoint.program.trace import primal
from adjoint.program.types import Value
from adjoint.random.stream import program_trace
from adjoint.tree.registry import register
from adjoint.tree.state import Stateful, states

__all__ = ["RunningStatistics", "trainable"]


class Cell:
    """Mean and variance that several names may share."""

    __slots__ = ("born", "home", "state")

    def __init__(self, mean: Value, variance: Value) -> None:
        self.state = (mean, variance)
        self.home = program_trace()
        self.born = moment()

    def furthest(self, states: list[Any]) -> Any:
        """After runs that ended in these: the last one."""
        return states[-1]


class RunningStatistics(Stateful):
    """Running mean and variance of features; `update` moves them towards those of a batch.

    ```python
    statistics = ad.nn.RunningStatistics(np.zeros(2), np.ones(2))
    statistics.update(np.array([1.0, 2.0]), np.ones(2), momentum=0.1)
    statistics.mean  # → [0.1, 0.2]
    ```
    """

    def __init__(self, mean: Value, variance: Value) -> None:
        self._cell = Cell(mean, variance)

    @property
    def mean(self) -> Value:
        """The running mean."""
        return self._cell.state[0]

    @property
    def variance(self) -> Value:
        """The running variance."""
        return self._cell.state[1]

    def update(self, mean: Value, variance: Value, momentum: float = 0.1) -> None:
        """new = (1 - momentum) old + momentum · (that of the batch), without derivatives."""
        now = program_trace()
        if now is not None and self._cell.home != now:
            raise TraceError(
                f"running statistics were changed at {describe(here())} inside a function that is traced once and run "
                "often (jit, the body of a loop, a branch), but came from outside: the change would be lost. Pass the "
                "model in as an argument."
            )
        new = (mean, variance)
        self.become([(1.0 - momentum) * old + momentum * primal(x) for old, x in zip(self._cell.state, new)])

    def become(self, leaves: Sequence[Any]) -> None:
        mean, variance = leaves
        note(self._cell)
        self._cell.state = (primal(mean), primal(variance))

    def share(self, other: Any) -> None:
        self._cell = other._cell

    def shares(self, other: Any) -> bool:
        return isinstance(other, RunningStatistics) and self._cell is other._cell

    def renew(self) -> None:
        """There is no other state to begin from: what was used stays."""

    def furthest_of(self, leaves: Sequence[Any]) -> Sequence[Any]:
        raise ShapeError(
            "batch normalization was trained inside vmap, where each batch element would have running statistics of "
            "its own. Call the layer on the whole batch, outside of vmap."
        )

    @property
    def is_stacked(self) -> bool:
        return len(np.shape(self.mean)) > 1

    def stacked(self, size: int) -> Any:
        raise ShapeError(
            f"vmap: the running statistics of a layer with {np.shape(self.mean)[0]} features are no stack of {size}. "
            "Give None in in_axes for the model."
        )

    def __copy__(self) -> RunningStatistics:
        return RunningStatistics(*self._cell.state)

    def __deepcopy__(self, memo: Any) -> RunningStatistics:
        return RunningStatistics(*[np.array(x) for x in self._cell.state])

    def __reduce__(self) -> Any:
        return RunningStatistics, self._cell.state

    def __repr__(self) -> str:
        return f"RunningStatistics(mean={self.mean!r}, variance={self.variance!r})"


def _taken_apart(statistics: RunningStatistics) -> tuple[Mapping[str, Any], None]:
    return {"mean": statistics.mean, "variance": statistics.variance}, None


def _put_together(static: None, leaves: Mapping[str, Any]) -> RunningStatistics:
    return RunningStatistics(leaves["mean"], leaves["variance"])


register(RunningStatistics, _taken_apart, _put_together)


def trainable(model: tree.Tree, *paths: str) -> tree.Tree:
    """A tree like the model that says of each leaf whether it is trained: floating, and no running statistics.

    Fields of layers that are marked `dataclasses.field(metadata={"frozen": True})`, as the base of `LoRA`, are not.
    With `paths`, only what stands at one of them. Leaves are booleans of NumPy.

    ```python
    model = ad.nn.MLP.init(ad.random.default_rng(0), [2, 3, 1])
    ad.tree.leaves(ad.nn.trainable(model, "layers[1]"))  # → [False, False, True, True]
    ```
    """
    leaves, structure = tree.flatten(model)
    kinds = [getattr(leaf, "dtype", np.dtype(type(leaf))).kind in "fc" for leaf in leaves]
    for position in states("trainable", model, structure):
        kinds[position.first : position.first + position.width] = [False] * position.width
    numbers = tree.unflatten(structure, [np.int64(i) for i in range(len(leaves))])
    for i in frozen_leaves(numbers):
        kinds[int(i)] = False
    if paths:
        chosen: set[int] = set()
        for path in paths:
            chosen |= {int(i) for i in tree.leaves(tree.get(numbers, path))}
        kinds = [kind and i in chosen for i, kind in enumerate(kinds)]
    return tree.unflatten(structure, [np.bool_(kind) for kind in kinds])


def frozen_leaves(model: Any) -> list[Any]:
    """The leaves below fields that are marked as frozen."""
    if is_dataclass(model) and not isinstance(model, type):
        found: list[Any] = []
        for field in fields(model):
            part = getattr(model, field.name, None)
            if not field.metadata.get("static"):
                found += tree.leaves(part) if field.metadata.get("frozen") else frozen_leaves(part)
        return found
    parts = model.values() if isinstance(model, Mapping) else model if isinstance(model, list | tuple) else ()
    return [leaf for part in parts for leaf in frozen_leaves(part)]
