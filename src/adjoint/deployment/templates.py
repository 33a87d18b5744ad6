"""Programs for many sizes, from programs for a few: the numbers in which they differ, as formulas in named sizes.

A function is traced for three choices of its sizes. Two of them give the formulas of all numbers in the program
(shapes, positions, lengths of loops) and of the literals that depend on sizes (the 1/n of a mean); the third one
must confirm them.
"""

# pyright: basic

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.compile.size_generic import Formulas, Reading, Rewriting
from adjoint.compile.symbolic_sizes import Polynomial, value_of
from adjoint.ops.control.while_loop import While
from adjoint.ops.effects import has_effects
from adjoint.program.program import Program, interpret
from adjoint.program.subprograms import all_equations

# For the k-th size: primes whose sums, differences and products do not meet.
EXAMPLES = ((37, 101, 67), (41, 137, 83), (43, 173, 97), (47, 211, 109), (53, 251, 131), (59, 293, 151))


def example_sizes(names: Sequence[str]) -> list[dict[str, int]]:
    """Three choices of the sizes."""
    if len(names) > len(EXAMPLES):
        raise ValueError(f"export: at most {len(EXAMPLES)} named sizes, got {len(names)}: {', '.join(names)}.")
    return [{name: values[k] for name, values in zip(names, EXAMPLES, strict=False)} for k in range(3)]


def other_sizes(names: Sequence[str]) -> list[dict[str, int]]:
    """Sizes that Python's questions answer otherwise than for the examples: small, even, equal, falling, one."""
    falling = range(len(names) + 3, 3, -1)
    return [dict.fromkeys(names, 2), dict(zip(names, falling, strict=True)), dict.fromkeys(names, 1)]


class LiteralFormula(NamedTuple):
    """factor · p(sizes), or factor / p(sizes), as a number of a class."""

    factor: float
    polynomial: Polynomial
    divides: bool
    kind: Callable[[Any], Any]

    def value(self, sizes: Mapping[str, int]) -> Any:
        """The literal for some sizes."""
        p = value_of(self.polynomial, sizes)
        return self.kind(self.factor / p if self.divides else self.factor * p)


class NamedFormulas(Formulas):
    """Formulas in sizes that have names already: monomials of degree two, sums of two of them, and a number."""

    def __init__(self, readings: Sequence[Reading], examples: Sequence[Mapping[str, int]]) -> None:
        names = list(examples[0])
        products = itertools.combinations_with_replacement(names, 2)
        monomials = [*[(name,) for name in names], *[tuple(sorted(pair)) for pair in products]]
        self._terms = [(m, [value_of(((m, 1),), example) for example in examples]) for m in monomials]
        self._examples = examples
        self.names = dict.fromkeys(names, -1)
        known: dict[tuple[int, ...], Any] = {}
        self.numbers = []
        for values in zip(*[reading.numbers for reading in readings], strict=True):
            if values not in known:
                known[values] = self._find(values)
            self.numbers.append(known[values])
        self.literals = [_differ(one, two) for one, two in zip(*[r.literals for r in readings[:2]], strict=True)]

    def _find(self, values: Sequence[int]) -> Any:
        """The polynomial of numbers that were seen for the examples."""
        if len(set(values)) == 1:
            return values[0]
        for m, seen in self._terms:
            factor = (values[1] - values[0]) // (seen[1] - seen[0])
            if factor and len({v - factor * s for v, s in zip(values, seen, strict=True)}) == 1:
                return _plus(((m, factor),), values[0] - factor * seen[0])
        for (m, seen), (n, other) in itertools.combinations(self._terms, 2):
            for sign in (1, -1):
                if len({v - s - sign * t for v, s, t in zip(values, seen, other, strict=True)}) == 1:
                    return _plus(tuple(sorted([(m, 1), (n, sign)])), values[0] - seen[0] - sign * other[0])
        raise ProgramError(
            f"export: a size of the program is {values[0]} for {dict(self._examples[0])} and {values[1]} for "
            f"{dict(self._examples[1])}, and no formula for it was found. Export the function for fixed sizes."
        )


