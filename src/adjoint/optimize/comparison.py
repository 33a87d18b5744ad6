"""What methods cost on a problem: calls of each oracle, linear equations, memory, time."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.jit import jit
from adjoint.optimize.minimizing import minimize
from adjoint.optimize.oracles import ORACLES

__all__ = ["Comparison", "Trial", "compare"]

METHODS = ("cg", "lbfgs", "bfgs", "newton-cg", "newton", "trust-exact")


class Trial(NamedTuple):
    """One method on a problem.

    ```python
    trial = ad.optimize.compare(lambda x: np.sum((x - 1.0) ** 2), np.zeros(3), methods=["bfgs"]).trials[0]
    trial.method, trial.status, trial.memory > 0  # → ('bfgs', 'converged', True)
    ```
    """

    method: str
    status: str
    fun: float
    residual: float
    iterations: int
    evaluations: dict[str, int]
    memory: int  # bytes that the method keeps from one iteration to the next
    seconds: float  # of a compiled run, after the first; NaN where it was not compiled


@final
@dataclass(frozen=True)
class Comparison:
    """What `compare` found: a list of `trials`, which prints as a table.

    ```python
    found = ad.optimize.compare(lambda x: np.sum((x - 1.0) ** 4), np.zeros(3), methods=["bfgs", "newton"])
    [trial.method for trial in found.trials], "solve" in found.table()  # → (['bfgs', 'newton'], True)
    ```
    """

    trials: tuple[Trial, ...]

    def rows(self) -> list[list[str]]:
        """The table as text, with its head; oracles that no method asks are left out."""
        asked = [name for name in ORACLES if any(name in trial.evaluations for trial in self.trials)]
        head = ["method", "status", "fun", "residual", "iterations", *asked, "memory", "ms"]
        body = [
            [t.method, t.status, f"{t.fun:.6g}", f"{t.residual:.2g}", str(t.iterations),
             *[str(t.evaluations.get(name, "")) for name in asked], _size(t.memory),
             "" if np.isnan(t.seconds) else f"{1e3 * t.seconds:.3g}"]
            for t in self.trials
        ]  # fmt: skip
        return [head, *body]

    def table(self) -> str:
        """The table in Markdown."""
        head, *body = self.rows()
        rule = ["---"] * 2 + ["---:"] * (len(head) - 2)
        return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *body])

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        align = lambda row: "  ".join(
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "\n".join(align(row).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        line = lambda row, tag: "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"
        return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in body)}</table>"


@user_facing
def compare(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    methods: Sequence[Any] = METHODS,
    compiled: bool = False,
    **options: Any,
) -> Comparison:
    """Minimize f from x0 by several methods, and tell what each of them cost.

    For each method: how it ended, calls of every oracle, linear equations (a factorization, or a run of conjugate
    gradients), the bytes that its state holds between iterations, and with `compiled=True` the time of a compiled run.
    `methods` are names or objects; `options` are those of `minimize`.

    ```python
    f = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    costs = ad.optimize.compare(f, np.zeros(5), methods=["lbfgs", "newton"])
    few, many = (trial.evaluations["gradient"] for trial in reversed(costs.trials))
    few < many, costs.trials[1].evaluations["solve"] > 0, costs.trials[0].memory  # → (True, True, 952)
    ```
    """
    trials: list[Trial] = []
    for method in methods:
        found = minimize(f, x0, *args, method=method, **options)
        name = method if isinstance(method, str) else repr(method)
        calls = {oracle: int(np.asarray(n)) for oracle, n in found.evaluations.items()}
        memory = sum(np.asarray(leaf).nbytes for leaf in tree.leaves(found.state))
        seconds = _measure(f, x0, args, method, options) if compiled else float("nan")
        trials.append(Trial(name, str(found.status), float(np.asarray(found.fun)), float(np.asarray(found.residual)),
                            int(np.asarray(found.iterations)), calls, memory, seconds))  # fmt: skip
    return Comparison(tuple(trials))


def _measure(f: Callable[..., Any], x0: Any, args: Any, method: Any, options: Any) -> float:
    run = jit(lambda x, *args: minimize(f, x, *args, method=method, **options).value)
    run(x0, *args)
    best = np.inf
    for _ in range(3):
        began = time.perf_counter()
        run(x0, *args)
        best = min(best, time.perf_counter() - began)
    return float(best)


def _size(count: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"
