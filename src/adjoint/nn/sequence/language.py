"""Language models: from tokens to the scores of the next one; and heads for other tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.nn.dropping import dropout
from adjoint.nn.linear import Embedding, Linear
from adjoint.nn.locating import LayerShapeError, apply, shown, title_of
from adjoint.nn.sequence.caching import Cache, step_layers
from adjoint.nn.sequence.positions import LearnedPositions, alibi, sinusoidal
from adjoint.nn.sequence.transformer import Encoder
from adjoint.nn.stacking import Stack
from adjoint.numpy import take
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["Classify", "LanguageModel", "Span", "Tag"]


@dataclass(frozen=True)
class LanguageModel:
    """A decoder-only transformer: the scores of each token's successor, from it and the tokens before it.

    `positions` is "learned", "sinusoidal", "rope", "alibi" or None. Tied models score by the table that embeds (one
    leaf, used twice). Sequences are at most `context` tokens long.

    ```python
    model = ad.nn.LanguageModel.init(ad.random.default_rng(0), tokens=11, width=8, heads=2, depth=2, context=16)
    model(np.array([[3, 1, 4, 1, 5]])).shape  # → (1, 5, 11)
    ```
    """

    embedding: Embedding
    position_table: LearnedPositions | None
    layers: Stack
    norm: Any
    head: Linear | None
    context: int = tree.static()
    positions: str | None = tree.static(default="learned")
    dropout: float = tree.static(default=0.0)

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        *,
        tokens: int,
        width: int,
        heads: int,
        depth: int,
        context: int,
        positions: str | None = "learned",
        tied: bool = True,
        dropout: float = 0.0,
        base: float = 10000.0,
        checkpoint: Any = None,
        dtype: Any = np.float64,
        **options: Any,
    ) -> LanguageModel:
        """Options are those of `TransformerLayer`; `base` is that of rotary positions."""
        if positions not in ("learned", "sinusoidal", "rope", "alibi", None):
            raise ValueError(
                f"LanguageModel: positions must be learned, sinusoidal, rope, alibi or None, got {positions!r}."
            )
        embedding = Embedding.init(rng, tokens, width, scale=0.02, dtype=dtype)
        position_table = LearnedPositions.init(rng, context, width, dtype=dtype) if positions == "learned" else None
        encoder = Encoder.init(
            rng, width, heads, depth, checkpoint=checkpoint, dropout=dropout, dtype=dtype,
            rope=base if positions == "rope" else None, **options,
        )  # fmt: skip
        stack = _scaled_outputs(encoder.layers)
        head = None if tied else Linear.init(rng, width, tokens, bias=False, dtype=dtype)
        return cls(embedding, position_table, stack, encoder.norm, head, context, positions, dropout)

    __repr__ = shown

    @property
    def title(self) -> str:
        tokens, width = self.embedding.weight.shape
        return f"LanguageModel {tokens} tokens, {width} wide, {self.layers.depth} layers, context {self.context}"

    def embed(self, tokens: Value, where: Value | None, rng: Any = None) -> Value:
        """Tokens with their positions, as vectors."""
        x = apply(self.embedding, ".embedding", tokens)
        length = tokens.shape[-1]
        if self.position_table is not None:
            x = x + apply(self.position_table, ".position_table", length if where is None else where)
        elif self.positions == "sinusoidal":
            table = sinusoidal(self.context, x.shape[-1], dtype=x.dtype)
            x = x + (table[:length] if where is None else take(table, where, axis=0))
        return dropout(x, self.dropout, rng)

    def scores(self, x: Value) -> Value:
        """From vectors to the scores of all tokens."""
        x = x if self.norm is None else apply(self.norm, ".norm", x)
        return self.embedding.scores(x) if self.head is None else apply(self.head, ".head", x)

    def __call__(
        self, tokens: Any, *, mask: Any = None, positions: Any = None, block: int | None = None, rng: Any = None
    ) -> Value:
        """`mask` [length, length] or […, length, length] forbids more than the future; see `packed`."""
        tokens = self._checked(tokens)
        bias = None
        if self.positions == "alibi":
            if positions is None:
                bias = alibi(self.layers.layers.attention.heads, tokens.shape[-1], dtype=self.embedding.weight.dtype)
            else:
                bias = self._distances(as_values(positions), as_values(positions))
        x = self.embed(tokens, None if positions is None else as_values(positions), rng)
        options = {"mask": mask, "bias": bias, "causal": True, "block": block}
        if self.positions == "rope":
            options["positions"] = positions
        run = lambda: self.layers(x, rng=rng, **{name: one for name, one in options.items() if one is not None})
        return self.scores(apply(run, ".layers"))

    def _distances(self, queries: Value, keys: Value) -> Value:
        """The bias of "alibi" for positions […, queries] and […, keys]: […, heads, queries, keys]."""
        heads, dtype = self.layers.layers.attention.heads, self.embedding.weight.dtype
        rates = alibi(heads, 1, 2, dtype=dtype)[:, :, :1]
        distance = np.abs(queries[..., :, None] - keys[..., None, :]).astype(dtype)
        return rates * distance[..., None, :, :]

    def _checked(self, tokens: Any, used: Any = 0) -> Value:
        value: Value = as_values(tokens)
        if value.ndim < 1:
            raise LayerShapeError(title_of(self), "tokens is one number; it must be [..., length]")
        if not isinstance(used, Tracer) and value.shape[-1] + int(used) > self.context:
            raise LayerShapeError(
                title_of(self),
                f"{value.shape[-1] + int(used)} tokens; the context has {self.context}: cut the sequence, or "
                "make a model with a longer context",
            )
        return value

    def step(self, tokens: Any, cache: Cache, *, valid: Any = None) -> tuple[Value, Cache]:
        """The scores after further tokens […, n], and the cache with them; `valid` is False where one is padding."""
        tokens = self._checked(tokens, cache.used)
        real = np.ones(tokens.shape, bool) if valid is None else as_values(valid)
        where = cache.seen[..., None] + np.cumsum(real, axis=-1) - 1
        where = np.where(real, where, 0)
        bias = None
        if self.positions == "alibi":
            bias = self._cached_bias(cache, where)
        x, cache = step_layers(self.layers.layers, cache, self.embed(tokens, where), real, where, bias)
        return self.scores(x), cache

    def _cached_bias(self, cache: Cache, where: Value) -> tuple[Value, Value]:
        slots = np.where(cache.valid, np.cumsum(cache.valid, axis=-1) - 1, 0)
        return self._distances(where, slots), self._distances(where, where)


def _scaled_outputs(stack: Stack) -> Stack:
    """The layers that write to the residual stream begin smaller, by 1/√(2 · depth), so that it does not grow."""
    shrink = 1 / np.sqrt(2 * stack.depth)
    for path in ("layers.attention.output.weight", "layers.mlp.down.weight"):
        weight = tree.get(stack, path)
        stack = tree.replace(stack, path, weight * np.asarray(shrink, weight.dtype))
    return stack


@dataclass(frozen=True)
class Classify:
    """One class for a sequence, from the state of its first token ([CLS]).

    ```python
    ad.nn.Classify.init(ad.random.default_rng(0), 8, 3)(np.ones((2, 5, 8))).shape  # → (2, 3)
    ```
    """

    linear: Linear

    @classmethod
    @user_facing
    def init(cls, rng: Any, width: int, classes: int, *, dtype: Any = np.float64) -> Any:
        """A linear layer."""
        return cls(Linear.init(rng, width, classes, dtype=dtype))

    def __call__(self, states: Any, *, rng: Any = None) -> Value:
        return apply(self.linear, ".linear", as_values(states)[..., 0, :])


@dataclass(frozen=True)
class Tag(Classify):
    """A class for each token.

    ```python
    ad.nn.Tag.init(ad.random.default_rng(0), 8, 3)(np.ones((2, 5, 8))).shape  # → (2, 5, 3)
    ```
    """

    def __call__(self, states: Any, *, rng: Any = None) -> Value:
        return apply(self.linear, ".linear", states)


@dataclass(frozen=True)
class Span:
    """Where an answer begins and ends: two scores for each token.

    ```python
    begin, end = ad.nn.Span.init(ad.random.default_rng(0), 8)(np.ones((2, 5, 8)))
    begin.shape, end.shape  # → ((2, 5), (2, 5))
    ```
    """

    linear: Linear

    @classmethod
    @user_facing
    def init(cls, rng: Any, width: int, *, dtype: Any = np.float64) -> Span:
        """A linear layer with two outputs."""
        return cls(Linear.init(rng, width, 2, dtype=dtype))

    def __call__(self, states: Any, *, rng: Any = None) -> tuple[Value, Value]:
        scores = apply(self.linear, ".linear", states)
        return scores[..., 0], scores[..., 1]
