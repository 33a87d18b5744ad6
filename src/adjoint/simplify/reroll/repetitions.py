"""Where a program repeats itself: repetitions of equations that say the same, period by period.

Each equation gets a number, its *token*: equal for equations with the same primitive on the same types, whatever they
read, and wherever in an array a slice lies. A repetition (a *run* of strings) has tokens[i] = tokens[i + period].

They are found in O(n log² n): words of length w = 2, 4, 8, … are ranked by pairing the ranks of their halves; inside a
repetition of period p ≤ w/2 every word last occurred p positions before, and nowhere nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.records import record
from adjoint.ops.arrays.index import Key, ScatterSet, ScatterSum, Slice
from adjoint.ops.control.guards import Expect
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable

Integers = np.ndarray[Any, np.dtype[np.int64]]
LARGEST_COMPARED = 1 << 12  # elements of a constant that is known by its value


class Repetition(NamedTuple):
    """`iterations` times `period` equations, from equation `start` on."""

    start: int
    period: int
    iterations: int


@record(frozen=False)
class Numbered:
    """A program in integers. Inputs and constants are numbered first, then all results; literals are negative."""

    program: Program
    tokens: Integers
    reads: Integers  # what all equations read, one after another
    first_read: Integers  # where the reads of equation i begin
    first_result: Integers  # the number of the first result of equation i
    atoms: list[Atom]  # of the numbers 0, 1, …
    literals: list[Literal]  # of the numbers -1, -2, …
    number: dict[Var, int]
    memory: _Tokens

    def atom(self, number: int) -> Atom:
        """The variable or literal of a number."""
        return self.literals[-1 - number] if number < 0 else self.atoms[number]


def number_program(program: Program, before: Numbered | None = None) -> Numbered:
    """The program in integers; with the same tokens as another one, whose equations need no second look."""
    number: dict[Var, int] = {}
    atoms: list[Atom] = []
    for v in program.inputs:
        number[v] = len(atoms)
        atoms.append(v)
    known: dict[Any, int] = {}
    for v, value in program.constants.items():
        array = np.asarray(value)
        key = v if array.size > LARGEST_COMPARED else (array.shape, array.dtype.str, v.type.weak, array.tobytes())
        number[v] = known.setdefault(key, len(atoms))  # equal constants are one
        if number[v] == len(atoms):
            atoms.append(v)
    tokens = _Tokens() if before is None else before.memory
    literals: list[Literal] = []
    literal_numbers: dict[Any, int] = {}
    program_tokens: list[int] = []
    reads: list[int] = []
    first_read: list[int] = []
    first_result: list[int] = []
    for eq in program.equations:
        first_read.append(len(reads))
        first_result.append(len(atoms))
        for a in eq.inputs:
            if a.__class__ is Var:
                reads.append(number[a])  # type: ignore[index]
            else:
                n = literal_numbers.setdefault(a.key(), -1 - len(literals))  # type: ignore[union-attr]
                if n == -1 - len(literals):
                    literals.append(a)  # type: ignore[arg-type]
                reads.append(n)
        for v in eq.outputs:
            number[v] = len(atoms)
            atoms.append(v)
        program_tokens.append(tokens.of(eq))
    first_read.append(len(reads))
    first_result.append(len(atoms))
    a, b, c, d = (np.array(numbers, np.int64) for numbers in (program_tokens, reads, first_read, first_result))
    return Numbered(program, a, b, c, d, atoms, literals, number, tokens)


class _Tokens:
    """Numbers for equations: equal for those that say the same."""

    def __init__(self) -> None:
        self._operations = _Operations()
        self._kinds: dict[Any, int] = {}
        self._kind_of: dict[Var, int] = {}
        self._tokens: dict[Any, int] = {}
        self._known: dict[Equation, int] = {}

    def of(self, eq: Equation) -> int:
        """The token of an equation."""
        token = self._known.get(eq)
        if token is None:
            kind_of, kinds = self._kind_of, self._kinds
            key: list[Any] = [self._operations.token(eq.op), eq.quiet, len(eq.inputs)]
            for a in (*eq.inputs, *eq.outputs):
                kind = kind_of.get(a)  # type: ignore[arg-type]
                if kind is None:
                    t = a.type
                    kind = kinds.setdefault((t.shape, t.dtype.num, t.weak), len(kinds))
                    if a.__class__ is Var:
                        kind_of[a] = kind  # type: ignore[index]
                key.append(kind)
            token = self._known[eq] = self._tokens.setdefault(tuple(key), len(self._tokens))
        return token


class _Operations:
    """Numbers for primitives: those that differ in positions along an array alone have the same."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Any, int] = {}

    def token(self, op: Op) -> int:
        token = self._by_identity.get(id(op))
        if token is None:
            key: Any = SAME_AS[op](op, len(self._by_value))
            try:
                token = self._by_value.setdefault(key, len(self._by_value))
            except TypeError:  # a parameter that does not hash: equal to itself alone
                token = self._by_value.setdefault(("identity", id(op)), len(self._by_value))
            self._by_identity[id(op)] = token
        return token


# (primitive, how many are known) → equal for primitives that count as the same
SAME_AS: RuleTable[Callable[[Any, int], Any]] = RuleTable("equal but for positions")


@SAME_AS.rule(Op)
def itself(op: Op, known: int) -> Any:
    return op


@SAME_AS.rule(Slice, ScatterSet)
def one_form(op: Slice | ScatterSet, known: int) -> Any:
    return type(op), _form(op.key())


@SAME_AS.rule(ScatterSum)
def forms(op: ScatterSum, known: int) -> Any:
    return type(op), op.shape, op.dtype, tuple(map(_form, op.keys))


@SAME_AS.rule(Expect)
def guard(op: Expect, known: int) -> Any:
    """Guards are counted one by one."""
    return type(op), known


def _form(key: Key) -> Any:
    """A key without its positions."""
    if key[0] != "slice":
        return key
    return tuple([("step", item[2]) if type(item) is tuple else type(item) for item in key[1]])


def find_repetitions(tokens: Integers, fewest: int) -> list[tuple[int, int, int]]:
    """All maximal (start, stop, period) with at least `fewest` ≥ 5 periods, the shortest periods first.

    With fewer than five periods a repetition is found only where a word of a power of two fits.
    """
    n, w = len(tokens), 1
    rank = np.unique(tokens, return_inverse=True)[1].astype(np.int64)
    repetitions: list[tuple[int, int, int]] = []
    while 2 * w <= n and len(rank) > w:
        rank = np.unique(rank[:-w] * (n + 1) + rank[w:], return_inverse=True)[1]  # of words of length 2 w
        w *= 2
        order = np.argsort(rank, kind="stable")
        same = rank[order[1:]] == rank[order[:-1]]
        if not same.any():
            break
        back = np.zeros(len(rank), np.int64)  # how far before a word last occurred
        back[order[1:][same]] = (order[1:] - order[:-1])[same]
        back[(back <= w // 4) | (back > w // 2)] = 0
        edges = np.flatnonzero(np.diff(back)) + 1
        begins, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(back)]])
        for i in np.flatnonzero(back[begins]):
            period = int(back[begins[i]])
            start, stop = int(begins[i]) - period, int(ends[i]) - 1 + w
            if stop - start >= fewest * period:
                repetitions.append((start, stop, period))
    return sorted(repetitions, key=lambda repetition: repetition[2])
