"""New terms from known ones: multiples, shifts, added squares and linear functions, conjugates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import RuleError
from adjoint.optimize.proximal.separable import Separable, as_separable, by_name, check_term
from adjoint.optimize.proximal.smooth import Zero
from adjoint.optimize.proximal.term import Term, check_has_conjugate, check_positive
from adjoint.optimize.sets.set import as_numbers
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["add_linear", "add_square", "compose", "conjugate", "scale", "translate"]

# pyright: reportPrivateUsage=false
# (terms ask other terms for the methods behind the public ones, which have checked the arguments)


@dataclass(frozen=True, eq=False)
class Combined(Term):
    """A term made of another one, which says what x may be."""

    term: Term

    def _read(self, what: str, x: Any) -> Any:
        return self.term._read(what, super()._read(what, x))

    def _exists(self) -> Any:
        exists, inner = super()._exists(), self.term._exists()
        return exists if inner is True else np.logical_and(exists, inner)

    def _is_elementwise(self) -> bool:
        return self.term._is_elementwise()

    def _is_convex(self) -> bool:
        return self.term._is_convex()


@final
@dataclass(frozen=True, eq=False)
class Scaled(Combined):
    """c Ω(x)."""

    factor: Any
    name: ClassVar[str] = "scale"
    factors: ClassVar[tuple[str, ...]] = ()
    positive: ClassVar[tuple[str, ...]] = ("factor",)

    def _value(self, x: Value) -> Value:
        return self.factor * self.term._value(x)

    def _prox(self, x: Value, step: Any) -> Value:
        return self.term._prox(x, step * self.factor)


@final
@dataclass(frozen=True, eq=False)
class Composed(Combined):
    """Ω(a x + b): prox(x, γ) = (prox_Ω(a x + b, a² γ) - b) / a."""

    a: Any
    b: Any
    name: ClassVar[str] = "compose"
    spread: ClassVar[tuple[str, ...]] = ("b",)

    def _value(self, x: Value) -> Value:
        return self.term._value(self.a * x + self.b)

    def _prox(self, x: Value, step: Any) -> Value:
        return (self.term._prox(self.a * x + self.b, self.a * self.a * step) - self.b) / self.a


@final
@dataclass(frozen=True, eq=False)
class WithSquare(Combined):
    """Ω(x) + ρ/2 ‖x - c‖²: prox(x, γ) = prox_Ω((x + γρ c) / (1 + γρ), γ / (1 + γρ))."""

    factor: Any
    center: Any
    name: ClassVar[str] = "add_square"
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _value(self, x: Value) -> Value:
        return self.term._value(x) + 0.5 * self.factor * np.sum((x - self.center) ** 2)

    def _prox(self, x: Value, step: Any) -> Value:
        whole = 1.0 + step * self.factor
        return self.term._prox((x + step * self.factor * self.center) / whole, step / whole)


@final
@dataclass(frozen=True, eq=False)
class WithLinear(Combined):
    """Ω(x) + ⟨a, x⟩: prox(x, γ) = prox_Ω(x - γ a, γ)."""

    a: Any
    name: ClassVar[str] = "add_linear"
    spread: ClassVar[tuple[str, ...]] = ("a",)

    def _value(self, x: Value) -> Value:
        return self.term._value(x) + np.sum(self.a * x)

    def _prox(self, x: Value, step: Any) -> Value:
        return self.term._prox(x - step * self.a, step)


@final
@dataclass(frozen=True, eq=False)
class Conjugate(Combined):
    """Ω*(y) = max ⟨x, y⟩ - Ω(x); its proximal operator by Moreau's identity."""

    name: ClassVar[str] = "conjugate"

    def _value(self, x: Value) -> Value:
        raise RuleError("proximal.conjugate: the proximal operator of a conjugate is known, its value is not. It is "
                        "max ⟨x, y⟩ - Ω(x) over x.")  # fmt: skip

    def _prox(self, x: Value, step: Any) -> Value:
        return x - step * self.term._prox(x / step, 1.0 / step)

    def _is_convex(self) -> bool:
        return True


