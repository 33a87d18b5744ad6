"""Boundary value problems on a mesh: equations of the intervals, their sparse Newton iteration, residuals, refinement.

The solution is a cubic between nodes, with f at both ends as its rates, which fulfills the equation in the middle
(Kierzenka and Shampine 2001; the rule of Lobatto, of order 4):

    yᵢ₊₁ - yᵢ = h/6 (fᵢ + 4 fₘ + fᵢ₊₁),   yₘ = (yᵢ + yᵢ₊₁)/2 - h/8 (fᵢ₊₁ - fᵢ)

Its error follows from the residual between the nodes, S′(t) - f(t, S(t)). Multiple shooting replaces the equation of an
interval by yᵢ₊₁ = φ(tᵢ, tᵢ₊₁, yᵢ), the solution of an initial value problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.api.jacobians import jacfwd
from adjoint.integrate.calling import call_recorded
from adjoint.program.types import Value

__all__ = ["COARSE", "MAX_NODES", "NEWTON", "SINGULAR", "Equations", "Found", "refined", "residuals", "run_newton"]

CONVERGED, MAX_NODES, SINGULAR, NEWTON, COARSE = range(5)
ITERATIONS = 30
HALVINGS = 10
SMALLEST = 32  # intervals


class Equations(NamedTuple):
    """A boundary value problem over vectors: f(t, y, p, θ), conditions(yₐ, y_b, p, θ), the equation of an interval."""

    f: Callable[..., Value]
    conditions: Callable[..., Value]
    interval: Callable[..., Value]  # (t, h, y, z, p, θ) ↦ what is zero
    key: Any
    size: int  # of y
    parameters: int  # numbers in p

    def residual(self, mesh: Value, Y: Value, p: Value, theta: Sequence[Value]) -> tuple[Value, Value]:
        """What a solution makes zero: a row for each interval, and the conditions."""
        one = lambda t, h, y, z: self.interval(t, h, y, z, p, theta)
        rows = vmap(one)(mesh[:-1], mesh[1:] - mesh[:-1], Y[:-1], Y[1:])
        return rows, self.conditions(Y[0], Y[-1], p, theta)

    def blocks(self, mesh: Value, Y: Value, p: Value, theta: Sequence[Value]) -> Any:
        """Rows and their derivatives, in both ends of each interval and in p; the conditions and theirs."""
        one = lambda t, h, y, z: jacfwd(lambda y, z, p: self.interval(t, h, y, z, p, theta), argnums=(0, 1, 2))(y, z, p)
        inner = vmap(one)(mesh[:-1], mesh[1:] - mesh[:-1], Y[:-1], Y[1:])
        outer = jacfwd(lambda y, z, p: self.conditions(y, z, p, theta), argnums=(0, 1, 2))(Y[0], Y[-1], p)
        rows, last = self.residual(mesh, Y, p, theta)
        return (rows, inner), (last, outer)

    def rates(self, mesh: Value, Y: Value, p: Value, theta: Sequence[Value]) -> Value:
        """f at the nodes."""
        return vmap(lambda t, y: self.f(t, y, p, theta))(mesh, Y)

    def call(self, name: str, mesh: Any, Y: Any, p: Any, theta: Sequence[Any]) -> Any:
        """One of these functions, compiled."""
        run = lambda mesh, Y, p, *theta: getattr(self, name)(mesh, Y, p, theta)
        if name == "rates":
            return call_padded((self.key, name), lambda *given: (run(*given), None), mesh, Y, p, theta)[0]
        return call_padded((self.key, name), run, mesh, Y, p, theta)


def call_padded(key: Any, run: Callable[..., Any], mesh: Any, Y: Any, p: Any, theta: Sequence[Any]) -> Any:
    """A compiled function on a mesh that is filled up with empty intervals at its end: few sizes are compiled."""
    m = len(mesh) - 1
    extra = max(SMALLEST, 1 << (m - 1).bit_length()) - m
    mesh, Y = np.concatenate([mesh, np.full(extra, mesh[-1])]), np.concatenate([Y, np.repeat(Y[-1:], extra, axis=0)])
    out = call_recorded(key, run, [mesh, Y, p, *theta])
    rows, rest = out
    return tree.map(lambda leaf: np.asarray(leaf)[: m + (len(leaf) == len(mesh))], rows), rest


def lobatto(f: Callable[..., Value]) -> Callable[..., Value]:
    """The equation of an interval by collocation."""

    def interval(t: Value, h: Value, y: Value, z: Value, p: Value, theta: Sequence[Value]) -> Value:
        step = h.astype(y.dtype)
        f0, f1 = f(t, y, p, theta), f(t + h, z, p, theta)
        middle = y.dtype.type(0.5) * (y + z) - step / y.dtype.type(8) * (f1 - f0)
        return z - y - step / y.dtype.type(6) * (f0 + f1 + y.dtype.type(4) * f(t + 0.5 * h, middle, p, theta))

    return interval


class Found(NamedTuple):
    """What Newton's method found."""

    Y: Any
    p: Any
    code: int
    iterations: int


