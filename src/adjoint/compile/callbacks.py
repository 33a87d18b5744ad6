"""What machine code asks Python for: operations with no instructions of their own, effects, and expectations.

The kernel calls one Python function, with the number of the equation and a table of addresses. Arrays made of
these addresses go through the operation's own `evaluate`, so the result is NumPy's.
"""

# pyright: basic

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from adjoint.base.numpy_warnings import with_lines_of_users
from adjoint.base.source import describe
from adjoint.compile import vectors
from adjoint.compile.attention import RAISED, hand_over, interpreter, write_attention
from adjoint.compile.emit import BOUNDS, Emitter, Shared, Unsupported, lowers
from adjoint.compile.ir import Function, Value
from adjoint.compile.regions import NeedsPython
from adjoint.compile.views import strides_of
from adjoint.ops.control.guards import Expect
from adjoint.program.program import Atom, Equation, Literal

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def write_callback(emitter: Emitter, eq: Equation) -> None:
    """Call NumPy: the operands are contiguous in memory, and so will be the results."""
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
    if emitter.times > 1 and not eq.op.is_exceptional:
        shared.looped.append(eq)
    pointers = [_contiguous(emitter, a) for a in eq.inputs if not isinstance(a, Literal)]
    pointers += [emitter.pointer(v) for v in eq.outputs]
    table = f.allocate("ptr", 1 + len(pointers), align=8)
    f.store(f.index(0), table, 8)
    for k, pointer in enumerate(pointers):
        f.store(pointer, f.element(table, f.index(k + 1), "ptr"), 8)
    write_attention(emitter)
    f.call_address(emitter.python(), "i64", f.index(slot), table)
    # what Python returns is not defined when a signal is handled before its first line: it says so in the table
    emitter.leave_if(f.icmp("eq", f.load("i64", table, 8), f.index(0)), -1)
    shared.work += 1e4 * emitter.times
    shared.steps.append(f"{eq.op.title}: NumPy")


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


class Calls:
    """The Python side of a kernel's callbacks. What went wrong is kept for the thread in which it did."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self.equations = list(equations)
        self.function = CALLBACK(self._call)
        self._own = threading.local()

    @property
    def address(self) -> int:
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def take(self) -> Any:
        """What this thread's last call left: an exception, (number, index, size) of an index, or None."""
        left, self._own.left = getattr(self._own, "left", None), None
        return left

    def _call(self, slot: int, table: int) -> int:
        try:
            if slot == BOUNDS:
                self._own.left = tuple((ctypes.c_int64 * 3).from_address(table + 8))
            elif slot == RAISED:
                self._own.left = _take_exception(table)
            else:
                self._evaluate(self.equations[slot], table)
                ctypes.c_int64.from_address(table).value = 1
        except BaseException as problem:  # handed to whoever called the kernel
            self._own.left = problem
        return 0

    def _evaluate(self, eq: Equation, table: int) -> None:
        variables = [a for a in eq.inputs if not isinstance(a, Literal)]
        count = len(variables) + len(eq.outputs)
        addresses = (ctypes.c_void_p * count).from_address(table + 8)
        arrays = [
            array_at(address or 0, v.type) for address, v in zip(addresses, (*variables, *eq.outputs), strict=True)
        ]
        remaining = iter(arrays)
        inputs = []
        for a in eq.inputs:
            if isinstance(a, Literal):
                inputs.append(a.value)
            else:
                x = next(remaining)
                x.flags.writeable = False
                inputs.append(x if x.ndim else x[()])
        with np.errstate(all="ignore") if eq.quiet else nullcontext():
            results = with_lines_of_users(eq.op.evaluate)(*inputs)
        for target, result in zip(remaining, results if eq.op.several else (results,), strict=True):
            np.copyto(target, result, casting="unsafe")


def _take_exception(table: int) -> BaseException:
    """The exception that PyErr_Fetch has put into a table: (type, value, traceback), each given away once."""
    addresses = (ctypes.c_void_p * 3).from_address(table + 8)
    objects = [ctypes.cast(a, ctypes.py_object) if a else None for a in addresses]
    problem = objects[1].value if objects[1] is not None else KeyboardInterrupt()
    for thing in objects:
        if thing is not None:
            ctypes.pythonapi.Py_DecRef(thing)
    return problem


def array_at(address: int, kind: Any) -> np.ndarray:
    """An array over memory that somebody else holds."""
    nbytes = kind.size * kind.dtype.itemsize
    if not nbytes:
        return np.empty(kind.shape, kind.dtype)
    content = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(content, kind.dtype).reshape(kind.shape)
