"""Equations that a path drives: dy = f(t, y) dX(t), with X through given points.

`Path` is X: lines, cubics with backward differences ("hermite": what comes later does not change what came before), or
the natural cubic spline. X is differentiable in time between its points and continuous in them, so that dy = f X′ dt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.integrate.reading import known_value
from adjoint.integrate.solving import solve
from adjoint.integrate.trajectory import Trajectory
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.tree.registry import register

__all__ = ["Path", "solve_cde"]

KINDS = ("linear", "hermite", "cubic")


@final
class Path:
    """X(t) through values at times: a tree, differentiable in both.

    `values` has one row for each time; `kind` is "linear", "hermite" or "cubic".

    ```python
    X = ad.integrate.Path(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0]))
    float(X(2.0)), float(X.derivative(0.5))  # → (1.0, 2.0)
    ```
    """

    def __init__(self, times: Any, values: Any, kind: str = "linear") -> None:
        if kind not in KINDS:
            raise ValueError(f"integrate.Path: kind is {kind!r}; it is {', '.join(map(repr, KINDS))}.")
        self.times: Any = times if isinstance(times, Tracer) else np.asarray(times, np.float64)
        self.values: Any = values if isinstance(values, Tracer) else np.asarray(values, np.float64)
        self.kind = kind
        if self.times.ndim != 1 or self.times.shape[0] < 2 or self.values.shape[:1] != self.times.shape:
            raise ShapeError(f"integrate.Path: times have shape {self.times.shape} and values {self.values.shape}; "
                             "values have one row for each of at least two times.")  # fmt: skip
        known = known_value(self.times)
        if known is not None and known.ndim == 1 and not np.all(np.diff(known) > 0):
            raise ValueError("integrate.Path: times must increase.")
        self.pieces = self._pieces()

    def _pieces(self) -> Value:
        """Coefficients (4, intervals, …) of powers of t - tᵢ."""
        X = self.values
        h = np.reshape(self.times[1:] - self.times[:-1], (-1,) + (1,) * (X.ndim - 1))
        rise = (X[1:] - X[:-1]) / h
        zero = 0 * rise
        if self.kind == "linear":
            return np.stack([X[:-1], rise, zero, zero])
        if self.kind == "hermite":
            before, after = np.concatenate([rise[:1], rise[:-1]]), rise
            return np.stack([X[:-1], before, 2 * (after - before) / h, (before - after) / (h * h)])
        return _natural(X, h, rise)

    def _at(self, t: Value) -> tuple[Value, Value]:
        count = self.times.shape[0] - 1
        i = np.clip(np.sum(stop_gradient(self.times) <= stop_gradient(t)) - 1, 0, count - 1)
        s = t - np.take(self.times, i)
        return np.take(self.pieces, i, axis=1), s

    @user_facing
    def __call__(self, t: Any) -> Value:
        """X(t); beyond the ends the first and last piece go on."""
        (a, b, c, d), s = self._at(np.asarray(t, float) if not isinstance(t, Tracer) else t)
        return a + s * (b + s * (c + s * d))

    @user_facing
    def derivative(self, t: Any) -> Value:
        """X′(t)."""
        (_, b, c, d), s = self._at(np.asarray(t, float) if not isinstance(t, Tracer) else t)
        return b + s * (2 * c + s * 3 * d)


def _natural(X: Value, h: Value, rise: Value) -> Value:
    """The cubic spline whose second derivative is zero at both ends."""
    n = X.shape[0]
    steps = np.reshape(h, (-1,))
    if n == 2:
        return np.stack([X[:-1], rise, 0 * rise, 0 * rise])
    matrix = np.diag(2 * (steps[:-1] + steps[1:])) + np.diag(steps[1:-1], 1) + np.diag(steps[1:-1], -1)
    right = np.reshape(6 * (rise[1:] - rise[:-1]), (n - 2, -1))
    inner = np.reshape(np.linalg.solve(matrix, right), (n - 2, *X.shape[1:]))
    edge = 0 * X[:1]
    second = np.concatenate([edge, inner, edge])
    return np.stack([X[:-1], rise - h * (2 * second[:-1] + second[1:]) / 6, second[:-1] / 2,
                     (second[1:] - second[:-1]) / (6 * h)])  # fmt: skip


def _taken_apart(path: Path) -> tuple[Mapping[str, Any], Any]:
    return {"times": path.times, "values": path.values, "pieces": path.pieces}, path.kind


def _put_together(static: Any, leaves: Mapping[str, Any]) -> Path:
    made = object.__new__(Path)
    made.times, made.values, made.pieces, made.kind = leaves["times"], leaves["values"], leaves["pieces"], static
    return made


register(Path, _taken_apart, _put_together)


@user_facing
def solve_cde(
    f: Callable[..., Any], path: Path, y0: Any, *, span: Any = None, args: Sequence[Any] = (), **options: Any
) -> Trajectory:
    """y with dy = f(t, y, *args) dX, X a `Path`: a controlled equation, as of a neural net that reads a time series.

    f gives, for each number of y, one for each channel of X: a leaf of y with shape s is a leaf of shape (*s, channels)
    of f (or s, where X has no channels). `options` are those of `solve`, whose answer it is. At the points of a path of
    lines X′ jumps; steps end there. Values and times of the path are differentiated like all else.

    ```python
    X = ad.integrate.Path(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [0.5]]))
    path = ad.integrate.solve_cde(lambda t, y: y[..., None], X, 1.0)      # dy = y dX: y = exp(X)
    float(np.round(path.last, 6))  # → 1.648721
    ```
    """
    if not isinstance(path, Path):
        raise TypeError(f"integrate.solve_cde: path is a {type(path).__name__}; give an integrate.Path.")
    ends = (path.times[0], path.times[-1]) if span is None else span
    has_channels = path.values.ndim > 1

    def right(t: Value, y: Any, path: Path, *args: Any) -> Any:
        rate = path.derivative(t)

        def drive(leaf: Any, own: Any) -> Any:
            wanted = (*np.shape(own), *path.values.shape[1:])
            if np.shape(leaf) != wanted:
                raise ShapeError(f"integrate.solve_cde: f gave {np.shape(leaf)} for a part of y of shape "
                                 f"{np.shape(own)}; with this path it is {wanted}.")  # fmt: skip
            return leaf @ rate if has_channels else leaf * rate

        return tree.map(drive, f(t, y, *args), y)

    if path.kind != "cubic" and span is None and "stops" not in options and path.times.shape[0] > 2:
        options["stops"] = path.times[1:-1]
    return solve(right, ends, y0, args=(path, *args), **options)
