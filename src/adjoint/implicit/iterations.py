"""The solvers that stand in where the user gives none: Newton's method with a line search, Picard's iteration.

They are written once, on vectors, with `while_loop`: so they run at once on plain arrays and are part of compiled and
batched programs. `adjoint.optimize` has better ones. Where they find nothing they say so, to whoever asks for x alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import while_loop
from adjoint.api.gradients import grad
from adjoint.api.jacobians import jacfwd
from adjoint.base.errors import ShapeError
from adjoint.implicit.diagnosis import Watch, call_where
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.linear.operators.derivative_maps import jacobian
from adjoint.linear.solvers.methods import gmres
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of

__all__ = ["interior_point", "newton_descent", "newton_root", "picard"]

MATRIX = 200  # unknowns up to which ∂F is a matrix
STEPS, HALVINGS = 200, 40
MOST = 10_000  # steps of Picard's iteration


def newton_root(F: Callable[..., Any], watch: Watch | None = None) -> Callable[..., Any]:
    """Newton's method on F, each step shortened until ‖F‖ falls."""
    return partial(_run_newton_root, F, watch)


def _run_newton_root(F: Callable[..., Any], watch: Watch | None, x0: Any, *args: Any, **kwargs: Any) -> Any:
    start, back = _ravel(x0)
    flat = lambda v: _vector(F(back(v), *args, **kwargs))

    def step(v: Value) -> tuple[Value, Value]:
        value = flat(v)
        if len(start) == 1:
            derivative = jacfwd(flat)(v)[0]
            direction = value / np.where(derivative == 0, np.inf, derivative)
            whole = np.abs(derivative)
            return direction, _relative(value - derivative * direction, whole * np.abs(v), _norm(whole))
        if len(start) <= MATRIX:
            cutoff = len(start) * float(np.finfo(v.dtype).eps)
            J = jacfwd(flat)(v)
            direction = np.linalg.pinv(J, cutoff) @ value  # the shortest step, where several solve it
            return direction, _relative(value - J @ direction, np.abs(J) @ np.abs(v), _norm(J))
        direction = gmres(jacobian(flat)(v), value).value
        return direction, 0.0 * _norm(value)

    with np.errstate(all="ignore"):
        v, off, norm = _search(lambda v: _norm(flat(v)), step, start, lambda v, size: size)
    words = (
        "Newton's method found no root from x0: it ends where ‖F(x, θ)‖ = {:.3g}. Start elsewhere, or give a solver."
    )
    _tell(watch, off, words, norm)
    return back(np.where(np.isfinite(norm), v, np.nan))


def newton_descent(f: Callable[..., Any], watch: Watch | None = None) -> Callable[..., Any]:
    """Newton's method on ∇f, with the absolute values of the eigenvalues of the Hessian: it goes downhill only."""
    return partial(_run_newton_descent, f, watch)


def _run_newton_descent(f: Callable[..., Any], watch: Watch | None, x0: Any, *args: Any, **kwargs: Any) -> Any:
    start, back = _ravel(x0)
    if len(start) > MATRIX:
        raise ShapeError(f"implicit.argmin: x has {len(start)} numbers, and the solver that stands in is for "
                         f"{MATRIX} at most. Give a solver, e.g. one of adjoint.optimize or SciPy.")  # fmt: skip
    flat = lambda v: np.real(f(back(v), *args, **kwargs))
    gradient = grad(flat)

    def step(v: Value) -> tuple[Value, Value]:
        values, vectors = np.linalg.eigh(jacfwd(gradient)(v))
        sizes, g = np.abs(values), vectors.T @ gradient(v)
        floor = np.finfo(start.dtype).eps * np.max(sizes)
        left = _relative(np.where(sizes > floor, 0.0 * g, g), sizes * np.abs(vectors.T @ v), np.max(sizes))
        bent = values[0] < -(float(np.finfo(start.dtype).eps) ** 0.5) * np.max(sizes)  # a way down, without a gradient
        return vectors @ (g / np.where(sizes > floor, sizes, np.inf)), np.where(bent, np.inf, left)

    with np.errstate(all="ignore"):
        v, off, value = _search(flat, step, start, lambda v, _: _norm(gradient(v)))
    words = "Newton's method found no minimum from x0: it ends where f is {:.3g}. Start elsewhere, or give a solver."
    _tell(watch, off, words, value)
    return back(np.where(np.isfinite(value), v, np.nan))


def _tell(watch: Watch | None, off: Value, words: str, *values: Value) -> None:
    """Say that nothing was found, where the last step or what it leaves is not small."""
    if watch is None or watch.check == "ignore":
        return
    wrong = np.logical_not(off <= float(np.finfo(off.dtype).eps) ** 0.25)
    tell = lambda *values: watch.say(words.format(*map(float, values)))
    if any(isinstance(v, Tracer) for v in (wrong, *values)):
        call_where(wrong, tell, *values)
    elif wrong:
        tell(*values)


def picard(T: Callable[..., Any], watch: Watch | None = None) -> Callable[..., Any]:
    """x ← T(x) until it stays, which it does where T contracts."""
    return partial(_run_picard, T, watch)


