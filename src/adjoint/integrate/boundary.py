"""`solve_boundary`: differential equations with conditions at both ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.base.errors import ShapeError, SolveError
from adjoint.base.source import user_facing, warn_user
from adjoint.debug import check
from adjoint.implicit.roots import root
from adjoint.integrate.collocation import (
    COARSE,
    MAX_NODES,
    NEWTON,
    SINGULAR,
    Equations,
    hermite_values,
    lobatto,
    refined,
    residuals,
    run_newton,
)
from adjoint.integrate.derivative import detach
from adjoint.integrate.reading import joined, known_value
from adjoint.integrate.refusals import refuse_unsolved
from adjoint.integrate.solving import solve
from adjoint.integrate.system import Arguments, Layout, check_right_side, read_state, trace_function
from adjoint.program.program import interpret
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["BoundarySolution", "solve_boundary"]

METHODS = ("collocation", "shooting")
STATUSES = ("converged", "max nodes", "singular", "newton failed", "mesh too coarse")
ADVICE = {
    MAX_NODES: "Give a larger max_nodes, a looser tol, or a better guess where the solution changes fast.",
    SINGULAR: "The Jacobian is singular: the conditions do not determine the solution, or the guess is at a turning "
    "point. Look at the conditions, or start elsewhere.",
    NEWTON: "Newton's method did not converge: give a better guess, for instance the solution of an easier problem.",
    COARSE: "While a program is traced the mesh cannot grow: solve once outside, and give its mesh, mesh=found.mesh.",
}


@final
@dataclass(frozen=True, eq=False)
class BoundarySolution:
    """The solution of a boundary value problem: a tree, so it goes through jit and grad.

    `values` are those at the nodes of `mesh`, stacked along a first axis, in the structure of the guess.

    ```python
    found = ad.integrate.solve_boundary(lambda t, y: np.stack([y[1], -y[0]]), lambda a, b: np.stack([a[0], b[0] - 1.0]),
                                        np.linspace(0.0, 1.0, 5), np.zeros((5, 2)))
    found.status, float(np.round(found.at(0.5)[0], 5))  # → ('converged', 0.56975)
    ```
    """

    mesh: Value
    values: Any
    parameters: Any
    residuals: Value  # relative, of each interval; NaN for shooting
    code: Value  # how it ended, as a number; `status` in words
    iterations: Value
    rows: Any = None  # y and f at the nodes, as vectors
    rates: Any = None
    layout: Any = field(default=None, metadata={"static": True})
    method: str = field(default="", metadata={"static": True})

    @property
    def converged(self) -> Any:
        """Whether the residual is below the tolerance everywhere."""
        return self.code == 0

    @property
    def status(self) -> Any:
        """How it ended, in a word or two."""
        if isinstance(self.code, Tracer):
            return "not known while the program is traced"
        words = np.array(STATUSES)[np.asarray(self.code)]
        return str(words) if np.ndim(words) == 0 else words

    @property
    def advice(self) -> str:
        """What to do, in words; empty when all is well."""
        if isinstance(self.code, Tracer):
            return ""
        return " ".join(ADVICE[int(c)] for c in np.unique(np.asarray(self.code)) if int(c) in ADVICE)

    def raise_if_failed(self) -> BoundarySolution:
        """Itself if it converged, else an error with the advice."""
        if isinstance(self.code, Tracer):
            check(np.all(self.converged), f"{self.method}: status {{}} of {', '.join(STATUSES)}", self.code)
        elif not np.all(np.asarray(self.code) == 0):
            raise SolveError(f"{self.method}: {self.status}. {self.advice}")
        return self

    def at(self, t: Any) -> Any:
        """y at a time, or at an array of times: the cubics between the nodes.

        ```python
        f, conditions = lambda t, y: np.stack([y[1], 2.0 + 0 * y[0]]), lambda a, b: np.stack([a[0], b[0]])
        found = ad.integrate.solve_boundary(f, conditions, np.linspace(0.0, 1.0, 5), np.zeros((5, 2)))
        np.round(found.at(np.array([0.0, 0.3]))[:, 0], 12)  # → [0.0, -0.21]
        ```
        """
        if self.rates is None:
            raise ValueError(f"{self.method}: shooting knows y at the nodes alone. Put the times into the mesh.")
        times = t if hasattr(t, "dtype") else np.asarray(t, np.float64)
        flat = np.reshape(times, (-1,))
        mesh, point = detach([self.mesh, flat])
        i = np.clip(np.searchsorted(mesh, point, side="right") - 1, 0, self.mesh.shape[0] - 2)
        h = (np.take(self.mesh, i + 1) - np.take(self.mesh, i))[:, None]
        s = (flat - np.take(self.mesh, i))[:, None] / h
        y, z, f, g = (np.take(v, j, axis=0) for v in (self.rows, self.rates) for j in (i, i + 1))
        rows = self.layout.rows(hermite_values(flat, h, y, z, f, g, s)[0])
        return tree.map(lambda leaf: np.reshape(leaf, (*np.shape(times), *leaf.shape[1:]))[()], rows)

    def plot(self, axes: Any = None) -> Any:
        """The components over time; axes of matplotlib."""
        from matplotlib import pyplot

        axes = pyplot.subplots()[1] if axes is None else axes
        mesh = np.asarray(self.mesh)
        rows = np.asarray(self.rows)
        if self.rates is not None:
            fine = np.linspace(mesh[0], mesh[-1], 400)
            leaves = tree.leaves(self.at(fine))
            axes.plot(fine, np.concatenate([leaf.reshape(len(fine), -1) for leaf in leaves], axis=1))
            axes.set_prop_cycle(None)
        axes.plot(mesh, rows, "." if self.rates is not None else ".-")
        axes.set_xlabel("t")
        return axes

    def __repr__(self) -> str:
        if isinstance(self.code, Tracer) or np.ndim(self.code):
            return f"BoundarySolution({self.method})"
        worst = float(np.max(np.asarray(detach([self.residuals])[0])))
        return f"BoundarySolution({self.method}: {self.status}, {self.mesh.shape[0]} nodes, residual {worst:.2g})"


@user_facing
def solve_boundary(
    f: Callable[..., Any],
    conditions: Callable[..., Any],
    mesh: Any,
    guess: Any,
    *,
    parameters: Any = None,
    args: Sequence[Any] = (),
    method: str = "collocation",
    tol: float = 1e-6,
    max_nodes: int = 2000,
) -> BoundarySolution:
    """y with y′ = f(t, y, *args) between the ends of the mesh, and conditions(yₐ, y_b, *args) = 0.

    `guess` is y at the nodes of the mesh (a tree whose leaves have the nodes as first axis), or a function of t. With
    `parameters`, a guess of unknown numbers p, f and conditions are given them first, f(t, y, p, *args) and
    conditions(yₐ, y_b, p, *args), and there is one more condition for each.

    "collocation" is of order 4; it refines the mesh until the residual relative to f is below `tol` everywhere.
    "shooting" solves initial value problems between the nodes, to `tol`, all at once. While a program is traced
    (under jit and vmap) the mesh stays as it is.

    args, the mesh, and what f and conditions close over are differentiated, by the equations that the solution
    fulfills, at any order; the choice of nodes is not.

    ```python
    # Bratu's problem: y″ + λ eʸ = 0, y(0) = y(1) = 0
    def middle(lam):
        f = lambda t, y: np.stack([y[1], -lam * np.exp(y[0])])
        conditions = lambda a, b: np.stack([a[0], b[0]])
        return ad.integrate.solve_boundary(f, conditions, np.linspace(0.0, 1.0, 9), np.zeros((9, 2))).at(0.5)[0]

    float(np.round(middle(1.0), 6)), float(np.round(ad.grad(middle)(1.0), 5))  # → (0.140539, 0.1592)
    ```
    """
    title = "integrate.solve_boundary"
    if method not in METHODS:
        raise ValueError(f"{title}: method is {method!r}; it is 'collocation' or 'shooting'.")
    if not tol > 0:
        raise ValueError(f"{title}: tol is {tol}; it must be positive.")
    mesh = joined(mesh)
    nodes = mesh if isinstance(mesh, Tracer) else np.asarray(mesh, np.float64)
    known = known_value(nodes)
    if nodes.ndim != 1 or nodes.shape[0] < 2:
        raise ShapeError(f"{title}: mesh has shape {nodes.shape}; it is a list of at least two times.")
    if known is not None and known.ndim == 1 and not np.all(np.diff(known) > 0):
        raise ValueError(f"{title}: mesh must increase.")
    rows, layout = _read_guess(title, guess, nodes)
    p, p_layout = ([], None) if parameters is None else read_state(title, "parameters", parameters)
    given = Arguments(args if p_layout is None else (tree.unflatten(p_layout.structure, p), *args))
    equations, theta = _equations(title, f, conditions, layout, p_layout, given, method, tol)
    start = np.zeros(0) if p_layout is None else p_layout.vector(tree.unflatten(p_layout.structure, p))
    plain = [known_value(v) for v in (nodes, rows, start, *theta)]
    shapes = [
        v is not None and v.shape == np.shape(x) for v, x in zip(plain, (nodes, rows, start, *theta), strict=True)
    ]
    report: Any = None
    if all(shapes):
        nodes, Y, q, report = _refine(equations, nodes, plain[1], plain[2], plain[3:], tol, max_nodes, method)
        solver = lambda mesh, *theta: ((Y, q), report)
    else:
        rows, start = detach([rows, start])

        def solver(mesh: Any, *theta: Any) -> Any:
            mesh, own = np.asarray(mesh), [np.asarray(v) for v in theta]
            found = run_newton(equations, mesh, np.asarray(rows), np.asarray(start), own, 1e-10)
            code, rms = found.code, np.full(len(mesh) - 1, np.nan)
            if method == "collocation":
                rms = np.asarray(residuals(equations, mesh, found.Y, found.p, own))
                code = COARSE if code == 0 and np.max(rms) > tol else code
            if code == COARSE:  # outside of a program it would have been refined
                warn_user(f"{title}: the mesh is too coarse, with residuals of {np.max(rms):.2g} above tol={tol:g}. "
                          f"{ADVICE[COARSE]}")  # fmt: skip
            return (found.Y, found.p), (rms, np.int64(code), np.int64(found.iterations))

    def F(x: Any, mesh: Value, *theta: Value) -> Any:
        inner, outer = equations.residual(mesh, x[0], x[1], theta)
        k, n = equations.parameters, equations.size
        return np.concatenate([inner, outer[None, :n]]), outer[n:] if k else np.zeros(0)

    (Y, q), (rms, code, iterations) = root(F, solver, linear="sparse", check="ignore", has_aux=True)(nodes, *theta)
    Y, q = refuse_unsolved(title, [Y, q], code, STATUSES, (SINGULAR, NEWTON))
    rates = None if method == "shooting" else equations.rates(nodes, Y, q, theta)
    return BoundarySolution(
        nodes, layout.rows(Y), None if p_layout is None else p_layout.tree(q), rms, code, iterations, Y, rates, layout,
        f"{title} by {method}",
    )  # fmt: skip


def _read_guess(title: str, guess: Any, nodes: Value) -> tuple[Value, Layout]:
    """y at the nodes as rows, and how a row is y."""
    if callable(guess):
        known = known_value(nodes)
        if known is None:
            raise ValueError(f"{title}: the mesh is traced, so that guess must be values, not a function.")
        found = [guess(t) for t in known]
        guess = tree.map(lambda *leaves: np.stack([np.asarray(leaf, float) for leaf in leaves]), *found)
    leaves, structure = tree.flatten(guess)
    arrays: list[Any] = [leaf if isinstance(leaf, Tracer) else np.asarray(leaf) for leaf in leaves]
    for array, path in zip(arrays, structure.paths(), strict=True):
        if array.ndim < 1 or array.shape[0] != nodes.shape[0]:
            raise ShapeError(f"{title}: guess{path} has shape {array.shape}; its first axis is the {nodes.shape[0]} "
                             "nodes of the mesh. Write np.zeros((len(mesh), n)).")  # fmt: skip
    floats = [a.astype(float) if a.dtype.kind in "iub" else a for a in arrays]
    _, layout = read_state(title, "guess", tree.unflatten(structure, [a[0] for a in floats]))
    return vmap(layout.vector)(tree.unflatten(structure, floats)), layout


def _equations(
    title: str, f: Any, conditions: Any, layout: Layout, p_layout: Layout | None, given: Arguments, method: str,
    tol: float,
) -> tuple[Equations, list[Value]]:  # fmt: skip
    """The problem over vectors, and θ: what f and conditions read besides p."""
    right = trace_function(title, "f", f, layout, given)
    check_right_side(title, right, layout)
    pair = tree.structure((tree.unflatten(layout.structure, [0.0] * len(layout.types)),) * 2)
    ends = Layout(pair, [*layout.types, *layout.types])
    both = trace_function(title, "conditions", lambda t, y, *rest: conditions(y[0], y[1], *rest), ends, given)
    count = 0 if p_layout is None else len(p_layout.types)
    k = 0 if p_layout is None else p_layout.size
    out = Layout(both.structure, both.types)
    if out.size != layout.size + k:
        raise ShapeError(
            f"{title}: conditions gave {out.size} numbers; y has {layout.size}"
            f"{f' and parameters {k}' if k else ''}, so that there are {layout.size + k} conditions."
        )
    split = len(right.theta) - count

    def parts(p: Value) -> list[Value]:
        return [] if p_layout is None else tree.leaves(p_layout.tree(p))

    def whole(t: Value, y: Value, p: Value, theta: Sequence[Value]) -> Value:
        found = interpret(right.program, [t, *tree.leaves(layout.tree(y)), *parts(p), *theta[:split]])
        return layout.vector(tree.unflatten(layout.structure, found))

    def edges(a: Value, b: Value, p: Value, theta: Sequence[Value]) -> Value:
        leaves = [*tree.leaves(layout.tree(a)), *tree.leaves(layout.tree(b))]
        return out.vector(
            tree.unflatten(
                out.structure, interpret(both.program, [np.float64(0.0), *leaves, *parts(p), *theta[split:]])
            )
        )

    def shot(t: Value, h: Value, y: Value, z: Value, p: Value, theta: Sequence[Value]) -> Value:
        own = lambda t, y, p, *theta: whole(t, y, p, theta)
        return z - solve(own, (t, t + h), y, args=(p, *theta), rtol=0.1 * tol, atol=0.01 * tol, method="dopri5").last

    interval = lobatto(whole) if method == "collocation" else shot
    key = (right.program, both.program, layout, p_layout, method, tol)
    return Equations(whole, edges, interval, key, layout.size, k), [*right.theta[count:], *both.theta[count:]]


def _refine(
    equations: Equations, given: Any, Y: Any, p: Any, theta: Sequence[Any], tol: float, most: int, method: str
) -> tuple[Any, Any, Any, Any]:
    """The solution on plain values, and the mesh that it needs."""
    total = 0
    mesh = first = np.asarray(known_value(given))
    while True:
        found = run_newton(equations, mesh, Y, p, theta, 1e-4 * tol)
        Y, p, code = found.Y, found.p, found.code
        total += found.iterations
        rms = np.full(len(mesh) - 1, np.nan)
        if method == "shooting" or code != 0:
            break
        rms = np.asarray(residuals(equations, mesh, Y, p, theta))
        if np.max(rms) <= tol:
            break
        F = np.asarray(equations.call("rates", mesh, Y, p, theta))
        finer, values = refined(mesh, Y, F, rms, tol)
        if len(finer) > most:
            code = MAX_NODES
            break
        mesh, Y = finer, values
    last = (
        run_newton(equations, mesh, Y, p, theta, 1e-13) if code in (0, MAX_NODES) else found
    )  # derivatives need a root
    Y, p = last.Y, last.p
    nodes: Any = given
    if isinstance(given, Tracer):  # a new node moves with its neighbors
        i = np.clip(np.searchsorted(first, mesh, side="right") - 1, 0, len(first) - 2)
        share = (mesh - first[i]) / (first[i + 1] - first[i])
        moving = nodes[i] * (1 - share) + nodes[i + 1] * share
        mesh = moving + (mesh - detach([moving])[0])
    return mesh, Y, p, (rms, np.int64(code), np.int64(total))
