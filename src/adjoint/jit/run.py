"""How a program inside another one is called: machine code as a function of a list of values, at C speed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile.callable import ArrayLeaf, Entry, ListOf, NumberLeaf, Output, OutputType, Specialization
from adjoint.compile.kernel import Kernel
from adjoint.ops.control.guards import Mismatch, expectations
from adjoint.program.types import Value

Run = Callable[[Sequence[Value]], list[Value]]


def native_call(kernel: Kernel) -> Run:
    """Machine code as a function of a list of values: at C speed for contiguous arrays and scalars of its types.

    The first call has a workspace of its own, which goes with it: functions that are called by users have entries and
    workspaces of their own from then on.
    """
    calls = itertools.count()
    entries: list[Entry] = []

    def attempt(entry: Any, values: tuple[Any, ...], named: dict[str, Any]) -> list[Value]:
        status, outputs = kernel.attempt(values)
        return outputs if status == 0 else refuse(entry, 0, status, values, named)

    def refuse(entry: Any, number: int, status: int, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A positive status is the number of the guard that was not met."""
        if status > 0:
            raise Mismatch(next(g for g in expectations(kernel.program) if g.number == status - 1))
        raise kernel.failure(status)

    def run(values: Sequence[Value]) -> list[Value]:
        if entries:
            return entries[0](*values)
        if next(calls) == 0:
            return attempt(None, tuple(values), {})
        entries.append(_entry(kernel, attempt, refuse))
        return entries[0](*values)

    return run


def _entry(kernel: Kernel, attempt: Callable[..., Any], refuse: Callable[..., Any]) -> Entry:
    """A weak number may come as one of Python's or, out of another program, as one of NumPy's."""
    entry = Entry(attempt, refuse)
    for of_python in (True, False) if any(t.weak for t in kernel.input_types) else (False,):
        leaves = [
            ArrayLeaf(slot, t.dtype, t.shape)
            if t.shape
            else NumberLeaf(slot, _NUMBERS[t.dtype.kind] if t.weak and of_python else t.dtype.type)
            for slot, t in enumerate(kernel.input_types)
        ]
        entry.add(
            Specialization(
                kernel=kernel.address,
                inputs=len(leaves),
                positional=leaves,
                outputs=[OutputType(t.dtype, t.shape) for t in kernel.output_types],
                result=ListOf([Output(i) for i in range(len(kernel.output_types))]),
                constants=kernel.constants,
                workspace=kernel.workspace,
                context=kernel.context,
                heavy=kernel.heavy,
                calls_back=kernel.calls_back,
                keep=kernel,
            )
        )
    return entry


_NUMBERS = {"i": int, "f": float, "c": complex}