def _run_picard(T: Callable[..., Any], watch: Watch | None, x0: Any, *args: Any, **kwargs: Any) -> Any:
    start, back = _ravel(x0)
    flat = lambda v: _vector(T(back(v), *args, **kwargs))
    eps = float(np.finfo(start.dtype).eps)

    def goes_on(state: Any) -> Any:
        v, moved, before, count = state
        scale = 1.0 + _largest(v)
        # the last digits may go round for ever: below the root of the rounding it ends where it falls no more
        small = (moved <= 4 * eps * scale) | ((moved <= eps**0.5 * scale) & (moved >= before))
        return np.logical_not(small) & (count < MOST) & np.isfinite(moved)

    def body(state: Any) -> Any:
        v, moved, _, count = state
        new = flat(v)
        return new, _largest(new - v), moved, count + 1

    with np.errstate(all="ignore"):
        first = flat(start)
        moved = _largest(first - start)
        v, moved, _, count = while_loop(goes_on, body, (first, moved, moved * 2 + 1, 0))
    words = (
        "x ← T(x) does not settle: the last of {:.0f} steps has length {:.3g}. Give a solver, e.g. Anderson's method."
    )
    _tell(watch, np.where((count < MOST) & np.isfinite(moved), 0.0, np.inf), words, count * 1.0, moved)
    return back(v)


def interior_point(F: Callable[..., Any], z: Any, tau: float, args: Any, kwargs: Any) -> Any:
    """The zero of relaxed conditions of Karush, Kuhn and Tucker near z, by Newton's method on plain arrays.

    Slacks and multipliers of inequalities stay positive: a step goes no farther than 0.995 of the way to zero.
    """
    lift = lambda leaf: np.maximum(leaf, tau**0.5)
    z = {**z, "slack": tree.map(lift, z["slack"]), "inequality": tree.map(lift, z["inequality"])}
    v, back = _ravel(z)
    positive, _ = _ravel(
        {name: tree.map(lambda leaf, n=name: np.full(np.shape(leaf), float(n in {"slack", "inequality"})), part)
         for name, part in z.items()}
    )  # fmt: skip
    flat = lambda v: _vector(F(back(v), *args, **kwargs))
    inside = positive == 1
    for _ in range(STEPS):
        value = flat(v)
        step = np.linalg.lstsq(jacfwd(flat)(v), value, rcond=None)[0]
        shrinks = inside & (step > 0)
        alpha = min(1.0, 0.995 * float(np.min(v[shrinks] / step[shrinks], initial=np.inf)))
        v = v - alpha * step
        if alpha == 1.0 and _norm(step) <= 1e-14 * (1 + _norm(v)):
            break
    return back(v)


def _search(merit: Callable[[Value], Value], step: Callable[[Value], Any], start: Value, size: Any) -> Any:
    """v ← v - α step(v), with α = 1, ½, ¼ … until the merit falls; it ends when no step makes it smaller.

    (v, the last step and what it leaves, both relative, the merit).
    """
    eps = float(np.finfo(start.dtype).eps)

    def goes_on(state: Any) -> Any:
        _, best, moved, count, _ = state
        return (moved > 0) & (count < STEPS) & np.isfinite(best)

    def body(state: Any) -> Any:
        v, best, _, count, _ = state
        direction, left = step(v)

        def shorten(search: Any) -> Any:
            alpha, _, tries = search
            return alpha / 2, merit(v - alpha / 2 * direction), tries + 1

        def too_long(search: Any) -> Any:
            _, value, tries = search
            return np.logical_not(value < best) & (tries < HALVINGS)

        alpha, value, _ = while_loop(too_long, shorten, (np.ones((), start.dtype), merit(v - direction), 0))
        better = value < best
        # where rounding hides the fall of the merit, a whole step that makes the residual smaller is taken all the same
        whole = v - direction
        at_whole = merit(whole)
        level = np.abs(at_whole - best) <= 8 * eps * np.abs(best)
        polished = np.logical_not(better) & level & (size(whole, at_whole) < size(v, best))
        chosen = np.where(better, v - alpha * direction, np.where(polished, whole, v))
        kept = np.where(better, value, np.where(polished, at_whole, best))
        off = _norm(direction) / (_norm(v) + eps**0.25) + left  # where it ends v was not moved
        return chosen, kept, np.where(better | polished, 1, 0), count + 1, off

    never = np.full((), np.inf, start.dtype)
    v, best, _, _, off = while_loop(goes_on, body, (start, merit(start), 1, 0, never))
    return v, off, best


def _relative(left: Value, terms: Value, whole: Value) -> Value:
    """What a step does not explain of F or ∇f, over the size of its terms; `whole` is that of the derivative."""
    size = _norm(terms) + float(np.finfo(left.dtype).eps) ** 0.25 * whole
    left = _norm(left)
    return np.where(left > 0, left / size, 0.0 * left)


def _ravel(x0: Any) -> tuple[Value, Callable[[Value], Any]]:
    leaves, structure = tree.flatten(x0)
    types = [type_of(v) for v in leaves]
    return to_vector(leaves, types), lambda v: tree.unflatten(structure, to_arrays(v, types))


def _vector(value: Any) -> Value:
    leaves = tree.leaves(value)
    return to_vector(leaves, [type_of(v) for v in leaves])


def _largest(v: Value) -> Value:
    """‖v‖∞, which is infinite where v is, and not before."""
    return np.max(np.abs(v))


def _norm(v: Value) -> Value:
    return np.sqrt(np.sum(np.square(v)))
