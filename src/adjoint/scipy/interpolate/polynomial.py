"""One polynomial through all points: in Newton's form (Krogh), in the barycentric form, and by its coefficients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.arguments import demand, floating, read
from adjoint.scipy.interpolate.piecewise import STATIC, double, moved_back, real, spread


def _along(xi: Value, yi: Any, axis: int) -> tuple[Value, int]:
    """Values with the interpolated axis first, and that axis."""
    yi = double(yi)
    yi = np.reshape(yi, (1,)) if yi.ndim == 0 else yi
    axis = axis % yi.ndim
    if yi.shape[axis] != xi.shape[0]:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    return np.moveaxis(yi, axis, 0), axis


def _chosen(p: Any, x: Any, der: Any) -> Value:
    """Values, one derivative, or the derivatives whose numbers are listed."""
    if np.ndim(der) == 0:
        return p(x) if der == 0 else p.derivative(x, der)
    return np.take(p.derivatives(x, der=int(np.max(der)) + 1), np.asarray(der), axis=0)


@dataclass(init=False, eq=False)
class KroghInterpolator:
    """The polynomial through (xi, yi), in Newton's form; of nodes that repeat, derivatives are given.

    (The derivative in nodes that repeat is that of moving them together, spread over them.)

    ```python
    p = ad.scipy.interpolate.KroghInterpolator(np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 5.0]))
    p(0.5)  # → 2.5
    p.derivative(0.0)  # → 2.0
    ```
    """

    xi: Any
    yi: Any
    c: Any
    axis: int = field(metadata=STATIC)

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        self.xi = floating(xi)
        self.yi, self.axis = _along(self.xi, yi, axis)
        if self.xi.shape[0] > 30:
            warnings.warn(
                f"{self.xi.shape[0]} degrees provided, degrees higher than about thirty cause problems with numerical "
                "instability with 'KroghInterpolator'",
                stacklevel=2,
            )
        self.c = _divided_differences(self.xi, self.yi)

    def __call__(self, x: Any) -> Value:
        """The values at points x."""
        return self.derivatives(x, der=1)[0]

    def derivatives(self, x: Any, der: int | None = None) -> Value:
        """The values and the first derivatives, der of them together, along a first axis."""
        points = floating(x)
        flat = np.reshape(points, (-1,))
        n = self.xi.shape[0]
        count = n if der is None else der
        w = np.reshape(flat, (-1, *[1] * (self.c.ndim - 1)))
        zero = 0.0 * (w * self.c[0])
        taylor = [zero] * count  # of the polynomial about each point, by Horner's rule
        for k in reversed(range(n)):
            gap = w - self.xi[k]
            taylor = [(a * gap + b) for a, b in zip(taylor, [self.c[k] + zero, *taylor[:-1]], strict=True)]
        rows = np.stack([math.factorial(m) * a for m, a in enumerate(taylor)])
        rows = np.reshape(rows, (count, *points.shape, *self.c.shape[1:]))
        return _each_moved_back(rows, points.ndim, self.axis)

    def derivative(self, x: Any, der: int = 1) -> Value:
        """Derivative der at points x."""
        return self.derivatives(x, der=der + 1)[der]


def _each_moved_back(rows: Value, point_axes: int, axis: int) -> Value:
    return np.stack([moved_back(rows[m], point_axes, axis) for m in range(rows.shape[0])])


def _divided_differences(xi: Value, yi: Value) -> Value:
    """Newton's coefficients [y₀], [y₀ y₁], …; for m equal nodes [y₀ … yₘ] is derivative m over m!."""
    n = xi.shape[0]
    starts = np.concatenate([np.ones(1, bool), xi[1:] != xi[:-1]])
    first = np.maximum.accumulate(np.where(starts, np.arange(n), 0))  # of the nodes that are equal to each one
    distinct = np.expand_dims(xi, 1) != xi
    demand((np.expand_dims(first, 1) == first) | distinct, "Elements of `xi` can't be equal.")
    column = read(yi, first)
    coefficients = [column[0]]
    for m in range(1, n):
        equal = first[m:] == first[:-m]
        gaps = spread(np.where(equal, 1.0, xi[m:] - xi[:-m]), yi.ndim)
        given = read(yi, np.minimum(first[:-m] + m, n - 1)) / math.factorial(m)
        column = np.where(spread(equal, yi.ndim), given, (column[1:] - column[:-1]) / gaps)
        coefficients.append(column[0])
    return np.stack(coefficients)


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Value:
    """Values of `KroghInterpolator`, or of a derivative, or of several.

    ```python
    at = lambda y: ad.scipy.interpolate.krogh_interpolate([0.0, 1.0, 2.0], y, 1.5)
    ad.grad(at)(np.ones(3))  # → [-0.125, 0.75, 0.375]
    ```
    """
    return _chosen(KroghInterpolator(xi, yi, axis=axis), x, der)


