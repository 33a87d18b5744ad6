"""`path`: a minimizer followed while a number of its problem changes.

∇ₓf(x(θ), θ) = 0,    x(θ + h) ≈ x + h t   with   ∇ₓₓf t = -∂_θ ∇ₓf,    then Newton's method
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, jvp, stop_gradient, vmap
from adjoint.api.jacobians import jacobian
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.jit import jit
from adjoint.linear.solvers.answer import Answer
from adjoint.optimize.captured import close_over
from adjoint.optimize.minimizing import choose_tolerance, minimize
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.roots.solving import root
from adjoint.optimize.statuses import ADVICE, CONVERGED, SINGULAR, STATUSES
from adjoint.program.trace import TRACED, Tracer
from adjoint.program.types import Value

__all__ = ["SolutionPath", "path"]

NEWTON = 12  # corrections of a point
SHORTEST = 1e-7  # steps, of the whole range of θ
MATRIX = 300  # unknowns of all points together up to which their matrix is dense


@final
@dataclass(frozen=True, eq=False)
class SolutionPath(Answer):
    """Minimizers along θ: a tree, with one code for each θ.

    ```python
    found = ad.optimize.path(lambda x, t: x**3 / 3 - t * x, 1.0, np.array([1.0, 0.25, -1.0]))
    found.status  # → ['converged', 'converged', 'singular']
    float(np.round(found.fold, 6))  # → 0.0
    ```
    """

    STATUSES = STATUSES
    FAILURE = "the path ends early"
    MANY = "points of the path"

    thetas: Value
    value: Any  # x at each θ, along the first axis; NaN where the path has ended before
    tangent: Any  # dx/dθ
    fun: Value
    code: Value
    iterations: Value  # steps from the last θ, those that were too long among them
    residual: Value
    target: Value
    curvature: Value  # the eigenvalue of ∇ₓₓf that is nearest to 0
    fold: Value  # the θ at which the path turns back, or NaN
    crossings: Value  # for each θ, whether a curvature changed its sign since the last one
    method: str = field(default="path by tangents and Newton's method", metadata={"static": True})

    @property
    def x(self) -> Any:
        """The minimizers."""
        return self.value

    @property
    def advice(self) -> str:
        """What to do where it ended early; empty else."""
        if isinstance(self.code, Tracer) or np.all(self.code == CONVERGED):
            return ""
        if np.all(np.isnan(self.fold)):
            words = [ADVICE[int(code)] for code in np.unique(self.code) if code != CONVERGED]
            return f"{words[0]} Or give more values of θ."
        return (f"The path turns back at θ = {float(np.nanmin(self.fold)):.6g}: beyond it this solution does not "
                "exist. Start at another one, with x0 and the values of θ beyond.")  # fmt: skip

    def __repr__(self) -> str:
        return self._describe("")


class _Point(NamedTuple):
    v: Any
    tangent: Any
    eigenvalues: Any
    residual: float
    good: bool


class _Walk:
    """A walk along θ on plain numbers."""

    def __init__(self, F: Callable[..., Any], args: Any, tol: float) -> None:
        self.F = lambda v, t: F(v, t, *args)
        one = np.float64(1.0)

        @jit
        def look(v: Value, t: Value, a: Any) -> Any:
            change = jvp(lambda s: F(v, s, *a), (t,), (one,))[1]
            return F(v, t, *a), jacobian(lambda u: F(u, t, *a))(v), change

        self.look = lambda v, t: look(v, np.float64(t), args)
        self.tol = tol

    def correct(self, v: Any, t: float) -> _Point:
        """Newton's method for x at θ = t; the last step is made after the residual is small enough."""
        small = False
        for _ in range(NEWTON):
            g, H, change = (np.asarray(part) for part in self.look(v, t))
            size = float(np.max(np.abs(g)))
            if not (np.isfinite(size) and np.all(np.isfinite(H))):
                break
            w, Q = np.linalg.eigh(0.5 * (H + H.T))
            least = np.min(np.abs(w)) > 1e-13 * np.max(np.abs(w))
            if not least:
                break
            if small or size == 0:
                return _Point(v, -Q @ ((Q.T @ change) / w), w, size, size <= self.tol)
            small = size <= self.tol
            v = v - Q @ ((Q.T @ g) / w)
        return _Point(v, np.zeros_like(v), np.full(len(v), np.nan), np.inf, False)

    def find_fold(self, v: Any, t: float, reach: float) -> tuple[Any, Any]:
        """The fold within `reach` of t, as the x, θ and d of `fold_equation`, and its c; else v and t."""
        H = np.asarray(self.look(v, t)[1])
        w, Q = np.linalg.eigh(0.5 * (H + H.T))
        c = Q[:, np.argmin(np.abs(w))]
        begin = np.concatenate([v, [t], c])
        found = root(lambda z: fold_equation(self.F, z, c), begin, check="ignore")
        close = found.converged and abs(found.value[len(v)] - t) <= reach
        return (np.asarray(found.value) if close else begin), c


