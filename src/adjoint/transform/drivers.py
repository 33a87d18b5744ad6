"""Running a function under a trace, on flat lists of leaves: what the functions that users call are made of."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import here
from adjoint.program.trace import Tracer, running
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import Side, describe_result, fresh, leave_trace, plain_value, run
from adjoint.transform.forward import Forward, ForwardTracer
from adjoint.transform.linear import LinearTape
from adjoint.transform.nonfinite import active_watch, examine, lift, new_tape
from adjoint.transform.one_sided import one_sided_gradient
from adjoint.transform.reverse import replay, sweep_tape
from adjoint.transform.tape import Tape, TapeTracer

Function = Callable[[Sequence[Value]], Any]
# As Any: a test against them leaves the value Any, where the classes would make its elements unknown.
_ARRAY: Any = np.ndarray
_TUPLE: Any = tuple


class Linearized:
    """A recorded function: its value, and its derivative there, forwards (`push`) and backwards (`pull`)."""

    def __init__(
        self, call: Function, values: Sequence[Value], *, has_aux: bool = False, tape: Tape | None = None
    ) -> None:
        tape = new_tape(outlives_call=True) if tape is None else tape
        self.watch = active_watch()
        values = lift(values, self.watch)
        with running(tape):
            tape.started = here()
            inputs = [tape.input(v) for v in values]
            result = run(tape, call, inputs)
            y, aux = split_aux(result, has_aux, tape)
            leaves, self.structure = tree.flatten(y)
            leaves = [check_leaf(leaf) for leaf in leaves]
        self.tape, self.entries = tape, tape.entries
        self.input_types = [type_of(v) for v in values]
        self.positions = [
            leaf._index if isinstance(leaf, TapeTracer) and leaf._trace is tape else -1 for leaf in leaves
        ]
        self.values = [_copy_array(leave_trace(leaf, tape)) for leaf in leaves]
        examine(self.values, tape, self.watch)
        self.output_types = [type_of(v) for v in self.values]
        self.aux = tree.map(_copy_array, aux)

    def push(self, tangents: Sequence[Value]) -> list[Value]:
        """Tangents of the outputs."""
        with self.tape.reading():
            ds = replay(self.entries, lift(tangents, self.watch), self.positions)
        found = [ds[p] if p >= 0 else None for p in self.positions]
        return [
            np.zeros(t.shape, t.dtype)[()] if d is None else d for d, t in zip(found, self.output_types, strict=True)
        ]

    def pull(self, cotangents: Sequence[Value]) -> list[Value]:
        """Cotangents of the inputs."""
        seeds: dict[int, Value] = {}
        for position, ct in zip(self.positions, lift(cotangents, self.watch), strict=True):
            if position >= 0 and ct is not None:
                ct = self.tape.seed(ct)
                seeds[position] = ct if position not in seeds else seeds[position] + ct
        with self.tape.reading():
            found = sweep_tape(self.tape, self.entries, len(self.input_types), seeds, consume=False)
        return [t.zeros() if ct is None else ct for ct, t in zip(found, self.input_types, strict=True)]


def _copy_array(value: Value) -> Value:
    """The record holds its own values: the caller may write to what it is given."""
    return value.copy() if isinstance(value, _ARRAY) else value


def split_aux(result: Any, has_aux: bool, trace: Any, foreign: Sequence[Any] = ()) -> tuple[Any, Any]:
    """(value, aux) of a function's result; aux leaves the trace."""
    if not has_aux:
        return result, None
    if not (isinstance(result, _TUPLE) and len(result) == 2):
        raise TypeError(
            "has_aux=True needs a function that returns a pair (value, aux); it returned "
            f"{describe_result(result)}. Return value, aux, or leave has_aux out."
        )
    value, aux = result
    return value, outside(aux, trace, foreign)


