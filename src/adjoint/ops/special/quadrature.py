"""Sums and integrals that stand for a derivative in a parameter: nodes, weights, and positions that are held fixed.

An integral ∫ f(t; a) dt with nodes that do not move is a NumPy expression in a, so that its derivatives of every order
are those of the expression. Where the nodes should follow the parameters (a saddle, a peak, a window of a series), they
are placed by a primitive with derivative zero: the integral does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adjoint.ops.calculus import Flat
from adjoint.ops.elementwise.pointwise import Pointwise, broadcast_shapes
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value

HELD_FIXED: dict[str, Callable[..., Any]] = {}


@primitive
class Placed(Pointwise, Flat):
    """A number computed from others, element by element, and held fixed under differentiation."""

    rule: str

    @property
    def title(self) -> str:
        return f"placed_{self.rule}"

    @property
    def ufunc(self) -> Any:
        return np.arctan2

    def evaluate(self, *xs: Value) -> Value:
        arrays = np.broadcast_arrays(*[np.asarray(x) for x in xs])
        with np.errstate(all="ignore"):
            z = HELD_FIXED[self.rule](*[a.astype(np.float64) for a in arrays])
        return np.asarray(z, np.float64)[()]

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(broadcast_shapes(self.title, types), np.dtype(np.float64))


def placed(function: Callable[..., Any]) -> Callable[..., Value]:
    """Make a function of plain float64 arrays, of one shape, into one of traced values that has derivative zero."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__.strip('_')}"
    HELD_FIXED[name] = function
    op = Placed(name)
    return lambda *xs: op(*xs)


def spread_out(*xs: Value) -> list[Value]:
    """Give each value a last axis, along which nodes or terms lie."""
    return [np.expand_dims(x, -1) for x in xs]


@cache
def line(count: int, reach: float) -> tuple[Any, float]:
    """Nodes of the trapezoidal rule on (-reach, reach), and their distance."""
    return np.linspace(-reach, reach, count), 2.0 * reach / (count - 1)


@cache
def half_line(count: int, reach: float) -> tuple[Any, Any]:
    """Nodes and weights of the trapezoidal rule on (0, reach) for an even function, as half of ∫ over the line."""
    nodes = np.linspace(0.0, reach, count)
    weights = np.full(count, nodes[1])
    weights[0] *= 0.5
    return nodes, weights


@cache
def tanh_sinh(count: int = 101, reach: float = 3.35) -> tuple[Any, Any, Any]:
    """∫₀¹ f(t) dt for f with singular ends: t, 1 - t, weights; t = 1/(1 + exp(-π sinh u))."""
    u, step = line(count, reach)
    far = np.pi * np.sinh(u)
    left, right = 1.0 / (1.0 + np.exp(-far)), 1.0 / (1.0 + np.exp(far))
    return left, right, step * np.pi * np.cosh(u) * left * right


@cache
def exp_sinh(count: int = 121, low: float = -4.3, high: float = 4.3) -> tuple[Any, Any]:
    """∫₀^∞ f(t) dt for f that is singular at 0 or falls slowly: t = exp(π/2 sinh u), weights."""
    u = np.linspace(low, high, count)
    t = np.exp(0.5 * np.pi * np.sinh(u))
    return t, (u[1] - u[0]) * 0.5 * np.pi * np.cosh(u) * t


@cache
def gauss(count: int) -> tuple[Any, Any]:
    """∫₀¹ f(t) dt for smooth f: nodes and weights of Gauss and Legendre."""
    t, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (t + 1.0), 0.5 * w