def fold_equation(F: Callable[..., Any], z: Value, c: Value) -> Value:
    """F = 0, H d = 0, ⟨c, d⟩ = 1 in z = (x, θ, d): a curvature is 0."""
    n = c.shape[0]
    x, t, d = z[:n], z[n], z[n + 1 :]
    return np.concatenate([F(x, t), jvp(lambda x: F(x, t), (x,), (d,))[1], np.sum(c * d)[None] - 1.0])


def _follow(walk: _Walk, start: _Point, thetas: np.ndarray) -> dict[str, Any]:
    K, n = len(thetas), len(start.v)
    table = {"residual": np.full(K, np.nan), "code": np.full(K, SINGULAR), "iterations": np.zeros(K, np.int64),
             "crossings": np.zeros(K, bool),
             "fold": np.zeros(2 * n + 1), "normal": np.zeros(n), "has_fold": np.float64(0.0)}  # fmt: skip
    rows = np.tile(start.v, (K, 1))
    shortest = SHORTEST * float(np.ptp(thetas))
    now, t, step = start, float(thetas[0]), np.inf
    for k in range(K):
        tries = 0
        while now.good and t != thetas[k]:
            left = float(thetas[k]) - t
            h = left if abs(left) <= step else float(np.copysign(step, left))
            tries += 1
            ahead = now.v + h * now.tangent
            new = walk.correct(ahead, t + h)
            allowed = 0.5 * np.linalg.norm(h * now.tangent) + 0.01 * (1.0 + np.linalg.norm(now.v))
            near = new.good and np.linalg.norm(new.v - ahead) <= allowed
            crossed = near and np.sum(new.eigenvalues < 0) != np.sum(now.eigenvalues < 0)
            if near and (not crossed or abs(h) <= shortest):
                table["crossings"][k] |= crossed
                t = float(thetas[k]) if h == left else t + h
                now, step = new, 2.0 * abs(h)
            elif abs(h) > shortest:
                step = 0.5 * abs(h)
            else:
                table["fold"], table["normal"] = walk.find_fold(now.v, t, 1e4 * shortest)
                table["has_fold"] = np.float64(1.0)
                now = now._replace(good=False)
        table["iterations"][k] = tries
        rows[k] = now.v
        if not now.good:
            break
        table["residual"][k], table["code"][k] = now.residual, CONVERGED
    return {"rows": rows, **table}


