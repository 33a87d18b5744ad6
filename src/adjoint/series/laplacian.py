"""Δf = Σᵢ ∂²f/∂xᵢ², by collapsed Taylor mode.

Series of order two along all n unit vectors carry n first and n second coefficients through every operation. Only the
sum of the second ones is wanted, and it obeys a recurrence of its own: for z = g(y), with first derivatives yᵢ along
direction i and the sum y'' of the second ones,

    zᵢ = ∂g(y)[yᵢ],        z'' = ∂g(y)[y''] + Σᵢ ∂²g(y)[yᵢ, yᵢ].

So the sum is taken at each operation: n + 2 numbers go in place of each number instead of 2n + 1, and linear operations
cost n + 1 products instead of 2n.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import Function, jvp, vmap
from adjoint.api.taylor import jet
from adjoint.base.source import user_facing
from adjoint.conversion.driver import start_over
from adjoint.linear.operators.spaces import Space
from adjoint.program.op import Op
from adjoint.program.trace import Trace, Tracer, running
from adjoint.program.types import Value, type_of
from adjoint.series.derivatives import check_holomorphic, floating
from adjoint.transform.arguments import fresh, leave_trace, run
from adjoint.transform.drivers import check_floating

__all__ = ["laplacian"]


class CollapsedTracer(Tracer):
    """A value, its derivatives along all directions (a first axis), and the sum of the second ones; None is zero."""

    __slots__ = ("_first", "_second")

    def __init__(self, trace: Collapsed, value: Value, first: Value, second: Value) -> None:
        self._trace, self._value, self._first, self._second = trace, value, first, second

    def has_tangent(self) -> bool:
        return self._first is not None or self._second is not None or super().has_tangent()

    def snapshot(self) -> CollapsedTracer:
        return CollapsedTracer(self._trace, self._value, self._first, self._second)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        mine = isinstance(other, CollapsedTracer) and other._trace is self._trace
        self._value = other._value if mine else other
        self._first, self._second = (other._first, other._second) if mine else (None, None)


class Collapsed(Trace):
    """First derivatives along many directions, second ones only in their sum."""

    title = "laplacian"
    differentiates = True

    def constant(self, value: Value) -> CollapsedTracer:
        return CollapsedTracer(self, value, None, None)

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if get_ident() != self.thread:
            self.wrong_thread()
        mine = [isinstance(a, CollapsedTracer) and a._trace is self for a in args]
        xs = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        moving = [i for i, (a, m) in enumerate(zip(args, mine, strict=True)) if m and a._first is not None]
        bent = [i for i, (a, m) in enumerate(zip(args, mine, strict=True)) if m and a._second is not None]
        if op.flat or not (moving or bent):
            z = op(*xs)
            return tuple(self._tracer(part, None, None) for part in z) if op.several else self._tracer(z, None, None)

        def at(positions: Sequence[int]) -> Callable[..., Any]:
            def applied(*values: Value) -> Any:
                full = list(xs)
                for position, value in zip(positions, values, strict=True):
                    full[position] = value
                z = op(*full)
                return z if op.several else (z,)

            return applied

        firsts: Any = None
        seconds: Any = None
        with np.errstate(all="ignore"):
            if moving and op.linear:
                push = lambda *v: jvp(at(moving), tuple(xs[i] for i in moving), v)
                _, firsts = vmap(push)(*[args[i]._first for i in moving])
            elif moving:
                points = tuple(xs[i] for i in moving)
                curve = lambda *v: jet(at(moving), points, [[one, None] for one in v])
                _, (firsts, seconds) = vmap(curve)(*[args[i]._first for i in moving])
                seconds = [np.sum(part, axis=0) for part in seconds]
            if bent:
                _, along = jvp(at(bent), tuple(xs[i] for i in bent), tuple(args[i]._second for i in bent))
                seconds = along if seconds is None else [a + b for a, b in zip(seconds, along, strict=True)]
        z = op(*xs)
        parts = z if op.several else (z,)
        none = [None] * len(parts)
        results = tuple(map(self._tracer, parts, firsts or none, seconds or none))
        return results if op.several else results[0]

    def _tracer(self, z: Value, first: Value, second: Value) -> Value:
        return CollapsedTracer(self, z, first, second) if hasattr(z, "dtype") and z.dtype.kind in "fc" else z


@user_facing
def laplacian(function: Function) -> Function:
    """Δf(x) = Σᵢ ∂²f/∂xᵢ² over all elements of x, without the Hessian: one pass forwards.

    x may be a number, an array or a tree; f may return a number, an array or a tree, whose Laplacians come in the same
    structure. Of complex x it is Σᵢ ∂²f/∂zᵢ² of a holomorphic f. Other arguments stay as they are.

    ```python
    ad.laplacian(lambda x: np.sum(x**2))(np.ones(3))  # → 6.0
    ```
    """

    @user_facing
    def at(x: Any, *args: Any, **kwargs: Any) -> Any:
        return start_over(lambda function: measure(function, x, args, kwargs), function, ((x, *args), kwargs))

    def measure(function: Function, x: Any, args: Any, kwargs: Any) -> Any:
        x = floating(x, "laplacian")
        space = Space.of(x)
        x = space.checked(x, "laplacian: the argument")
        basis = tree.leaves(space.unravel_columns(np.eye(space.size, dtype=space.dtype)))
        values = tree.leaves(x)
        trace = Collapsed()
        with running(trace):
            inputs = [CollapsedTracer(trace, v, e, None) for v, e in zip(values, basis, strict=True)]
            y = run(trace, lambda: function(tree.unflatten(space.structure, inputs), *args, **kwargs))
            check_holomorphic(x, y, "laplacian")
            leaves, structure = tree.flatten(y)
            check_floating(list(map(type_of, leaves)), "laplacian")
            seconds = [_second(leaf, trace) for leaf in leaves]
        return tree.unflatten(structure, fresh([leave_trace(v, trace, values) for v in seconds]))

    at.__name__ = f"laplacian_of_{getattr(function, '__name__', 'function')}"
    return at


def _second(leaf: Any, trace: Collapsed) -> Value:
    if isinstance(leaf, CollapsedTracer) and leaf._trace is trace:
        return type_of(leaf._value).zeros() if leaf._second is None else leaf._second
    return type_of(leaf).zeros()
