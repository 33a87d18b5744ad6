"""The programs behind an explanation: as recorded, simplified, with derivatives, as kernels, as LLVM's text."""

# pyright: basic
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from adjoint.api.gradients import jvp, vjp
from adjoint.compile.emit import Unsupported
from adjoint.compile.expand import expand_program
from adjoint.compile.lower import LoweredCode
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.types import Value, type_of
from adjoint.show.explanation.derivatives import directions_of, seeds_of
from adjoint.show.explanation.model import ExplanationModel
from adjoint.show.explanation.recording import Recorded
from adjoint.simplify import simplify

__all__ = ["Programs"]


class Programs:
    """What is computed, at each stage on the way to the machine. Every property is made when it is asked for."""

    def __init__(self, run: Recorded, model: ExplanationModel, mode: str, seed: object, direction: object) -> None:
        self._run, self._model, self._mode = run, model, mode
        self._seed, self._direction = seed, direction

    @property
    def value(self) -> Program:
        """The function, as it was recorded for these arguments."""
        return self._run.program

    @cached_property
    def simplified(self) -> Program:
        """The function after simplification."""
        return simplify(self.value)

    @cached_property
    def derivative(self) -> Program:
        """Value and derivative of the mode: adjoints of the inputs, tangents of the results, or second order."""
        moving = [i for i, v in enumerate(self._model.inputs) if v.is_active]

        def value(*some: Value) -> tuple[Value, ...]:
            full = list(values)
            for i, x in zip(moving, some, strict=True):
                full[i] = x
            return tuple(interpret(self.value, full))

        def adjoints(*some: Value) -> tuple[Value, ...]:
            out, back = vjp(value, *some)
            return (*out, *back(tuple(seeds)))

        def rule(*inputs: Value) -> Sequence[Value]:
            nonlocal values
            values = list(inputs)
            some = tuple(values[i] for i in moving)
            if self._mode == "reverse":
                return adjoints(*some)
            out, derivatives = jvp(value if self._mode == "forward" else adjoints, some, tuple(tangents))
            return (*out, *derivatives)

        values: list[Value] = []
        seeds = seeds_of(self._model, self._seed) if self._mode != "forward" else []
        directions = directions_of(self._model, self._direction, noted=False) if self._mode != "reverse" else []
        tangents = [t for t in directions if t is not None]
        program, _ = record_program(rule, [type_of(v) for v in self._run.values], purpose="the derivative")
        return program

    @cached_property
    def derivative_simplified(self) -> Program:
        """Value and derivative after simplification: this is what `jit` compiles."""
        return simplify(self.derivative)

    @cached_property
    def _written(self) -> LoweredCode | str:
        try:
            return LoweredCode(expand_program(self.derivative_simplified))
        except Unsupported as problem:
            return f"not compiled: {problem}"

    @property
    def kernels(self) -> list[str]:
        """The steps of the machine code of value and derivative: loops that were fused, calls of BLAS, callbacks."""
        return [self._written] if isinstance(self._written, str) else [str(step) for step in self._written.steps]

    @property
    def llvm(self) -> str:
        """LLVM's text of value and derivative, before its own passes."""
        return self._written if isinstance(self._written, str) else self._written.text
