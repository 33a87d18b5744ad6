"""Derivatives of what a solver found: the solution by its conditions, the optimal value by the envelope theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import jvp, stop_gradient
from adjoint.program.program import interpret
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import type_of
from adjoint.transform.record_function import record_function

__all__ = ["attach_derivative", "attach_envelope", "attach_nothing"]


def attach_envelope(f: Callable[..., Any], x: Any, fun: Any, args: Sequence[Any]) -> Any:
    """fun, the known value of f(x, *args) at a minimizer, with ∂f/∂θ at fixed x as its derivative.

    The derivative is a function of x, which depends on θ in its turn: so it is right at every order. θ are the
    arguments and all that f closes over.
    """
    return _attach(f, fun, (x, *args), x)


def attach_derivative(f: Callable[..., Any], known: Any, args: Sequence[Any]) -> Any:
    """A tree of numbers, the known value of f(*args), with the whole derivative of f: through x as well."""
    return _attach(f, known, args, ())


def attach_nothing(known: Any, args: Any) -> Any:
    """A number of which it is not known how it depends on these: its derivative is NaN."""
    moving = [leaf for leaf in tree.leaves(args) if isinstance(leaf, Tracer) and _is_floating(leaf)]
    if not moving:
        return stop_gradient(known)

    def rule(primals: Any, tangents: Any) -> Any:
        lost = sum(np.sum(np.real(t)) for t in tangents[1] if t is not None)
        return primals[0], (np.nan * lost * np.ones_like(primals[0])).astype(primals[0].dtype)

    valued: Any = custom_rule(lambda known, moving: known, jvp=rule)
    return valued(stop_gradient(known), tuple(moving))


def _attach(f: Callable[..., Any], known: Any, args: Sequence[Any], held: Any) -> Any:
    """f(*args), whose value is known, with a derivative in all numbers but the first ones, those of `held`."""
    if live_trace() is None:
        return known
    leaves, structure = tree.flatten(tuple(args))
    numbers = [i for i, leaf in enumerate(leaves) if _is_number(leaf)]
    values = [leaves[i] if hasattr(leaves[i], "dtype") else np.asarray(leaves[i])[()] for i in numbers]
    count = len(tree.leaves(held))

    def bind(inputs: Sequence[Any]) -> Any:
        full = list(leaves)
        for i, v in zip(numbers, inputs, strict=True):
            full[i] = v
        return f, tree.unflatten(structure, full), {}

    record = Record(purpose="the value of a minimum")
    made = record_function(f, bind, record, [record.input(type_of(v)) for v in values])
    theta = [*values[count:], *made.captured]
    if not any(isinstance(v, Tracer) for v in theta):
        return tree.map(stop_gradient, known)
    program = made.program

    def rule(primals: Any, tangents: Any) -> Any:
        known, point, theta = primals
        moving = [
            i for i, (v, t) in enumerate(zip(theta, tangents[2], strict=True)) if t is not None and _is_floating(v)
        ]

        def of_moving(*moved: Any) -> Any:
            full = list(theta)
            for i, v in zip(moving, moved, strict=True):
                full[i] = v
            return tuple(interpret(program, [*point, *full]))

        if not moving:
            return known, tuple(np.zeros_like(v) for v in known)
        pushed = jvp(of_moving, tuple(theta[i] for i in moving), tuple(tangents[2][i] for i in moving))[1]
        return known, tuple(t.astype(v.dtype) for t, v in zip(pushed, known, strict=True))

    valued: Any = custom_rule(lambda known, point, theta: known, jvp=rule)
    given = tuple(stop_gradient(v) for v in tree.leaves(known))
    return tree.unflatten(tree.structure(known), list(valued(given, tuple(values[:count]), tuple(theta))))


def _is_floating(value: Any) -> bool:
    return np.result_type(type_of(value).dtype).kind in "fc"


def _is_number(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)
