"""Explicit Runge-Kutta methods: one class, its coefficients from `tableaux` or the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.integrate import tableaux
from adjoint.integrate.control import Controller
from adjoint.integrate.interpolation import bootstrap, hermite
from adjoint.program.types import Value

__all__ = ["Method", "RungeKutta", "Step", "explicit_names", "named_explicit"]

Rows = tuple[tuple[float, ...], ...]


class Step(NamedTuple):
    """What a step gives: the next state, an estimate of its error, and of the largest |λ| of the Jacobian."""

    state: Any
    error: Value | None
    radius: Value | None = None
    second: Value | None = None  # another estimate of the error, of lower order
    failed: Value | None = None  # whether an equation inside could not be solved
    work: Value | None = None  # (evaluations, Jacobians, factorizations), where they differ from step to step
    growth: Value | None = None  # of the next step, where the method itself decides
    exponent: Value | None = None  # order of the estimate + 1, where it differs from step to step


class Method:
    """What a method states about itself, unless it says otherwise; its states begin with y and f(t, y)."""

    stiff = False
    implicit = False
    takes_mass = False
    symmetric = False
    reversible = False
    symplectic = False
    splits = False  # whether q and p of y = (q, p) move one after the other

    def value(self, state: Any) -> Value:
        """y of a state."""
        return state[0]

    def derivative(self, state: Any) -> Value:
        """f of a state."""
        return state[1]


@dataclass(frozen=True)
class RungeKutta(Method):
    """An explicit Runge-Kutta method: Yᵢ = y + h Σⱼ aᵢⱼ f(t + cⱼ h, Yⱼ), y₁ = y + h Σ bᵢ f(t + cᵢ h, Yᵢ).

    `error` are the weights of an estimate of the error, b - b̂; without them steps are all of the size `first_step`.

    ```python
    from adjoint import integrate
    method = integrate.RungeKutta(A=[[], [1.0]], b=[0.5, 0.5], c=[0.0, 1.0], order=2)
    path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, method=method, first_step=0.1)
    float(path.last)  # → 0.368540…
    ```
    """

    A: Any
    b: Any
    c: Any
    error: Any = None
    order: int = 1
    error_order: int | None = None
    name: str = "runge-kutta"
    third: Any = None  # weights of a second estimate of the error (DOP853)
    controller: Controller = field(default=Controller())

    def __post_init__(self) -> None:
        for name in ("A", "b", "c", "error", "third"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        s = len(self.b)
        if len(self.A) != s or len(self.c) != s or any(len(row) > i for i, row in enumerate(self.A)):
            raise ValueError(
                f"RungeKutta: A has {len(self.A)} rows, b {s} and c {len(self.c)} numbers; an explicit method has one "
                "row of A for each stage, row i with at most i numbers (from row 0)."
            )

    @property
    def adaptive(self) -> bool:
        """Whether it estimates its error."""
        return self.error is not None

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def fsal(self) -> bool:
        """Whether the last stage is the first one of the next step."""
        last = self.A[-1] if self.A else ()
        return self.stages > 1 and self.c[-1] == 1.0 and tuple(self.b[:-1]) == tuple(last) and self.b[-1] == 0.0

    @property
    def evaluations(self) -> int:
        """Evaluations of f in a step; the first stage is known from the step before."""
        return self.stages - 1 if self.fsal else self.stages

    @property
    def estimate_order(self) -> int:
        """The order of the error estimate."""
        return self.order - 1 if self.error_order is None else self.error_order

    @property
    def stability_limit(self) -> float:
        """Where the stability function leaves the unit disk on the negative real axis."""
        return _real_limit(self.A, self.b)

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """The state: (y, f(t, y))."""
        return y, f(t, y)

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step of size h, forwards or backwards."""
        y, first = state
        dt = h.astype(y.dtype)
        if getattr(f, "is_large", False) and self.stages > 2:
            return self._rolled(f, t, h, dt, y, first)
        ks: list[Value] = [first]
        last = y
        for i in range(1, self.stages):
            before, last = last, y + dt * _sum(self.A[i], ks, y.dtype)
            ks.append(f(t + self.c[i] * h, last))
        if self.fsal:
            new, derivative = last, ks[-1]
            radius = _radius(ks[-1] - ks[-2], last - before, new, dt * derivative)
        else:
            new = y + dt * _sum(self.b, ks, y.dtype)
            derivative = f(t + h, new)
            radius = _radius(derivative - ks[-1], new - last, new, dt * derivative)
        error = None if self.error is None else dt * _sum(self.error, ks, y.dtype)
        second = None if self.third is None else dt * _sum(self.third, ks, y.dtype)
        return Step((new, derivative), error, radius, second)

    def _rolled(self, f: Any, t: Value, h: Value, dt: Value, y: Value, first: Value) -> Step:
        """The same with f once: stages are a loop over the rows of the table, and so is f at the end."""
        s = self.stages
        rows = np.zeros((s + 1, s + 1), y.dtype)
        for i, row in enumerate(self.A):
            rows[i, : len(row)] = row
        rows[s, :s] = self.b
        count = s if self.fsal else s + 1
        times, table = np.array([*self.c, 1.0]), rows[:count, :count]
        ks = np.zeros((count, *y.shape), y.dtype) + 0 * first
        ks[0] = first

        def stage(now: Any, row: Any) -> Any:
            ks, last, _ = now
            i, weights, time = row
            point = y + dt * (weights @ ks)
            ks = ks.copy()
            ks[i] = f(t + time * h, point)
            return (ks, point, last), None

        rows_from_second = (np.arange(1, count), table[1:], times[1:count])
        (ks, new, before), _ = scan(stage, (ks, y, y), rows_from_second)
        error = None if self.error is None else dt * (np.array([*self.error, 0.0][:count], y.dtype) @ ks)
        second = None if self.third is None else dt * (np.array([*self.third, 0.0][:count], y.dtype) @ ks)
        return Step((new, ks[-1]), error, _radius(ks[-1] - ks[-2], new - before, new, dt * ks[-1]), second)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """Coefficients of the dense output on a step, of the order of the method (at least 3)."""
        (y0, f0), (y1, f1), dt = before, after, h.astype(before[0].dtype)
        start = hermite(dt, y0, y1, f0, f1)
        return bootstrap(f, t, dt, y0, y1, f0, f1, start, self.order)