@dataclass(init=False, eq=False)
class BarycentricInterpolator:
    """The polynomial through (xi, yi): Σⱼ wⱼ yⱼ ℓⱼ(x) / Σⱼ wⱼ ℓⱼ(x), ℓⱼ(x) = Π over k ≠ j of (x - xₖ).

    ```python
    p = ad.scipy.interpolate.BarycentricInterpolator(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0]))
    p(1.5)  # → 2.25
    ad.grad(p)(1.0)  # → 2.0
    ```
    """

    xi: Any
    yi: Any
    wi: Any
    scale: Any
    axis: int = field(metadata=STATIC)

    def __init__(self, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, rng: Any = None, **seed: Any) -> None:
        self.xi, self.axis = real("xi", xi), axis
        self.scale = 4.0 / (np.max(self.xi) - np.min(self.xi))
        self.wi = self._weights() if wi is None else real("wi", wi)
        self.set_yi(yi)

    def _weights(self) -> Value:
        """wⱼ = 1 / Π over k ≠ j of s (xⱼ - xₖ), where s makes the product about 1."""
        gaps = self.scale * (np.expand_dims(self.xi, 1) - self.xi)
        same = np.eye(self.xi.shape[0], dtype=bool)
        demand(same | (gaps != 0), "Interpolation points xi must be distinct.")
        return 1.0 / np.prod(np.where(same, 1.0, gaps), axis=1)

    def set_yi(self, yi: Any, axis: int | None = None) -> None:
        """Take other values at the same nodes."""
        if yi is None:
            self.yi = None
            return
        self.yi, self.axis = _along(self.xi, yi, self.axis if axis is None else axis)

    def add_xi(self, xi: Any, yi: Any = None) -> None:
        """Take more nodes, and values at them."""
        if (yi is None) != (self.yi is None):
            raise ValueError("No update to yi provided!" if yi is None else "No previous yi value to update!")
        new = real("xi", xi)
        values = None if yi is None else _along(new, yi, self.axis)[0]
        self.xi = np.concatenate([self.xi, new])
        self.yi = None if values is None else np.concatenate([self.yi, values])
        self.wi = self._weights()

    def __call__(self, x: Any) -> Value:
        """The values at points x."""
        return self._at(self.yi, x)

    def _at(self, values: Value, x: Any) -> Value:
        points = floating(x)
        gaps = self.scale * (np.reshape(points, (-1, 1)) - self.xi)
        ones = np.ones((gaps.shape[0], 1))
        before = np.concatenate([ones, np.cumprod(gaps[:, :-1], axis=1)], axis=1)
        after = np.concatenate([np.cumprod(gaps[:, :0:-1], axis=1)[:, ::-1], ones], axis=1)
        shares = self.wi * before * after
        shares = shares / np.sum(shares, axis=1, keepdims=True)
        flat = np.matmul(shares.astype(values.dtype), np.reshape(values, (values.shape[0], -1)))
        return moved_back(np.reshape(flat, (*points.shape, *values.shape[1:])), points.ndim, self.axis)

    def _derived(self, der: int) -> Value:
        """Values of derivative der at the nodes: y′ = D y, Dⱼₖ = wₖ / (wⱼ (xⱼ - xₖ)), and rows of sum 0."""
        same = np.eye(self.xi.shape[0], dtype=bool)
        gaps = np.where(same, 1.0, np.expand_dims(self.xi, 1) - self.xi)
        matrix = np.where(same, 0.0, self.wi / (gaps * np.expand_dims(self.wi, 1)))
        matrix = matrix - np.where(same, np.sum(matrix, axis=1, keepdims=True), 0.0)
        values = np.reshape(self.yi, (self.xi.shape[0], -1))
        for _ in range(der):
            values = np.matmul(matrix.astype(values.dtype), values)
        return np.reshape(values, self.yi.shape)

    def derivative(self, x: Any, der: int = 1) -> Value:
        """Derivative der at points x."""
        return self._at(self._derived(der) if der < self.xi.shape[0] else 0.0 * self.yi, x)

    def derivatives(self, x: Any, der: int | None = None) -> Value:
        """The values and the first derivatives, der of them together, along a first axis."""
        return np.stack([self.derivative(x, m) for m in range(self.xi.shape[0] if der is None else der)])


