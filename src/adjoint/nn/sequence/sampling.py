"""Tokens drawn from scores, and text written by a language model, one token after the other."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.base.errors import ShapeError
from adjoint.jit import jit
from adjoint.nn.dropping import checked_generator
from adjoint.nn.sequence.caching import Cache
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["generate", "restricted", "sampled"]


def restricted(scores: Any, top_k: int | None = None, top_p: float | None = None) -> Value:
    """Scores with -∞ for all but the `top_k` largest, or all but the likeliest whose probabilities reach `top_p`.

    ```python
    ad.nn.restricted(np.array([0.0, 2.0, 1.0]), top_k=2)  # → [-inf, 2.0, 1.0]
    ```
    """
    scores = as_values(scores)
    if top_k is not None:
        if not top_k > 0:
            raise ValueError(f"restricted: top_k must be at least 1, got {top_k}.")
        n = scores.shape[-1]
        least = np.sort(scores, axis=-1)[..., max(0, n - top_k), None]
        scores = np.where(scores < least, -np.inf, scores)
    if top_p is not None:
        if not 0 < top_p <= 1:
            raise ValueError(f"restricted: top_p must be between 0 and 1, got {top_p}.")
        ordered = np.sort(scores, axis=-1)[..., ::-1]
        e = np.exp(ordered - ordered[..., :1])
        total = np.cumsum(e, axis=-1)
        # a token is in when those before it do not reach top_p: the first always is
        inside = total - e < top_p * total[..., -1:]
        least = np.min(np.where(inside, ordered, np.inf), axis=-1, keepdims=True)
        scores = np.where(scores < least, -np.inf, scores)
    return scores


def sampled(
    scores: Value, rng: Any, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Value:
    """An index drawn from softargmax(scores / temperature), or the largest without a generator or at temperature 0."""
    if rng is None or temperature == 0:
        return np.argmax(scores, axis=-1)
    scores = restricted(scores / temperature, top_k, top_p)
    # the Gumbel maximum: no table of cumulative probabilities
    u = checked_generator("generate", rng).random(scores.shape, dtype=np.float32)
    noise = -np.log(-np.log(np.maximum(u, np.float32(1e-30))))
    return np.argmax(scores + noise.astype(scores.dtype), axis=-1)


def drawn(
    scores: Value, root: Any, i: Any, done: Value, stop: int | None, temperature: float = 1.0, top_k: int | None = None,
    top_p: float | None = None,
) -> tuple[Value, Value]:  # fmt: skip
    """Token i of sequences, `stop` where they are done; and which are done after it."""
    token = sampled(scores, None if root is None else root.at(i), temperature, top_k, top_p).astype(np.int64)
    if stop is None:
        return token, done
    token = np.where(done, stop, token)
    return token, done | (token == stop)


def generate(
    model: Any,
    prompt: Any,
    n: int,
    rng: Any = None,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: int | None = None,
    valid: Any = None,
) -> Any:
    """n tokens that a language model writes after a prompt, drawn one after the other in one compiled loop.

    The prompt is bytes, or integers […, length]; for bytes the result is an array of bytes. `valid` is False where a
    prompt is padded, on the left. Without a generator, or at temperature 0, the likeliest token is taken. Behind `stop`
    all tokens are `stop`; one sequence is cut there. Up to the context a cache makes each token cheap; beyond it, each
    is predicted from the last `context` tokens alone (padding counts), which are computed again.

    ```python
    model = ad.nn.LanguageModel.init(ad.random.default_rng(0), tokens=256, width=8, heads=2, depth=1, context=32)
    text = bytes(ad.nn.generate(model, b"def ", 10, ad.random.default_rng(1), temperature=0.8, top_p=0.95))
    len(text)  # → 10
    ```
    """
    is_bytes = isinstance(prompt, bytes | bytearray)
    tokens: Value = np.frombuffer(bytes(prompt), np.uint8).astype(np.int64) if is_bytes else as_values(prompt)
    length = tokens.shape[-1] if tokens.ndim else 0
    if n < 0 or temperature < 0:
        raise ValueError(f"generate: n={n} tokens at temperature={temperature}; neither can be negative.")
    if not length:
        raise ShapeError("generate: the prompt is empty; begin with one token at least, that of the beginning, say.")
    if length > model.context:
        raise ShapeError(
            f"generate: a prompt of {length} tokens does not fit into the context of {model.context}; give its last "
            f"{model.context}."
        )
    if n < 1:
        return np.zeros((*tokens.shape[:-1], 0), np.uint8 if is_bytes else np.int64)
    real = None if valid is None else as_values(valid)
    root = None if rng is None or temperature == 0 else checked_generator("generate", rng).spawn(1)[0]
    out = _written(model, tokens, real, root, n, temperature, top_k, top_p, stop)
    if stop is not None and out.ndim == 1 and isinstance(out, np.ndarray) and np.any(out == stop):
        out = out[: int(np.argmax(out == stop)) + 1]
    return out.astype(np.uint8) if is_bytes else out


@partial(jit, static_argnames=("n", "temperature", "top_k", "top_p", "stop"))
def _written(
    model: Any, tokens: Value, valid: Value, root: Any, n: int, temperature: float, top_k: int | None,
    top_p: float | None, stop: int | None,
) -> Value:  # fmt: skip
    batch = tokens.shape[:-1]
    scores, cache = model.step(tokens, Cache.empty(model, batch), valid=valid)

    def draw(scores: Value, i: Any, done: Value) -> tuple[Value, Value]:
        return drawn(scores, root, i, done, stop, temperature, top_k, top_p)

    token, done = draw(scores[..., -1, :], 0, np.zeros(batch, bool))

    def body(carry: Any, i: Value) -> tuple[Any, Value]:
        token, cache, done = carry
        scores, cache = model.step(token[..., None], cache)
        token, done = draw(scores[..., 0, :], i, done)
        return (token, cache, done), token

    cached = min(n, model.context + 1 - tokens.shape[-1])
    (_, _, done), rest = scan(body, (token, cache, done), np.arange(1, cached))
    out = np.concatenate([token[..., None], np.moveaxis(rest, 0, -1)], axis=-1)
    if cached == n:
        return out
    window = np.concatenate([tokens, out], axis=-1)[..., -model.context :]
    real = None
    if valid is not None:
        real = np.concatenate([valid, np.ones(out.shape, bool)], axis=-1)[..., -model.context :]

    def slide(carry: Any, i: Value) -> tuple[Any, Value]:
        window, real, done = carry
        options: dict[str, Any] = {}
        if real is not None:
            where = np.where(real, np.cumsum(real, axis=-1) - 1, 0)
            options = {"mask": real[..., None, :], "positions": where}
        token, done = draw(model(window, **options)[..., -1, :], i, done)
        window = np.concatenate([window[..., 1:], token[..., None].astype(window.dtype)], axis=-1)
        real = None if real is None else np.concatenate([real[..., 1:], np.ones((*batch, 1), bool)], axis=-1)
        return (window, real, done), token

    _, rest = scan(slide, (window, real, done), np.arange(cached, n))
    return np.concatenate([out, np.moveaxis(rest, 0, -1)], axis=-1)
