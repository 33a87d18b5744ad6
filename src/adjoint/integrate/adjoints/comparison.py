"""All adjoints of one solution side by side: their gradients, how far they are apart, and what they cost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.integrate.adjoints.continuous import NAMES
from adjoint.integrate.adjoints.sweep import NODES
from adjoint.integrate.solving import solve

__all__ = ["AdjointComparison", "compare_adjoints"]


@dataclass(frozen=True)
class Compared:
    """One adjoint: its gradient, as a tree and as a vector, distances, drift, seconds of a call, numbers kept."""

    name: str
    gradient: Any
    flat: Any
    from_discrete: float
    from_continuous: float
    drift: float
    seconds: float
    memory: int


CALLS = 5  # that are timed; the least counts


@final
@dataclass(frozen=True)
class AdjointComparison:
    """What `compare_adjoints` found: `rows`, one for each adjoint; a table when printed.

    ```python
    from adjoint import integrate
    found = integrate.compare_adjoints(lambda t, y, k: -k * y, (0.0, 1.0), 1.0, args=(2.0,), adjoints=["discretize"])
    found["discretize"].name  # → 'discretize'
    ```
    """

    rows: tuple[Compared, ...]
    reference: Any  # the gradient of the equation at tight tolerances

    def __getitem__(self, name: str) -> Compared:
        return next(row for row in self.rows if row.name == name)

    def _cells(self) -> list[list[str]]:
        head = ["adjoint", "from discrete", "from continuous", "drift", "seconds", "numbers kept"]
        show = lambda x: "" if np.isnan(x) else f"{x:.2g}"
        return [head, *[[r.name, show(r.from_discrete), show(r.from_continuous), show(r.drift), show(r.seconds),
                         str(r.memory)] for r in self.rows]]  # fmt: skip

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in cells)

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        line = lambda row, tag: "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in row) + "</tr>"
        return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"

    def plot(self, axes: Any = None) -> Any:
        """Distances from the gradient of the equation over the time of a call; axes of matplotlib."""
        from matplotlib import pyplot
        from matplotlib.ticker import NullFormatter

        axes = pyplot.subplots()[1] if axes is None else axes
        points = [(row.seconds, max(row.from_continuous, 1e-17)) for row in self.rows]
        for row, point, mark in zip(self.rows, points, cycle("os^Dvx*"), strict=False):
            axes.loglog(*point, mark, label=row.name)
        for axis, limits, found in zip(
            (axes.xaxis, axes.yaxis), (axes.set_xlim, axes.set_ylim), zip(*points), strict=True
        ):
            limits(min(found) / 4, max(found) * 4)  # more than a decade: its powers of ten alone have a text
            axis.set_minor_formatter(NullFormatter())
        axes.legend(fontsize="small")
        axes.set_xlabel("seconds")
        axes.set_ylabel("distance from the gradient of the equation")
        return axes


def compare_adjoints(
    f: Callable[..., Any], span: Any, y0: Any, *, args: Sequence[Any] = (), loss: Callable[[Any], Any] | None = None,
    adjoints: Sequence[str] = ("discretize", *NAMES), **options: Any,
) -> AdjointComparison:  # fmt: skip
    """The gradient of loss(path) in (y0, args) by several adjoints, and its distance from the discrete and the
    continuous one.

    `loss` is a function of the `Trajectory`; without one it is the sum of the state at the end. The discrete gradient
    is that of the steps, "discretize". The continuous one is that of the equation, as far as steps at a thousandth of
    the tolerances give it.

    ```python
    from adjoint import integrate
    f, euler = lambda t, s, w: w * s, {"method": "euler", "first_step": 0.1}
    found = integrate.compare_adjoints(f, (0.0, 1.0), 1.0, args=(1.0,), adjoints=["discretize", "backsolve"], **euler)
    [float(np.round(row.flat[1], 4)) for row in found.rows]  # → [2.3579, 2.4801]
    ```
    """
    final_loss = _sum_of_end if loss is None else loss
    whole = (y0, tuple(args))

    def value(given: Any, adjoint: str, **changes: Any) -> Any:
        start, parameters = given
        path = solve(f, span, start, args=parameters, adjoint=adjoint, **{**options, **changes})
        return final_loss(path)

    flat = lambda gradient: np.concatenate([np.ravel(leaf) for leaf in tree.leaves(gradient)])
    is_stiff = getattr(options.get("method"), "stiff", False) or options.get("method", "auto") == "auto"
    tight = {"rtol": max(1e-3 * options.get("rtol", 1e-6), 1e-13), "atol": 1e-3 * options.get("atol", 1e-9)}
    tight |= {"method": "rodas5p" if is_stiff else "verner8", "first_step": None}
    exact = flat(grad(value)(whole, "discretize", **tight))
    discrete = flat(grad(value)(whole, "discretize"))
    steps = int(np.max(np.asarray(solve(f, span, y0, args=args, **options).steps)))
    n, p = (sum(np.size(leaf) for leaf in tree.leaves(part)) for part in whole)
    numbers = {"discretize": steps * 2 * n, "interpolate": steps * 7 * n, "quadrature": 2 * steps * 7 * n,
               "backsolve": 2 * n + p, "bvp": NODES * n, "forward": n * (1 + n + p), "reversible": 4 * n}  # fmt: skip
    rows: list[Compared] = []
    for name in adjoints:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gradient = grad(value)(whole, name)
            seconds = min(_processor_time(lambda name=name: grad(value)(whole, name)) for _ in range(CALLS))
        drift = _drift_in([str(w.message) for w in caught])
        found = flat(gradient)
        distance = lambda a, b: float(np.linalg.norm(a - b) / max(float(np.linalg.norm(b)), 1e-300))
        rows.append(Compared(name, gradient, found, distance(found, discrete), distance(found, exact), drift, seconds,
                             numbers.get(name, 0)))  # fmt: skip
    return AdjointComparison(tuple(rows), exact)


def _processor_time(run: Callable[[], Any]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def _sum_of_end(path: Any) -> Any:
    return sum(np.sum(np.real(leaf)) for leaf in tree.leaves(path.last))


def _drift_in(messages: Sequence[str]) -> float:
    """What a warning says of the distance from the start; NaN without one."""
    for message in messages:
        if "away from the start" in message:
            return float(message.split(" is ")[1].split(" away")[0])
    return float("nan")
