"""Dense output: a polynomial in θ = (s - t) / h on each step, of the order of the method.

    u(θ) = y₀ + c₁ θ + … + c_d θᵈ

It starts from what a step has without further work (the cubic of Hermite through y and y′ at both ends, or a
polynomial of the method's own), and gains an order with each round of *bootstrapping* (Enright, Jackson, Nørsett and
Thomsen 1986): f along a polynomial with error O(hᑫ) is known to O(hᑫ), so that h f gives a polynomial with error
O(hᑫ⁺¹). Polynomials of degree d agree with y at both ends and with f at both ends and d - 3 points between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adjoint.program.types import Value

__all__ = ["bootstrap", "derivative", "evaluate", "hermite"]

# points between for degrees 4 to 9, chosen so that errors of f are damped most
NODES: dict[int, tuple[float, ...]] = {
    4: (0.19,),
    5: (0.148, 0.852),
    6: (0.168, 0.76, 0.887),
    7: (0.07, 0.217, 0.783, 0.852),
    8: (0.095, 0.265, 0.702, 0.767, 0.939),
    9: (0.055, 0.17, 0.274, 0.725, 0.882, 0.946),
}


@cache
def _solution(degree: int) -> Any:
    """Coefficients c₁ … c_d from y₁ - y₀ and h f at 0, 1 and the points between: a matrix (d, d)."""
    points = (0.0, 1.0, *NODES.get(degree, ()))
    powers = np.arange(1, degree + 1)
    conditions = np.ones((degree, degree))
    for row, x in enumerate(points, start=1):
        conditions[row] = powers * np.asarray(x) ** (powers - 1)
    return np.linalg.inv(conditions)


def hermite(h: Value, y0: Value, y1: Value, f0: Value, f1: Value) -> Value:
    """The cubic through y and y′ at both ends: coefficients (3, n)."""
    d, a, b = y1 - y0, h * f0, h * f1
    return np.stack([a, 3 * d - 2 * a - b, a + b - 2 * d])


def evaluate(y0: Value, coefficients: Value, theta: Value) -> Value:
    """u(θ)."""
    total = coefficients[-1]
    for k in range(coefficients.shape[0] - 2, -1, -1):
        total = coefficients[k] + theta * total
    return y0 + theta * total


def derivative(coefficients: Value, theta: Value) -> Value:
    """u′(θ) = h y′."""
    degree = coefficients.shape[0]
    total = degree * coefficients[-1]
    for k in range(degree - 2, -1, -1):
        total = (k + 1) * coefficients[k] + theta * total
    return total


def bootstrap(
    f: Callable[[Value, Value], Value], t: Value, h: Value, y0: Value, y1: Value, f0: Value, f1: Value, start: Value,
    order: int,
) -> Value:  # fmt: skip
    """A polynomial of this order from one of lower order; h is in the dtype of y, t + θ h in double precision."""
    found = start
    for degree in range(start.shape[0] + 1, order + 1):
        rows = [y1 - y0, h * f0, h * f1]
        for theta in NODES[degree]:
            rows.append(h * f(t + theta * h, evaluate(y0, found, y0.dtype.type(theta))))
        found = _combined(_solution(degree), rows, y0.dtype)
    return found


def _combined(matrix: Any, rows: list[Value], dtype: Any) -> Value:
    found: list[Value] = []
    for weights in matrix:
        total: Any = 0.0
        for weight, row in zip(weights, rows, strict=True):
            total = total + dtype.type(weight) * row
        found.append(total)
    return np.stack(found)
