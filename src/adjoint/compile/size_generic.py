"""Programs that differ in sizes alone, and one machine code for all of them.

Tracing is cheap and done for every shape; compiling is not. The first program of a family is compiled for its own
sizes. When a second one comes, the numbers in which they differ become sizes that are read when the kernel runs (or
constants, if they are literals of equations), and further members are matched against it: their numbers must satisfy
its formulas, and answer the comparisons that the code depends on alike.
"""

# pyright: basic

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np

from adjoint.base.digests import digest
from adjoint.compile.symbolic_sizes import Polynomial, Sym, value_of
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.types import ArrayType, Size
from adjoint.tree import Structure

NUMBERS = (int, float, np.floating, np.integer)  # literals that may differ between members


class Reading:
    """A program as a skeleton without sizes, and its numbers in order."""

    def __init__(self, program: Program) -> None:
        self.numbers: list[int] = []
        self.literals: list[Any] = []
        self._found: dict[Size, int] = {}  # sizes that loops find, in the order in which they are met
        self.skeleton = self._program(program)

    def _program(self, program: Program) -> Any:
        known: dict[Var, int] = {}
        parts: list[Any] = []
        for v in (*program.inputs, *program.constants):
            known[v] = len(known)
            parts.append(self._type(v.type))
        parts.append(tuple([self._constant(c) for c in program.constants.values()]))
        for eq in program.equations:
            atoms = tuple([known[a] if type(a) is Var else self._atom(a, known) for a in eq.inputs])
            op = self._op(eq.op)
            for v in eq.outputs:
                known[v] = len(known)
            parts.append((op, atoms, tuple([self._type(v.type) for v in eq.outputs])))
        parts.append(tuple([self._atom(a, known) for a in program.outputs]))
        return tuple(parts)

    def _type(self, kind: ArrayType) -> Any:
        return ("type", self._sizes(kind.shape), kind.dtype.str, kind.weak)

    def _constant(self, value: Any) -> Any:
        return (np.asarray(value).dtype.str, np.asarray(value).tobytes())

    def _atom(self, atom: Atom, known: dict[Var, int]) -> Any:
        if isinstance(atom, Var):
            return known[atom]
        if isinstance(atom.value, NUMBERS) and type(atom.value) is not bool:
            self.literals.append(atom.value)
            return (type(atom.value).__name__,)
        return atom.key()

    def _sizes(self, value: Any) -> Any:
        if type(value) is int:
            self.numbers.append(value)
            return "n"
        if type(value) is tuple:
            return tuple([self._sizes(v) for v in value])
        if isinstance(value, Size):
            return ("iterations", self._found.setdefault(value, len(self._found)))
        return ("found", value.polynomial) if type(value) is Sym else value

    def _op(self, op: Any) -> Any:
        names = op.size_fields
        if not names and not op.is_control:
            return op
        fields: list[Any] = [type(op).__name__]
        for name, value in op.static_parameters().items():
            if name in names:
                fields.append(self._sizes(value))
            elif isinstance(value, Program):
                fields.append(self._program(value))
            elif type(value) is tuple and value and isinstance(value[0], Program):
                fields.append(tuple(self._program(p) for p in value))
            else:
                fields.append(value)
        return tuple(fields)


def describe_reading(reading: Reading) -> str | None:
    """A program as text that another process would write too; None when it holds what has no name."""
    try:
        literals = [(type(v).__name__, float(v).hex() if isinstance(v, float) else repr(v)) for v in reading.literals]
        return repr((_text(reading.skeleton, {}), reading.numbers, literals))
    except TypeError:
        return None


_NAMES_ITSELF = frozenset({type(None), str, int, bool})


def _text(part: Any, known: dict[Any, Any]) -> Any:
    if type(part) is tuple:
        return tuple([p if type(p) in _NAMES_ITSELF else _text(p, known) for p in part])
    if type(part) in _NAMES_ITSELF:
        return part
    if part is Ellipsis:
        return ("...",)
    if type(part) is bytes:
        return (digest(part).hexdigest(),) if len(part) > 64 else part
    if isinstance(part, str | bytes | int | float | np.dtype):
        return (type(part).__name__, repr(part))  # beside its class, so that no text looks like a number
    if isinstance(part, Op):
        if part not in known:
            values = part.static_parameters().values()
            if part.is_marker:  # its rule is for derivatives alone, and goes
                known[part] = (type(part).__name__, *[v for v in values if type(v) in _NAMES_ITSELF])
            else:
                known[part] = (repr((type(part).__name__, str(part), tuple(_text(v, known) for v in values))),)
        return known[part]
    if isinstance(part, Structure):  # of what a check shows: its classes with their modules
        try:
            return ("tree", digest(pickle.dumps(part)).hexdigest())
        except Exception as problem:
            raise TypeError("a container has no name") from problem
    if dataclasses.is_dataclass(part) and not isinstance(part, type):  # how an equation is solved
        values = tuple(_text(getattr(part, f.name), known) for f in dataclasses.fields(part))
        return (type(part).__module__, type(part).__qualname__, values)
    raise TypeError(f"{type(part).__name__} has no name")


