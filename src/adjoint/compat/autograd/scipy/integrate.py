"""Initial value problems with derivatives in the start, the times and the parameters.

For y' = f(y, t, p) from y(t₀) = y₀, the tangent obeys the equation linearized along the solution,

    dy' = ∂_y f dy + ∂_p f dp,        y(tᵢ) moves with f(y, tᵢ, p) dtᵢ,

and the cotangent w of y the adjoint one, backwards from measurement to measurement,

    w' = -(∂_y f)ᵀ w,        p̄ = ∫ (∂_p f)ᵀ w dt,        t̄ᵢ = f(yᵢ, tᵢ, p)ᵀ ȳᵢ.

Both are solved by the solver itself, to its tolerance.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate

from adjoint import numpy as anp
from adjoint import tree
from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import jvp, vjp
from adjoint.base.errors import UnsupportedError
from adjoint.compat.autograd.boxes import nothing_traced
from adjoint.compat.autograd.extend import named
from adjoint.program.trace import Tracer

__all__ = ["odeint"]

# What SciPy is told about the equation itself; the linearized ones are others.
_OF_THE_EQUATION = ("Dfun", "col_deriv", "ml", "mu", "full_output", "printmessg", "tfirst")


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Any = (), **kwargs: Any) -> Any:
    """scipy.integrate.odeint: the solution of y' = func(y, t, *args) at the times t, one row for each.

    `args` is a tuple of anything; arrays of floats in it, and in containers in it, are differentiated. Keywords are
    SciPy's.
    """
    args = args if isinstance(args, tuple) else (args,)
    leaves, structure = tree.flatten(args)
    moving = [i for i, leaf in enumerate(leaves) if _is_floating(leaf)]
    problem = _Problem(func, kwargs, leaves, structure, moving)
    given = [leaves[i] for i in moving]
    if any(isinstance(v, Tracer) for v in (y0, t, *given)):
        if kwargs.get("full_output"):
            raise UnsupportedError("odeint: full_output=1 gives numbers without derivatives. Leave it out.")
        return _solved(problem, y0, t, given)
    with nothing_traced():
        return scipy.integrate.odeint(func, y0, t, args, **kwargs)


def _is_floating(leaf: Any) -> bool:
    kind = getattr(leaf, "dtype", None)
    return isinstance(leaf, float | complex) if kind is None else kind.kind in "fc"


class _Problem:
    """The equation as y' = problem(y, t, p) with p the list of its floating arguments, and how it is solved."""

    def __init__(
        self, func: Callable[..., Any], options: dict[str, Any], leaves: list[Any], structure: Any, moving: list[int]
    ) -> None:
        self.func, self.options, self.leaves, self.structure, self.moving = func, options, leaves, structure, moving
        self.accuracy = {k: v for k, v in options.items() if k not in _OF_THE_EQUATION}
        self.__name__ = getattr(func, "__name__", "func")

    def args(self, p: Sequence[Any]) -> tuple[Any, ...]:
        full = list(self.leaves)
        for i, v in zip(self.moving, p, strict=True):
            full[i] = v
        return tree.unflatten(self.structure, full)

    def __call__(self, y: Any, t: Any, p: Sequence[Any]) -> Any:
        first = (t, y) if self.options.get("tfirst") else (y, t)
        return anp.asarray(self.func(*first, *self.args(p)))


def _value(problem: _Problem, y0: Any, t: Any, p: Sequence[Any]) -> Any:
    with nothing_traced():
        return scipy.integrate.odeint(problem.func, y0, t, problem.args(p), **problem.options)


def _push(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    problem, y0, t, p = primals
    _, dy0, dt, dp = tangents
    n = np.size(y0)
    yt = _solved(problem, y0, t, p)
    start = np.reshape(dy0, (-1,)) - problem(yt[0], t[0], p) * dt[0]

    def linearized(state: Any, t: Any, p: Any, dp: Any) -> Any:
        return np.concatenate(jvp(lambda y, *p: problem(y, t, p), (state[:n], *p), (state[n:], *dp)))

    both = odeint(linearized, np.concatenate([np.reshape(y0, (-1,)), start]), t, (p, dp), **problem.accuracy)
    speeds = np.stack([problem(yt[i], t[i], p) for i in range(t.shape[0])])
    return yt, both[:, n:] + speeds * dt[:, None]


def _pull(problem: _Problem, y0: Any, t: Any, p: Sequence[Any]) -> tuple[Any, Callable[[Any], Any]]:
    yt = _solved(problem, y0, t, p)
    n, sizes = np.size(y0), [np.size(v) for v in p]

    def adjoint(state: Any, t: Any, p: Any) -> Any:
        """(y, w, p̄) backwards: the integrand of p̄ does not need p̄."""
        velocity, pullback = vjp(lambda y, *p: problem(y, t, p), state[:n], *p)
        found = pullback(-state[n : 2 * n])
        return np.concatenate([velocity, *[np.reshape(v, (-1,)) for v in found]])

    def pulled(ct: Any) -> tuple[Any, ...]:
        last = t.shape[0] - 1
        w, sums, times = ct[last], np.zeros(sum(sizes)), []
        for i in range(last, 0, -1):
            times.append(np.sum(problem(yt[i], t[i], p) * ct[i]))
            back = np.concatenate([yt[i], w, sums])
            ends = np.stack([t[i], t[i - 1]])
            state = odeint(adjoint, back, ends, (p,), **problem.accuracy)[1]
            w, sums = state[n : 2 * n], state[2 * n :]
            if i > 1:
                w = w + ct[i - 1]
        if last:
            times.append(-np.sum(problem(yt[0], t[0], p) * w))
            w = w + ct[0]
        else:
            times.append(np.zeros(()))
        parts = np.split(sums, np.cumsum(sizes)[:-1]) if sizes else []
        cotangents = [np.reshape(part, np.shape(v)) for part, v in zip(parts, p, strict=True)]
        return np.reshape(w, np.shape(y0)), np.stack(times[::-1]), cotangents

    return yt, pulled


_solved = custom_rule(named(_value, "odeint"), vjp=_pull, jvp=_push, static=("problem",))
