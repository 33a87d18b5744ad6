"""`adjoint bench`: gradients on this machine beside the same gradients written by hand in NumPy."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from adjoint.api.gradients import grad
from adjoint.base.progress import progress
from adjoint.command.failures import CommandError, Exit
from adjoint.command.printing import console, table
from adjoint.jit import jit

HELP = """
Time gradients on this machine: by adjoint as it runs without a compiler, by adjoint compiled, and written by hand in
NumPy. Takes some seconds. The comparison with other libraries is `make bench` in the project's folder.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `adjoint bench`."""
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each function is timed (default: 0.3)")
    parser.add_argument("--json", action="store_true", help="the rows as JSON, in seconds")


@dataclass(frozen=True)
class Problem:
    """A function, its gradient by hand, and where they are computed."""

    name: str
    function: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """Times in seconds."""

    name: str
    value: float
    by_hand: float
    eager: float
    compiled: float
    compiling: float
    error: float  # largest difference from the gradient by hand, relative to its largest element


def problems() -> list[Problem]:
    """A number, a long vector, a regression, a network."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=100_000)
    features, w = rng.normal(size=(2_000, 100)), rng.normal(size=100) / 10
    signs = np.sign(rng.normal(size=2_000))
    images, layer, last = rng.normal(size=(256, 64)), rng.normal(size=(64, 128)) / 8, rng.normal(size=(128, 10)) / 11
    goal = rng.normal(size=(256, 10))

    def curve(x: Any) -> Any:
        c = x**2 + np.exp(x**2)
        return np.sqrt(c) + np.cos(c)

    def curve_by_hand(x: Any) -> Any:
        inner = np.exp(x**2)
        c = x**2 + inner
        return (0.5 / np.sqrt(c) - np.sin(c)) * (2 * x + 2 * x * inner)

    def wave(x: Any) -> Any:
        return np.sum(np.sin(x) * np.exp(-(x**2)))

    def wave_by_hand(x: Any) -> Any:
        return (np.cos(x) - 2 * x * np.sin(x)) * np.exp(-(x**2))

    def logistic(w: Any, features: Any, signs: Any) -> Any:
        return np.sum(np.logaddexp(0.0, -signs * (features @ w)))

    def logistic_by_hand(w: Any, features: Any, signs: Any) -> Any:
        return features.T @ (-signs / (1.0 + np.exp(signs * (features @ w))))

    def network(layer: Any, images: Any, last: Any, goal: Any) -> Any:
        return np.sum((np.tanh(images @ layer) @ last - goal) ** 2)

    def network_by_hand(layer: Any, images: Any, last: Any, goal: Any) -> Any:
        hidden = np.tanh(images @ layer)
        return images.T @ (2 * (hidden @ last - goal) @ last.T * (1 - hidden**2))

    return [
        Problem("a curve, one number", curve, curve_by_hand, (np.float64(0.7),)),
        Problem("sum of 100,000 waves", wave, wave_by_hand, (x,)),
        Problem("regression, 2,000 × 100", logistic, logistic_by_hand, (w, features, signs)),
        Problem("two layers, 256 × 64", network, network_by_hand, (layer, images, last, goal)),
    ]


def measure(problem: Problem, seconds: float) -> Row:
    """Time one problem all four ways."""
    eager, compiled = grad(problem.function), jit(grad(problem.function))
    known = np.asarray(problem.by_hand(*problem.args))
    start = time.perf_counter()
    gradients = [eager(*problem.args), compiled(*problem.args)]
    compiling = time.perf_counter() - start
    size = float(np.max(np.abs(known)))
    error = max(float(np.max(np.abs(np.asarray(one) - known))) for one in gradients) / size
    variants = (problem.function, problem.by_hand, eager, compiled)
    value, by_hand, by_tape, by_machine = (best_time(variant, problem.args, seconds) for variant in variants)
    return Row(problem.name, value, by_hand, by_tape, by_machine, compiling, error)


def best_time(function: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> float:
    """The shortest time of a call: other work on the machine only ever adds to it."""
    start = time.perf_counter()
    function(*args)
    calls = max(1, int(0.01 / max(time.perf_counter() - start, 1e-7)))  # in blocks of a hundredth of a second
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            function(*args)
        best = min(best, (time.perf_counter() - start) / calls)
    return float(best)


def run(options: argparse.Namespace) -> Exit:
    """Measure, and tell."""
    if not 0 < options.seconds <= 60:
        raise CommandError(f"--seconds is {options.seconds:g}; between 0 and 60, please.")
    rows = [measure(problem, options.seconds) for problem in progress(problems(), "Timing gradients")]
    wrong = [row for row in rows if not row.error < 1e-8]
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        tell(rows)
    for row in wrong:
        print(f"{row.name}: the gradient differs from the one by hand by {row.error:.1e}.")
    return Exit.NO if wrong else Exit.WELL


def tell(rows: list[Row]) -> None:
    """The table: times, and in brackets how many times the gradient by hand."""
    columns = ("value", "gradient by hand", "ad.grad", "ad.jit(ad.grad)", "first calls", "error")
    printed = table("Gradients on this machine: best time of a call (and times the one by hand)", "", *columns)
    for row in rows:
        ratios = [f"{shown(duration)} ({duration / row.by_hand:.2g}×)" for duration in (row.eager, row.compiled)]
        printed.add_row(
            row.name, shown(row.value), shown(row.by_hand), *ratios, shown(row.compiling), f"{row.error:.0e}"
        )
    out = console()
    out.print(printed)
    out.print("`make bench` in the project's folder compares with other libraries on larger problems.", markup=False)


def shown(seconds: float) -> str:
    """A time with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