class Formulas:
    """How the numbers of a family's members follow from a few sizes."""

    def __init__(self, first: Reading, second: Reading) -> None:
        self.names: dict[str, int] = {}  # name of a size -> where its value stands among the numbers
        pairs: dict[tuple[int, int], Any] = {}
        bases: list[tuple[str, int, int]] = []
        self.numbers: list[Any] = []  # int, or a polynomial
        for position, pair in enumerate(zip(first.numbers, second.numbers, strict=True)):
            if pair not in pairs:
                pairs[pair] = self._explain(pair, bases, position)
            self.numbers.append(pairs[pair])
        self.literals = [
            not (a == b and type(a) is type(b) and np.signbit(float(a)) == np.signbit(float(b)))
            and not (a != a and b != b)
            for a, b in zip(first.literals, second.literals, strict=True)
        ]

    def _explain(self, pair: tuple[int, int], bases: list[tuple[str, int, int]], position: int) -> Any:
        a, b = pair
        if a == b:
            return a
        for name, p, q in bases:
            if a - p == b - q and abs(a - p) <= 64:
                return _polynomial({(name,): 1, (): a - p})
            if p and q and a % p == 0 and b % q == 0 and a // p == b // q:
                return _polynomial({(name,): a // p})
        for i, (name, p, q) in enumerate(bases):
            for other, r, s in bases[i:]:
                if a == p * r and b == q * s:
                    return _polynomial({tuple(sorted((name, other))): 1})
        name = f"n{len(bases)}"
        bases.append((name, a, b))
        self.names[name] = position
        return _polynomial({(name,): 1})

    def sizes(self, reading: Reading) -> dict[str, int] | None:
        """The sizes of a member; None if its numbers do not follow the formulas."""
        sizes = {name: reading.numbers[position] for name, position in self.names.items()}
        for formula, number in zip(self.numbers, reading.numbers, strict=True):
            if (formula if type(formula) is int else value_of(formula, sizes)) != number:
                return None
        return sizes


def _polynomial(terms: dict[tuple[str, ...], int]) -> Polynomial:
    return tuple(sorted((m, c) for m, c in terms.items() if c))


class Rewriting:
    """A member with its numbers replaced by sizes, and its differing literals by constants."""

    def __init__(self, program: Program, formulas: Formulas) -> None:
        self._numbers = iter(formulas.numbers)
        self._literals = iter(formulas.literals)
        self.constants: list[Var] = []
        self.program = self._program(program)

    def _program(self, program: Program) -> Program:
        new: dict[Var, Var] = {}
        for v in (*program.inputs, *program.constants):
            new[v] = Var(self._type(v.type))
        constants = {new[v]: c for v, c in program.constants.items()}
        literals: dict[Var, Any] = {}
        equations: list[Equation] = []
        for eq in program.equations:
            atoms = tuple(self._atom(a, new, literals) for a in eq.inputs)
            op = self._op(eq.op)
            for v in eq.outputs:
                new[v] = Var(self._type(v.type))
            equations.append(
                Equation(op, atoms, tuple(new[v] for v in eq.outputs), eq.location, eq.scope, eq.quiet, eq.pulled)
            )
        outputs = tuple(self._atom(a, new, literals) for a in program.outputs)
        return Program(tuple(new[v] for v in program.inputs), tuple(equations), outputs, {**constants, **literals})

    def _type(self, kind: ArrayType) -> ArrayType:
        return ArrayType(self._sizes(kind.shape), kind.dtype, kind.weak)

    def _atom(self, atom: Atom, new: dict[Var, Var], literals: dict[Var, Any]) -> Atom:
        if isinstance(atom, Var):
            return new[atom]
        if isinstance(atom.value, NUMBERS) and type(atom.value) is not bool and next(self._literals):
            var = Var(atom.type)
            literals[var] = np.asarray(atom.value)
            self.constants.append(var)
            return var
        return atom

    def _sizes(self, value: Any) -> Any:
        if type(value) is int:
            formula = next(self._numbers)
            return value if type(formula) is int else Sym(value, formula)
        return tuple(self._sizes(v) for v in value) if type(value) is tuple else value

    def _op(self, op: Any) -> Any:
        names = op.size_fields
        if not names and not op.is_control:
            return op
        fields: dict[str, Any] = {}
        for name, value in op.static_parameters().items():
            if name in names:
                fields[name] = self._sizes(value)
            elif isinstance(value, Program):
                fields[name] = self._program(value)
            elif type(value) is tuple and value and isinstance(value[0], Program):
                fields[name] = tuple(self._program(p) for p in value)
        return dataclasses.replace(op, **fields)  # type: ignore[type-var]
