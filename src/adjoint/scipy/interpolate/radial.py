"""Radial basis functions: f(x) = Σⱼ aⱼ φ(ε |x - yⱼ|) + a polynomial, through scattered points of any dimension."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.arguments import floating, read
from adjoint.scipy.interpolate.piecewise import STATIC, double, real

# φ, by the square of the distance
Kernel = Callable[[Value], Value]


def _root(s: Value) -> Value:
    """√s, with derivative 0 at 0."""
    zero = s == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, s)))


KERNELS: dict[str, Kernel] = {
    "linear": lambda s: -_root(s),
    "thin_plate_spline": lambda s: np.where(s == 0, 0.0, 0.5 * s * np.log(np.where(s == 0, 1.0, s))),
    "cubic": lambda s: s * _root(s),
    "quintic": lambda s: -s * s * _root(s),
    "multiquadric": lambda s: -np.sqrt(s + 1.0),
    "inverse_multiquadric": lambda s: 1.0 / np.sqrt(s + 1.0),
    "inverse_quadratic": lambda s: 1.0 / (s + 1.0),
    "gaussian": lambda s: np.exp(-s),
}
SCALE_INVARIANT = ("linear", "thin_plate_spline", "cubic", "quintic")
LEAST_DEGREE = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}


def _powers(ndim: int, degree: int) -> Any:
    """Exponents of the monomials up to a degree."""
    chosen = [m for d in range(degree + 1) for m in itertools.combinations_with_replacement(range(ndim), d)]
    return np.array([[m.count(j) for j in range(ndim)] for m in chosen], int).reshape(-1, ndim)


def _monomials(x: Value, powers: Any) -> Value:
    """Π xⱼ^pⱼ for each row of powers."""
    if not len(powers):
        return np.zeros((*x.shape[:-1], 0))
    whole = []
    for row in powers:
        term = 1.0 + 0.0 * x[..., 0]
        for j, power in enumerate(row):
            for _ in range(power):
                term = term * x[..., j]
        whole.append(term)
    return np.stack(whole, axis=-1)


def _squares(x: Value, y: Value) -> Value:
    """|xᵢ - yⱼ|²."""
    gap = np.expand_dims(x, -2) - np.expand_dims(y, -3)
    return np.sum(gap * gap, axis=-1)


@dataclass(init=False, eq=False)
class RBFInterpolator:
    """A function through values d at scattered points y (one in each row), differentiable in both.

    ```python
    y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    f = ad.scipy.interpolate.RBFInterpolator(y, y[:, 0] + 2.0 * y[:, 1])
    f(np.array([[0.25, 0.5]]))  # → [1.25]
    ad.grad(lambda x: f(x)[0])(np.array([[0.25, 0.5]]))  # → [[1.0, 2.0]]
    ```
    """

    y: Any
    d: Any
    smoothing: Any
    epsilon: Any
    shift: Any
    scale: Any
    coefficients: Any
    kernel: str = field(metadata=STATIC)
    degree: int = field(metadata=STATIC)
    neighbors: int | None = field(metadata=STATIC)

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: int | None = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: int | None = None,
    ) -> None:
        self.y, self.d = real("y", y), double(d)
        if self.y.ndim != 2:
            raise ValueError("`y` must be a 2-dimensional array.")
        n = self.y.shape[0]
        if self.d.shape[:1] != (n,):
            raise ValueError(f"Expected the first axis of `d` to have length {n}.")
        smoothing = floating(smoothing)
        if smoothing.ndim and smoothing.shape != (n,):
            raise ValueError(f"Expected `smoothing` to be a scalar or have shape ({n},).")
        self.smoothing = np.broadcast_to(smoothing, (n,))
        self.kernel = kernel.lower()
        if self.kernel not in KERNELS:
            raise ValueError(f"`kernel` must be one of {set(KERNELS)}.")
        if epsilon is None and self.kernel not in SCALE_INVARIANT:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {set(SCALE_INVARIANT)}.")
        self.epsilon = 1.0 if epsilon is None else floating(epsilon)
        self.degree = self._checked_degree(degree)
        self.neighbors = None if neighbors is None else int(min(neighbors, n))
        if len(self._powers()) > (n if self.neighbors is None else self.neighbors):
            raise ValueError(
                f"At least {len(self._powers())} data points are required when `degree` is {self.degree} and the "
                f"number of dimensions is {self.y.shape[1]}."
            )
        self.shift = self.scale = self.coefficients = None
        if self.neighbors is None:
            self.shift, self.scale, self.coefficients = self._solved(self.y, self.smoothing, self._columns())

    def _checked_degree(self, degree: int | None) -> int:
        least = LEAST_DEGREE.get(self.kernel, -1)
        if degree is None:
            return max(least, 0)
        if degree < -1:
            raise ValueError("`degree` must be at least -1.")
        if -1 < degree < least:
            warnings.warn(
                f"`degree` should not be below {least} except -1 when `kernel` is '{self.kernel}'. The interpolant may "
                "not be uniquely solvable, and the smoothing parameter may have an unintuitive effect.",
                UserWarning,
                stacklevel=3,
            )
        return int(degree)

    def _powers(self) -> Any:
        return _powers(self.y.shape[1], self.degree)

    def _columns(self) -> Value:
        return np.reshape(self.d, (self.d.shape[0], -1))

    def _solved(self, y: Value, smoothing: Value, d: Value) -> tuple[Value, Value, Value]:
        """Middle and half width of the points, and the solution of [K + λ, P; Pᵀ, 0] [a; b] = [d; 0]."""
        low, high = np.min(y, axis=-2, keepdims=True), np.max(y, axis=-2, keepdims=True)
        shift, scale = (low + high) / 2.0, (high - low) / 2.0
        scale = np.where(scale == 0, 1.0, scale)
        powers = self._powers()
        n, m = y.shape[-2], len(powers)
        kernel = KERNELS[self.kernel](self.epsilon**2 * _squares(y, y)) + np.eye(n) * np.expand_dims(smoothing, -1)
        p = _monomials((y - shift) / scale, powers)
        corner = np.zeros((*y.shape[:-2], m, m))
        top = np.concatenate([kernel, p], axis=-1)
        bottom = np.concatenate([np.swapaxes(p, -1, -2), corner], axis=-1)
        right = np.concatenate([d, np.zeros((*d.shape[:-2], m, d.shape[-1]), d.dtype)], axis=-2)
        return shift, scale, np.linalg.solve(np.concatenate([top, bottom], axis=-2).astype(d.dtype), right)

    def _evaluated(self, x: Value, y: Value, shift: Value, scale: Value, coefficients: Value) -> Value:
        kernel = KERNELS[self.kernel](self.epsilon**2 * _squares(x, y))
        p = _monomials((x - shift) / scale, self._powers())
        return np.matmul(np.concatenate([kernel, p], axis=-1).astype(coefficients.dtype), coefficients)

    def __call__(self, x: Any) -> Value:
        """The values at points x, one in each row."""
        x = real("x", x)
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ValueError(f"`x` must be a 2-dimensional array with {self.y.shape[1]} columns, got shape {x.shape}.")
        shape = (x.shape[0], *self.d.shape[1:])
        if self.neighbors is None:
            return np.reshape(self._evaluated(x, self.y, self.shift, self.scale, self.coefficients), shape)
        near = np.sort(np.argsort(_squares(x, self.y), axis=-1)[:, : self.neighbors], axis=-1)
        y = read(self.y, near)
        solved = self._solved(y, read(self.smoothing, near), read(self._columns(), near))
        return np.reshape(self._evaluated(np.expand_dims(x, 1), y, *solved), shape)