def outside(value: Any, trace: Any, foreign: Sequence[Any] = ()) -> Any:
    """A tree of results of `trace` as the caller sees it."""
    leaves, structure = tree.flatten(value)
    with trace.below():
        return tree.unflatten(structure, fresh([leave_trace(leaf, trace, foreign) for leaf in leaves]))


def check_leaf(leaf: Any) -> Value:
    """An output must be a number or an array."""
    return leaf if isinstance(leaf, Tracer) else plain_value(leaf, "the function's result")


def gradient(
    call: Function,
    values: Sequence[Value],
    *,
    has_aux: bool,
    holomorphic: bool | None,
    transformation: str,
    side: Side = None,
) -> tuple[Value, Any, list[Value]]:
    """(value, aux, gradient) of a scalar function; the record is taken apart in the backward pass.

    holomorphic: of a real function (False) or of a complex one (True); None: of either, for real arguments. That of a
    complex function f by a real argument is ∂ Re f + i ∂ Im f, from two readings of the record.
    """
    if side is not None:
        both = partial(gradient, call, has_aux=has_aux, holomorphic=holomorphic, transformation=transformation)
        return one_sided_gradient(both, values, side, transformation)
    tape, watch = new_tape(), active_watch()
    values = lift(values, watch)
    with running(tape):
        tape.started = here()
        inputs = [tape.input(v) for v in values]
        y, aux = split_aux(run(tape, call, inputs), has_aux, tape)
        y = scalar_output(y, holomorphic, transformation)
        value = leave_trace(y, tape)
        cts: list[Value] = [None] * len(inputs)
        turned: list[Value] = cts
        twice = value.dtype.kind == "c" and any(type_of(v).dtype.kind != "c" for v in values)
        if isinstance(y, TapeTracer) and y._trace is tape and y._index >= 0:
            entries, tape.entries = tape.entries, []
            examine([value], tape, watch)
            (seed,) = lift([tape.seed(np.ones((), value.dtype)[()])], watch)
            with tape.reading(), tape.below():
                if twice:
                    turned = sweep_tape(
                        tape, entries, len(inputs), {y._index: seed * value.dtype.type(1j)}, consume=False
                    )
                cts = sweep_tape(tape, entries, len(inputs), {y._index: seed}, consume=True)
            tape.captured.verify()
    filled = [type_of(v).zeros() if ct is None else ct for ct, v in zip(cts, values, strict=True)]
    if twice:
        unit = value.dtype.type(1j)
        return (
            value,
            aux,
            fresh([_complex_derivative(*each, unit) for each in zip(filled, turned, values, strict=True)]),
        )
    return value, aux, fresh([np.conjugate(g) for g in filled] if holomorphic else filled)


def _complex_derivative(ct: Value, turned: Value, x: Value, unit: Value) -> Value:
    """∂f/∂x of a complex f, from the cotangents pulled from 1 and from i: conj(ct) when x is complex."""
    if type_of(x).dtype.kind == "c":
        return np.conjugate(ct)
    return ct + unit * (type_of(x).zeros() if turned is None else turned)


def scalar_output(y: Any, holomorphic: bool | None, transformation: str) -> Value:
    """The one number that a function to be differentiated must return."""
    leaves, _ = tree.flatten(y)
    if len(leaves) != 1 or leaves[0] is not y:
        raise ShapeError(
            f"{transformation} needs a function with one scalar output; it returned {describe_result(y)}. "
            + (
                "Is its return missing?"
                if y is None
                else "Return extra values with has_aux=True, or use jacobian or vjp for several outputs."
            )
        )
    y = check_leaf(y)
    if np.shape(y) != ():
        raise ShapeError(
            f"{transformation} needs a scalar output; the function returned {type_of(y)}. Sum it, or use jacobian "
            "(all derivatives) or vjp (a product)."
        )
    kind = type_of(y).dtype.kind
    if kind == "c" and holomorphic is not None and not holomorphic:
        raise DtypeError(
            f"{transformation} needs a real output; the function returned {type_of(y)}. Take np.real or np.abs of it, "
            "or give holomorphic=True for f'(z)."
        )
    if holomorphic and kind != "c":
        raise DtypeError(
            f"{transformation}(holomorphic=True) needs a complex output; the function returned {type_of(y)}."
        )
    check_floating([type_of(y)], transformation)
    return np.float64(y) if kind == "i" and not isinstance(y, Tracer) else y


