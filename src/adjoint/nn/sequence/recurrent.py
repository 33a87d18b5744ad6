"""Recurrent layers: a cell run over the time axis, the last but one, by `scan`; layers on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.base.source import user_facing
from adjoint.nn.dropping import checked_rate, dropout
from adjoint.nn.locating import LayerShapeError, apply, checked_array, shown, title_of
from adjoint.nn.sequence.cells import GRUCell, LSTMCell, RNNCell
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["GRU", "LSTM", "RNN", "pool"]


def run_cell(cell: Any, x: Any, state: Any = None, lengths: Any = None, *, reverse: bool = False) -> tuple[Value, Any]:
    """A cell over x[…, time, features]: the outputs […, time, width], and the last state.

    With `lengths` […], a sequence ends there: its state stays, and its outputs behind are 0; backwards it begins there.
    """
    projected = apply(cell.project, "", x)
    x = as_values(x)
    batch, steps = x.shape[:-2], x.shape[-2]
    recurrence = cell.recurrence()
    state = cell.start(batch) if state is None else state
    xs: Any = tree.map(lambda part: np.moveaxis(part, -2, 0), projected)
    if lengths is None:

        def step(state: Any, projected: Value) -> tuple[Any, Value]:
            state = cell.step(projected, state, recurrence)
            return state, cell.output(state)

        last, outputs = scan(step, state, xs, reverse=reverse)
        return np.moveaxis(outputs, 0, -2), last
    ends = checked_lengths(cell, lengths, batch, steps)[..., None]

    def body(state: Any, item: Any) -> tuple[Any, Value]:
        projected, t = item
        inside = t < ends
        new = cell.step(projected, state, recurrence)
        kept = tree.map(lambda a, b: np.where(inside, a, b), new, state)
        return kept, np.where(inside, cell.output(new), 0)

    last, outputs = scan(body, state, (xs, np.arange(steps)), reverse=reverse)
    return np.moveaxis(outputs, 0, -2), last


def checked_lengths(layer: Any, lengths: Any, batch: tuple[int, ...], steps: int) -> Value:
    """Lengths of sequences: an integer for each, from 0 to the number of steps."""
    ends: Value = as_values(lengths)
    if ends.dtype.kind not in "iu" or ends.shape != batch:
        raise LayerShapeError(
            title_of(layer), f"lengths are {ends.dtype}{list(ends.shape)}; they must be integers of shape {batch}"
        )
    if isinstance(ends, np.ndarray) and ends.size and (ends.min() < 0 or ends.max() > steps):
        raise LayerShapeError(title_of(layer), f"lengths go from {ends.min()} to {ends.max()}; x has {steps} steps")
    return ends


def pool(states: Any, how: str = "last", lengths: Any = None) -> Value:
    """One vector for a sequence states[…, time, width]: the "last", the "mean", or the largest of each ("max").

    ```python
    states = np.array([[1.0, 4.0], [3.0, 2.0]])
    [ad.nn.pool(states, how).tolist() for how in ("last", "mean", "max")]  # → [[3.0, 2.0], [2.0, 3.0], [3.0, 4.0]]
    ```
    """
    states = as_values(states)
    if how not in ("last", "mean", "max"):
        raise ValueError(f"pool: how must be 'last', 'mean' or 'max', got {how!r}.")
    if lengths is None:
        return states[..., -1, :] if how == "last" else (np.mean if how == "mean" else np.max)(states, axis=-2)
    ends: Value = as_values(lengths)
    steps = np.arange(states.shape[-2])[:, None]
    if how == "last":
        return np.sum(np.where(steps == (ends - 1)[..., None, None], states, 0), axis=-2)
    inside = steps < ends[..., None, None]
    if how == "mean":
        counts = np.maximum(ends, 1)[..., None].astype(states.dtype)
        return np.sum(np.where(inside, states, 0), axis=-2) / counts
    return np.max(np.where(inside, states, -np.inf), axis=-2)


@dataclass(frozen=True)
class _Recurrent:
    """Cells by layer and direction."""

    cells: Sequence[Sequence[Any]]
    dropout: float = tree.static(default=0.0)

    cell: ClassVar[Any] = None

    def __post_init__(self) -> None:
        checked_array(self, "cells", "rng, inputs, width")

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: int,
        width: int,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        dtype: Any = np.float64,
        **options: Any,
    ) -> Any:
        """Cells for all layers and directions; in training, dropout stands between layers."""
        checked_rate(cls.__name__, dropout)
        directions = 2 if bidirectional else 1
        sizes = [inputs, *[width * directions] * (layers - 1)]
        make = lambda size: cls.cell.init(rng, size, width, dtype=dtype, **options)
        return cls(tuple(tuple(make(size) for _ in range(directions)) for size in sizes), dropout)

    __repr__ = shown

    @property
    def title(self) -> str:
        first = self.cells[0][0]
        deep = f", {len(self.cells)} layers" if len(self.cells) > 1 else ""
        both = ", both directions" if len(self.cells[0]) > 1 else ""
        return f"{type(self).__name__} {first.input.shape[0]} → {first.width}{deep}{both}"

    def run(self, x: Any, state: Any = None, lengths: Any = None, *, rng: Any = None) -> tuple[Value, Any]:
        """The outputs […, time, width · directions], and the last states, by layer and direction as the cells are."""
        x = as_values(x)
        if x.ndim < 2:
            raise LayerShapeError(title_of(self), f"x is {x.shape}; it must be […, time, features]")
        last: list[list[Any]] = []
        for i, cells in enumerate(self.cells):
            if i:
                x = dropout(x, self.dropout, rng)
            ran = [
                apply(
                    lambda x, cell=cell, j=j, i=i: run_cell(
                        cell, x, None if state is None else state[i][j], lengths, reverse=j == 1
                    ),
                    f".cells[{i}][{j}]",
                    x,
                )
                for j, cell in enumerate(cells)
            ]
            last.append([end for _, end in ran])
            x = ran[0][0] if len(ran) == 1 else np.concatenate([out for out, _ in ran], axis=-1)
        return x, last

    def __call__(self, x: Any, *, lengths: Any = None, rng: Any = None) -> Value:
        return self.run(x, None, lengths, rng=rng)[0]


@dataclass(frozen=True, repr=False)
class RNN(_Recurrent):
    """The plain recurrent layer: h ← tanh(x @ input + h @ recurrent + bias), over the time axis, the last but one.

    `layers` and `bidirectional` make more cells, `lengths` ends sequences early; `run` gives the last states as well.

    ```python
    layer = ad.nn.RNN.init(ad.random.default_rng(0), 3, 4, layers=2, bidirectional=True)
    layer(np.ones((5, 7, 3)), lengths=np.array([7, 3, 1, 7, 2])).shape  # → (5, 7, 8)
    ```
    """

    cell: ClassVar[Any] = RNNCell


@dataclass(frozen=True, repr=False)
class LSTM(_Recurrent):
    """Long short-term memory over the time axis; see `LSTMCell`, and `RNN` for the options.

    ```python
    layer = ad.nn.LSTM.init(ad.random.default_rng(0), 3, 4)
    outputs, last = layer.run(np.ones((5, 7, 3)))
    outputs.shape, [part.shape for part in last[0][0]]  # → ((5, 7, 4), [(5, 4), (5, 4)])
    ```
    """

    cell: ClassVar[Any] = LSTMCell


@dataclass(frozen=True, repr=False)
class GRU(_Recurrent):
    """Gated recurrent units over the time axis; see `GRUCell`, and `RNN` for the options.

    ```python
    ad.nn.GRU.init(ad.random.default_rng(0), 3, 4)(np.ones((7, 3))).shape  # → (7, 4)
    ```
    """

    cell: ClassVar[Any] = GRUCell
