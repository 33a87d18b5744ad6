"""Sequences from vectors: recurrent decoders, by themselves and behind an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.base.source import user_facing
from adjoint.nn.linear import Embedding, Linear
from adjoint.nn.locating import apply, shown
from adjoint.nn.sequence.cells import GRUCell
from adjoint.nn.sequence.recurrent import GRU, pool, run_cell
from adjoint.nn.sequence.sampling import drawn
from adjoint.numpy import take
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["EncoderDecoder", "SequenceDecoder"]


@dataclass(frozen=True)
class SequenceDecoder:
    """From a vector to a sequence: z_l = cell(x, z_{l-1}), p_l = head(z_l), from a state z₀ that is learned.

    ```python
    decoder = ad.nn.SequenceDecoder.init(ad.random.default_rng(0), 3, 4, 2)
    decoder(np.ones((5, 3)), 6).shape  # → (5, 6, 2)
    ```
    """

    cell: GRUCell
    start: Value
    head: Linear

    @classmethod
    @user_facing
    def init(cls, rng: Any, inputs: int, width: int, outputs: int, *, dtype: Any = np.float64) -> SequenceDecoder:
        """A GRU cell, z₀ = 0 and a linear head."""
        head = Linear.init(rng, width, outputs, dtype=dtype)
        return cls(GRUCell.init(rng, inputs, width, dtype=dtype), np.zeros(width, dtype), head)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"SequenceDecoder {self.cell.input.shape[0]} → {self.head.weight.shape[1]}"

    def __call__(self, x: Any, length: int, *, rng: Any = None) -> Value:
        projected, recurrence = apply(self.cell.project, ".cell", x), self.cell.recurrence()
        start = np.broadcast_to(self.start, (*as_values(x).shape[:-1], self.cell.width))

        def body(state: Value, _: Any) -> tuple[Value, Value]:
            state = self.cell.step(projected, state, recurrence)
            return state, state

        _, states = scan(body, start, None, length=length)
        return apply(self.head, ".head", np.moveaxis(states, 0, -2))


@dataclass(frozen=True)
class EncoderDecoder:
    """From one sequence of tokens to another of any length: a recurrent encoder, pooled to c, and a decoder.

    z_l = cell((c, embedding of token l - 1), z_{l-1}), scores of token l = head(z_l).

    ```python
    rng = ad.random.default_rng(0)
    model = ad.nn.EncoderDecoder.init(rng, 10, 12, width=8)
    model(np.array([[1, 2, 3]]), np.array([[4, 5]])).shape  # → (1, 2, 12)
    tokens, lengths = model.generate(np.array([[1, 2, 3]]), rng, stop=0, at_most=6)
    tokens.shape, bool(lengths[0] <= 6)  # → ((1, 6), True)
    ```
    """

    source: Embedding
    encoder: GRU
    target: Embedding
    cell: GRUCell
    start: Value
    head: Linear
    pooling: str = tree.static(default="last")
    begin: int = tree.static(default=0)

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: int,
        outputs: int,
        *,
        width: int = 64,
        pooling: str = "last",
        begin: int = 0,
        dtype: Any = np.float64,
    ) -> EncoderDecoder:
        """Tables for `inputs` and `outputs` tokens; `begin` is the token that stands before the first."""
        return cls(
            Embedding.init(rng, inputs, width, dtype=dtype),
            GRU.init(rng, width, width, dtype=dtype),
            Embedding.init(rng, outputs, width, dtype=dtype),
            GRUCell.init(rng, 2 * width, width, dtype=dtype),
            np.zeros(width, dtype),
            Linear.init(rng, width, outputs, dtype=dtype),
            pooling,
            begin,
        )

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"EncoderDecoder {self.source.weight.shape[0]} → {self.target.weight.shape[0]} tokens"

    def encode(self, x: Any, lengths: Any = None) -> Value:
        """The vector c of each sequence."""
        states = self.encoder(apply(self.source, ".source", x), lengths=lengths)
        return pool(states, self.pooling, lengths)

    def __call__(self, x: Any, targets: Any, *, lengths: Any = None, rng: Any = None) -> Value:
        """The scores of each target token, given those before it (teacher forcing)."""
        c = self.encode(x, lengths)
        targets = as_values(targets)
        first = np.full((*targets.shape[:-1], 1), self.begin, targets.dtype)
        before = apply(self.target, ".target", np.concatenate([first, targets[..., :-1]], axis=-1))
        c = np.broadcast_to(c[..., None, :], before.shape)
        start = np.broadcast_to(self.start, (*before.shape[:-2], self.cell.width))
        states, _ = run_cell(self.cell, np.concatenate([c, before], axis=-1), start)
        return apply(self.head, ".head", states)

    def generate(
        self, x: Any, rng: Any = None, *, stop: int, at_most: int, lengths: Any = None, temperature: float = 1.0
    ) -> tuple[Value, Value]:
        """Tokens drawn one after the other until `stop`, at most so many; and how many there are, `stop` included.

        Behind the end stands `stop`. Without a generator the likeliest token is taken each time.
        """
        c = self.encode(x, lengths)
        batch = c.shape[:-1]
        state = np.broadcast_to(self.start, (*batch, self.cell.width))
        begin = (state, np.full(batch, self.begin, np.int64), np.zeros(batch, bool))
        root = None if rng is None else rng.spawn(1)[0]

        def body(carry: Any, i: Value) -> tuple[Any, tuple[Value, Value]]:
            state, token, done = carry
            state = self.cell(np.concatenate([c, take(self.target.weight, token, axis=0)], axis=-1), state)
            token, ended = drawn(self.head(state), root, i, done, stop, temperature)
            return (state, token, ended), (token, done)

        _, (tokens, done) = scan(body, begin, np.arange(at_most))
        return np.moveaxis(tokens, 0, -1), np.sum(~done, axis=0)
