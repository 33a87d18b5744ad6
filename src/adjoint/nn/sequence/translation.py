"""Transformers from one sequence to another: an encoder, and a decoder that looks at what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.jit import jit
from adjoint.nn.dropping import checked_generator
from adjoint.nn.linear import Embedding, Linear
from adjoint.nn.locating import LayerShapeError, apply, shown, title_of
from adjoint.nn.sequence.attention import attention
from adjoint.nn.sequence.caching import Cache, step_layers
from adjoint.nn.sequence.positions import sinusoidal
from adjoint.nn.sequence.sampling import drawn
from adjoint.nn.sequence.transformer import Decoder, Encoder
from adjoint.numpy import take
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["EncoderDecoderTransformer"]


@dataclass(frozen=True)
class EncoderDecoderTransformer:
    """From one sequence of tokens to another: an encoder that sees all, a decoder that sees the past and the memory.

    ```python
    model = ad.nn.EncoderDecoderTransformer.init(ad.random.default_rng(0), 7, 9, width=8, heads=2, depth=2, context=12)
    model(np.array([[1, 2, 3]]), np.array([[4, 5]])).shape  # → (1, 2, 9)
    tokens, lengths = model.generate(np.array([[1, 2, 3]]), begin=1, stop=0, at_most=6)
    tokens.shape, bool(lengths[0] <= 6)  # → ((1, 6), True)
    ```
    """

    source: Embedding
    target: Embedding
    encoder: Encoder
    decoder: Decoder
    head: Linear
    context: int = tree.static()

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: int,
        outputs: int,
        *,
        width: int,
        heads: int,
        depth: int,
        context: int,
        dtype: Any = np.float64,
        **options: Any,
    ) -> EncoderDecoderTransformer:
        """Positions are sinusoidal; options are those of `TransformerLayer`."""
        options = {"dtype": dtype, **options}
        return cls(
            Embedding.init(rng, inputs, width, scale=width**-0.5, dtype=dtype),
            Embedding.init(rng, outputs, width, scale=width**-0.5, dtype=dtype),
            Encoder.init(rng, width, heads, depth, **options),
            Decoder.init(rng, width, heads, depth, **options),
            Linear.init(rng, width, outputs, bias=False, dtype=dtype),
            context,
        )

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"EncoderDecoderTransformer {self.source.weight.shape[0]} → {self.target.weight.shape[0]} tokens"

    def _embed(self, table: Embedding, label: str, tokens: Any) -> Value:
        ids: Value = as_values(tokens)
        if ids.shape[-1] > self.context:
            raise LayerShapeError(title_of(self), f"{ids.shape[-1]} tokens; the context has {self.context}")
        x = apply(table, label, ids)
        return x * x.shape[-1] ** 0.5 + sinusoidal(x.shape[-2], x.shape[-1], dtype=x.dtype)

    def encode(self, source: Any, *, source_mask: Any = None, rng: Any = None) -> Value:
        """The memory: a vector for each source token. `source_mask` […, length] is False at padding."""
        mask = None if source_mask is None else as_values(source_mask)[..., None, :]
        run = lambda: self.encoder(self._embed(self.source, ".source", source), mask=mask, rng=rng)
        return apply(run, ".encoder")

    def decode(self, target: Any, memory: Value, *, source_mask: Any = None, rng: Any = None) -> Value:
        """The scores of the successor of each target token."""
        mask = None if source_mask is None else as_values(source_mask)[..., None, :]
        x = self._embed(self.target, ".target", target)
        return apply(self.head, ".head", apply(lambda: self.decoder(x, memory, memory_mask=mask, rng=rng), ".decoder"))

    def __call__(self, source: Any, target: Any, *, source_mask: Any = None, rng: Any = None) -> Value:
        memory = self.encode(source, source_mask=source_mask, rng=rng)
        return self.decode(target, memory, source_mask=source_mask, rng=rng)

    def generate(
        self,
        source: Any,
        rng: Any = None,
        *,
        stop: int,
        at_most: int,
        begin: int = 0,
        source_mask: Any = None,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> tuple[Value, Value]:
        """Tokens drawn one after the other until `stop`, at most so many; and how many there are, `stop` included.

        `begin` stands before the first. Behind the end stands `stop`. Without a generator the likeliest token is taken
        each time. The source is encoded once, and keys and values of earlier tokens are kept.
        """
        if not 1 <= at_most <= self.context:
            raise ShapeError(f"generate: at_most={at_most}; the context holds 1 to {self.context} tokens.")
        root = None if rng is None or temperature == 0 else checked_generator("generate", rng).spawn(1)[0]
        real = None if source_mask is None else as_values(source_mask)
        return _translated(self, as_values(source), real, root, begin, stop, at_most, temperature, top_k, top_p)


@partial(jit, static_argnames=("begin", "stop", "at_most", "temperature", "top_k", "top_p"))
def _translated(
    model: EncoderDecoderTransformer, source: Value, source_mask: Value | None, root: Any, begin: int, stop: int,
    at_most: int, temperature: float, top_k: int | None, top_p: float | None,
) -> tuple[Value, Value]:  # fmt: skip
    batch, stack = source.shape[:-1], model.decoder.layers
    memory = model.encode(source, source_mask=source_mask)
    mask = None if source_mask is None else source_mask[..., None, None, :]
    _, seen = scan(lambda _, layer: (None, layer.cross.project_keys(memory)), None, stack.layers)
    table = sinusoidal(at_most, model.target.weight.shape[1], dtype=model.target.weight.dtype)

    def look(layer: Any, x: Value, part: Any) -> Value:
        def attend(x: Value) -> Value:
            k, v = (layer.cross.shared(one) for one in part)
            return layer.cross.merge(attention(layer.cross.project_queries(x), k, v, mask=mask))

        return layer.around("cross", layer.cross_norm, attend, x, None)

    def body(carry: Any, i: Value) -> tuple[Any, tuple[Value, Value]]:
        token, cache, done = carry
        x = model.target(token[..., None]) * table.shape[1] ** 0.5 + take(table, i, axis=0)
        where, real = np.broadcast_to(i, (*batch, 1)), np.ones((*batch, 1), bool)
        x, cache = step_layers(stack.layers, cache, x, real, where, look=look, memory=seen)
        x = x if model.decoder.norm is None else model.decoder.norm(x)
        token, ended = drawn(model.head(x)[..., 0, :], root, i, done, stop, temperature, top_k, top_p)
        return (token, cache, ended), (token, done)

    start = (np.full(batch, begin, np.int64), Cache.of(stack, batch, at_most), np.zeros(batch, bool))
    _, (tokens, done) = scan(body, start, np.arange(at_most))
    return np.moveaxis(tokens, 0, -1), np.sum(~done, axis=0)
