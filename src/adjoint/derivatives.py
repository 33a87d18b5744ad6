"""Whole derivatives: Jacobians and Hessians."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api import Function, Transformed
from adjoint.base.errors import DtypeError
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import Argnums, Selection, fresh, select
from adjoint.transform.drivers import Linearised
from adjoint.transform.lanes import run_lanes
from adjoint.transform.watch import watched

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


def jacfwd(
    function: Function, argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Transformed:
    """The Jacobian by forward mode: one pushed direction for each input element.

    A tree of outputs, each with the tree of inputs: every leaf has shape output.shape + input.shape.
    """
    return Transformed(
        _jacobian, function, {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic, "mode": "forward"}
    )


def jacrev(
    function: Function, argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Transformed:
    """The Jacobian by reverse mode: one pulled direction for each output element. Laid out as by `jacfwd`."""
    return Transformed(
        _jacobian, function, {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic, "mode": "reverse"}
    )


def jacobian(
    function: Function, argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Transformed:
    """The Jacobian by the mode that needs fewer directions: reverse for fewer outputs than inputs, else forward."""
    return Transformed(
        _jacobian, function, {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic, "mode": "auto"}
    )


@watched
def _jacobian(function: Function, options: dict[str, Any], args: Any, kwargs: Any) -> Any:
    name = {"forward": "jacfwd", "reverse": "jacrev", "auto": "jacobian"}[options["mode"]]
    chosen = select(function, options["argnums"], args, kwargs, name)
    if any(type_of(v).dtype.kind == "c" for v in chosen.values) and not options["holomorphic"]:
        raise DtypeError(
            f"{name} of complex arguments needs holomorphic=True: a function of z and conj(z) has no single complex "
            "Jacobian. Use jvp or vjp."
        )
    recorded = Linearised(
        lambda active: chosen.call(chosen.completed(active)), chosen.values, has_aux=options["has_aux"]
    )
    inputs = sum(math.prod(t.shape) for t in recorded.input_types)
    outputs = sum(math.prod(t.shape) for t in recorded.output_types)
    mode = options["mode"] if options["mode"] != "auto" else ("reverse" if outputs < inputs else "forward")
    blocks = _columns(recorded) if mode == "forward" else _rows(recorded, conjugate=options["holomorphic"])
    result = tree.unflatten(
        recorded.structure,
        [
            chosen.result(_with_integers(chosen, fresh(row), t))
            for row, t in zip(blocks, recorded.output_types, strict=True)
        ],
    )
    return (result, recorded.aux) if options["has_aux"] else result


def _with_integers(chosen: Selection, row: Sequence[Value], out: Any) -> list[Value]:
    full: list[Any] = [np.zeros((*out.shape, *np.shape(leaf)), type_of(leaf).dtype) for leaf in chosen.leaves]
    for i, block in zip(chosen.active, row, strict=True):
        full[i] = block
    return full


def _basis(types: Sequence[Any]) -> list[Value]:
    """For each leaf a stack of tangents that together run through all unit vectors."""
    total = sum(math.prod(t.shape) for t in types)
    stacks, start = [], 0
    for t in types:
        n = math.prod(t.shape)
        stack = np.zeros((total, n), t.dtype)
        stack[np.arange(start, start + n), np.arange(n)] = 1
        stacks.append(stack.reshape(total, *t.shape))
        start += n
    return stacks


def _mapped(function: Callable[[Sequence[Value]], Sequence[Value]], stacks: list[Value], size: int) -> list[Value]:
    out, flags, _ = run_lanes(lambda lanes: list(function(lanes)), stacks, [True] * len(stacks), size)
    return [z if f else np.broadcast_to(z, (size, *np.shape(z))) for z, f in zip(out, flags, strict=True)]


def _columns(recorded: Linearised) -> list[list[Value]]:
    """blocks[output][input] from one pushed direction per input element."""
    stacks = _basis(recorded.input_types)
    size = sum(math.prod(t.shape) for t in recorded.input_types)
    pushed = (
        _mapped(recorded.push, stacks, size)
        if size
        else [np.zeros((0, *t.shape), t.dtype) for t in recorded.output_types]
    )
    blocks: list[list[Value]] = []
    for column in pushed:
        row, start = [], 0
        for t in recorded.input_types:
            n = math.prod(t.shape)
            part = np.moveaxis(column[start : start + n], 0, -1)
            row.append(np.reshape(part, (*part.shape[:-1], *t.shape)))
            start += n
        blocks.append(row)
    return blocks


def _rows(recorded: Linearised, *, conjugate: bool) -> list[list[Value]]:
    """blocks[output][input] from one pulled direction per output element.

    A complex output of a real input needs two: pull(u) = Re(Jᴴ u), so that J = pull(1) + i pull(i).
    """
    size = sum(math.prod(t.shape) for t in recorded.output_types)

    def pulled(unit: complex) -> list[Value]:
        stacks = [s * s.dtype.type(unit) if s.dtype.kind == "c" else s for s in _basis(recorded.output_types)]
        return (
            _mapped(recorded.pull, stacks, size)
            if size
            else [np.zeros((0, *t.shape), t.dtype) for t in recorded.input_types]
        )

    real = [t.dtype.kind != "c" for t in recorded.input_types]
    first = pulled(1)
    second = pulled(1j) if any(real) and any(t.dtype.kind == "c" for t in recorded.output_types) else first
    blocks: list[list[Value]] = []
    start = 0
    for t in recorded.output_types:
        n = math.prod(t.shape)

        def block(stack: Value, t: Any = t, start: int = start, n: int = n) -> Value:
            return np.reshape(stack[start : start + n], (*t.shape, *np.shape(stack)[1:]))

        row: list[Value] = []
        for p, q, is_real in zip(first, second, real, strict=True):
            if is_real:
                row.append(block(p) + t.dtype.type(1j) * block(q) if t.dtype.kind == "c" else block(p))
            else:
                row.append(np.conjugate(block(p)) if conjugate else block(p))
        blocks.append(row)
        start += n
    return blocks


def hessian(
    function: Function, argnums: Argnums = 0, *, has_aux: bool = False, holomorphic: bool = False
) -> Transformed:
    """The matrix of second derivatives (forward over reverse). For trees: a tree of trees, each leaf of shape
    output.shape + input.shape + input.shape; for a scalar function of one array x: x.shape + x.shape."""
    inner = jacrev(function, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic)
