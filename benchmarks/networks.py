"""Whole training steps of networks (value, gradient, Adam), generation and dropout: adjoint and PyTorch, on one core.

    python benchmarks/networks.py [part of a name …] [--rounds 15] [--compiled] [--write]

Contenders are interleaved and the least processor time counts. float32; `--compiled` adds torch.compile;
`--write` writes docs/benchmarks/networks.md.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import nn  # noqa: E402
from adjoint.optimize import updates  # noqa: E402

F32 = np.float32
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "networks.md"
HEAD = """# Networks, side by side

Written by `python benchmarks/networks.py --compiled --write`. Milliseconds of processor time for a whole step (value,
gradient, Adam) in float32 on one core, interleaved, minima; the first call of ours, with compiling, in seconds.
"""


@dataclass(frozen=True)
class ConvNet:
    first: nn.Conv
    second: nn.Conv
    head: nn.Linear

    def __call__(self, x: Any, *, rng: Any = None) -> Any:
        x = ad.signal.max_pool(nn.relu(self.first(x)), (2, 2))
        x = ad.signal.max_pool(nn.relu(self.second(x)), (2, 2))
        return self.head(np.reshape(x, (len(x), -1)))


@dataclass(frozen=True)
class Recurrent:
    lstm: nn.LSTM
    head: nn.Linear

    def __call__(self, x: Any, *, rng: Any = None) -> Any:
        return self.head(self.lstm(x)[:, -1])


def cross_entropy(scores: Any, labels: Any) -> Any:
    return -np.mean(np.take_along_axis(nn.log_softargmax(scores), labels[..., None], axis=-1))


def our_step(model: Any, x: Any, y: Any) -> tuple[Callable[[], Any], float]:
    """One compiled step that goes on from the last one, and the seconds that its first call took."""
    rule = updates.adam(1e-3)

    @ad.jit
    def step(model: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradient = ad.value_and_grad(lambda m: cross_entropy(m(x), y))(model)
        change, state = rule.update(gradient, state, model)
        return value, updates.apply(model, change), state

    held = [model, rule.init(model)]

    def run() -> Any:
        value, held[0], held[1] = step(held[0], held[1], x, y)
        return value

    start = time.process_time()
    run()
    return run, time.process_time() - start


def torch_step(model: Any, x: Any, y: Any, compiled: bool) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(1)
    x, y = torch.tensor(x), torch.tensor(y)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loss: Any = lambda x, y: torch.nn.functional.cross_entropy(model(x).reshape(-1, model.classes), y.reshape(-1))
    loss = torch.compile(loss) if compiled else loss

    def run() -> Any:
        optimizer.zero_grad(set_to_none=True)
        value = loss(x, y)
        value.backward()
        optimizer.step()
        return value.item()

    return run


def torch_model(name: str, sizes: Any) -> Any:
    import torch
    from torch import nn as tn

    class Last(tn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = tn.LSTM(sizes[0], sizes[1], batch_first=True), tn.Linear(sizes[1], 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    class Language(tn.Module):
        def __init__(self) -> None:
            super().__init__()
            tokens, width, heads, depth, context = sizes
            self.table, self.positions = tn.Embedding(tokens, width), tn.Embedding(context, width)
            layer = lambda: tn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.layers = tn.ModuleList([layer() for _ in range(depth)])
            self.norm = tn.LayerNorm(width)

        def forward(self, x: Any) -> Any:
            n = x.shape[1]
            h = self.table(x) + self.positions.weight[:n]
            mask = torch.triu(torch.full((n, n), float("-inf")), 1)
            for layer in self.layers:
                h = layer(h, src_mask=mask, is_causal=True)
            return self.norm(h) @ self.table.weight.T

    if name == "mlp":
        parts = [m for a, b in itertools.pairwise(sizes) for m in (tn.Linear(a, b), tn.ReLU())][:-1]
        made: Any = tn.Sequential(*parts)
    elif name == "conv":
        c = tn.Conv2d
        parts = [
            c(1, 16, 3),
            tn.ReLU(),
            tn.MaxPool2d(2),
            c(16, 32, 3),
            tn.ReLU(),
            tn.MaxPool2d(2),
            tn.Flatten(),
            tn.Linear(800, 10),
        ]
        made = tn.Sequential(*parts)
    else:
        made = Last() if name == "lstm" else Language()
    made.classes = sizes[0] if name == "language" else 10
    return made


def steps(chosen: Callable[[str], bool], with_compiled: bool) -> dict[str, tuple[dict[str, Callable[[], Any]], float]]:
    rng, r = ad.random.default_rng(0), np.random.default_rng(0)
    makes: dict[str, tuple[Any, Any, Any, str, Any]] = {
        "MLP 64-128-10, batch 64": (
            lambda: nn.MLP.init(rng, [64, 128, 10], dtype=F32), (64, 64), (64,), "mlp", [64, 128, 10]),
        "MLP 784-512-512-10, batch 128": (
            lambda: nn.MLP.init(rng, [784, 512, 512, 10], dtype=F32), (128, 784), (128,), "mlp", [784, 512, 512, 10]),
        "conv net 16-32, 64 x 28 x 28": (
            lambda: ConvNet(nn.Conv.init(rng, 1, 16, 3, dtype=F32), nn.Conv.init(rng, 16, 32, 3, dtype=F32),
                            nn.Linear.init(rng, 800, 10, dtype=F32)), (64, 1, 28, 28), (64,), "conv", None),
        "LSTM T100 B32 H128": (
            lambda: Recurrent(nn.LSTM.init(rng, 64, 128, dtype=F32), nn.Linear.init(rng, 128, 10, dtype=F32)),
            (32, 100, 64), (32,), "lstm", (64, 128)),
        "transformer D128 K4 L64 B16": (
            lambda: nn.LanguageModel.init(rng, tokens=256, width=128, heads=4, depth=4, context=64, dtype=F32),
            None, (16, 64), "language", (256, 128, 4, 4, 64)),
    }  # fmt: skip
    found: dict[str, tuple[dict[str, Callable[[], Any]], float]] = {}
    for title, (make, shape, labels, kind, sizes) in makes.items():
        if not chosen(title):
            continue
        y = r.integers(0, 10, labels)
        x = r.integers(0, 256, labels) if shape is None else r.normal(size=shape).astype(F32)
        run, seconds = our_step(make(), x, y)
        runs = {"adjoint": run}
        try:
            runs["torch"] = torch_step(torch_model(kind, sizes), x, y, False)
            if with_compiled:
                runs["torch compiled"] = torch_step(torch_model(kind, sizes), x, y, True)
        except ImportError:
            pass
        found[title] = runs, seconds
    return found


def others(chosen: Callable[[str], bool]) -> dict[str, tuple[dict[str, Callable[[], Any]], float]]:
    rng = ad.random.default_rng(0)
    found: dict[str, tuple[dict[str, Callable[[], Any]], float]] = {}
    title = "dropout of a million numbers"
    if chosen(title):
        x = np.ones(10**6, F32)
        drop = ad.jit(lambda x, rng: nn.dropout(x, 0.1, rng))
        start = time.process_time()
        drop(x, rng)
        runs = {"adjoint": lambda: drop(x, rng)}
        try:
            import torch

            torch.set_num_threads(1)
            tensor = torch.ones(10**6)
            runs["torch"] = lambda: torch.nn.functional.dropout(tensor, 0.1)
        except ImportError:
            pass
        found[title] = runs, time.process_time() - start
    title = "generation, D128 K4, 200 tokens after 50"
    if chosen(title):
        model = nn.LanguageModel.init(rng, tokens=256, width=128, heads=4, depth=4, context=256, dtype=F32)
        prompt = np.arange(50)
        write = lambda: nn.generate(model, prompt, 200, rng)
        start = time.process_time()
        write()
        runs = {"adjoint": write}
        with contextlib.suppress(ImportError):
            runs["torch"] = torch_generation()
        found[title] = runs, time.process_time() - start
    return found


def torch_generation() -> Callable[[], Any]:
    """GPT-2 of the same size by `transformers`' own loop over its cache, or by a plain loop of the same operations."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)
    width, heads, depth, context = 128, 4, 4, 256
    new = lambda *shape: torch.randn(*shape) * 0.05
    layers = [
        (new(width), new(width), new(3 * width, width), new(3 * width), new(width, width), new(width), new(width),
         new(width), new(4 * width, width), new(4 * width), new(width, 4 * width), new(width))
        for _ in range(depth)
    ]  # fmt: skip
    table, positions = new(256, width), new(context, width)

    @torch.no_grad()
    def write() -> Any:
        keys = torch.zeros(depth, heads, context, width // heads)
        values = torch.zeros_like(keys)
        tokens, at = torch.arange(50), 0
        for _ in range(200):
            n = len(tokens)
            h = table[tokens] + positions[at : at + n]
            for i, (w1, b1, qkv, bqkv, out, bout, w2, b2, up, bup, down, bdown) in enumerate(layers):
                z = F.layer_norm(h, (width,), w1, b1)
                q, k, v = F.linear(z, qkv, bqkv).view(n, 3, heads, -1).permute(1, 2, 0, 3)
                keys[i, :, at : at + n], values[i, :, at : at + n] = k, v
                a = F.scaled_dot_product_attention(q, keys[i, :, : at + n], values[i, :, : at + n], is_causal=n > 1)
                h = h + F.linear(a.transpose(0, 1).reshape(n, width), out, bout)
                h = h + F.linear(F.gelu(F.linear(F.layer_norm(h, (width,), w2, b2), up, bup)), down, bdown)
            at += n
            p = torch.softmax(h[-1] @ table.T, -1)
            tokens = torch.multinomial(p, 1)
        return tokens

    return write


def best(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time, the least of several rounds in turn."""
    least = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    return {name: 1e3 * t for name, t in least.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of workloads; all by default")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = lambda title: not options.names or any(part in title for part in options.names)
    table = Table(title="milliseconds of a step, float32, one core; first call of ours in seconds")
    contenders = ["adjoint", "torch", *(["torch compiled"] if options.compiled else [])]
    names = ["workload", *contenders, "best peer / ours", "first call"]
    rows = [names, ["---", *["---:"] * (len(names) - 1)]]
    for name in names:
        table.add_column(name, justify="left" if name == "workload" else "right")
    for title, (runs, seconds) in {**steps(chosen, options.compiled), **others(chosen)}.items():
        times = best(runs, options.rounds)
        peers = [t for name, t in times.items() if name != "adjoint"]
        ratio = f"{min(peers) / times['adjoint']:.2f}" if peers else "–"
        cells = [title, *[f"{times[n]:.2f}" if n in times else "–" for n in contenders], ratio, f"{seconds:.2f}"]
        table.add_row(*cells)
        rows.append(cells)
    Console().print(table)
    if options.write:
        PAGE.write_text("\n".join([HEAD, *[f"| {' | '.join(row)} |" for row in rows], ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
