"""What machine code asks Python for: operations with no instructions of their own, effects, and expectations.

The kernel calls one Python function, with the number of the equation and a table of addresses: `calls`.
"""

# pyright: basic

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from adjoint.base.source import describe
from adjoint.compile import vectors
from adjoint.compile.attention import hand_over, write_attention
from adjoint.compile.code import interpreter
from adjoint.compile.emit import Emitter, Shared, Unsupported, lowers
from adjoint.compile.ir import Function, Value
from adjoint.compile.regions import NeedsPython
from adjoint.compile.statuses import CHECK_FAILED
from adjoint.compile.views import strides_of
from adjoint.ops.control.guards import Expect
from adjoint.ops.effects import Callback, Check, Effect, Print, Raise
from adjoint.program.program import Atom, Equation, Literal
from adjoint.program.types import is_whole


def write_callback(emitter: Emitter, eq: Equation, only_if: Value | None = None) -> None:
    """Call NumPy: the operands are contiguous in memory, and so will be the results.

    `only_if`: a truth value without which the call is not made, of an equation that has no results.
    """
    shared, f = emitter.shared, emitter.f
    if not eq.op.effect and not eq.op.opaque and all(0 in v.type.shape for v in eq.outputs):
        return  # nothing to compute
    if shared.standalone:
        there = f", at {describe(eq.location)}" if eq.location is not None else ""
        raise Unsupported(f"{eq.op.title}{there} is run by Python")
    if any(type(n) is not int for v in (*eq.inputs, *eq.outputs) for n in v.type.shape):
        raise Unsupported(f"{eq.op.title}: its sizes are known only when the program runs")
    if shared.region is not None and shared.region.native:
        raise NeedsPython
    slot = len(shared.callbacks)
    shared.callbacks.append(eq)
    is_rare = only_if is not None or (emitter.in_branch and bool(eq.op.effect))
    if emitter.times > 1 and not eq.op.is_exceptional and not is_rare:
        shared.looped.append(eq)
    pointers = [_contiguous(emitter, a) for a in eq.inputs if not isinstance(a, Literal)]
    pointers += [emitter.pointer(v) for v in eq.outputs]
    table = f.allocate("ptr", 1 + len(pointers), align=8)
    f.store(f.index(0), table, 8)
    for k, pointer in enumerate(pointers):
        f.store(pointer, f.element(table, f.index(k + 1), "ptr"), 8)
    with f.when(only_if) if only_if is not None else nullcontext():
        write_attention(emitter)
        f.call_address(emitter.python(), "i64", f.index(slot), table)
        # what Python returns is not defined when a signal is handled before its first line: it says so in the table
        emitter.leave_if(f.icmp("eq", f.load("i64", table, 8), f.index(0)), -1)
    if not is_rare:
        shared.work += 1e4 * emitter.times
        shared.steps.append(f"{eq.op.title}: NumPy")
    else:
        when = "where it fails" if isinstance(eq.op, Check | Raise) else "where it is taken"
        shared.steps.append(f"{eq.op.title}: NumPy {when}")


def _contiguous(emitter: Emitter, atom: Atom) -> Value:
    """Where an operand stands element after element; a view at other strides is copied."""
    view = emitter.view(atom)
    if all(s == t or n == 1 for s, t, n in zip(view.strides, strides_of(view.shape), view.shape, strict=True)):
        return view.pointer
    buffer = emitter.allocate(emitter.nbytes(atom.type))
    emitter.copy_strided(buffer, view)
    return buffer


@lowers(Expect, any_size=True)
def write_expectation(emitter: Emitter, guard: Expect, eq: Equation) -> None:
    """Leave with the number of the expectation, counted from one, when the answer is another one."""
    f = emitter.f
    (x,) = eq.inputs
    operand = emitter.view(x)
    value = vectors.load(f, operand.dtype, operand.pointer, f.index(0), 1, 1) if x.type.size == 1 else ()
    met = _write_answer(f, value, operand.dtype, guard.question, guard.answer) if isinstance(value, Value) else None
    if met is None:
        write_callback(emitter, eq)
    else:
        emitter.leave_if(f.binary("xor", met, f.constant("i1", 1)), guard.number + 1)


def _write_answer(f: Any, value: Any, dtype: np.dtype[Any], question: str, answer: Any) -> Any:
    floating = dtype.kind == "f"
    if question == "bool":
        if dtype.kind == "b":
            truth = value
        elif floating:
            truth = f.fcmp("une", value, f.same(value, 0.0))
        else:
            truth = f.icmp("ne", value, f.same(value, 0))
        return truth if answer else f.binary("xor", truth, f.constant("i1", 1))
    if question in ("int", "index", "float", "value", "floor", "ceil") and isinstance(answer, int | float | np.generic):
        if dtype.kind == "b":
            return f.icmp("eq", value, f.constant("i1", int(answer)))
        if floating:
            rounding = {"int": "trunc", "index": "trunc", "floor": "floor", "ceil": "ceil"}.get(question)
            whole = value if rounding is None else f.intrinsic(rounding, value)
            return f.fcmp("oeq", whole, f.same(value, float(answer)))
        return f.icmp("eq", value, f.same(value, int(answer)))
    return None