def _frozen(value: Any) -> Any:
    """Nested tuples of floats: equal methods are equal, and have one program."""
    if value is None or isinstance(value, int | float):
        return None if value is None else float(value)
    try:
        return tuple(_frozen(v) for v in value)
    except TypeError:
        return float(value)


def _sum(weights: Sequence[float], ks: Sequence[Value], dtype: Any) -> Value:
    """Σ wᵢ kᵢ over the weights that are not zero."""
    terms = [dtype.type(w) * k for w, k in zip(weights, ks, strict=False) if w != 0.0]
    total = terms[0] if terms else 0 * ks[0]
    for term in terms[1:]:
        total = total + term
    return total


def _radius(change: Value, distance: Value, y: Value, move: Value) -> Value:
    """|Δf| / |Δy|, in units of |y| + |h f| of each component: about the largest |λ| that a step meets."""
    size = np.abs(y) + np.abs(move)
    unit = 1 / np.where(size > 0, size, y.dtype.type(1))
    change, distance = change * unit, distance * unit
    squares = np.float64(1.0) * np.sum(distance * distance)
    found = np.sqrt(np.float64(1.0) * np.sum(change * change) / np.where(squares > 0, squares, 1.0))
    return np.where(squares > 0, found, 0.0)


@cache
def _real_limit(A: Rows, b: tuple[float, ...]) -> float:
    """The largest x with |R(-z)| ≤ 1 for all z up to x."""
    rows = np.zeros((len(b), len(b)))
    for i, row in enumerate(A):
        rows[i, : len(row)] = row
    grid = np.arange(0.0, 30.0, 0.01)[1:]
    powers: list[Any] = [np.ones(len(b))]
    for _ in b:
        powers.append(rows @ powers[-1])
    coefficients = [1.0, *[float(np.dot(b, p)) for p in powers[: len(b)]]]
    values = np.abs(sum(c * (-grid) ** k for k, c in enumerate(coefficients)))
    outside = np.nonzero(values > 1 + 1e-9)[0]
    return float(grid[outside[0]] if outside.size else grid[-1])


_SINGLE: dict[str, tuple[str, int, int, int | None]] = {  # text, stages, order, order of the estimate
    "euler": ("EULER", 1, 1, None),
    "midpoint": ("MIDPOINT", 2, 2, None),
    "heun": ("HEUN", 2, 2, 1),
    "ralston": ("RALSTON", 2, 2, 1),
    "rk4": ("CLASSIC", 4, 4, None),
    "three-eighths": ("THREE_EIGHTHS", 4, 4, None),
    "bosh3": ("BOGACKI_SHAMPINE", 4, 3, 2),
    "dopri5": ("DORMAND_PRINCE", 7, 5, 4),
    "tsit5": ("TSITOURAS", 7, 5, 4),
    "dop853": ("DOP853", 12, 8, 7),
    "verner6": ("VERNER6", 9, 6, 5),
    "verner7": ("VERNER7", 10, 7, 6),
    "verner8": ("VERNER8", 13, 8, 7),
    "verner9": ("VERNER9", 16, 9, 8),
}


def explicit_names() -> list[str]:
    """The names of the methods in the table."""
    return list(_SINGLE)


@cache
def named_explicit(name: str) -> RungeKutta | None:
    """A method of the table by its name."""
    if name not in _SINGLE:
        return None
    text, stages, order, estimate = _SINGLE[name]
    is_dop = name == "dop853"
    table = tableaux.read_table(getattr(tableaux, text), stages, embedded=estimate is not None, difference=is_dop)
    third = None
    if is_dop:
        third = [float(b) - float(tableaux.Fraction(tableaux.DOP853_THIRD.get(i, "0"))) for i, b in enumerate(table.b)]
    return RungeKutta(table.A, table.b, table.c, table.error, order, estimate, name, third)