@user_facing
def path(f: Callable[..., Any], x0: Any, thetas: Any, *args: Any, tol: Any = None, check: str = "warn") -> SolutionPath:
    """x(θ) that makes f(x, θ, *args) smallest, for each of the numbers `thetas` in a row, as one curve.

    The first one is found by `minimize` from x0. From one to the next the tangent predicts, Newton's method corrects,
    and steps that lead too far from the prediction, or to a solution of another kind, are halved. Where a curvature
    becomes 0 the path may turn back: `fold` is that θ, and points after it are NaN, with the status "singular". Where
    it goes on, `crossings` tells that a curvature changed its sign, so that the points are minima no more. Matrices are
    dense; points, tangents, curvatures and fold are differentiable in θ, the arguments, and all that f closes over.

    ```python
    f = lambda w, lam: np.sum((w - np.array([1.0, 2.0])) ** 2) + lam * np.sum(w**2)
    found = ad.optimize.path(f, np.zeros(2), np.array([0.0, 1.0, 3.0]))
    np.round(found.value, 9)  # → [[1.0, 2.0], [0.5, 1.0], [0.25, 0.5]]
    np.round(found.tangent[1], 9)  # → [-0.25, -0.5]
    ```
    """
    title = "path"
    thetas = thetas if isinstance(thetas, TRACED) else np.asarray(thetas, float)
    if thetas.ndim != 1 or thetas.shape[0] < 1:
        raise ShapeError(f"{title}: thetas has shape {thetas.shape}; it is a row of numbers. Let θ be a position on a "
                         "curve of parameters where there are several.")  # fmt: skip
    x0 = tree.map(lambda leaf: leaf if isinstance(leaf, TRACED) else np.asarray(leaf, float), x0)
    start, unravel = tree.ravel(x0)
    if not isinstance(start, TRACED) and start.size == 0:
        raise ShapeError(f"{title}: x0 has no numbers.")
    prepared = prepare_call(f)
    pair, rest = close_over(lambda pair, *a: prepared(*pair, *a), (x0, thetas[0]), args)
    at = lambda v, t, *a: pair((unravel(v), t), *a)
    F = grad(at)
    tol = choose_tolerance(np.float64) if tol is None else tol

    def solve(first: Value, thetas: Value, *a: Any) -> Any:
        if not np.all(np.isfinite(thetas)):
            raise ValueError(f"{title}: thetas are not finite somewhere.")
        found = minimize(at, first, thetas[0], *a, tol=tol)
        walk = _Walk(F, a, tol)
        begin = walk.correct(np.asarray(found.value), float(thetas[0]))
        table = _follow(walk, begin, thetas)
        if not begin.good:
            table["code"][:] = SINGULAR if found.converged else found.code
        kept = {"x": table.pop("rows"), "live": np.asarray(table["code"] == CONVERGED, float)}
        return kept | {name: table.pop(name) for name in ("fold", "normal", "has_fold")}, table

    def residual(z: Any, first: Value, thetas: Value, *a: Any) -> Any:
        # points that were not reached are what they are: their equation is x = x
        rows = vmap(lambda v, t: F(v, t, *a))(z["x"], thetas)
        found = {name: stop_gradient(part) for name, part in z.items()}
        stays = {name: part - found[name] for name, part in z.items()}
        has_fold = found["has_fold"] > 0.5
        known = np.concatenate([found["x"][0], stop_gradient(thetas[:1]), found["normal"]])  # where f has derivatives
        fold = fold_equation(lambda v, t: F(v, t, *a), np.where(has_fold, z["fold"], known), found["normal"])
        return stays | {"x": np.where(found["live"][:, None] > 0.5, rows, stays["x"]),
                        "fold": np.where(has_fold, fold, stays["fold"])}  # fmt: skip

    def look(v: Value, t: Value, live: Value) -> tuple[Value, Value]:
        """The tangent and the curvature nearest to 0, as functions of the point."""
        H = np.where(live, jacobian(lambda u: F(u, t, *rest))(v), np.eye(v.shape[0]))
        w = np.linalg.eigvalsh(0.5 * (H + H.T))
        change = jvp(lambda s: F(v, s, *rest), (t,), (1.0 + 0.0 * stop_gradient(t),))[1]
        tangent = -np.linalg.solve(H, change)
        return np.where(live, tangent, np.nan), np.where(live, w[np.argmin(np.abs(w))], np.nan)

    size = int(np.prod(thetas.shape)) * int(np.prod(start.shape))
    equation = equation_for(title, (), "sparse" if size > MATRIX else "auto", "equation", check)
    z, table = ImplicitFunction(residual, solve, None, equation, True, title, True)(stop_gradient(start), thetas, *rest)
    reached = table["code"] == CONVERGED
    rows = np.where(reached[:, None], z["x"], np.nan)
    values = vmap(lambda v, t: at(v, t, *rest))(z["x"], thetas)
    tangents, curvatures = vmap(look)(z["x"], thetas, reached)
    fold = np.where(z["has_fold"] > 0.5, z["fold"][start.shape[0]], np.nan)
    return SolutionPath(
        thetas, vmap(unravel)(rows), vmap(unravel)(tangents), np.where(reached, values, np.nan), table["code"],
        table["iterations"], table["residual"], np.float64(tol), curvatures, fold, table["crossings"],
    )  # fmt: skip