@lowers(Check, Raise)
def write_refusal(emitter: Emitter, op: Effect, eq: Equation) -> None:
    """A check that fails asks Python for what to say, or ends the function with a status where there is no Python."""
    _write_effect(emitter, op, eq, eq.inputs[op.guards : op.guards + isinstance(op, Check)])


@lowers(Print, Callback)
def write_guarded(emitter: Emitter, op: Effect, eq: Equation) -> None:
    """Python is called where a batch element is alive; a branch that none takes costs a look at its guards."""
    if op.guards and not emitter.shared.standalone:
        _write_effect(emitter, op, eq, ())
    else:
        write_callback(emitter, eq)


def _write_effect(emitter: Emitter, op: Effect, eq: Equation, false: Sequence[Atom]) -> None:
    """An effect where its guards are true and the `false` ones are not."""
    guards = eq.inputs[: op.guards]
    flags = (*guards, *false)
    if not all(a.type.dtype.kind == "b" and is_whole(a.type) for a in flags):
        write_callback(emitter, eq)
        return
    shapes = {a.type.shape for a in flags if a.type.shape}
    acts = emitter.f.constant("i1", 1)
    for shape in ((), *shapes):
        alike = [(a, wanted) for group, wanted in ((guards, 1), (false, 0)) for a in group if a.type.shape == shape]
        acts = emitter.f.binary("and", acts, _some(emitter, alike, shape)) if alike else acts
    if not emitter.shared.standalone:
        write_callback(emitter, eq, only_if=acts)
    elif len(shapes) > 1:  # some guard is true and some check fails, perhaps not of one batch element
        write_callback(emitter, eq)
    else:
        emitter.leave_if(acts, CHECK_FAILED)


def _some(emitter: Emitter, flags: Sequence[tuple[Atom, int]], shape: Sequence[int]) -> Value:
    """Whether truth values of one shape are all as wanted in some element."""
    f = emitter.f
    if not shape:
        met = f.constant("i1", 1)
        for atom, wanted in flags:
            met = f.binary("and", met, _is(f, _truth(emitter, atom), wanted))
        return met
    pointers = [_contiguous(emitter, atom) for atom, _ in flags]
    found = f.allocate("i8", 1, align=8)
    f.store(f.constant("i8", 0), found, 1)
    with f.loop(f.index(0), f.index(math.prod(shape))) as i:
        met = f.constant("i1", 1)
        for pointer, (_, wanted) in zip(pointers, flags, strict=True):
            truth = f.icmp("ne", f.load("i8", f.element(pointer, i, "i8"), 1), f.constant("i8", 0))
            met = f.binary("and", met, _is(f, truth, wanted))
        f.store(f.binary("or", f.load("i8", found, 1), f.cast("zext", met, "i8")), found, 1)
    return f.icmp("ne", f.load("i8", found, 1), f.constant("i8", 0))


def _is(f: Function, truth: Value, wanted: int) -> Value:
    return truth if wanted else f.binary("xor", truth, f.constant("i1", 1))


def _truth(emitter: Emitter, atom: Any) -> Value:
    f = emitter.f
    if isinstance(atom, Literal):
        return f.constant("i1", int(bool(atom.value)))
    return f.icmp("ne", f.load("i8", emitter.view(atom).pointer, 1), f.constant("i8", 0))


def write_raised(shared: Shared) -> None:
    """At the end of a kernel: status -1 when a function in C has raised (SciPy's do, if the user wants them to)."""
    shared.symbols.update(interpreter())
    assert shared.context is not None
    g = Function(shared.module, "adjoint_raised", ["ptr"], "i64", attributes="noinline nounwind")
    held = g.call("PyGILState_Ensure", "i32", declared=True)
    is_raised = g.icmp("ne", g.call("PyErr_Occurred", "ptr", declared=True), Value("null", "ptr"))
    with g.when(is_raised):
        hand_over(g)
    g.call("PyGILState_Release", "void", held, declared=True)
    g.ret(g.cast("sext", is_raised, "i64"))
    g.finish()
    f = shared.function
    status = f.call("adjoint_raised", "i64", f.load("ptr", shared.context, 8))
    with f.when(f.icmp("ne", status, f.index(0))):
        f.store(status, shared.status)
