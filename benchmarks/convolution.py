"""Convolution and pooling, value and gradient: adjoint, PyTorch and JAX where they are installed, on one core.

    python benchmarks/convolution.py [part of a name …] [--dtype float64] [--rounds 9]

Contenders take turns and the least processor time counts; their gradients are compared first.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import signal  # noqa: E402


class Workload(NamedTuple):
    """A convolution (with a kernel) or a pooling (without)."""

    x: tuple[int, ...]
    kernel: tuple[int, ...] | None
    options: dict[str, Any]


WORKLOADS = {
    "3x3, 64 channels, 56x56": Workload((8, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
    "3x3, 3 to 32 channels, 64x64": Workload((16, 3, 64, 64), (32, 3, 3, 3), {"padding": 1}),
    "5x5, 1 to 16 channels, 28x28": Workload((64, 1, 28, 28), (16, 1, 5, 5), {}),
    "3x3, 256 channels, 14x14": Workload((8, 256, 14, 14), (256, 256, 3, 3), {"padding": 1}),
    "1x1, 256 to 64 channels": Workload((8, 256, 28, 28), (64, 256, 1, 1), {}),
    "3x3, stride 2": Workload((8, 64, 56, 56), (128, 64, 3, 3), {"padding": 1, "stride": 2}),
    "3x3, dilation 2": Workload((4, 32, 48, 48), (32, 32, 3, 3), {"padding": 2, "dilation": 2}),
    "3x3, depthwise": Workload((8, 64, 56, 56), (64, 1, 3, 3), {"padding": 1, "groups": 64}),
    "line, 7 taps, 64 channels": Workload((16, 64, 512), (64, 64, 7), {"padding": 3}),
    "line, 501 taps, 4 channels": Workload((8, 4, 8192), (4, 4, 501), {"padding": 250}),
    "3x3x3, 16 to 32 channels": Workload((2, 16, 16, 24, 24), (32, 16, 3, 3, 3), {"padding": 1}),
    "3x3, 8 channels, one small image": Workload((1, 8, 16, 16), (8, 8, 3, 3), {"padding": 1}),
    "max pooling 2x2": Workload((8, 64, 56, 56), None, {"kind": "max", "size": 2, "stride": 2}),
    "max pooling 3x3, stride 2": Workload((8, 64, 56, 56), None, {"kind": "max", "size": 3, "stride": 2}),
    "mean pooling 3x3, stride 1": Workload((8, 64, 56, 56), None, {"kind": "mean", "size": 3, "stride": 1}),
}


def with_adjoint(work: Workload, arrays: list[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The value, and the gradient of the sum of its squares."""
    options = dict(work.options)
    if work.kernel is not None:
        f: Callable[..., Any] = lambda x, w: signal.conv(x, w, **options)
    else:
        pool = {"max": signal.max_pool, "mean": signal.avg_pool}[options.pop("kind")]
        size = (options.pop("size"),) * (len(work.x) - 2)
        f = lambda x: pool(x, size, **options)
    gradient = ad.grad(lambda *xs: np.sum(f(*xs) ** 2), tuple(range(len(arrays))))
    return lambda: f(*arrays), lambda: gradient(*arrays)


def with_torch(work: Workload, arrays: list[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import torch

    torch.set_num_threads(1)
    n, options = len(work.x) - 2, dict(work.options)
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    functional: Any = torch.nn.functional
    if work.kernel is not None:
        f: Callable[..., Any] = lambda x, w: getattr(functional, f"conv{n}d")(x, w, None, **options)
    else:
        name = {"max": "max_pool", "mean": "avg_pool"}[options["kind"]]
        f = lambda x: getattr(functional, f"{name}{n}d")(x, options["size"], options["stride"])

    def value() -> Any:
        with torch.no_grad():
            return f(*tensors)

    def gradient() -> Any:
        y = f(*tensors)
        return [g.numpy() for g in torch.autograd.grad((y * y).sum(), tensors)]

    return value, gradient


def with_jax(work: Workload, arrays: list[Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    n, options = len(work.x) - 2, dict(work.options)
    given = [jax.numpy.asarray(a) for a in arrays]
    if work.kernel is not None:
        letters = "DHW"[3 - n :]
        layout = (f"NC{letters}", f"OI{letters}", f"NC{letters}")
        pad = [(options.get("padding", 0),) * 2] * n

        def f(x: Any, w: Any) -> Any:
            return jax.lax.conv_general_dilated(
                x,
                w,
                (options.get("stride", 1),) * n,
                pad,
                rhs_dilation=(options.get("dilation", 1),) * n,
                dimension_numbers=layout,
                feature_group_count=options.get("groups", 1),
            )
    else:
        window, steps = (1, 1, *[options["size"]] * n), (1, 1, *[options["stride"]] * n)
        start, combine = (-np.inf, jax.lax.max) if options["kind"] == "max" else (0.0, jax.lax.add)
        scale = 1.0 if options["kind"] == "max" else 1.0 / options["size"] ** n

        def f(x: Any) -> Any:  # type: ignore[misc]
            return jax.lax.reduce_window(x, x.dtype.type(start), combine, window, steps, "valid") * scale

    value = jax.jit(f)
    gradient = jax.jit(jax.grad(lambda *xs: jax.numpy.sum(f(*xs) ** 2), tuple(range(len(given)))))
    return lambda: value(*given).block_until_ready(), lambda: [np.asarray(g) for g in gradient(*given)]


CONTENDERS = {"adjoint": with_adjoint, "torch": with_torch, "jax": with_jax}


def best(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time, the least of several rounds in turn."""
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    return {name: 1e3 * t for name, t in least.items()}


def measured(work: Workload, dtype: str, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Times of values and of gradients."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(dtype) for shape in (work.x, work.kernel) if shape is not None]
    values: dict[str, Callable[[], Any]] = {}
    gradients: dict[str, Callable[[], Any]] = {}
    for name, make in CONTENDERS.items():
        try:
            values[name], gradients[name] = make(work, arrays)
        except ImportError:
            continue
    answers = {name: run() for name, run in gradients.items()}
    for name, answer in answers.items():
        for found, wanted in zip(answer, answers["adjoint"], strict=True):
            scale = float(np.max(np.abs(wanted)))
            np.testing.assert_allclose(found, wanted, atol=(1e-3 if dtype == "float32" else 1e-9) * scale, err_msg=name)
    return best(values, rounds), best(gradients, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of workloads; all by default")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    table = Table(title=f"milliseconds, {chosen.dtype}, one core: value / gradient")
    table.add_column("workload")
    for name in (*CONTENDERS, "best peer / ours"):
        table.add_column(name, justify="right")
    for title, work in WORKLOADS.items():
        if chosen.names and not any(part in title for part in chosen.names):
            continue
        value, gradient = measured(work, chosen.dtype, chosen.rounds)
        cells = [f"{value[name]:.2f} / {gradient[name]:.2f}" if name in value else "–" for name in CONTENDERS]
        peers = [name for name in value if name != "adjoint"]
        ratios = [f"{min(t[p] for p in peers) / t['adjoint']:.2f}" for t in (value, gradient)] if peers else ["–"]
        table.add_row(title, *cells, " / ".join(ratios))
    Console().print(table)


if __name__ == "__main__":
    main()
