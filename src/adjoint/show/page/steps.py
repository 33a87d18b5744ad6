"""A program as a list of steps on numbered slots, as a page runs it: nothing twice, and nothing that no result needs.

{"inputs": dtypes, "constants": [{"dtype", "shape", "value"}], "steps": [[primitive, operands, dtypes]], "outputs"}

Slots are the inputs, then the constants, then the results of all steps; operands and outputs are numbers of slots.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.control.call import Call
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import Value, type_of

__all__ = ["slots"]

Slot = tuple[str, int, int]  # "input" or "constant", its number, 0; or "step", its number, which of its results


def slots(
    program: Program, number_of: Callable[[Op], int], encoded: Callable[[Value], dict[str, Any]]
) -> dict[str, Any]:
    """The steps of a program, written out."""
    writer = _Writer(number_of, encoded)
    outs = writer.run(program, [("input", i, 0) for i in range(len(program.inputs))])
    return {"inputs": [str(v.type.dtype) for v in program.inputs], **writer.needed(outs, len(program.inputs))}


class _Writer:
    def __init__(self, number_of: Callable[[Op], int], encoded: Callable[[Value], dict[str, Any]]) -> None:
        self.number_of, self.encoded = number_of, encoded
        self.constants: list[dict[str, Any]] = []
        self.steps: list[tuple[Op, tuple[Slot, ...], list[str]]] = []
        self._known: dict[Any, int] = {}

    def constant(self, value: Value) -> Slot:
        cell = {"dtype": str(type_of(value).dtype), "shape": list(np.shape(value)), **self.encoded(value)}
        key = ("constant", repr(cell))  # written out: -0 is not 0
        if key not in self._known:
            self._known[key] = len(self.constants)
            self.constants.append(cell)
        return "constant", self._known[key], 0

    def step(self, op: Op, xs: tuple[Slot, ...], dtypes: list[str]) -> int:
        try:
            key = ("step", op, xs, *dtypes)
            known = self._known.get(key)
        except TypeError:  # its parameters cannot be compared
            key, known = None, None
        if known is not None:
            return known
        if key is not None:
            self._known[key] = len(self.steps)
        self.steps.append((op, xs, dtypes))
        return len(self.steps) - 1

    def run(self, program: Program, args: Sequence[Slot]) -> list[Slot]:
        env: dict[Var, Slot] = dict(zip(program.inputs, args, strict=True))
        env.update({v: self.constant(value) for v, value in program.constants.items()})

        def read(atom: Any) -> Slot:
            return env[atom] if isinstance(atom, Var) else self.constant(atom.value)

        for eq in program.equations:
            xs = tuple(map(read, eq.inputs))
            env.update(zip(eq.outputs, WRITTEN[eq.op](self, eq, xs), strict=True))
        return list(map(read, program.outputs))

    def needed(self, outs: Sequence[Slot], inputs: int) -> dict[str, Any]:
        """What the results depend on, in order."""
        steps: set[int] = set()
        constants: set[int] = set()
        read = {"step": steps, "constant": constants, "input": set[int]()}
        for kind, number, _ in outs:
            read[kind].add(number)
        for number in range(len(self.steps) - 1, -1, -1):
            if number in steps:
                for kind, other, _ in self.steps[number][1]:
                    read[kind].add(other)
        position: dict[tuple[str, int], int] = {("input", i): i for i in range(inputs)}
        for number in sorted(constants):
            position["constant", number] = len(position)
        following = len(position)
        for number in sorted(steps):
            position["step", number] = following
            following += len(self.steps[number][2])
        at = lambda slot: position[slot[:2]] + slot[2]
        rows = [self.steps[number] for number in sorted(steps)]
        return {
            "constants": [self.constants[number] for number in sorted(constants)],
            "steps": [[self.number_of(op), [at(x) for x in xs], dtypes] for op, xs, dtypes in rows],
            "outputs": [at(slot) for slot in outs],
        }  # fmt: skip


# (writer, equation, arguments) -> its results
WRITTEN: RuleTable[Callable[[_Writer, Equation, tuple[Slot, ...]], Sequence[Slot]]] = RuleTable("the steps of a page")


@WRITTEN.rule(Op)
def _step(writer: _Writer, eq: Equation, xs: tuple[Slot, ...]) -> Sequence[Slot]:
    number = writer.step(eq.op, xs, [str(v.type.dtype) for v in eq.outputs])
    return [("step", number, k) for k in range(len(eq.outputs))]


@WRITTEN.rule(Weaken)
def _weaken(writer: _Writer, eq: Equation, xs: tuple[Slot, ...]) -> Sequence[Slot]:
    return xs


@WRITTEN.rule(Call)
def _call(writer: _Writer, eq: Equation, xs: tuple[Slot, ...]) -> Sequence[Slot]:
    return eq.op.unroll(xs, writer.run)
