"""What a minimization answers: the minimizer, how it ended, and what to do when it ended badly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.implicit.vectors import named_element
from adjoint.linear.solvers.answer import Answer, read_number
from adjoint.optimize.statuses import CONVERGED, STATUSES, advice_for
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value, type_of

__all__ = ["Optimum", "Prices"]


@final
@dataclass(frozen=True, eq=False)
class Prices:
    """Multipliers by kind of constraint: how much a unit more of each right side would save."""

    equality: Value
    inequality: Value  # in the order in which they were given
    lower: Value
    upper: Value


@final
@dataclass(frozen=True, eq=False)
class Optimum(Answer):
    """A minimizer, a root or a fixed point as far as it was found: a tree, so it goes through jit, vmap and grad.

    `value` (also `x`) is differentiated by the conditions that it fulfills, `fun` by the envelope theorem, `grad` and
    prices follow x; all else has no derivative. Under vmap there is one code, one count and one residual for each
    batch element.

    ```python
    found = ad.optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2))
    found.value, found.status, bool(found.converged)  # → ([1.0, 1.0], 'converged', True)
    ```
    """

    STATUSES = STATUSES
    FAILURE = "no solution was found"
    MANY = "problems"

    value: Any  # x, in the structure of x0
    fun: Any  # the function at x
    grad: Any  # its gradient at x, in the structure of x0
    code: Value  # how it ended, as a number; `status` in words
    iterations: Value
    evaluations: dict[str, Value]  # how often each oracle was asked
    residual: Value  # how far the conditions are from being fulfilled, in the largest component
    target: Value  # the residual that was asked for
    multipliers: Any = None
    active: Any = None  # at which bounds x lies: -1 at the lower one, 1 at the upper one, 0 between
    history: Any = None  # {"fun", "residual", "step"} after each iteration, from the start; NaN after the last
    state: Any = None  # of the method, for warm=
    aux: Any = None
    method: str = field(default="", metadata={"static": True})
    note: str = field(default="", metadata={"static": True})  # what was found out about a failure
    feasible: Any = True  # whether x obeys bounds, constraints and sets, to the tolerance
    certificate: Any = None  # why a program has no solution; with certify=True which promises a run has kept

    @property
    def x(self) -> Any:
        """The minimizer, by SciPy's name."""
        return self.value

    @property
    def niter(self) -> Value:
        """The number of iterations."""
        return self.iterations

    @property
    def advice(self) -> str:
        """What to do, in words; empty when it converged."""
        if isinstance(self.code, Tracer):
            return ""
        codes = [int(code) for code in np.unique(np.asarray(self.code))]
        words = [advice_for(code) for code in codes if code != CONVERGED]
        if words and np.ndim(self.code) == 0:
            words += [where for where in [self._largest()] if where]
        if hasattr(self.certificate, "direction"):
            words += ["The proof is in certificate."]
        return " ".join([*([self.note] if self.note else []), *[w for w in words if w]])

    def _largest(self) -> str:
        """The leaf at which the gradient is largest."""
        if self.grad is None:
            return ""
        leaves, structure = tree.flatten(self.grad)
        arrays = [np.abs(np.atleast_1d(np.asarray(primal(leaf)))).ravel() for leaf in leaves]
        if sum(a.size for a in arrays) <= 1 or all(np.all(np.isnan(a)) for a in arrays):
            return ""
        flat = np.concatenate(arrays)
        with np.errstate(all="ignore"):
            at = int(np.argmax(np.where(np.isnan(flat), np.inf, flat)))
        types = [type_of(np.abs(np.asarray(primal(leaf)))) for leaf in leaves]
        return f"The gradient is largest at {named_element(at, types, structure.paths())}."

    def table(self) -> str:
        """Iteration by iteration: value, residual and length of the step, where history=True kept them.

        ```python
        found = ad.optimize.minimize(lambda x: (x - 2.0) ** 2, 0.0, history=True)
        found.table().splitlines()[0].split()  # → ['iteration', 'fun', 'residual', 'step']
        ```
        """
        if self.history is None:
            raise ValueError(f"{self.method}: nothing was kept of the iterations. Ask for it: history=True.")
        if np.ndim(self.code):
            raise ValueError(f"{self.method}: a table is of one problem. Take one batch element: "
                             "ad.tree.map(lambda a: a[i], found).table().")  # fmt: skip
        count = int(np.asarray(self.iterations)) + 1
        lines = [f"{'iteration':>9} {'fun':>22} {'residual':>12} {'step':>12}"]
        columns = [np.asarray(self.history[name])[:count] for name in ("fun", "residual", "step")]
        for i, (fun, residual, step) in enumerate(zip(*columns, strict=True)):
            lines.append(f"{i:9d} {fun:22.14g} {residual:12.3g} {step:12.3g}")
        return "\n".join(lines)

    def plot(self, axes: Any = None) -> Any:
        """Value above its smallest, residual and step, iteration by iteration, where history=True kept them.

        With certify= the bounds that the method promises are drawn beside them.
        """
        import matplotlib.pyplot as plt

        if self.history is None:
            raise ValueError(f"{self.method}: nothing was kept of the iterations. Ask for it: history=True.")
        axes = plt.subplots()[1] if axes is None else axes
        count = int(np.max(np.asarray(self.iterations))) + 1
        for number, name in enumerate(("fun", "residual", "step")):
            entries = np.asarray(self.history[name])[..., :count]
            entries = entries - np.nanmin(entries, axis=-1, keepdims=True) if name == "fun" else entries
            lines = np.reshape(np.where(entries > 0, entries, np.nan), (-1, entries.shape[-1]))
            axes.semilogy(lines.T, color=f"C{number}")[0].set_label(name)  # one color for all batch elements
        if hasattr(self.certificate, "draw"):
            self.certificate.draw(axes, count)
        axes.set_xlabel("iteration")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        if isinstance(self.code, Tracer) or np.ndim(self.code):
            return self._describe("")
        fun, residual = (float(read_number(v)) for v in (self.fun, self.residual))
        count = int(np.asarray(self.iterations))
        return self._describe(f"{self.status} after {count} iterations, fun {fun:.6g}, residual {residual:.3g}")

    def _repr_html_(self) -> str:
        if isinstance(self.code, Tracer):
            return f"<p>{self!r}</p>"
        shown = {"status": self.status, "fun": self.fun, "iterations": self.iterations, "residual": self.residual,
                 "wanted": self.target, **{f"calls of {k}": v for k, v in self.evaluations.items()}}  # fmt: skip
        rows = "".join(f"<tr><td>{name}</td><td>{primal(entry)}</td></tr>" for name, entry in shown.items())
        advice = f"<p>{self.advice}</p>" if self.advice else ""
        return f"<table><caption>Optimum by {self.method}</caption>{rows}</table>{advice}"
