"""Transport polytopes: matrices ≥ 0 with given sums of rows and columns; with sums 1 the Birkhoff polytope.

The nearest point is P = max(X - α - β, 0), with α for each row and β for each column. Newton's method on (α, β) solves
for the elements that are positive, and ends after finitely many steps; P is then written down on these elements. The
nearest point in entropy is X scaled by rows and columns (Sinkhorn).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.api.custom_rules import custom_rule
from adjoint.base.errors import ShapeError
from adjoint.implicit.roots import root
from adjoint.linear.solvers.iteration import TRACED, loop
from adjoint.optimize.sets.set import Set, check_number, face, point, valid_where
from adjoint.program.types import Value

__all__ = ["birkhoff", "transport"]

NEWTON = 200
SCALINGS = 20000


@final
@dataclass(frozen=True, eq=False)
class Transport(Set):
    """X ≥ 0 with X 1 = rows and Xᵀ 1 = columns."""

    rows: Any
    columns: Any
    name: ClassVar[str] = "transport"
    axes: ClassVar[int | None] = 2

    def _exists(self, x: Value) -> Any:
        a, b = (face(v) for v in self._sums(x))
        whole = np.sum(a)
        tol = max(1e-8, 100 * float(np.finfo(whole.dtype).eps))
        meets = np.abs(whole - np.sum(b)) <= tol * (1.0 + np.abs(whole))
        if not isinstance(self.rows, TRACED) and not isinstance(self.columns, TRACED):
            if not isinstance(meets, TRACED) and not meets:
                raise ShapeError(f"sets.{self.name}: x has shape {x.shape}; its rows would sum to {whole:g} and its "
                                 f"columns to {np.sum(b):g}, and both are the sum of all elements.")  # fmt: skip
            return meets
        return np.logical_and(meets, np.logical_and(np.all(a >= 0), np.all(b >= 0)))

    def _sums(self, x: Value) -> tuple[Value, Value]:
        for sums, size, what in ((self.rows, x.shape[0], "rows"), (self.columns, x.shape[1], "columns")):
            if np.ndim(sums) and sums.shape[0] != size:
                raise ShapeError(f"sets.{self.name}: x has {size} {what}, and there are {sums.shape[0]} sums for them.")
        zero = np.zeros_like(face(x))
        return self.rows + zero[:, 0], self.columns + zero[0]

    def _project(self, x: Value) -> Value:
        a, b = self._sums(x)
        # single precision does not tell which they are
        positive, solved_exactly = _find_positive(*(face(v).astype(np.float64) for v in (x, a, b)))
        # on these elements P = X - α - β, and the sums determine α + β
        mask = positive.astype(x.dtype)
        kept = np.where(positive, x, 0.0)
        cutoff = sum(x.shape) * float(np.finfo(x.dtype).eps)  # α + 1 and β - 1 give the same
        solved = np.linalg.pinv(_system(mask), cutoff) @ np.concatenate([np.sum(kept, 1) - a, np.sum(kept, 0) - b])
        m = x.shape[0]
        P = np.where(positive, x - solved[:m, None] - solved[None, m:], 0.0)
        return valid_where(solved_exactly, P)  # numbers so large that rounding hides the sums

    def _lmo(self, u: Value) -> Value:
        a, b = self._sums(u)
        if not isinstance(a, TRACED) and not isinstance(b, TRACED):
            return _assign(face(u), a, b)[0]
        # with the sums those elements move that the prices of rows and columns leave free
        P, mask = _assign(face(u), face(a), face(b))
        moved = np.linalg.pinv(_system(mask)) @ np.concatenate([a - face(a), b - face(b)])
        return P + mask * (moved[: len(a), None] + moved[None, len(a) :])

    def _project_entropy(self, x: Value) -> Value:
        a, b = self._sums(x)
        m = x.shape[0]
        sums = np.concatenate([a, b])
        some = face(sums) > 0  # a row or column without a sum is zero, whatever its factor
        x = np.where(some[:m, None] & some[None, m:], x, 0.0)

        def equations(z: Value, x: Value, a: Value, b: Value) -> Value:
            P = np.exp(z[:m, None]) * x * np.exp(z[None, m:])
            # α + 1 and β - 1 give the same P: their means are made equal
            off = np.concatenate([np.sum(P, 1) - a, np.sum(P, 0) - b]) + np.sum(z[:m]) / m - np.sum(z[m:]) / len(b)
            return np.where(some, off, z)

        with np.errstate(divide="ignore", invalid="ignore"):
            z = root(equations, lambda x, a, b: _scale(x, a, b), check="ignore")(x, a, b)
        return np.exp(z[:m, None]) * x * np.exp(z[None, m:])


def _system(mask: Value) -> Value:
    """The matrix that takes (α, β) to the sums of α + β over the elements of rows and columns."""
    top = np.concatenate([np.diag(np.sum(mask, 1)), mask], 1)
    return np.concatenate([top, np.concatenate([mask.T, np.diag(np.sum(mask, 0))], 1)], 0)


def _find_positive(x: Value, a: Value, b: Value) -> tuple[Value, Any]:
    """Which elements of the nearest point are positive: Newton's method on the dual, which is piecewise quadratic."""
    m, n = x.shape
    eps = float(np.finfo(x.dtype).eps)
    size = 1.0 + np.max(np.abs(x)) + np.max(np.abs(a)) + np.max(np.abs(b))
    at = lambda z: np.maximum(x - z[:m, None] - z[None, m:], 0.0)
    dual = lambda z: 0.5 * np.sum(at(z) ** 2) + np.sum(a * z[:m]) + np.sum(b * z[m:])

    def gradient(z: Value) -> Value:
        P = at(z)
        return np.concatenate([a - np.sum(P, 1), b - np.sum(P, 0)])

    def step(now: Any) -> Any:
        z, g, count, _ = now
        K = _system((at(z) > 0).astype(x.dtype))
        d = -np.linalg.solve(K + (1e-12 + np.minimum(1e-3, np.max(np.abs(g)))) * np.eye(m + n, dtype=x.dtype), g)
        derivative, here = np.sum(g * d), dual(z)
        shorter = lambda s: np.logical_and(
            dual(z + s[0] * d) > here + 1e-4 * s[0] * derivative + 10 * eps * np.abs(here), s[1] < 40
        )
        t, _ = loop(shorter, lambda s: (0.5 * s[0], s[1] + 1), (1.0 + 0 * here, np.int64(0) + 0 * count))
        new = z + t * d
        moved = np.any((at(new) > 0) != (at(z) > 0))
        return new, gradient(new), count + 1, moved

    def goes_on(now: Any) -> Any:
        _, g, count, moved = now
        far = np.max(np.abs(g)) > 50 * eps * size * max(m, n)
        return np.logical_and(np.logical_and(far, count < NEWTON), np.logical_or(moved, count < NEWTON))

    # rows and columns that each take half of what is too much
    start = np.concatenate([(np.sum(x, 1) - a) / n, np.zeros_like(b)])
    start = start + np.concatenate([np.zeros_like(a), (np.sum(x, 0) - np.sum(start[:m]) - b) / m])
    first = (start, gradient(start), np.int64(0), np.max(np.abs(start)) >= 0)
    z, g, _, _ = loop(goes_on, step, first)
    return at(z) > 0, np.max(np.abs(g)) <= 1e-7 * (np.max(a) + np.max(b))


