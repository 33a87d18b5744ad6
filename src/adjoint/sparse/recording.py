"""The program of a function, for looking at it: which of its inputs are differentiated, and nothing that was run.

Arrays of floats among the arguments are inputs; integers, booleans, Python numbers and what the function closes
over are part of the program. So two calls have the same program when they have the same dependences.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, TraceError
from adjoint.program.journal import Journal, journal
from adjoint.program.program import Program
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, concrete
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.arguments import Argnums, Selection, plain_value, select
from adjoint.transform.drivers import gradient
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.record_function import bind_leaves, record_function

MARK = np.dtype("V5")  # no array of numbers has it
IN_PARTS = "make the real and the imaginary part two arguments: lambda x, y: f(x + 1j * y), argnums=(0, 1)"


class Recorded(NamedTuple):
    """A program and its differentiated inputs."""

    program: Program
    selected: tuple[bool, ...]  # for each input of the program
    values: tuple[Value, ...] | None  # of all inputs, when it was run with them
    arguments: tuple[Value, ...] = ()  # what its inputs stand for, as far as they were at hand
    structure: Any = None  # of the result


def choose_arguments(
    function: Callable[..., Any], argnums: Argnums, args: Any, kwargs: Any, name: str, holomorphic: bool
) -> tuple[Selection, Any, list[Any]]:
    """The selection, and (structure, leaves) of all arguments with a mark instead of each selected leaf."""

    @functools.wraps(function)
    def probe(*a: Any, **k: Any) -> Any:
        return a, k

    chosen = select(function, argnums, args, kwargs, name)
    complex_ones = [] if holomorphic else [i for i in chosen.active if type_of(chosen.leaves[i]).dtype.kind == "c"]
    if complex_ones:
        first = complex_ones[0]
        raise DtypeError(
            f"{name} of complex arguments needs holomorphic=True ({chosen.names[first]} is "
            f"{type_of(chosen.leaves[first])}): a function of z and conj(z) has no single complex derivative. "
            f"Use jvp or vjp, or {IN_PARTS}."
        )
    marks = select(probe, argnums, args, kwargs, name)
    placed = marks.call(
        [ArrayType((chosen.active.index(i),), MARK) if i in chosen.active else leaf
         for i, leaf in enumerate(chosen.leaves)]
    )  # fmt: skip
    leaves, structure = tree.flatten(placed)
    return chosen, structure, leaves


def _is_mark(leaf: Any) -> bool:
    return isinstance(leaf, ArrayType) and leaf.dtype == MARK


def _is_unknown(leaf: Any) -> bool:
    """Whether an argument that is not differentiated may have other values: an array of floats, or a traced value."""
    return isinstance(leaf, Tracer) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc")


def record_derivative(
    function: Callable[..., Any], argnums: Argnums, args: Any, kwargs: Any, *, name: str, order: int = 1,
    has_aux: bool = False, with_values: bool = False, holomorphic: bool = False, any_complex: bool = False,
) -> Recorded:  # fmt: skip
    """The program of a function (order 1) or of its gradient (order 2).

    `with_values` it is run on the arguments, so that Python's control flow takes the path that it takes for them.
    `any_complex`, functions of complex arguments need not be holomorphic.
    """
    allowed = holomorphic or any_complex
    chosen, structure, leaves = choose_arguments(function, argnums, args, kwargs, name, allowed)
    moving = [i for i, leaf in enumerate(leaves) if _is_mark(leaf) or _is_unknown(leaf)]
    values_in: list[Value] = [
        chosen.values[leaves[i].shape[0]] if _is_mark(leaves[i]) else plain_value(leaves[i], name) for i in moving
    ]
    GeneratorArguments(name, (args, kwargs))  # refuses one that is given twice
    body = _differentiate(function, argnums, order, has_aux, holomorphic, name)
    types = [ArrayType(tuple(t.shape), t.dtype) for t in map(type_of, values_in)]
    values = [concrete(v) for v in values_in] if with_values else None
    if any(
        v is None or isinstance(v, Tracer) or np.shape(v) != t.shape
        for v, t in zip(values or [], types if values else [], strict=True)
    ):
        raise TraceError(
            f"{name} looks at the values of its arguments here, and inside jit and vmap they are not at hand. Call it "
            "outside, or ask for the pattern of all values (local=False, and no Python branches on values)."
        )
    record = Record(concrete=with_values, purpose=name, runs_again=False)
    inputs = [record.input(t, v) for t, v in zip(types, values or [None] * len(types), strict=True)]
    changes = Journal()
    with journal(changes):
        try:
            result = record_function(
                function, bind_leaves(body, leaves, structure, moving), record, inputs, may_draw=True
            )
        finally:
            changes.restore(given_up=True)
    extra = [concrete(x) for x in result.captured] if with_values else []
    selected = (*[_is_mark(leaves[i]) for i in moving], *[False] * len(result.captured))
    known = None if values is None else (*values, *extra)
    return Recorded(result.program, selected, known, (*values_in, *result.captured), result.structure)


def _differentiate(
    function: Any, argnums: Argnums, order: int, has_aux: bool, holomorphic: bool, name: str
) -> Callable[..., Any]:
    def gradients(*a: Any, **k: Any) -> list[Value]:
        chosen = select(function, argnums, a, k, name)

        def call(active: Sequence[Value]) -> Any:
            return chosen.call(chosen.completed(active))

        return value_and_gradient(call, chosen.values, name=name, has_aux=has_aux, holomorphic=holomorphic)[2]

    if order == 2:
        return gradients
    return lambda *a, **k: function(*a, **k)[0] if has_aux else function(*a, **k)


def value_and_gradient(
    call: Callable[[Sequence[Value]], Any], values: Sequence[Value], *, name: str, has_aux: bool, holomorphic: bool
) -> tuple[Value, Any, list[Value]]:
    """(value, aux, gradient) of a scalar function. Of real arguments it may be complex, and so is its gradient then."""
    real = all(type_of(v).dtype.kind != "c" for v in values)
    return gradient(call, values, has_aux=has_aux, holomorphic=None if real else holomorphic, transformation=name)


def record_with_fallback(
    function: Callable[..., Any], argnums: Argnums, args: Any, kwargs: Any, **how: Any
) -> Recorded:
    """The program for all values; where Python asks for a value, along the path that it takes for these."""
    try:
        return record_derivative(function, argnums, args, kwargs, **how)
    except TraceError as problem:
        if any(isinstance(leaf, Tracer) for leaf in tree.leaves((args, kwargs))):
            raise
        try:
            return record_derivative(function, argnums, args, kwargs, **how, with_values=True)
        except TraceError:
            raise problem from None


def sizes_of(types: Sequence[ArrayType]) -> list[int]:
    """How many elements each has."""
    return [int(np.prod(t.shape, dtype=np.int64)) for t in types]
