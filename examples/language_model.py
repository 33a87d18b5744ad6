"""A language model that learns the text of Python's own help pages, byte by byte, within a minute on one core.

    python examples/language_model.py [seconds of processor time] [steps at most]

A transformer of two layers and about 120 000 parameters, trained by AdamW on random pieces of `pydoc_data.topics`. The
loss is measured on the last tenth of the text, in bits per byte; a uniform guess takes 8.
"""

from __future__ import annotations

import sys
import time
from pydoc_data.topics import topics
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates

CONTEXT, BATCH = 64, 24
PEAK = 8e-3  # the largest learning rate


class Run(NamedTuple):
    """What came of training: the model, and (seconds, steps, bits per byte, a piece of text) on the way."""

    model: Any
    history: list[tuple[float, int, float, bytes]]


def text() -> tuple[Any, Any]:
    """The help pages as bytes: the first nine tenths to learn from, the last one to measure."""
    whole = np.frombuffer("\n".join(topics[name] for name in sorted(topics)).encode(), np.uint8).astype(np.int32)
    cut = len(whole) * 9 // 10
    return whole[:cut], whole[cut:]


def start(seed: int = 0) -> Any:
    return nn.LanguageModel.init(
        ad.random.default_rng(seed), tokens=256, width=64, heads=4, depth=2, context=CONTEXT, positions="rope",
        mlp="swiglu", hidden=128, normalization="rms", bias=False, dtype=np.float32,
    )  # fmt: skip


def bits(model: Any, rows: Any) -> Any:
    """Bits per byte of rows of text, each byte given those before it in its row."""
    log_p = nn.log_softargmax(model(rows[:, :-1]))
    return -np.mean(np.take_along_axis(log_p, rows[:, 1:, None], axis=-1)) / np.float32(np.log(2))


@ad.jit
def step(model: Any, state: Any, learn: Any, rate: Any, rng: Any) -> Any:
    """One update from a random batch."""
    starts = rng.integers(0, len(learn) - CONTEXT - 1, size=BATCH)
    rows = learn[starts[:, None] + np.arange(CONTEXT + 1)]
    value, gradient = ad.value_and_grad(bits)(model, rows)
    rule = updates.chain(updates.clip_by_norm(1.0), updates.adamw(rate, 0.9, 0.98, decay=0.05))
    change, state = rule.update(gradient, state, model)
    return value, updates.apply(model, change), state


measure = ad.jit(bits)


def measured(model: Any, held: Any) -> float:
    """The loss on the held-out text, in rows of the context's length."""
    rows = held[: len(held) // (CONTEXT + 1) * (CONTEXT + 1)].reshape(-1, CONTEXT + 1)[:600]
    return float(np.mean([measure(model, rows[i : i + 100]) for i in range(0, len(rows), 100)]))


def train(
    seconds: float, looks: tuple[float, ...] = (0.0, 1 / 6, 1 / 2, 1.0), say: Any = None, most: float = np.inf
) -> Run:
    """Train for so many seconds of processor time, compiling included, or steps; look at these parts of the way."""
    learn, held = text()
    model, rng = start(), ad.random.default_rng(1)
    state = updates.chain(updates.clip_by_norm(1.0), updates.adamw(PEAK, 0.9, 0.98, decay=0.05)).init(model)
    begin, steps, waiting, history = time.process_time(), 0, list(looks), []
    while True:
        elapsed = time.process_time() - begin
        part = max(elapsed / seconds, steps / most)
        if waiting and part >= waiting[0]:
            while waiting and part >= waiting[0]:
                waiting.pop(0)
            written = nn.generate(model, b"The ", CONTEXT - 4, ad.random.default_rng(2), temperature=0.7, top_p=0.95)
            history.append((elapsed, steps, measured(model, held), bytes(written)))
            if say is not None:
                say(history[-1])
            if not waiting:
                return Run(model, history)
        rate = PEAK * min(1.0, steps / 100 + 0.01) * (0.5 + 0.5 * np.cos(np.pi * min(part, 1.0)))
        _, model, state = step(model, state, learn, np.float32(rate), rng)
        steps += 1


def main(seconds: float = 60.0, most: float = np.inf) -> None:
    say = lambda look: print(f"{look[0]:5.1f} s, {look[1]:5d} steps: {look[2]:.3f} bits per byte   {look[3]!r}")
    run = train(seconds, say=say, most=most)
    print(f"{nn.summary(run.model).parameters:,} parameters")
    written = nn.generate(run.model, b"The ", 400, ad.random.default_rng(3), temperature=0.8, top_p=0.95)
    print("The " + bytes(written).decode("utf-8", "replace"))
    limit = 2.1 if seconds >= 60 and most > 3000 else 5.0
    found = run.history[-1][2]
    if not found < limit:
        sys.exit(f"{found:.3f} bits per byte, where {limit} were expected")
    print(f"✓ {found:.3f} bits per byte of text that it has not seen; {limit} were expected")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
