"""Transformers: attention and a small network for each token, each with a residual and a normalization.

"pre": z = x + attention(norm x), y = z + mlp(norm z).   "post": z = norm(x + attention x), y = norm(z + mlp z).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.nn.activations import gelu, relu, silu, swiglu
from adjoint.nn.dropping import checked_rate, dropout
from adjoint.nn.linear import Linear
from adjoint.nn.locating import LayerShapeError, apply, shown, title_of
from adjoint.nn.normalization import LayerNorm, RMSNorm
from adjoint.nn.sequence.attention import MultiHead
from adjoint.nn.stacking import Stack
from adjoint.program.types import Value

__all__ = ["Decoder", "Encoder", "FeedForward", "TransformerLayer"]

ACTIVATIONS = {"gelu": gelu, "gelu_tanh": lambda x: gelu(x, approximate=True), "relu": relu, "silu": silu}


@dataclass(frozen=True)
class FeedForward:
    """The network for each token: down(activation(up(x))).

    ```python
    ad.nn.FeedForward.init(ad.random.default_rng(0), 8, 32, mlp="swiglu")(np.ones((3, 8))).shape  # → (3, 8)
    ```
    """

    up: Linear
    down: Linear
    activation: Callable[[Any], Any] = tree.static(default=gelu)

    @classmethod
    @user_facing
    def init(
        cls, rng: Any, width: int, hidden: int, *, mlp: Any = "gelu", bias: bool = True, dtype: Any = np.float64
    ) -> FeedForward:
        """`mlp`: "gelu", "gelu_tanh", "relu", "silu", "swiglu" (gated), or a function."""
        activation = mlp if callable(mlp) else swiglu if mlp == "swiglu" else ACTIVATIONS.get(mlp)
        if activation is None:
            raise ValueError(f"FeedForward: mlp must be one of {', '.join([*ACTIVATIONS, 'swiglu'])}, got {mlp!r}.")
        gates = 2 if activation is swiglu else 1
        up = Linear.init(rng, width, gates * hidden, bias=bias, dtype=dtype)
        return cls(up, Linear.init(rng, hidden, width, bias=bias, dtype=dtype), activation)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"FeedForward {self.up.weight.shape[-2]} → {self.down.weight.shape[-2]} → {self.down.weight.shape[-1]}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        return apply(self.down, ".down", self.activation(apply(self.up, ".up", x)))


@dataclass(frozen=True)
class TransformerLayer:
    """Attention, with `cross` also to a memory, and a network for each token; residuals and normalization around each.

    ```python
    layer = ad.nn.TransformerLayer.init(ad.random.default_rng(0), 8, heads=2)
    layer(np.ones((3, 5, 8)), causal=True).shape  # → (3, 5, 8)
    ```
    """

    attention: MultiHead
    attention_norm: Any
    mlp: FeedForward
    mlp_norm: Any
    cross: MultiHead | None = None
    cross_norm: Any = None
    norm: str = tree.static(default="pre")
    dropout: float = tree.static(default=0.0)

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        width: int,
        heads: int,
        *,
        hidden: int | None = None,
        kv_heads: int | None = None,
        norm: str = "pre",
        normalization: str = "layer",
        eps: float = 1e-5,
        mlp: Any = "gelu",
        cross: bool = False,
        memory_width: int | None = None,
        bias: bool = True,
        rope: float | None = None,
        layout: str = "halves",
        dropout: float = 0.0,
        dtype: Any = np.float64,
    ) -> TransformerLayer:
        """`hidden` is 4 · width; `normalization` is "layer" or "rms"; other options are those of the parts."""
        if norm not in ("pre", "post"):
            raise ValueError(f"TransformerLayer: norm must be 'pre' or 'post', got {norm!r}.")
        if normalization not in ("layer", "rms"):
            raise ValueError(f"TransformerLayer: normalization must be 'layer' or 'rms', got {normalization!r}.")
        checked_rate("TransformerLayer", dropout)

        def normal() -> Any:
            if normalization == "rms":
                return RMSNorm.init(width, eps=eps, dtype=dtype)
            return LayerNorm.init(width, bias=bias, eps=eps, dtype=dtype)

        def attend(source: int | None, base: float | None) -> MultiHead:
            return MultiHead.init(
                rng, width, heads, kv_heads=kv_heads, memory_width=source, bias=bias, rope=base, layout=layout,
                dropout=dropout, dtype=dtype,
            )  # fmt: skip

        return cls(
            attend(None, rope),
            normal(),
            FeedForward.init(rng, width, 4 * width if hidden is None else hidden, mlp=mlp, bias=bias, dtype=dtype),
            normal(),
            attend(memory_width, None) if cross else None,
            normal() if cross else None,
            norm,
            dropout,
        )

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"TransformerLayer {self.attention.query.weight.shape[-2]}, {self.attention.heads} heads"

    def around(self, name: str, norm: Any, inner: Callable[[Any], Any], x: Value, rng: Any) -> Value:
        """A part with its residual and its normalization."""
        if self.norm == "pre":
            return x + dropout(apply(inner, "", apply(norm, f".{name}_norm", x)), self.dropout, rng)
        return apply(norm, f".{name}_norm", x + dropout(apply(inner, "", x), self.dropout, rng))

    def __call__(
        self, x: Any, memory: Any = None, *, memory_mask: Any = None, rng: Any = None, **options: Any
    ) -> Value:
        """Options are those of `MultiHead`: mask, causal, bias, positions, block."""
        if (memory is None) != (self.cross is None):
            raise LayerShapeError(
                title_of(self), "it has no cross-attention for a memory" if self.cross is None else "it needs a memory"
            )
        attend = lambda x: _at(".attention", lambda: self.attention(x, rng=rng, **options))
        x = self.around("attention", self.attention_norm, attend, x, rng)
        if self.cross is not None:
            cross = self.cross
            look = lambda x: _at(
                ".cross", lambda: cross(x, memory, mask=memory_mask, block=options.get("block"), rng=rng)
            )
            x = self.around("cross", self.cross_norm, look, x, rng)
        return self.feed(x, rng)

    def feed(self, x: Value, rng: Any = None) -> Value:
        """The second half: the network for each token."""
        return self.around("mlp", self.mlp_norm, lambda x: apply(self.mlp, ".mlp", x), x, rng)


def _at(label: str, call: Callable[[], Any]) -> Any:
    return apply(call, label)


@dataclass(frozen=True)
class Encoder:
    """Transformer layers that see the whole sequence, and a normalization at the end if they are "pre".

    ```python
    encoder = ad.nn.Encoder.init(ad.random.default_rng(0), 8, heads=2, depth=3)
    encoder(np.ones((4, 5, 8))).shape  # → (4, 5, 8)
    ```
    """

    layers: Stack
    norm: Any = None

    @classmethod
    @user_facing
    def init(cls, rng: Any, width: int, heads: int, depth: int, *, checkpoint: Any = None, **options: Any) -> Any:
        """Options are those of `TransformerLayer`; `checkpoint` is that of `Stack`."""
        stack = Stack.init(
            rng, depth, lambda rng: TransformerLayer.init(rng, width, heads, **options), checkpoint=checkpoint
        )
        norm = options.get("norm", "pre")
        last = None if norm == "post" else tree.map(lambda leaf: leaf[0], stack.layers.mlp_norm)
        return cls(stack, last)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"{type(self).__name__} of {self.layers.depth} layers"

    def __call__(self, x: Any, *, rng: Any = None, **options: Any) -> Value:
        """Options are those of `MultiHead`: mask, causal, bias, positions, block."""
        x = _at(".layers", lambda: self.layers(x, rng=rng, **options))
        return x if self.norm is None else apply(self.norm, ".norm", x)


@dataclass(frozen=True, repr=False)
class Decoder(Encoder):
    """Transformer layers that see what came before, and all of a memory (cross-attention).

    ```python
    decoder = ad.nn.Decoder.init(ad.random.default_rng(0), 8, heads=2, depth=3)
    decoder(np.ones((4, 5, 8)), np.ones((4, 7, 8))).shape  # → (4, 5, 8)
    ```
    """

    @classmethod
    @user_facing
    def init(cls, rng: Any, width: int, heads: int, depth: int, *, checkpoint: Any = None, **options: Any) -> Any:
        """Options are those of `TransformerLayer`; `checkpoint` is that of `Stack`."""
        return super().init(rng, width, heads, depth, checkpoint=checkpoint, **{"cross": True, **options})

    def __call__(
        self, x: Any, memory: Any = None, *, memory_mask: Any = None, rng: Any = None, **options: Any
    ) -> Value:
        """`memory_mask` says where in the memory a token may look."""
        options = {"causal": True, **options}
        x = _at(".layers", lambda: self.layers(x, memory, memory_mask=memory_mask, rng=rng, **options))
        return x if self.norm is None else apply(self.norm, ".norm", x)
