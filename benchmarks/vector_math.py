"""How long a math function takes for one element: ours, compiled, and NumPy's or SciPy's.

    python benchmarks/vector_math.py [NAME …]

The arrays fit into the cache. Ours runs with two registers' width of lanes; the least of many runs counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import special

from adjoint.compile import machine
from adjoint.compile.vector_math import NAMES, call
from adjoint.compile.vector_math.arrays import ArrayFunction, default_width

LENGTH = 4096
# Where the arguments lie; (-5, 5) for the others.
RANGES = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), (0.01, 100.0)),
    **dict.fromkeys(("gammaln", "gamma", "rgamma", "digamma"), (0.1, 20.0)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh", "erfinv"), (-1.0, 1.0)),
    **dict.fromkeys(("logit", "ndtri"), (0.0, 1.0)),
    "log1p": (-0.5, 10.0),
    "arccosh": (1.0, 50.0),
    "power": (0.1, 5.0),
}


def rival(name: str) -> Callable[..., np.ndarray] | None:
    """The function of NumPy or SciPy."""
    name = {"digamma": "psi"}.get(name, name)
    return getattr(np, name, None) or getattr(special, name, None)


def least(run: Callable[[], object], rounds: int = 30) -> float:
    """Nanoseconds for an element, in the best of several runs."""
    best = float("inf")
    run()
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(8):
            run()
        best = min(best, (time.perf_counter() - start) / 8)
    return best / LENGTH * 1e9


def measured(name: str, dtype: str) -> tuple[float, float | None]:
    """Ours and theirs."""
    rng = np.random.default_rng(0)
    args = [rng.uniform(*RANGES.get(name, (-5.0, 5.0)), LENGTH).astype(dtype) for _ in range(NAMES[name])]
    out = np.empty(LENGTH, dtype)
    ours = ArrayFunction(lambda f, *xs: call(f, name, *xs), NAMES[name], dtype, 2 * default_width(dtype))
    addresses = [a.ctypes.data for a in (*args, out)]
    time_of_ours = least(lambda: ours.run(*addresses, LENGTH))
    theirs = rival(name)
    return time_of_ours, least(lambda: theirs(*args, out=out)) if theirs else None


def main(names: Sequence[str]) -> None:
    table = Table(title=f"ns for an element; vectors of {machine.vector_bits()} bits ({machine.host()[0]})")
    table.add_column("function")
    for dtype in ("float64", "float32"):
        for column in (f"{dtype}: ours", "NumPy, SciPy", "ratio"):
            table.add_column(column, justify="right")
    for name in names:
        cells = [name]
        for dtype in ("float64", "float32"):
            ours, theirs = measured(name, dtype)
            cells += [f"{ours:.2f}", f"{theirs:.2f}" if theirs else "–", f"{theirs / ours:.1f}" if theirs else "–"]
        table.add_row(*cells)
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1:] or list(NAMES))