def _of_each(term: Term, make: Callable[..., Term], *given: Any) -> Term | None:
    """make(part, …) of each part of a sum over the parts of a tree, with the part of what is given; else None."""
    term = as_separable(term)
    if not isinstance(term, Separable):
        return None
    named = by_name(term.parts)
    for value in given:
        if isinstance(value, dict) and isinstance(term.parts, dict):
            named = {**dict.fromkeys(value, term.others), **named}
    pick = lambda value, key: value[key] if isinstance(value, dict | list | tuple) else value
    several = any(isinstance(value, dict) for value in given)
    made = {k: make(Zero() if part is None else part, *(pick(v, k) for v in given)) for k, part in named.items()}
    others = None if several else make(Zero() if term.others is None else term.others, *given)
    return Separable(made if isinstance(term.parts, dict) else list(made.values()), others)


def scale(term: Term, factor: Any) -> Term:
    """c Ω(x) for c > 0.

    ```python
    from adjoint.optimize import proximal
    proximal.scale(proximal.l1(), 0.5).prox(np.array([2.0]))  # → [1.5]
    ```
    """
    check_term("scale", term)
    check_positive("scale", "factor", factor, strict=True, single=True)
    return _of_each(term, lambda part: scale(part, factor)) or Scaled(term, factor)


def translate(term: Term, b: Any) -> Term:
    """Ω(x - b).

    ```python
    from adjoint.optimize import proximal
    proximal.translate(proximal.l1(), 3.0).prox(np.array([5.0, 3.5]))  # → [4.0, 3.0]
    ```
    """
    check_term("translate", term)
    return _of_each(term, translate, b) or Composed(term, 1.0, -as_numbers(b))


def compose(term: Term, a: Any, b: Any = 0.0) -> Term:
    """Ω(a x + b) for a number a that is not zero.

    ```python
    from adjoint.optimize import proximal
    proximal.compose(proximal.l1(), 2.0).prox(np.array([3.0]))  # → [1.0]
    ```
    """
    check_term("compose", term)
    if np.ndim(a) or (not isinstance(a, TRACED) and a == 0):
        raise ValueError(f"proximal.compose: a is {a!r}; it is a number that is not zero.")
    return _of_each(term, lambda part, b: compose(part, a, b), b) or Composed(term, a, as_numbers(b))


def add_square(term: Term, factor: Any, center: Any = 0.0) -> Term:
    """Ω(x) + ρ/2 ‖x - center‖².

    ```python
    from adjoint.optimize import proximal
    proximal.add_square(proximal.l1(), 1.0).prox(np.array([3.0]))  # → [1.0]
    ```
    """
    check_term("add_square", term)
    check_positive("add_square", "factor", factor, single=True)
    each = _of_each(term, lambda part, center: add_square(part, factor, center), center)
    return each or WithSquare(term, factor, as_numbers(center))


def add_linear(term: Term, a: Any) -> Term:
    """Ω(x) + ⟨a, x⟩.

    ```python
    from adjoint.optimize import proximal
    proximal.add_linear(proximal.l1(), np.array([1.0])).prox(np.array([3.0]))  # → [1.0]
    ```
    """
    check_term("add_linear", term)
    return _of_each(term, add_linear, a) or WithLinear(term, as_numbers(a))


def conjugate(term: Term) -> Term:
    """Ω*(y) = max ⟨x, y⟩ - Ω(x), whose proximal operator is known by Moreau's identity.

    ```python
    from adjoint.optimize import proximal
    proximal.conjugate(proximal.l1()).prox(np.array([3.0, -0.5]))  # → [1.0, -0.5]
    ```
    """
    check_term("conjugate", term)
    each = _of_each(term, conjugate)
    if each is None:
        check_has_conjugate(term)
    return each or Conjugate(term)