def _scale(x: Value, a: Value, b: Value) -> Value:
    """Logarithms of the factors of rows and columns, by turns."""
    logs = np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), -np.inf)
    log_a, log_b = np.log(a), np.log(b)

    def sums(v: Value, axis: int) -> Value:
        top = np.max(v, axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        return np.reshape(top, (-1,)) + np.log(np.sum(np.exp(v - top), axis))

    def step(now: Any) -> Any:
        alpha, beta, count, _ = now
        alpha = np.where(a > 0, log_a - sums(logs + beta[None, :], 1), 0.0)
        beta = np.where(b > 0, log_b - sums(logs + alpha[:, None], 0), 0.0)
        off = np.max(np.abs(np.exp(sums(logs + beta[None, :] + alpha[:, None], 1)) - a))
        return alpha, beta, count + 1, off

    eps = float(np.finfo(x.dtype).eps)
    goes_on = lambda now: np.logical_and(now[3] > 20 * eps * np.max(a), now[2] < SCALINGS)
    alpha, beta, _, off = loop(goes_on, step, (0 * a, 0 * b, np.int64(0), np.max(a) * np.inf))
    shift = 0.5 * (np.mean(alpha) - np.mean(beta))
    found = np.concatenate([np.where(a > 0, alpha - shift, 0.0), np.where(b > 0, beta + shift, 0.0)])
    # where zeros of x leave no matrix with these sums, or only one with further zeros, the factors run away
    return np.where(off <= 1e4 * eps * np.max(a), found, np.nan)


def _assign_plain(u: Value, a: Value, b: Value) -> Value:
    """The vertex P of the largest ⟨u, P⟩: an assignment where all sums are equal, else a linear program.

    With it stand the elements that can move without loss, by the prices: uᵢⱼ = αᵢ + βⱼ.
    """
    from scipy.optimize import linear_sum_assignment, linprog

    m, n = u.shape
    A = np.concatenate([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    found = linprog(-u.ravel(), A_eq=A[:-1], b_eq=np.concatenate([a, b])[:-1], method="highs")
    P = found.x.reshape(m, n)
    slack = -u - (A[:-1].T @ found.eqlin.marginals).reshape(m, n)
    if m == n and np.allclose(a, a[0]) and np.allclose(b, a[0]):
        P = np.zeros_like(u)
        P[linear_sum_assignment(u, maximize=True)] = a[0]
    return np.stack([P, slack <= 1e-9 * (1.0 + np.max(np.abs(u)))]).astype(u.dtype)


def _assign(u: Value, a: Value, b: Value) -> Value:
    ruled: Any = custom_rule(
        _assign_plain,
        nondiff=("u", "a", "b"),
        vjp=lambda u, a, b: (_assign_plain(u, a, b), lambda ct: (None, None, None)),
    )
    return ruled(u, a, b)


def transport(rows: Any, columns: Any) -> Transport:
    """Matrices ≥ 0 whose rows sum to `rows` and whose columns sum to `columns`.

    ```python
    plans = ad.optimize.sets.transport(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    plans.project(np.zeros((2, 2)))  # → [[0.75, 0.25], [1.25, 0.75]]
    ```
    """
    rows, columns = point("sets.transport: rows", rows, 1), point("sets.transport: columns", columns, 1)
    check_number("transport", "rows", rows)
    check_number("transport", "columns", columns)
    if not isinstance(rows, TRACED) and not isinstance(columns, TRACED):
        gap = abs(float(np.sum(rows) - np.sum(columns)))
        if gap > 1e-8 * (1.0 + float(np.sum(rows))):
            raise ValueError(f"sets.transport: rows sum to {np.sum(rows):g} and columns to {np.sum(columns):g}; both "
                             "are the sum of all elements. Scale one of them.")  # fmt: skip
    return Transport(rows, columns)


def birkhoff() -> Transport:
    """Matrices ≥ 0 whose rows and columns sum to 1: means of permutations.

    ```python
    ad.optimize.sets.birkhoff().project(np.array([[2.0, 0.0], [0.0, 0.0]]))  # → [[1.0, 0.0], [0.0, 1.0]]
    ```
    """
    return Transport(1.0, 1.0)
