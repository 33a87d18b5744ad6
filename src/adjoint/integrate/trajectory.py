"""What `solve` answers: values along the path, how it ended, and what to do when it ended badly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import SolveError
from adjoint.debug import check
from adjoint.integrate.elsewhere import TRAJECTORY, explain_name
from adjoint.integrate.statuses import ADVICE, EVENT, MAX_STEPS, NOT_FINITE, STATUSES, TOO_SMALL
from adjoint.linear.solvers.answer import Coded
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value

__all__ = ["History", "Trajectory"]

_LEGEND = ", ".join(f"{code} {words}" for code, words in enumerate(STATUSES))


class History(NamedTuple):
    """A record of all steps that were accepted, one number for each: NaN behind the last one where it is compiled."""

    starts: Value
    sizes: Value
    errors: Value  # in units of the tolerances
    rejections: Value  # attempts before it


@final
@dataclass(frozen=True, eq=False)
class Trajectory(Coded):
    """The solution of a differential equation: a tree, so it goes through jit, vmap and grad.

    `values` are those at `times`, stacked along a first axis, in the structure of y0; `last` is the state where it
    ended, at `time`. Steps are constants to every derivative; values, the ends of the span and saved times have
    derivatives. After vmap there is one code and one count for each batch element.

    ```python
    path = ad.integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, save=[0.0, 0.5, 1.0])
    path.status, np.round(path.values, 4)  # → ('finished', [1.0, 0.6065, 0.3679])
    ```
    """

    STATUSES = STATUSES

    times: Value  # the saved times
    values: Any  # y at the saved times
    last: Any  # y where it ended
    time: Value  # where it ended
    code: Value  # how it ended, as a number; `status` in words
    steps: Value
    rejections: Value
    evaluations: Value
    jacobians: Value
    factorizations: Value
    stiff_steps: Value  # steps whose size was limited by stability
    stiffness: Value  # |λ| of the Jacobian times the length of the span, at the end
    integrals: Any = None  # of the integrand
    events: Any = None
    interpolation: Any = None  # for `at`
    drift: Any = None  # how far an adjoint that runs back ends from the start
    history: Any = None
    method: str = field(default="", metadata={"static": True})
    note: str = field(default="", metadata={"static": True})

    def __getattr__(self, name: str) -> Any:
        known = [k for k in (*self.__dataclass_fields__, *dir(type(self))) if not k.startswith("_")]
        raise AttributeError(explain_name("a Trajectory", name, TRAJECTORY, known))

    @property
    def converged(self) -> Any:
        """Whether it came to the end, or to an event that ends it."""
        return self.code <= EVENT

    @property
    def advice(self) -> str:
        """What to do, in words; empty when all is well."""
        if isinstance(self.code, Tracer):
            return ""
        codes = np.unique(np.asarray(self.code))
        words = [self.note] if self.note else []
        words += [ADVICE[int(code)] for code in codes if int(code) in ADVICE]
        if np.ndim(self.code) == 0:
            words += self._where() + self._stiff()
        return " ".join(words)

    def _where(self) -> list[str]:
        if int(np.asarray(self.code)) not in (MAX_STEPS, TOO_SMALL, NOT_FINITE):
            return []
        return [f"It got to t = {float(np.asarray(primal(self.time))):.6g}."]

    def _stiff(self) -> list[str]:
        steps, stiff = int(np.asarray(self.steps)), int(np.asarray(self.stiff_steps))
        if steps < 20 or stiff < 0.5 * steps:
            return []
        return [f"{stiff} of {steps} steps were cut by stability, not accuracy: method='rodas5p'."]

    def raise_if_failed(self) -> Trajectory:
        """Itself if it came to the end, else an error with the advice. In a compiled program the check is part of it.

        ```python
        path = ad.integrate.solve(lambda t, y: y**2, (0.0, 2.0), 1.0)
        path.status, float(np.round(path.time, 3))  # → ('step too small', 1.0)
        path.raise_if_failed()  # → SolveError: step too small
        ```
        """
        if isinstance(self.code, Tracer):
            message = f"{self.method}: status {{}} of {_LEGEND}, at t = {{}}"
            check(np.all(self.converged), message, self.code, self.time)
            return self
        if np.all(np.asarray(self.code) <= EVENT):
            return self
        raise SolveError(f"{self.method}: {self._summarize()}. {self.advice}")

    def _summarize(self) -> str:
        codes = np.asarray(self.code)
        if codes.ndim:
            failed = np.argwhere(codes > EVENT)
            words = ", ".join(sorted({STATUSES[int(c)] for c in codes.ravel() if c > EVENT}))
            where = ", ".join(str(int(i[0])) for i in failed[:5])
            return f"{len(failed)} of {codes.size} solutions failed ({words}; first batch elements: {where})"
        time, steps = float(np.asarray(primal(self.time))), int(np.asarray(self.steps))
        return f"{STATUSES[int(codes)]} at t = {time:.6g} after {steps} steps"

    def at(self, t: Any) -> Any:
        """y at any time of the path, by the dense output; needs dense=True.

        ```python
        path = ad.integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, dense=True)
        float(np.round(path.at(0.25), 6))  # → 0.778801
        ```
        """
        if self.interpolation is None:
            raise ValueError(f"{self.method}: nothing is kept between the saved times. Ask for it: dense=True.")
        return self.interpolation.at(t)

    def plot(self, axes: Any = None) -> Any:
        """The components over time; axes of matplotlib. What is drawn are the saved times, or the dense output."""
        from matplotlib import pyplot

        axes = pyplot.subplots()[1] if axes is None else axes
        times, values = self._drawn()
        for name, column in _columns(values):
            axes.plot(times, column, label=name)
        axes.set_xlabel("t")
        if sum(1 for _ in _columns(values)) > 1:
            axes.legend()
        return axes

    def phase(self, first: int = 0, second: int = 1, axes: Any = None) -> Any:
        """One component over another; axes of matplotlib."""
        from matplotlib import pyplot

        axes = pyplot.subplots()[1] if axes is None else axes
        columns = list(_columns(self._drawn()[1]))
        axes.plot(columns[first][1], columns[second][1])
        axes.set_xlabel(columns[first][0])
        axes.set_ylabel(columns[second][0])
        return axes

    def _drawn(self) -> tuple[Any, Any]:
        if self.interpolation is not None:
            times = self.interpolation.grid()
            return times, self.interpolation.many(times)
        return np.asarray(self.times), self.values

    def __repr__(self) -> str:
        if isinstance(self.code, Tracer):
            return f"Trajectory({self.method})"
        if np.ndim(self.code):
            return f"Trajectory({self.method}: {np.size(self.code)} solutions)"
        advice = self.advice
        counts = f"{int(self.steps)} steps, {int(self.rejections)} rejected, {int(self.evaluations)} evaluations"
        return f"Trajectory({self.method}: {self.status}, {counts}{f'. {advice}' if advice else ''})"

    def _repr_html_(self) -> str:
        if isinstance(self.code, Tracer):
            return f"<p>{self!r}</p>"
        shown = {"status": self.status, "time": primal(self.time), "steps": self.steps, "rejections": self.rejections,
                 "evaluations": self.evaluations, "jacobians": self.jacobians,
                 "factorizations": self.factorizations}  # fmt: skip
        rows = "".join(f"<tr><td>{name}</td><td>{entry}</td></tr>" for name, entry in shown.items())
        advice = f"<p>{self.advice}</p>" if self.advice else ""
        return f"<table><caption>Trajectory by {self.method}</caption>{rows}</table>{advice}"


def _columns(values: Any) -> list[tuple[str, Any]]:
    """Every component with its name."""
    found: list[tuple[str, Any]] = []
    leaves, structure = tree.flatten(values)
    for leaf, path in zip(leaves, structure.paths(), strict=True):
        array: Any = np.asarray(primal(leaf))
        flat = array.reshape(array.shape[0], -1)
        names: Sequence[str] = [f"y{path}"] if flat.shape[1] == 1 else [f"y{path}[{i}]" for i in range(flat.shape[1])]
        found += [(name, flat[:, i].real) for i, name in enumerate(names)]
    return found
