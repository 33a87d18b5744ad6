"""Sizes that are known when a kernel runs: integers with a formula beside them.

A `Sym` is an int, of the size for which code is being written, and a polynomial in the sizes of the arguments. Sums and
products keep the polynomial. A comparison is answered from the int, and noted: the code holds for all sizes that answer
the noted comparisons alike. Where a plain number is needed (a constant in the code) it refuses.
"""

# pyright: basic

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

Monomial = tuple[str, ...]  # names of sizes, sorted
Polynomial = tuple[tuple[Monomial, int], ...]  # with coefficients, sorted


class SizeError(TypeError):
    """A plain number is needed where only the formula of a size is known."""


class Unsupported(Exception):
    """The program has something that machine code cannot do (yet), also not by calling NumPy."""


class Fact(NamedTuple):
    """A comparison that code depends on: difference `relation` 0."""

    difference: Polynomial
    relation: str
    holds: bool


_facts: ContextVar[list[Fact] | None] = ContextVar("adjoint_facts", default=None)
RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def collect(facts: list[Fact]) -> Any:
    """From now on, comparisons are noted in this list; `stop` ends it."""
    return _facts.set(facts)


def stop(token: Any) -> None:
    _facts.reset(token)


def value_of(polynomial: Polynomial, sizes: Mapping[str, int]) -> int:
    """The value of a formula."""
    total = 0
    for names, coefficient in polynomial:
        term = coefficient
        for name in names:
            term *= sizes[name]
        total += term
    return total


def _polynomial(x: Any) -> Polynomial | None:
    if type(x) is Sym:
        return x.polynomial
    if type(x) is int or type(x) is bool:
        return (((), int(x)),) if x else ()
    return None


def _simplest(polynomial: dict[Monomial, int], value: int) -> Any:
    kept = tuple(sorted((m, c) for m, c in polynomial.items() if c))
    if not kept or (len(kept) == 1 and kept[0][0] == ()):
        return value  # a plain number after all
    return Sym(value, kept)


class Sym(int):
    """A size with its formula."""

    polynomial: Polynomial

    def __new__(cls, value: int, polynomial: Polynomial) -> Sym:
        size = super().__new__(cls, value)
        size.polynomial = polynomial
        return size

    @staticmethod
    def named(name: str, value: int) -> Sym:
        return Sym(value, (((name,), 1),))

    def _plus(self, other: Any, sign: int, value: int) -> Any:
        theirs = _polynomial(other)
        assert theirs is not None
        total = dict(self.polynomial)
        for m, c in theirs:
            total[m] = total.get(m, 0) + sign * c
        return _simplest(total, value)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, float):
            return int(self) + other
        return self._plus(other, 1, int(self) + int(other)) if isinstance(other, int) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Any:
        return _simplest({m: -c for m, c in self.polynomial}, -int(self))

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, float):
            return int(self) - other
        return self._plus(other, -1, int(self) - int(other)) if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, float):
            return int(self) * other
        theirs = _polynomial(other)
        if theirs is None:
            return NotImplemented
        total: dict[Monomial, int] = {}
        for m, c in self.polynomial:
            for n, d in theirs:
                key = tuple(sorted(m + n))
                total[key] = total.get(key, 0) + c * d
        return _simplest(total, int(self) * int(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        """Exact quotients only: 12 n // 4 = 3 n."""
        if type(other) is int and other and all(c % other == 0 for _, c in self.polynomial):
            return _simplest({m: c // other for m, c in self.polynomial}, int(self) // other)
        raise SizeError("the quotient of a size that is not known")

    def __mod__(self, other: Any) -> Any:
        if type(other) is int and other and all(c % other == 0 for _, c in self.polynomial):
            return 0
        raise SizeError("the remainder of a size that is not known")

    def __rfloordiv__(self, other: Any) -> Any:
        raise SizeError("a quotient by a size that is not known")

    __rmod__ = __divmod__ = __truediv__ = __rtruediv__ = __and__ = __rand__ = __rfloordiv__
    __pow__ = __rfloordiv__  # type: ignore[assignment]

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        return int.__hash__(self)

    def _compare(self, other: Any, relation: str) -> Any:
        if isinstance(other, float):
            return RELATIONS[relation](int(self), other)  # type: ignore[arg-type]
        if not isinstance(other, int):
            return NotImplemented
        difference = self - other
        answer = RELATIONS[relation](int(difference), 0)
        if type(difference) is Sym:
            facts = _facts.get()
            if facts is not None:
                facts.append(Fact(difference.polynomial, relation, answer))
        return answer

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "lt")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "le")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "gt")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "ge")

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, "eq")

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, "ne")

    def __str__(self) -> str:
        raise SizeError("a size that is not known cannot be written into code as a number")

    def __format__(self, how: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<{int(self)}>"


LARGE = 2**40  # a size that is found while a kernel runs is written for as if it were larger than any other
FOUND = "found"
EXPECTED = 64  # for estimates


def size_found_later(number: int) -> Sym:
    """A size that the kernel itself finds, with a name of its own."""
    return Sym.named(f"{FOUND} {number}", LARGE + 7919 * number)


def is_found_later(n: Any) -> bool:
    """Whether a size depends on what the kernel finds."""
    return type(n) is Sym and is_of_found_sizes(n.polynomial)


def is_of_found_sizes(polynomial: Polynomial) -> bool:
    """Whether a formula has sizes that the kernel itself finds."""
    return any(name.startswith(FOUND) for names, _ in polynomial for name in names)


def expected(n: Any) -> int:
    """A number for estimates: of the size itself, or a guess of what is found later."""
    if not is_found_later(n):
        return int(n)
    total = 0
    for names, coefficient in n.polynomial:
        for name in names:
            coefficient *= EXPECTED if name.startswith(FOUND) else 1
        total += coefficient
    return total


def plain(n: Any) -> Any:
    """The number alone, for messages and estimates."""
    if is_found_later(n):
        return "?"
    return int(n) if isinstance(n, int) else n


def hold(facts: list[Fact], sizes: Mapping[str, int]) -> bool:
    """Whether other sizes answer all noted comparisons alike."""
    return all(RELATIONS[f.relation](value_of(f.difference, sizes), 0) is f.holds for f in facts)
