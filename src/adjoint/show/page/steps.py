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
from adjoint.program.program import Program, Var
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
            if isinstance(eq.op, Weaken):
                env[eq.outputs[0]] = xs[0]
            elif isinstance(eq.op, Call):
                env.update(zip(eq.outputs, self.run(eq.op.program, xs), strict=True))
            else:
                number = self.step(eq.op, xs, [str(v.type.dtype) for v in eq.outputs])
                env.update({v: ("step", number, k) for k, v in enumerate(eq.outputs)})
        return list(map(read, program.outputs))

    def needed(self, outs: Sequence[Slot], inputs: int) -> dict[str, Any]:
        """What the results depend on, in order."""
        steps: set[int] = set()
        constants: set[int] = set()
        found = {"step": steps, "constant": constants, "input": set[int]()}
        for kind, number, _ in outs:
            found[kind].add(number)
        for number in range(len(self.steps) - 1, -1, -1):
            if number in steps:
                for kind, other, _ in self.steps[number][1]:
                    found[kind].add(other)
        place: dict[tuple[str, int], int] = {("input", i): i for i in range(inputs)}
        for number in sorted(constants):
            place["constant", number] = len(place)
        following = len(place)
        for number in sorted(steps):
            place["step", number] = following
            following += len(self.steps[number][2])
        at = lambda slot: place[slot[:2]] + slot[2]
        rows = [self.steps[number] for number in sorted(steps)]
        return {
            "constants": [self.constants[number] for number in sorted(constants)],
            "steps": [[self.number_of(op), [at(x) for x in xs], dtypes] for op, xs, dtypes in rows],
            "outputs": [at(slot) for slot in outs],
        }  # fmt: skip
