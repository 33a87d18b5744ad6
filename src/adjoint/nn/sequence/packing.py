"""Token sequences of different lengths as arrays: padded, packed into one row, or a prompt with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ShapeError

__all__ = ["Packed", "SpecialTokens", "packed", "padded", "prompted"]


class SpecialTokens(NamedTuple):
    """The numbers of tokens with a meaning of their own; those of a vocabulary come after them.

    ```python
    special = ad.nn.SpecialTokens()
    special.pad, special.begin, special.end, special.count  # → (0, 1, 2, 6)
    ```
    """

    pad: int = 0
    begin: int = 1
    end: int = 2
    mask: int = 3
    first: int = 4  # [CLS], whose state stands for the sequence
    separator: int = 5

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self)


class Packed(NamedTuple):
    """Sequences in rows: inputs, targets (the next token), weights (1 where there is one), positions, segments.

    `mask` [rows, length, length] lets a token look at tokens of its own sequence alone: with `causal=True`, several
    sequences in a row give the losses that each would give by itself.

    ```python
    mask = ad.nn.packed([[1, 2, 3], [4, 5]], length=3).mask
    mask[0].astype(int)  # → [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    ```
    """

    tokens: Any
    targets: Any
    weights: Any
    positions: Any
    segments: Any  # from 1; 0 is padding

    @property
    def mask(self) -> Any:
        """Whether one token may look at another: both are real, and of the same sequence."""
        a = self.segments
        return (a[..., :, None] == a[..., None, :]) & (a[..., None, :] > 0)


def packed(sequences: Sequence[Any], length: int, *, pad: int = 0, dtype: Any = np.float64) -> Packed:
    """Sequences of at least two tokens, packed into rows of `length`: each into the first row where it fits.

    Token and target are neighbors in a sequence, so one of m tokens takes m - 1 positions.

    ```python
    rows = ad.nn.packed([[1, 2, 3], [4, 5]], length=4)
    rows.tokens, rows.targets, rows.weights  # → ([[1, 2, 4, 0]], [[2, 3, 5, 0]], [[1.0, 1.0, 1.0, 0.0]])
    rows.positions, rows.segments  # → ([[0, 1, 0, 0]], [[1, 1, 2, 0]])
    ```
    """
    arrays = [np.asarray(s) for s in sequences]
    rows: list[list[Any]] = []
    free: list[int] = []
    for i, s in enumerate(arrays):
        if s.ndim != 1 or len(s) < 2 or s.dtype.kind not in "iu":
            raise ShapeError(f"packed: sequence {i} is {s.dtype}{list(s.shape)}; it must have two integers or more.")
        if len(s) - 1 > length:
            raise ShapeError(f"packed: sequence {i} has {len(s)} tokens; rows have {length}. Cut it, or take more.")
        fits = next((r for r, left in enumerate(free) if left >= len(s) - 1), None)
        if fits is None:
            rows.append([])
            free.append(length)
            fits = len(rows) - 1
        rows[fits].append(s)
        free[fits] -= len(s) - 1
    shape = (len(rows), length)
    tokens, targets = np.full(shape, pad, np.int64), np.full(shape, pad, np.int64)
    weights, positions, segments = np.zeros(shape, dtype), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for r, row in enumerate(rows):
        at = 0
        for number, s in enumerate(row, 1):
            own = slice(at, at + len(s) - 1)
            tokens[r, own], targets[r, own], weights[r, own] = s[:-1], s[1:], 1
            positions[r, own], segments[r, own] = np.arange(len(s) - 1), number
            at += len(s) - 1
    return Packed(tokens, targets, weights, positions, segments)


def padded(
    sequences: Sequence[Any], *, pad: int = 0, side: str = "right", length: int | None = None
) -> tuple[Any, Any]:
    """Sequences as one array, filled with `pad` on one side; and where the real tokens are.

    ```python
    ad.nn.padded([[1, 2], [3]], side="left")  # → ([[1, 2], [0, 3]], [[True, True], [False, True]])
    ```
    """
    if side not in ("left", "right"):
        raise ValueError(f"padded: side must be 'left' or 'right', got {side!r}.")
    longest = max((len(s) for s in sequences), default=0)
    width = longest if length is None else length
    if longest > width:
        raise ShapeError(f"padded: a sequence has {longest} tokens, more than length={width}.")
    tokens = np.full((len(sequences), width), pad, np.int64)
    valid = np.zeros(tokens.shape, bool)
    for i, s in enumerate(sequences):
        own = slice(0, len(s)) if side == "right" else slice(width - len(s), width)
        tokens[i, own], valid[i, own] = s, True
    return tokens, valid


def prompted(source: Any, target: Any, *, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    """A source and a target as one sequence for a decoder: inputs, targets, and weights, 0 on the prompt.

    ```python
    ad.nn.prompted([7, 8, 9], [4, 5])  # → ([7, 8, 9, 4], [8, 9, 4, 5], [0.0, 0.0, 1.0, 1.0])
    ```
    """
    source, target = np.asarray(source), np.asarray(target)
    if not source.size or not target.size:
        raise ShapeError("prompted: source and target need one token at least.")
    whole = np.concatenate([source, target])
    weights = np.zeros(len(whole) - 1, dtype)
    weights[len(source) - 1 :] = 1
    return whole[:-1], whole[1:], weights