class Template:
    """One program for all sizes of its arguments."""

    def __init__(self, programs: Sequence[Program], names: Sequence[str]) -> None:
        """From the programs for `example_sizes`."""
        self.programs, self.names = list(programs), list(names)
        first, _, third = readings = [Reading(program) for program in programs]
        if len({reading.skeleton for reading in readings}) > 1:
            raise ProgramError(
                f"export: the program depends on {', '.join(names)} in more than its sizes: a Python loop over the "
                "size is unrolled, or an array of that size (np.arange(n) ** 2, say) is part of the program. Use "
                "ad.scan or ad.fori_loop for the loop, take the array as an argument, or export fixed sizes."
            )
        self.reading = first
        self._examples = examples = example_sizes(names)
        self.formulas = NamedFormulas(readings, examples)
        self.literals = [
            self._explain(position, readings, examples) if differs else None
            for position, differs in enumerate(self.formulas.literals)
        ]
        own = examples[2]
        if self._numbers(own) != third.numbers or not _alike(self._literals(own), third.literals):
            raise ProgramError(f"export: no formula in {', '.join(names)} gives all sizes of the program.")

    def _numbers(self, own: Mapping[str, int]) -> list[int]:
        return [n if type(n) is int else value_of(n, own) for n in self.formulas.numbers]

    def _literals(self, own: Mapping[str, int]) -> list[Any]:
        return [
            value if formula is None else formula.value(own)
            for value, formula in zip(self.reading.literals, self.literals, strict=True)
        ]

    def _explain(
        self, position: int, readings: Sequence[Reading], examples: Sequence[Mapping[str, int]]
    ) -> LiteralFormula:
        """The formula of a literal: one of the program's own sizes, or a product of two, times or below a factor."""
        a, b, _ = (float(reading.literals[position]) for reading in readings)
        kind = type(readings[0].literals[position])
        one, two = examples[:2]
        sizes = [n for n in dict.fromkeys(self.formulas.numbers) if type(n) is not int]
        sizes += [(((name,), 1),) for name in self.names]
        shifted = [_plus(n, -1) for n in sizes]
        products = [_times(p, q) for p, q in itertools.combinations_with_replacement([*sizes, *shifted], 2)]
        for polynomial in dict.fromkeys([*sizes, *shifted, *products]):
            p, q = value_of(polynomial, one), value_of(polynomial, two)
            if not p or not q:
                continue
            for divides, u, v in ((True, a * p, b * q), (False, a / p, b / q)):
                factor = round(u) if abs(u - round(u)) < 1e-9 * abs(u) else u
                if abs(u - v) <= 1e-14 * abs(u):
                    return LiteralFormula(float(factor), polynomial, divides, kind)
        raise ProgramError(
            f"export: a number of the program is {a} for the sizes {dict(examples[0])} and {b} for "
            f"{dict(examples[1])}, and no formula for it was found. Pass it as an argument."
        )

    def describe(self, first: int, second: int) -> Any:
        """A number of the first example, which is another one in the second, as a formula."""
        if first == second:
            return first
        one, two = example_sizes(self.names)[:2]
        for formula in self.formulas.numbers:
            if type(formula) is not int and (value_of(formula, one), value_of(formula, two)) == (first, second):
                return " + ".join(_describe_term(names, factor) for names, factor in formula[::-1])
        return "?"

    def confirm(self, program: Program, sizes: Mapping[str, int]) -> None:
        """Raise where the function is another one for these sizes, of which this is the program."""
        try:
            made = self.instantiate(sizes)
            if any(has_effects(p) or any(isinstance(eq.op, While) for eq in all_equations(p)) for p in (made, program)):
                return  # a loop need not end for numbers that mean nothing
            rng = np.random.default_rng(0)
            values = [rng.integers(0, 2, t.shape) + 0.75 * rng.random(t.shape) for t in program.input_types]
            values = [v.astype(t.dtype) for v, t in zip(values, program.input_types, strict=True)]
            with np.errstate(all="ignore"):
                one, two = interpret(made, values), interpret(program, values)
        except Exception:  # sizes or numbers that the function refuses
            return
        for u, v in zip(one, two, strict=True):
            u, v = np.asarray(u), np.asarray(v)
            if u.shape != v.shape or not np.allclose(u, v, rtol=1e-3, atol=1e-5, equal_nan=True):
                raise ProgramError(
                    f"export: for the sizes {dict(sizes)} the function computes something else than the program that "
                    f"was found for {self._examples}: Python decides by a size (if, min, //, or an axis of one). "
                    "Decide by values, with np.where or ad.cond, or export fixed sizes."
                )

    def instantiate(self, sizes: Mapping[str, int]) -> Program:
        """The program for some sizes."""
        return _Filling(self._numbers(sizes), self._literals(sizes)).fill(self.programs[0])


class _Filling(Rewriting):
    """A program with other numbers and literals in their positions."""

    def __init__(self, numbers: Sequence[int], literals: Sequence[Any]) -> None:
        self._numbers, self._values = iter(numbers), iter(literals)
        self.constants = []

    def fill(self, program: Program) -> Program:
        return self._program(program)

    def _sizes(self, value: Any) -> Any:
        if type(value) is int:
            return next(self._numbers)
        return tuple(self._sizes(v) for v in value) if type(value) is tuple else value

    def _atom(self, atom: Any, new: Any, literals: Any) -> Any:
        if not hasattr(atom, "value"):
            return new[atom]
        if isinstance(atom.value, int | float | np.floating | np.integer) and type(atom.value) is not bool:
            return dataclasses.replace(atom, value=next(self._values))
        return atom


def _alike(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(x == y or (x != x and y != y) or abs(x - y) <= 1e-14 * abs(y) for x, y in zip(a, b, strict=True))


def _differ(a: Any, b: Any) -> bool:
    """Whether two literals are different numbers."""
    same = a == b and type(a) is type(b) and np.signbit(float(a)) == np.signbit(float(b))
    return not same and not (a != a and b != b)


def _describe_term(names: Sequence[str], factor: int) -> str:
    return "·".join([*([str(factor)] if factor != 1 or not names else []), *names])


def _plus(polynomial: Polynomial, number: int) -> Polynomial:
    terms = dict(polynomial)
    terms[()] = terms.get((), 0) + number
    return tuple(sorted((m, c) for m, c in terms.items() if c))


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    terms: dict[tuple[str, ...], int] = {}
    for (m, c), (n, d) in itertools.product(p, q):
        key = tuple(sorted(m + n))
        terms[key] = terms.get(key, 0) + c * d
    return tuple(sorted((m, c) for m, c in terms.items() if c))
