"""`Composite`: a primitive that is written in terms of others, and has all its rules from them.

z = expand(x). In programs it is one equation, with a name, printed and explained as such; every transformation is that
of the program it expands to, and so is its machine code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from adjoint.ops.control.base import Control, Guard, Run
from adjoint.ops.control.call import Call
from adjoint.program.expansion import expanded_results, expansion
from adjoint.program.program import Program
from adjoint.program.types import ArrayType, Value, type_of

Rules = Any  # the call of the expansion


class Composite(Control):
    """A primitive with several results, given by `expand` alone: plain NumPy and control flow on its arguments."""

    masks = True  # there may be a select or a scatter inside

    @abstractmethod
    def expand(self, *args: Any, **kwargs: Any) -> Sequence[Value]: ...

    def call(self, types: Sequence[ArrayType]) -> Call:
        """The call of the program it expands to, for arguments of these types."""
        attributes: Any = self.__dict__
        known: dict[Any, Call] = attributes.setdefault("_calls", {})
        key = tuple(types)
        if key not in known:
            program = expansion(self, types)
            assert program is not None
            known[key] = Call(program)
        return known[key]

    def _call(self, xs: Sequence[Value]) -> Call:
        return self.call([type_of(x) for x in xs])

    def evaluate(self, *xs: Value) -> Value:
        return tuple(expanded_results(self, self.expand(*xs)))

    def result_type(self, *types: ArrayType) -> Any:
        return self.call(types).program.output_types

    def programs(self) -> dict[str, Program]:
        return {}

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        return run(self._call(xs).program, xs)

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        raise TypeError(f"{self.title} has no effects")

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        return self._call(xs).jvp(xs, dxs, trace)

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        types = [type_of(x) for x in xs]
        inner = [ArrayType(t.shape[1:], t.dtype) if m else t for t, m in zip(types, mapped, strict=True)]
        return self.call(inner).vmap(xs, mapped, trace)

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        return self._call([s[0] for s in series]).jet(series, trace)

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        call = self._call(xs)
        out, residuals = call.save(xs, wanted, trace)
        return out, (call, *residuals)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        call, *residuals = xs
        return call.pull(ct, residuals, z, wanted)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        call, *residuals = xs
        return call.push(residuals, z, dxs)