def _matrix(equations: Equations, inner: Any, outer: Any, nodes: int) -> Any:
    """The Jacobian as a sparse matrix: intervals first, conditions last; columns are nodes, then p."""
    from scipy.sparse import block_array, csc_array

    n, k = equations.size, equations.parameters
    left, right, by_p = (np.asarray(b) for b in inner)
    m = nodes - 1
    rows = np.repeat(np.arange(m * n), n)
    columns = (np.arange(m)[:, None, None] * n + np.arange(n)).repeat(n, axis=1)
    both = np.concatenate([left.ravel(), right.ravel()])
    where = (np.concatenate([rows, rows]), np.concatenate([columns.ravel(), columns.ravel() + n]))
    body = csc_array((both, where), shape=(m * n, nodes * n))
    ya, yb, yp = (np.asarray(b).reshape(n + k, -1) for b in outer)
    edge = np.zeros((n + k, nodes * n))
    edge[:, :n], edge[:, -n:] = ya, yb
    if not k:
        return block_array([[body], [csc_array(edge)]], format="csc")
    grid = [[body, csc_array(by_p.reshape(m * n, k))], [csc_array(edge), csc_array(yp)]]
    return block_array(grid, format="csc")


def run_newton(equations: Equations, mesh: Any, Y: Any, p: Any, theta: Sequence[Any], small: float) -> Found:
    """Damped Newton iterations with sparse factors, until a step is below `small` times the unknowns."""
    from scipy.sparse.linalg import splu

    nodes, n = Y.shape
    join = lambda rows, last: np.concatenate([np.asarray(rows).ravel(), np.asarray(last).ravel()])
    for count in range(1, ITERATIONS + 1):
        (rows, inner), (last, outer) = equations.call("blocks", mesh, Y, p, theta)
        try:
            factors = splu(_matrix(equations, inner, outer, nodes))
            step = factors.solve(join(rows, last))
        except (RuntimeError, ValueError):
            return Found(Y, p, SINGULAR, count)
        if not np.all(np.isfinite(step)):
            return Found(Y, p, SINGULAR, count)
        cost, scale = float(step @ step), 1.0
        for _ in range(HALVINGS):
            Z, q = Y - scale * step[: nodes * n].reshape(nodes, n), p - scale * step[nodes * n :]
            next_step = factors.solve(join(*equations.call("residual", mesh, Z, q, theta)))
            if float(next_step @ next_step) < (1 - 0.4 * scale) * cost or cost == 0:
                break
            scale *= 0.5
        Y, p = Z, q
        whole = np.concatenate([Y.ravel(), p])
        if scale == 1.0 and np.max(np.abs(step)) <= small * (1 + np.max(np.abs(whole))):
            return Found(Y, p, CONVERGED, count)
        if np.max(np.abs(step)) <= 1e-13 * (1 + np.max(np.abs(whole))):  # rounding: no decrease is left
            return Found(Y, p, CONVERGED, count)
    return Found(Y, p, NEWTON, ITERATIONS)


def hermite_values(t: Value, h: Value, y: Value, z: Value, f: Value, g: Value, s: Any) -> tuple[Value, Value]:
    """The cubic with values y, z and rates f, g at the ends of an interval, and its rate, at t + s h."""
    a = z - y
    b = h * f - a
    c = a - h * g
    value = y + s * a + s * (1 - s) * ((1 - s) * b + s * c)
    rate = (a + (1 - 2 * s) * ((1 - s) * b + s * c) + s * (1 - s) * (c - b)) / h
    return value, rate


def residuals(equations: Equations, mesh: Any, Y: Any, p: Any, theta: Sequence[Any]) -> Any:
    """The root mean square of (S′ - f)/(1 + |f|) on each interval, by Lobatto's rule of five points."""

    def estimate(mesh: Value, Y: Value, p: Value, *theta: Value) -> Any:
        F = equations.rates(mesh, Y, p, theta)

        def one(t: Value, h: Value, y: Value, z: Value, f: Value, g: Value) -> Value:
            total: Any = 0.0
            for s, weight in (
                (0.5, 32 / 45),
                (0.5 - 0.5 * np.sqrt(3 / 7), 49 / 90),
                (0.5 + 0.5 * np.sqrt(3 / 7), 49 / 90),
            ):
                value, rate = hermite_values(t, h, y, z, f, g, s)
                right = equations.f(t + s * h, value, p, theta)
                total = total + weight * np.sum(((rate - right) / (1 + np.abs(right))) ** 2)
            return np.sqrt(0.5 * total)

        return vmap(one)(mesh[:-1], mesh[1:] - mesh[:-1], Y[:-1], Y[1:], F[:-1], F[1:]), None

    return call_padded((equations.key, "residuals"), estimate, mesh, Y, p, theta)[0]


def refined(mesh: Any, Y: Any, F: Any, rms: Any, tol: float) -> tuple[Any, Any]:
    """More nodes where the residual is too large: one, or two where it is much so; and the cubic at all of them."""
    extra = np.where(rms > 100 * tol, 2, np.where(rms > tol, 1, 0))
    points, values = [], []
    for i, count in enumerate(extra):
        h = mesh[i + 1] - mesh[i]
        for s in np.arange(count + 1) / (count + 1):
            points.append(mesh[i] + s * h)
            values.append(hermite_values(mesh[i], h, Y[i], Y[i + 1], F[i], F[i + 1], s)[0])
    return np.array([*points, mesh[-1]]), np.stack([*values, Y[-1]])
