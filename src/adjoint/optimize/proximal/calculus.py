"""New terms from known ones: multiples, shifts, conjugates, sums over the parts of a tree, sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import RuleError, TreeError
from adjoint.optimize.proximal.term import Term, check_positive, read_step, where_positive
from adjoint.optimize.sets.products import Product
from adjoint.optimize.sets.set import Set
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["add_linear", "add_square", "compose", "conjugate", "from_set", "scale", "separable", "translate"]

# pyright: reportPrivateUsage=false
# (terms ask other terms for the methods behind the public ones, which have checked the arguments)


@final
@dataclass(frozen=True, eq=False)
class Scaled(Term):
    """c Ω(x)."""

    term: Term
    factor: Any
    name: ClassVar[str] = "scale"

    def _value(self, x: Value) -> Value:
        return self.factor * self.term._value(x)

    def _prox(self, x: Value, step: Any) -> Value:
        return self.term._prox(x, step * self.factor)


@final
@dataclass(frozen=True, eq=False)
class Composed(Term):
    """Ω(a x + b): prox(x, γ) = (prox_Ω(a x + b, a² γ) - b) / a."""

    term: Term
    a: Any
    b: Any
    name: ClassVar[str] = "compose"

    def _value(self, x: Value) -> Value:
        return self.term._value(self.a * x + self.b)

    def _prox(self, x: Value, step: Any) -> Value:
        return (self.term._prox(self.a * x + self.b, self.a * self.a * step) - self.b) / self.a


@final
@dataclass(frozen=True, eq=False)
class WithSquare(Term):
    """Ω(x) + ρ/2 ‖x - c‖²: prox(x, γ) = prox_Ω((x + γρ c) / (1 + γρ), γ / (1 + γρ))."""

    term: Term
    factor: Any
    center: Any
    name: ClassVar[str] = "add_square"

    def _value(self, x: Value) -> Value:
        return self.term._value(x) + 0.5 * self.factor * np.sum((x - self.center) ** 2)

    def _prox(self, x: Value, step: Any) -> Value:
        whole = 1.0 + step * self.factor
        return self.term._prox((x + step * self.factor * self.center) / whole, step / whole)


@final
@dataclass(frozen=True, eq=False)
class WithLinear(Term):
    """Ω(x) + ⟨a, x⟩: prox(x, γ) = prox_Ω(x - γ a, γ)."""

    term: Term
    a: Any
    name: ClassVar[str] = "add_linear"

    def _value(self, x: Value) -> Value:
        return self.term._value(x) + np.sum(self.a * x)

    def _prox(self, x: Value, step: Any) -> Value:
        return self.term._prox(x - step * self.a, step)


@final
@dataclass(frozen=True, eq=False)
class Conjugate(Term):
    """Ω*(y) = max ⟨x, y⟩ - Ω(x); its proximal operator by Moreau's identity."""

    term: Term
    name: ClassVar[str] = "conjugate"

    def _value(self, x: Value) -> Value:
        raise RuleError("proximal.conjugate: the proximal operator of a conjugate is known, its value is not. It is "
                        "max ⟨x, y⟩ - Ω(x) over x.")  # fmt: skip

    def _prox(self, x: Value, step: Any) -> Value:
        return x - step * self.term._prox(x / step, 1.0 / step)


@final
@dataclass(frozen=True, eq=False)
class Indicator(Term):
    """0 in a set, infinite outside: its proximal operator is the projection."""

    of: Set
    name: ClassVar[str] = "from_set"

    def __call__(self, x: Any) -> Value:
        """0 in the set, infinite outside."""
        return np.where(self.of.contains(x), 0.0, np.inf)

    def prox(self, x: Any, step: Any = 1.0) -> Any:
        """The projection."""
        return where_positive(read_step("proximal.from_set", step), self.of.project(x))

    def prox_tree(self, x: Any, step: Any = 1.0) -> Any:
        """The projection of all numbers of a tree together."""
        step = read_step("proximal.from_set", step)
        return tree.map(lambda part: where_positive(step, part), self.of.project_tree(x))

    def value_tree(self, x: Any) -> Value:
        """0 in the set, infinite outside."""
        x = x if isinstance(self.of, Product) else tree.ravel(x)[0]
        return np.where(self.of.contains(x), 0.0, np.inf)

    def _prox(self, x: Value, step: Any) -> Value:
        return self.of._project(x)

    def _value(self, x: Value) -> Value:
        return np.where(self.of.contains(x), 0.0, np.inf)


@final
@dataclass(frozen=True, eq=False)
class Separable(Term):
    """Σ Ωₖ(xₖ) over the parts of a tree; None is no term."""

    parts: Any
    name: ClassVar[str] = "separable"

    def _pairs(self, x: Any) -> list[tuple[Any, Term | None]]:
        if isinstance(self.parts, dict):
            if not isinstance(x, dict) or set(self.parts) - set(x):
                raise TreeError(f"proximal.separable: there are terms for {', '.join(map(str, self.parts))}, and x has "
                                f"{', '.join(map(str, x)) if isinstance(x, dict) else 'no keys'}.")  # fmt: skip
            return [(key, self.parts.get(key)) for key in x]
        if not isinstance(x, tuple | list) or len(x) != len(self.parts):
            raise TreeError(
                f"proximal.separable: x is a {type(x).__name__}, and there are {len(self.parts)} terms in a row."
            )
        return list(enumerate(self.parts))

    def __call__(self, x: Any) -> Value:
        """The sum of the terms."""
        total: Any = 0.0
        for key, part in self._pairs(x):
            if part is not None:
                total = total + evaluate(part, x[key])
        return total

    def prox(self, x: Any, step: Any = 1.0) -> Any:
        """The proximal operator of each part."""
        found = {key: x[key] if part is None else apply_prox(part, x[key], step) for key, part in self._pairs(x)}
        if isinstance(x, dict):
            return found
        values = list(found.values())
        return type(x)(*values) if hasattr(x, "_fields") else type(x)(values)

    def prox_tree(self, x: Any, step: Any = 1.0) -> Any:
        """The proximal operator of each part."""
        return self.prox(x, step)

    def value_tree(self, x: Any) -> Value:
        """The sum of the terms."""
        return self(x)


