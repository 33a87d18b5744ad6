"""Is a program well formed? Every variable bound once and before its use, every type as its primitive states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.base.errors import ProgramError
from adjoint.base.source import describe
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.types import ArrayType, Size, type_of


def check(program: Program, inside: str = "") -> Program:
    """The program itself, if it is well formed; else ProgramError names the equation and the user's line.

    Programs inside are checked too.
    """
    bound: set[Var] = set()
    for number, v in enumerate(program.inputs):
        _bind(v, bound, f"{inside}input {number}")
    for number, (v, value) in enumerate(program.constants.items()):
        _bind(v, bound, f"{inside}constant {number}")
        actual = type_of(value)
        if not _agree([v.type], [actual], {}):
            raise ProgramError(f"{inside}constant {number} is declared as {v.type}, but is {actual}.")
    sizes: dict[Size, Any] = {}
    for number, eq in enumerate(program.equations):
        _check_equation(eq, bound, sizes, _Position(inside, number, eq))
    for number, atom in enumerate(program.outputs):
        _check_read(atom, bound, f"{inside}output {number}")
    return program


class _Position:
    """Where an equation stands, put into words when there is something to say: the user's line takes long to find."""

    __slots__ = ("_eq", "_inside", "_number")

    def __init__(self, inside: str, number: int, eq: Equation) -> None:
        self._inside, self._number, self._eq = inside, number, eq

    def __str__(self) -> str:
        return f"{self._inside}equation {self._number}, {self._eq.op.title} at {describe(self._eq.location)}"


def _check_equation(eq: Equation, bound: set[Var], sizes: dict[Size, Any], position: _Position) -> None:
    for atom in eq.inputs:
        _check_read(atom, bound, position)
    argument_types = [a.type for a in eq.inputs]
    if not eq.op.opaque:
        try:
            stated: Any = eq.op.result_type(*argument_types)
        except Exception as problem:
            raise ProgramError(f"{position}: it does not take {_listed(argument_types)}: {problem}") from problem
        types = list(stated) if eq.op.several else [stated]
        if not _agree([v.type for v in eq.outputs], types, sizes):
            raise ProgramError(
                f"{position}: it gives {_listed(types)} for {_listed(argument_types)}, but is declared to give "
                f"{_listed([v.type for v in eq.outputs])}."
            )
    for v in eq.outputs:
        _bind(v, bound, position)
    for title, sub in eq.op.programs().items():
        check(sub, f"{position}, {title}: ")


def _bind(v: Var, bound: set[Var], position: _Position | str) -> None:
    if v in bound:
        raise ProgramError(
            f"{position}: its variable, of type {v.type}, is bound already. Each variable is bound once."
        )
    bound.add(v)


def _check_read(atom: Atom, bound: set[Var], position: _Position | str) -> None:
    if isinstance(atom, Var) and atom not in bound:
        raise ProgramError(f"{position}: it reads a variable of type {atom.type} that nothing before it binds.")


def _agree(declared: Sequence[ArrayType], stated: Sequence[ArrayType], sizes: dict[Size, Any]) -> bool:
    """Equal shapes and dtypes; a size that is known only at run time may have any one name, the same one everywhere."""
    if len(declared) != len(stated):
        return False
    for a, b in zip(declared, stated, strict=True):
        if a.dtype != b.dtype or len(a.shape) != len(b.shape):
            return False
        for m, n in zip(a.shape, b.shape, strict=True):
            if isinstance(n, Size) and n not in sizes:
                sizes[n] = m
            if m != (sizes[n] if isinstance(n, Size) else n) and not isinstance(m, Size):
                return False
    return True


def _listed(types: Sequence[ArrayType]) -> str:
    return ", ".join(map(str, types)) or "nothing"
