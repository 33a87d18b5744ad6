"""What machine code asks Python for: operations with no instructions of their own, effects, and expectations.

The kernel calls one function of Python's, with the number of the equation and a table of addresses. Arrays made of
these addresses go through the operation's own `evaluate`, so the result is NumPy's.
"""

# pyright: basic

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.compile import lanes
from adjoint.compile.block import Block, Unsupported, lowers
from adjoint.compile.ir import Value
from adjoint.ops.guards import Expect
from adjoint.program.program import Equation, Literal

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def write_callback(block: Block, eq: Equation) -> None:
    """Call NumPy: the operands are contiguous in memory, and so will be the results."""
    shared, f = block.shared, block.f
    if any(type(n) is not int for v in (*eq.inputs, *eq.outputs) for n in v.type.shape):
        raise Unsupported(f"{eq.op.title}: its sizes are known only when the program runs")
    slot = len(shared.callbacks)
    shared.callbacks.append(eq)
    pointers = [block.view(a).pointer for a in eq.inputs if not isinstance(a, Literal)]
    pointers += [block.pointer(v) for v in eq.outputs]
    table = f.allocate("ptr", max(len(pointers), 1), align=8)
    for k, pointer in enumerate(pointers):
        f.store(pointer, f.element(table, f.index(k), "ptr"), 8)
    context = shared.context
    assert context is not None
    function = f.load("ptr", context, 8)
    status = f.call_address(function, "i64", f.index(slot), table)
    block.leave_if(f.icmp("ne", status, f.index(0)), -1)
    shared.work += 1e4 * block.times
    shared.steps.append(f"{eq.op.title}: NumPy")


@lowers(Expect, any_size=True)
def write_expectation(block: Block, eq: Equation) -> None:
    """Leave with the number of the expectation, counted from one, when the answer is another one."""
    f, guard = block.f, eq.op
    assert isinstance(guard, Expect)
    (x,) = eq.inputs
    operand = block.view(x)
    value = lanes.load(f, operand.dtype, operand.pointer, f.index(0), 1, 1) if x.type.size == 1 else ()
    met = _answered(f, value, operand.dtype, guard.question, guard.answer) if isinstance(value, Value) else None
    if met is None:
        write_callback(block, eq)
    else:
        block.leave_if(f.binary("xor", met, f.constant("i1", 1)), guard.number + 1)


def _answered(f: Any, value: Any, dtype: np.dtype[Any], question: str, answer: Any) -> Any:
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


POLL = -1  # the number that asks for nothing but Python's attention: signals are seen while it runs
OFTEN = 2e7  # additions between two polls: some milliseconds


def write_poll(block: Block, turn: Value, work: float, turns: float) -> None:
    """In a long loop, let Python see Ctrl-C now and then."""
    f = block.f
    if work * turns < OFTEN:
        return
    every = 1
    while every * work < OFTEN and every < 2**40:
        every *= 2
    context = block.shared.context
    assert context is not None
    with f.when(f.icmp("eq", f.binary("and", turn, f.index(every - 1)), f.index(every - 1))):
        status = f.call_address(f.load("ptr", context, 8), "i64", f.index(POLL), context)
        block.leave_if(f.icmp("ne", status, f.index(0)), -1)


class Calls:
    """The Python side of a kernel's callbacks."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self.equations = list(equations)
        self.failure: BaseException | None = None
        self.function = CALLBACK(self._call)

    @property
    def address(self) -> int:
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def _call(self, slot: int, table: int) -> int:
        try:
            if slot == POLL:
                return 0
            eq = self.equations[slot]
            variables = [a for a in eq.inputs if not isinstance(a, Literal)]
            count = len(variables) + len(eq.outputs)
            addresses = (ctypes.c_void_p * count).from_address(table)
            arrays = [
                array_at(address or 0, v.type) for address, v in zip(addresses, (*variables, *eq.outputs), strict=True)
            ]
            given = iter(arrays)
            inputs = []
            for a in eq.inputs:
                if isinstance(a, Literal):
                    inputs.append(a.value)
                else:
                    x = next(given)
                    x.flags.writeable = False
                    inputs.append(x if x.ndim else x[()])
            with np.errstate(all="ignore") if eq.quiet else np.errstate():
                results = eq.op.evaluate(*inputs)
            for target, result in zip(given, results if eq.op.several else (results,), strict=True):
                np.copyto(target, result, casting="unsafe")
        except BaseException as problem:  # handed to whoever called the kernel
            self.failure = problem
            return 1
        return 0


def array_at(address: int, kind: Any) -> np.ndarray:
    """An array over memory that somebody else holds."""
    nbytes = kind.size * kind.dtype.itemsize
    if not nbytes:
        return np.empty(kind.shape, kind.dtype)
    content = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(content, kind.dtype).reshape(kind.shape)