def check_floating(types: Sequence[Any], transformation: str) -> None:
    """Results of other dtypes have no derivative: zeros would hide that they depend on the arguments.

    Beside others in a tree they may stand, and an int of Python's counts as the constant that it is.
    """
    if types and not any(t.differentiable or (t.weak and t.dtype.kind == "i") for t in types):
        raise DtypeError(
            f"{transformation}: the function returned {types[0]}, and a result of dtype {types[0].dtype} has no "
            "derivative. Return what is computed in floating point (np.max(x) instead of np.argmax(x)), or return it "
            "beside the value with has_aux=True; jvp gives the zero tangent of such a result."
        )


def push_forward(
    call: Function, values: Sequence[Value], tangents: Sequence[Value], *, has_aux: bool
) -> tuple[Any, Any, Any]:
    """(y, ẏ, aux), both trees."""
    trace, watch = Forward(), active_watch()
    values, tangents = lift(values, watch), lift(tangents, watch)
    with running(trace):
        trace.started = here()
        inputs = [ForwardTracer(trace, v, t) for v, t in zip(values, tangents, strict=True)]
        y, aux = split_aux(run(trace, call, inputs), has_aux, trace, values)
        leaves, structure = tree.flatten(y)
        leaves = [check_leaf(leaf) for leaf in leaves]
        primals: list[Value] = []
        output_tangents: list[Value] = []
        for leaf in leaves:
            mine = isinstance(leaf, ForwardTracer) and leaf._trace is trace
            primals.append(leave_trace(leaf, trace, values))
            tangent = leaf._tangent if mine else None
            output_tangents.append(type_of(primals[-1]).zeros() if tangent is None else tangent)
    return tree.unflatten(structure, fresh(primals)), tree.unflatten(structure, fresh(output_tangents, tangents)), aux


def apply_transpose(
    call: Function, values: Sequence[Value], cotangents: Callable[[Any, list[Any]], Sequence[Value]]
) -> list[Value]:
    """The transpose of a linear function applied to cotangents."""
    map_ = Linearized(call, values, tape=LinearTape(outlives_call=True))
    given = cotangents(map_.structure, map_.output_types)
    return fresh(map_.pull(given), given)


def tangent_leaves(given: Any, structure: Any, types: Sequence[Any], what: str, names: Sequence[str]) -> list[Value]:
    """The leaves of a tangent or cotangent tree, checked against what it belongs to."""
    return check_tangents(tree.leaves_like(what, structure, given), types, what, names)


def check_tangents(leaves: Sequence[Any], types: Sequence[Any], what: str, names: Sequence[str]) -> list[Value]:
    """Tangents or cotangents in the types of what they belong to; None is zero."""
    out: list[Value] = []
    for leaf, kind, name in zip(leaves, types, names, strict=True):
        if leaf is None:
            out.append(None)
            continue
        named = f"{what}: {name}" if name else what
        value = plain_value(leaf, named)
        if isinstance(value, int | bool | float | complex):
            value = np.asarray(value)[()]
        if np.shape(value) != kind.shape:
            raise ShapeError(
                f"{named} has shape {np.shape(value)}, but belongs to a value of type {kind}. A tangent has the "
                "shape of "
                "its argument, a cotangent that of the result."
            )
        if value.dtype != kind.dtype:
            if value.dtype.kind == "c" and kind.dtype.kind != "c":
                raise DtypeError(f"{named} is complex, but belongs to a real value of type {kind}. Take its real part.")
            value = value.astype(kind.dtype)
        out.append(value)
    return out