def apply_prox(term: Term, x: Any, step: Any) -> Any:
    """The proximal operator for an array, or for all numbers of a tree."""
    return term.prox(x, step) if hasattr(x, "dtype") or np.isscalar(x) else term.prox_tree(x, step)


def evaluate(term: Term, x: Any) -> Value:
    """The value at an array, or at all numbers of a tree."""
    return term(x) if hasattr(x, "dtype") or np.isscalar(x) else term.value_tree(x)


def _check_term(title: str, term: Any) -> None:
    if isinstance(term, Set):
        raise TypeError(f"proximal.{title}: sets.{term.name} is a set; make a term of it with proximal.from_set.")
    if not isinstance(term, Term):
        raise TypeError(f"proximal.{title}: {term!r} is no term; they are made by optimize.proximal.")


def scale(term: Term, factor: Any) -> Scaled:
    """c Ω(x) for c > 0.

    ```python
    from adjoint.optimize import proximal
    proximal.scale(proximal.l1(), 0.5).prox(np.array([2.0]))  # → [1.5]
    ```
    """
    _check_term("scale", term)
    check_positive("scale", "factor", factor, strict=True)
    return Scaled(term, factor)


def translate(term: Term, b: Any) -> Composed:
    """Ω(x - b).

    ```python
    from adjoint.optimize import proximal
    proximal.translate(proximal.l1(), 3.0).prox(np.array([5.0, 3.5]))  # → [4.0, 3.0]
    ```
    """
    _check_term("translate", term)
    return Composed(term, 1.0, -b if isinstance(b, TRACED) else -np.asarray(b, float)[()])


def compose(term: Term, a: Any, b: Any = 0.0) -> Composed:
    """Ω(a x + b) for a number a that is not zero.

    ```python
    from adjoint.optimize import proximal
    proximal.compose(proximal.l1(), 2.0).prox(np.array([3.0]))  # → [1.0]
    ```
    """
    _check_term("compose", term)
    if not isinstance(a, TRACED) and (np.ndim(a) or a == 0):
        raise ValueError(f"proximal.compose: a is {a!r}; it is a number that is not zero.")
    return Composed(term, a, b)


def add_square(term: Term, factor: Any, center: Any = 0.0) -> WithSquare:
    """Ω(x) + ρ/2 ‖x - center‖².

    ```python
    from adjoint.optimize import proximal
    proximal.add_square(proximal.l1(), 1.0).prox(np.array([3.0]))  # → [1.0]
    ```
    """
    _check_term("add_square", term)
    check_positive("add_square", "factor", factor)
    return WithSquare(term, factor, center)


def add_linear(term: Term, a: Any) -> WithLinear:
    """Ω(x) + ⟨a, x⟩.

    ```python
    from adjoint.optimize import proximal
    proximal.add_linear(proximal.l1(), np.array([1.0])).prox(np.array([3.0]))  # → [1.0]
    ```
    """
    _check_term("add_linear", term)
    return WithLinear(term, a)


def conjugate(term: Term) -> Conjugate:
    """Ω*(y) = max ⟨x, y⟩ - Ω(x), whose proximal operator is known by Moreau's identity.

    ```python
    from adjoint.optimize import proximal
    proximal.conjugate(proximal.l1()).prox(np.array([3.0, -0.5]))  # → [1.0, -0.5]
    ```
    """
    _check_term("conjugate", term)
    return Conjugate(term)


def separable(parts: Any) -> Separable:
    """Σ Ωₖ(xₖ): a term for each part of a tree, in a dictionary, tuple or list; None is no term.

    ```python
    from adjoint.optimize import proximal
    both = proximal.separable({"w": proximal.l1(1.0), "b": None})
    both.prox({"w": np.array([3.0]), "b": 2.0})  # → {'w': [2.0], 'b': 2.0}
    ```
    """
    if not isinstance(parts, dict | tuple | list):
        raise TypeError(
            f"proximal.separable: it takes a dictionary, a tuple or a list of terms; got {type(parts).__name__}."
        )
    for part in parts.values() if isinstance(parts, dict) else parts:
        if part is not None:
            _check_term("separable", part)
    return Separable(parts)


def from_set(of: Set) -> Indicator:
    """0 in a set and infinite outside: the proximal operator is the projection, whatever the step.

    ```python
    from adjoint.optimize import proximal, sets
    proximal.from_set(sets.simplex()).prox(np.array([2.0, 0.0]))  # → [1.0, 0.0]
    ```
    """
    if not isinstance(of, Set):
        raise TypeError(f"proximal.from_set: {of!r} is no set; they are made by optimize.sets.")
    return Indicator(of)
