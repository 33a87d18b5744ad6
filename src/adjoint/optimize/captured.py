"""What a function closes over, as arguments: a solver is then called with plain numbers for traced ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.ops.control.recorded import call_program, keep_program
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import type_of
from adjoint.transform.record_function import record_function

__all__ = ["close_over", "close_over_all"]


def close_over(f: Callable[..., Any], x0: Any, args: Sequence[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """f and its arguments, with the traced values that f reads from elsewhere as one more argument.

    Where nothing is traced, or f cannot be written down beforehand, they are as they were.
    """
    args = tuple(args)
    if live_trace() is None:
        return f, args
    leaves, structure = tree.flatten((x0, args))
    count = len(tree.leaves(x0))
    leaves = [float(leaf) if i < count and type(leaf) is int else leaf for i, leaf in enumerate(leaves)]
    numbers = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer) or (i < count and _is_floating(leaf))]

    def bind(inputs: Sequence[Any]) -> Any:
        full = list(leaves)
        for i, v in zip(numbers, inputs, strict=True):
            full[i] = v
        point, theta = tree.unflatten(structure, full)
        return f, (point, *theta), {}

    record = Record(purpose="what a solver is asked to solve")
    values = [leaves[i] if isinstance(leaves[i], Tracer) else np.asarray(leaves[i])[()] for i in numbers]
    try:
        made = record_function(f, bind, record, [record.input(type_of(v)) for v in values])
    except Exception:  # whatever it is, the solver is told when it calls the function
        return f, args
    if not made.captured or made.constants:
        return f, args
    program, result = keep_program(made.program), made.structure

    def closed(x: Any, *theta: Any) -> Any:
        *own, captured = theta
        flat = tree.leaves((x, tuple(own)))
        return tree.unflatten(result, call_program(program, [*[flat[i] for i in numbers], *captured]))

    return closed, (*args, list(made.captured))


def close_over_all(
    functions: Sequence[Callable[..., Any] | None], x0: Any, args: Sequence[Any]
) -> tuple[list[Any], tuple[Any, ...]]:
    """The same for several functions of (x, *args), which are given the same arguments; None stays None."""
    args = tuple(args)
    closed = [(None, args) if f is None else close_over(f, x0, args) for f in functions]
    captured = [list(new[len(args)]) if len(new) > len(args) else None for _, new in closed]
    if all(values is None for values in captured):
        return list(functions), args

    def give(number: int, f: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any, *theta: Any) -> Any:
            *own, given = theta
            return f(x, *own) if given[number] is None else f(x, *own, given[number])

        return call

    return [None if f is None else give(i, f) for i, (f, _) in enumerate(closed)], (*args, captured)


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, float | complex) or getattr(getattr(leaf, "dtype", None), "kind", "") in {"f", "c"}
