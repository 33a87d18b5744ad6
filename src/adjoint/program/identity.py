"""What makes two recordings one program: loops find sizes, and each recording has names of its own for them."""

from __future__ import annotations

from typing import Any

from adjoint.program.op import Op
from adjoint.program.program import Atom, Program, Var, digest_value
from adjoint.program.types import ArrayType, Size


def identify(program: Program) -> tuple[Any, ...]:
    """The program as plain values, with variables and the sizes that loops find numbered in order.

    Programs of one identity compute the same. `Program.canonical` compares names of sizes as well: parts of one program
    share them.
    """
    return _Reading().read(program)


class _Reading:
    def __init__(self) -> None:
        self._numbers: dict[Size, int] = {}  # of sizes, in the order in which types show them

    def read(self, program: Program) -> tuple[Any, ...]:
        number: dict[Var, int] = {v: i for i, v in enumerate((*program.inputs, *program.constants))}
        parts: list[Any] = [tuple([self._type(t) for t in program.input_types])]
        parts.append(tuple([digest_value(value) for value in program.constants.values()]))
        for eq in program.equations:
            atoms = self._atoms(eq.inputs, number)
            for v in eq.outputs:
                number[v] = len(number)
            # the operation first: sizes that its programs find are numbered before those of what it returns
            parts.append((self._op(eq.op), atoms, tuple([self._type(v.type) for v in eq.outputs])))
        parts.append(self._atoms(program.outputs, number))
        return tuple(parts)

    def _atoms(self, atoms: tuple[Atom, ...], number: dict[Var, int]) -> tuple[Any, ...]:
        return tuple([number[a] if isinstance(a, Var) else a.key() for a in atoms])

    def _type(self, kind: ArrayType) -> Any:
        if all(type(n) is int for n in kind.shape):
            return kind
        for n in kind.shape:
            if isinstance(n, Size) and n.found:
                self._numbers.setdefault(n, len(self._numbers))
        return self._field(kind.shape), kind.dtype, kind.weak

    def _op(self, op: Op) -> Any:
        if not op.size_fields and "programs" not in op.stated:
            return op
        return type(op), tuple([self._field(value) for value in op.static_parameters().values()])

    def _field(self, value: Any) -> Any:
        if isinstance(value, Program):
            return self.read(value)
        if isinstance(value, Size):  # one that no type has shown keeps its name
            return "size", self._numbers.get(value, value)
        return tuple([self._field(v) for v in value]) if type(value) is tuple else value  # pyright: ignore
