"""Fixed points x = f(a)(x), and their derivative in a.

With A = ∂ₓ f(a)(x) and B = ∂ₐ f(a)(x), and spectral radius of A below one:

    dx = A dx + B da,        ā = Bᵀ w  with  w = Aᵀ w + x̄

both found by the same iteration as the fixed point itself.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint import tree
from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import jvp, vjp
from adjoint.compat.autograd.boxes import nothing_traced
from adjoint.compat.autograd.extend import named

__all__ = ["fixed_point"]


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]], a: Any, x0: Any, distance: Callable[[Any, Any], Any], tol: float
) -> Any:
    """x with f(a)(x) = x, from x0; steps end when `distance` of two of them is at most `tol`."""
    return _solved(f, a, x0, distance, tol)


def _iterated(step: Callable[[Any], Any], x: Any, distance: Callable[[Any, Any], Any], tol: float) -> Any:
    new = step(x)
    while distance(new, x) > tol:
        new, x = step(new), new
    return new


def _value(f: Any, a: Any, x0: Any, distance: Any, tol: float) -> Any:
    with nothing_traced():
        return _iterated(f(a), x0, distance, tol)


def _pull(f: Any, a: Any, x0: Any, distance: Any, tol: float) -> tuple[Any, Callable[[Any], Any]]:
    x = fixed_point(f, a, x0, distance, tol)
    _, pullback = vjp(lambda a, x: f(a)(x), a, x)

    def pulled(ct: Any) -> Any:
        def again(given: Any) -> Callable[[Any], Any]:
            a, x, ct = given
            _, through = vjp(f(a), x)
            return lambda w: tree.map(lambda p, q: p + q, through(w)[0], ct)

        w = fixed_point(again, (a, x, ct), tree.zeros_like(ct), distance, tol)
        return pullback(w)[0], None

    return x, pulled


def _push(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    f, a, x0, distance, tol = primals
    x = fixed_point(f, a, x0, distance, tol)

    def again(given: Any) -> Callable[[Any], Any]:
        a, x, da = given
        return lambda dx: jvp(lambda a, x: f(a)(x), (a, x), (da, dx))[1]

    return x, fixed_point(again, (a, x, tangents[1]), tree.zeros_like(x), distance, tol)


_solved = custom_rule(
    named(_value, "fixed_point"), vjp=_pull, jvp=_push, static=("f", "distance", "tol"), nondiff=("x0",)
)
