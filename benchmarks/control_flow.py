"""Plain Python control flow under `jit(value_and_grad)`: beside numba by hand, JAX's `lax` and our own words for loops.

    python benchmarks/control_flow.py [part of a name …] [--rounds 15] [--write]

Values and gradients are compared first; then all take turns on one core, and the least processor time counts. Then:
what the first call costs as a function grows, what conversion costs, and converted code while values are known.
numba and JAX are left out where they are not installed. `--write` renews docs/benchmarks/control_flow.md.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.metadata
import linecache
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint.base.config import config  # noqa: E402
from adjoint.conversion import forms  # noqa: E402
from benchmarks.flow import plain, structured  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "control_flow.md"
Call = Callable[[Any], Any]  # the value and its gradient
CONTENDERS = ("plain Python", "ad.scan …", "numba by hand", "JAX lax")
SIZES = (15, 30, 60, 120, 240)  # lines of the functions whose first call is measured


class Workload(NamedTuple):
    """A program and its argument; `tangents` says how JAX gets at the gradient, whose loops go forwards alone."""

    program: str
    argument: Any
    tangents: str = ""  # "each": one for each number, all independent; "all": as many as there are numbers


class Row(NamedTuple):
    """Seconds of a call and of the first one, by contender; what stayed away is not a key."""

    name: str
    times: dict[str, float]
    first: dict[str, float]


def workloads() -> dict[str, Workload]:
    """All programs, by name."""
    rng = np.random.default_rng(1)
    found = {f"Kepler's equation, {n}": Workload("kepler", rng.uniform(0.1, 3.0, n), "each") for n in (1, 100, 10_000)}
    return found | {
        "yields of 200 bonds": Workload("bonds", np.array([0.03, 0.0005, 0.2]), "all"),
        "particle and walls, 1000 steps": Workload("particle", np.array([1.0, 0.3, 0.8, 0.05])),
        "Gauss-Seidel, 32": Workload("gauss_seidel", rng.normal(size=32), "all"),
        "tree with a stack, 127": Workload("tree_walk", rng.normal(size=127)),
        "for, 20000 iterations": Workload("long_loop", np.array([0.5, 0.0, 0.1])),
    }


def contenders(workload: Workload) -> dict[str, Call]:
    """The value and the gradient, by each who is installed."""
    words = SimpleNamespace(np=np, while_loop=ad.while_loop, scan=ad.scan, cond=ad.cond)
    in_words = getattr(structured, workload.program)
    found: dict[str, Call] = {
        "plain Python": ad.jit(ad.value_and_grad(getattr(plain, workload.program))),
        "ad.scan …": ad.jit(ad.value_and_grad(lambda x: in_words(words, x))),
    }
    if is_installed("numba"):
        found["numba by hand"] = getattr(importlib.import_module("benchmarks.flow.by_hand"), workload.program)
    if is_installed("jax"):
        found["JAX lax"] = by_jax(workload)
    return found


def is_installed(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def by_jax(workload: Workload) -> Call:
    """The program in `lax`: reverse mode where its loops have a length, else forward mode."""
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    words = SimpleNamespace(np=jax.numpy, while_loop=jax.lax.while_loop, scan=jax.lax.scan, cond=jax.lax.cond)
    f = functools.partial(getattr(structured, workload.program), words)
    if workload.tangents == "each":
        one = lambda m: jax.jvp(functools.partial(structured.kepler_one, words), (m,), (jax.numpy.ones_like(m),))

        def run(x: Any) -> Any:
            values, gradient = jax.vmap(one)(x)
            return jax.numpy.sum(values), gradient
    elif workload.tangents == "all":
        run = lambda x: (f(x), jax.jacfwd(f)(x))
    else:
        run = jax.value_and_grad(f)
    compiled = jax.jit(run)
    return lambda x: [np.asarray(part) for part in compiled(x)]


def least(runs: dict[str, Callable[[], Any]], rounds: int, sample: float = 2e-3) -> dict[str, float]:
    """The least processor time of a call of each; they take turns, and short ones are called several times at once."""
    found = dict.fromkeys(runs, np.inf)
    calls = dict.fromkeys(runs, 1)
    for turn in range(rounds + 1):
        for name, run in runs.items():
            began = time.process_time()
            for _ in range(calls[name]):
                run()
            seconds = (time.process_time() - began) / calls[name]
            found[name] = min(found[name], seconds)
            if turn == 0:
                calls[name] = max(1, round(sample / max(seconds, 1e-7)))
    return found


def compare(name: str, workload: Workload, rounds: int) -> Row:
    """One program by all: the answers, then the times."""
    runs: dict[str, Callable[[], Any]] = {}
    answers: dict[str, Any] = {}
    first: dict[str, float] = {}
    for who, call in contenders(workload).items():
        began = time.process_time()
        answers[who] = call(workload.argument)
        first[who] = time.process_time() - began
        runs[who] = functools.partial(call, workload.argument)
    expected = answers["plain Python"]
    for value, gradient in answers.values():
        np.testing.assert_allclose(value, expected[0], rtol=1e-9)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-6, atol=1e-8)
    return Row(name, least(runs, rounds), first)


# ---------------------------------------------------------------------- functions of many lines


def written(lines: int) -> Call:
    """A function of so many lines: branches and loops on values, one after the other; 2^(lines / 5) paths."""
    blocks = ["    if a > b:", "        a = a * 0.7 - 0.1 * x[{i}]", "    else:", "        b = math.tanh(b + a * 0.3)"]
    loop = ["    while abs(b) > 0.5:", "        b = b * 0.6 + 0.01 * x[{i}]", "    a += 0.5 * b"]
    text = ["def f(x):", "    a, b = x[0], x[1]"]
    number = 0
    while len(text) < lines - 1:
        piece = [*blocks, "    b = b - math.sin(a) * 0.5"] if number % 3 else loop
        text += [line.replace("{i}", str(number % 4)) for line in piece[: lines - 1 - len(text)]]
        if text[-1].endswith(":"):  # no room for what would stand below it
            text.pop()
            break
        number += 1
    text.append("    return a + b * b")
    source = "\n".join(text) + "\n"
    name = f"<{lines} lines>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"math": importlib.import_module("math"), "__name__": "lines"}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def first_calls(sizes: Sequence[int]) -> list[tuple[int, float, float]]:
    """(lines, milliseconds of conversion, processor seconds of the first call of `jit(value_and_grad)`)."""
    found: list[tuple[int, float, float]] = []
    x = np.array([0.9, 0.4, -0.3, 1.2])
    for lines in sizes:
        f = written(lines)
        began = time.process_time()
        ad.jit(ad.value_and_grad(f))(x)
        seconds = time.process_time() - began
        found.append((lines, 1e3 * conversion_time(f, forms.NATIVE), seconds))
    return found


def conversion_time(f: Any, form: int, repeats: int = 5) -> float:
    """The least processor time to find a function in its file, which is parsed already, rewrite and compile it."""
    best = np.inf
    forms.find_origin(f)
    for _ in range(repeats):
        began = time.process_time()
        assert forms._make(f, form).code is not None  # pyright: ignore[reportPrivateUsage] (nothing is remembered)
        best = min(best, time.process_time() - began)
    return best


# ---------------------------------------------------------------------- eager code


def newton_eager(x: Any) -> Any:
    """A root to a tolerance."""
    y = x
    while abs(y**3 + y - x) > 1e-12:
        y = y - (y**3 + y - x) / (3.0 * y**2 + 1.0)
    return y


def branches_eager(x: Any) -> Any:
    """A hundred steps with a branch."""
    v = 0.5 * x
    for _ in range(100):
        if v > 0.3:
            v = v * 0.9 - 0.1
        else:
            v = v + 0.2 * x
    return v


def arrays_eager(x: Any) -> Any:
    """Steps on an array."""
    y = x * np.ones(100)
    for _ in range(20):
        y = y + 0.1 * np.sin(y)
        y = np.where(y > 2.0, y - 1.0, y)
    return np.sum(y)


def eager_rows(rounds: int) -> list[tuple[str, float, float, float, float]]:
    """(name, ms of conversion, µs of the gradient as it stands, µs converted, µs of the plain function converted)."""
    found: list[tuple[str, float, float, float, float]] = []
    for f in (newton_eager, branches_eager, arrays_eager):
        converted: Any = forms.convert(f, forms.EAGER)
        np.testing.assert_array_equal(ad.value_and_grad(f)(1.7), ad.value_and_grad(converted)(1.7))
        runs: dict[str, Call] = {"as it is": ad.value_and_grad(f), "converted": ad.value_and_grad(converted)}
        times = least({name: functools.partial(run, 1.7) for name, run in runs.items()}, rounds)
        plainly = least({"": functools.partial(converted, 1.7), "f": functools.partial(f, 1.7)}, rounds)
        spent = 1e3 * conversion_time(f, forms.EAGER)
        assert f.__doc__ is not None
        found.append(
            (f.__doc__[:-1], spent, 1e6 * times["as it is"], 1e6 * times["converted"], plainly[""] / plainly["f"])
        )
    return found


# ---------------------------------------------------------------------- the page


def seconds_text(seconds: float | None) -> str:
    """A time with its unit; a dash where there is none."""
    if seconds is None:
        return "–"
    unit, factor = ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3) if seconds < 1 else ("s", 1.0)
    return f"{seconds * factor:.3g} {unit}"


def ratio_text(row: Row, above: str, below: str) -> str:
    """How many times longer one takes than the other."""
    return f"{row.times[above] / row.times[below]:.2g}" if above in row.times and below in row.times else "–"


HEADINGS = ("program", *CONTENDERS, "plain / numba", "JAX / plain", "first call", "numba's", "JAX's")


def cells(row: Row) -> list[str]:
    """A row of the first table, as text."""
    firsts = [row.first.get(who) for who in ("plain Python", "numba by hand", "JAX lax")]
    return [
        row.name,
        *[seconds_text(row.times.get(who)) for who in CONTENDERS],
        ratio_text(row, "plain Python", "numba by hand"),
        ratio_text(row, "JAX lax", "plain Python"),
        *[seconds_text(f) for f in firsts],
    ]


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    head = ["| " + " | ".join(headings) + " |", "|---|" + "---:|" * (len(headings) - 1)]
    return [*head, *["| " + " | ".join(row) + " |" for row in rows]]


GROWTH = ("lines", "conversion, ms", "first call, s", "first call per line, ms")
EAGER = ("program", "conversion, ms", "gradient, µs", "converted, µs", "ratio", "ratio without derivatives")


def growth_cells(row: tuple[int, float, float]) -> list[str]:
    lines, conversion, seconds = row
    return [str(lines), f"{conversion:.1f}", f"{seconds:.2f}", f"{1e3 * seconds / lines:.1f}"]


def eager_cells(row: tuple[str, float, float, float, float]) -> list[str]:
    name, conversion, before, after, plainly = row
    return [name, f"{conversion:.1f}", f"{before:.0f}", f"{after:.0f}", f"{after / before:.2f}", f"{plainly:.2f}"]


def page(rows: Sequence[Row], growth: Sequence[Any], eager: Sequence[Any]) -> str:
    """The page of the documentation."""
    close = [row for row in rows if "numba by hand" in row.times]
    near = sum(row.times["plain Python"] <= 2 * row.times["numba by hand"] for row in close)
    others = [row for row in rows if "JAX lax" in row.times]
    far = sum(row.times["JAX lax"] >= 5 * row.times["plain Python"] for row in others)
    about = """# Plain Python control flow

