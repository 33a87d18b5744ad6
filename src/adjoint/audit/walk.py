"""Walk through a program on given values, primitive by primitive, into branches and every iteration of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from adjoint import tree
from adjoint.api.tracing import trace
from adjoint.base.errors import DtypeError, TraceError
from adjoint.base.origins import Origin, at
from adjoint.program.expansion import expansion
from adjoint.program.program import Equation, Program, Var
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import plain_value

__all__ = ["Visit", "check_real_result", "plain_values", "real_array", "record_at", "walk"]

Visit: TypeAlias = Callable[[Equation, Sequence[Value], Sequence[Value]], Sequence[Value] | None]


def walk(program: Program, args: Sequence[Value], visit: Visit) -> list[Value]:
    """Evaluate a program; `visit(equation, inputs, outputs)` sees each primitive that runs, and may change its outputs.

    Of a branch only the side taken is seen, of a loop every iteration, in order.
    """
    env: dict[Var, Value] = dict(zip(program.inputs, args, strict=True))
    env.update(program.constants)

    def read(atom: Any) -> Value:
        return env[atom] if isinstance(atom, Var) else atom.value

    for eq in program.equations:
        xs = [read(a) for a in eq.inputs]
        zs: Sequence[Value] | None = None
        if "unroll" in eq.op.stated:
            zs = eq.op.unroll(xs, lambda program, args: walk(program, args, visit))
        else:
            with at(Origin(eq.location, eq.scope, eq.pulled)):  # what it is made of is done for its line
                expanded = expansion(eq.op, [type_of(x) for x in xs])
            zs = None if expanded is None else walk(expanded, xs, visit)
        if zs is None:
            with np.errstate(all="ignore"):
                z = eq.op.evaluate(*xs)
            zs = list(z) if eq.op.several else [z] if eq.outputs else []
            changed = visit(eq, xs, zs)
            zs = zs if changed is None else changed
        env.update(zip(eq.outputs, zs, strict=True))
    return [read(a) for a in program.outputs]


def plain_values(name: str, *values: Any) -> None:
    """Refuse values of a transformation."""
    if any(isinstance(leaf, Tracer) for leaf in tree.leaves(values)):
        raise _inside_transformation(name)


def real_array(name: str, x: Any, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One array of real numbers, in double precision."""
    plain_values(name, x)
    array = np.asarray(x) if isinstance(x, list | tuple) else x
    if not np.isscalar(array) and not hasattr(array, "dtype"):
        raise TypeError(f"{name}: {what} is a {type(x).__name__}; it must be one array of real numbers.")
    array = np.asarray(plain_value(array, f"{name}: {what}"))
    if array.dtype.kind not in "fiub":
        raise DtypeError(
            f"{name}: {what} has dtype {array.dtype}; it must be real. Give real and imaginary parts as one array."
        )
    if np.any(np.isnan(array)):
        raise ValueError(f"{name}: {what} has elements that are NaN, where nothing can be said about a function.")
    return array.astype(float)


def check_real_result(name: str, y: Any) -> None:
    """Refuse what is not one array of real numbers as the result of a function that is looked at."""
    if not np.isscalar(y) and not hasattr(y, "dtype"):
        raise TypeError(f"{name}: the function returned a {type(y).__name__}; it must return one array.")
    if np.iscomplexobj(y):
        raise DtypeError(
            f"{name}: the function returned complex numbers. Return real and imaginary parts as one array."
        )


def record_at(name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> tuple[Program, list[Value]]:
    """What a function does at given arguments, and the values of the program's inputs."""
    plain_values(name, args, kwargs)
    traced = trace(lambda *a: function(*a, **kwargs), concrete=True)(*args)
    fixed = dict(traced.fixed)
    values = [np.asarray(leaf)[()] for number, leaf in enumerate(tree.leaves(args)) if number not in fixed]
    if len(traced.program.inputs) > len(values):  # values of a transformation in the closure
        raise _inside_transformation(name)
    return traced.program, values


def _inside_transformation(name: str) -> TraceError:
    examples = f"{name}(jit(f))(x), {name}(vmap(f))(xs), {name}(grad(f))(x)"
    return TraceError(
        f"{name} looks at values, and inside jit, vmap or a derivative they are not at hand. Call it outside"
        + (f", on the transformed function: {examples}." if name in ("cost", "kinks") else ", at one point.")
    )