def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None, **seed: Any
) -> Value:
    """Values of `BarycentricInterpolator`, or of a derivative, or of several.

    ```python
    nodes = np.array([0.0, 1.0, 2.0])
    ad.scipy.interpolate.barycentric_interpolate(nodes, nodes**2, np.array([0.5, 1.5]))  # → [0.25, 2.25]
    ```
    """
    return _chosen(BarycentricInterpolator(xi, yi, axis=axis), x, der)


def lagrange(x: Any, w: Any) -> Any:
    """The polynomial through (x, w) by its coefficients, highest power first, as np.poly1d.

    ```python
    p = ad.scipy.interpolate.lagrange(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 5.0]))
    p(3.0)  # → 10.0
    ```
    """
    x, w = floating(x), floating(w)
    n = x.shape[0]
    total = 0.0
    for j in range(n):
        term = np.reshape(w[j], (1,))
        for k in range(n):
            if k != j:
                longer = np.concatenate([term, 0.0 * term[:1]])
                shifted = np.concatenate([0.0 * term[:1], term])
                term = (longer - x[k] * shifted) / (x[j] - x[k])
        total = total + term
    return np.poly1d(total)  # type: ignore[arg-type]


def pade(an: Any, m: int, n: int | None = None) -> tuple[Any, Any]:
    """Polynomials p and q of degrees n and m, as np.poly1d, with p / q = Σ anⱼ xʲ up to power m + n.

    ```python
    p, q = ad.scipy.interpolate.pade(np.array([1.0, 1.0, 0.5, 1.0 / 6.0]), 1)
    p(1.0) / q(1.0)  # → 2.75
    ```
    """
    an = floating(an)
    if n is None and an.shape[0] - 1 < m:
        raise ValueError("Order of q <m> must be smaller than len(an)-1.")
    top = an.shape[0] - 1 - m if n is None else int(n)  # the degree of p
    if top < 0:
        raise ValueError("Order of p <n> must be greater than 0.")
    if m + top > an.shape[0] - 1:
        raise ValueError("Order of q+p <m+n> must be smaller than len(an).")
    back = np.arange(m + top + 1)[:, None] - 1 - np.arange(m)  # p - (Σ anⱼ xʲ) (q - 1) = Σ anⱼ xʲ
    shifted = np.where(back >= 0, -np.take(an, np.maximum(back, 0)), 0.0)
    matrix = np.concatenate([np.eye(m + top + 1, top + 1, dtype=an.dtype), shifted], axis=1)
    solution = np.linalg.solve(matrix, an[: m + top + 1])
    q = np.concatenate([np.ones(1), solution[top + 1 :]])
    return np.poly1d(solution[top::-1]), np.poly1d(q[::-1])  # type: ignore[arg-type]


def approximate_taylor_polynomial(
    f: Callable[..., Any], x: Any, degree: int, scale: Any, order: int | None = None
) -> Any:
    """A polynomial near the one of Taylor of f about x, from values at Chebyshev's points, as np.poly1d.

    ```python
    p = ad.scipy.interpolate.approximate_taylor_polynomial(np.exp, 0.0, 3, 1.0, order=12)
    p.c  # → [0.166666…, 0.5…, 1.0…, 1.0…]
    ```
    """
    n = (degree if order is None else order) + 1
    nodes = scale * np.cos(np.linspace(0.0, np.pi, n, endpoint=False)) + x
    rows = KroghInterpolator(nodes, f(nodes)).derivatives(x, der=degree + 1)
    factors = np.array([math.factorial(j) for j in range(degree + 1)], float)
    return np.poly1d((rows / factors)[::-1])