Written by `python benchmarks/control_flow.py --write`; every figure is measured: the least processor time on one core
of a shared machine, interleaved, after values and gradients were compared. The programs stand in
`benchmarks/flow/`: *plain Python* has `if`, `while`, `for` and lists alone, under `ad.jit(ad.value_and_grad(f))`;
*ad.scan …* is the same written with `ad.scan`, `ad.while_loop`, `ad.cond`; *numba by hand* has its derivative written
by hand; *JAX lax* takes reverse mode where its loops have a length. Elsewhere it has forward mode alone, with one
tangent for each number, or batched by `vmap` where they are independent (Kepler's equation).
"""
    verdict = f"""
At most twice the time of numba by hand: {near} of {len(close)}. At least five times faster than JAX: {far} of
{len(others)}. First calls are processor time from nothing, tracing and compiling, without the cache on disk.
numba has compiled Kepler's equation with the first size, for all sizes.

## As a function grows

Branches and loops on values, one after the other: the number of paths doubles with every branch, the time does not.
*Conversion* is rewriting and compiling the Python alone.
"""
    known = """
## While values are known

`ad.value_and_grad(f)` without `jit`, as the function stands and converted; and both without derivatives.
"""
    tables = [
        table_lines(HEADINGS, [cells(row) for row in rows]),
        table_lines(GROWTH, [growth_cells(row) for row in growth]),
        table_lines(EAGER, [eager_cells(row) for row in eager]),
    ]
    parts = zip((about, verdict, known), tables, strict=True)
    return "\n".join([line for text, lines in parts for line in (text, *lines)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("parts", nargs="*", help="parts of names of programs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/control_flow.md")
    options = parser.parse_args()
    config.cache = False
    ad.jit(ad.grad(np.sin))(1.0)  # so that loading the compiler counts for nobody
    rows: list[Row] = []
    for name, workload in workloads().items():
        if not options.parts or any(part in name for part in options.parts):
            rows.append(compare(name, workload, options.rounds))
            Console(width=160).print(" | ".join(cells(rows[-1])))
    growth, eager = first_calls(SIZES), eager_rows(options.rounds)
    for headings, lines in (
        (HEADINGS, [cells(row) for row in rows]),
        (GROWTH, [growth_cells(row) for row in growth]),
        (EAGER, [eager_cells(row) for row in eager]),
    ):
        table = Table(*headings)
        for line in lines:
            table.add_row(*line)
        Console(width=160).print(table)
    if options.write:
        PAGE.write_text(page(rows, growth, eager))


if __name__ == "__main__":
    main()
