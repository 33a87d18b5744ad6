"""Sums of terms over the parts of a tree, and sets as terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.optimize.proximal.smooth import Zero
from adjoint.optimize.proximal.term import Term, read_step, where_positive
from adjoint.optimize.sets.products import Product
from adjoint.optimize.sets.set import Set
from adjoint.program.types import Value

__all__ = [
    "Indicator",
    "Separable",
    "apply_prox",
    "as_separable",
    "by_name",
    "check_term",
    "evaluate",
    "from_set",
    "separable",
]


@final
@dataclass(frozen=True, eq=False)
class Indicator(Term):
    """0 in a set, infinite outside: its proximal operator is the projection."""

    of: Set
    name: ClassVar[str] = "from_set"

    def _exists(self) -> Any:
        return True  # the projection itself is NaN

    def _is_elementwise(self) -> bool:
        return self.of.separable

    def _is_convex(self) -> bool:
        return self.of.convex

    def _read(self, what: str, x: Any) -> Any:
        return super()._read(what, self.of._read(what, x))  # pyright: ignore[reportPrivateUsage]

    def __call__(self, x: Any) -> Value:
        """0 in the set, infinite outside."""
        return np.where(self.of.contains(x), 0.0, np.inf)

    def envelope(self, x: Any, step: Any = 1.0) -> Value:
        """The square of the distance to the set, divided by 2 step."""
        return as_separable(self).envelope(x, step) if isinstance(self.of, Product) else super().envelope(x, step)

    def prox_conjugate(self, x: Any, step: Any = 1.0) -> Any:
        """x - γ times the projection of x / γ."""
        whole = isinstance(self.of, Product)
        return as_separable(self).prox_conjugate(x, step) if whole else super().prox_conjugate(x, step)

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
        return self.of.project(x)

    def _value(self, x: Value) -> Value:
        return np.where(self.of.contains(x), 0.0, np.inf)


@final
@dataclass(frozen=True, eq=False)
class Separable(Term):
    """Σ Ωₖ(xₖ) over the parts of a tree; None is no term. Keys that have none take the one for the others."""

    parts: Any
    others: Term | None = None
    name: ClassVar[str] = "separable"

    def _pairs(self, x: Any) -> list[tuple[Any, Term | None]]:
        if isinstance(self.parts, dict):
            if not isinstance(x, dict) or set(self.parts) - set(x):
                raise TreeError(f"proximal.separable: there are terms for {', '.join(map(str, self.parts))}, and x has "
                                f"{', '.join(map(str, x)) if isinstance(x, dict) else 'no keys'}.")  # fmt: skip
            return [(key, self.parts.get(key, self.others)) for key in x]
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
        on = lambda part, given: given if part is None else apply_prox(part, given, step)
        return self._like(x, {key: on(part, x[key]) for key, part in self._pairs(x)})

    def _like(self, x: Any, found: dict[Any, Any]) -> Any:
        if isinstance(x, dict):
            return found
        values = list(found.values())
        return type(x)(*values) if hasattr(x, "_fields") else type(x)(values)

    def prox_tree(self, x: Any, step: Any = 1.0) -> Any:
        """The proximal operator of each part."""
        return self.prox(x, step)

    def prox_conjugate(self, x: Any, step: Any = 1.0) -> Any:
        """The proximal operator of the conjugate of each part."""
        on = lambda part, given: apply_conjugate(Zero() if part is None else part, given, step)
        return self._like(x, {key: on(part, x[key]) for key, part in self._pairs(x)})

    def envelope(self, x: Any, step: Any = 1.0) -> Value:
        """The sum of the envelopes."""
        total: Any = 0.0
        for key, part in self._pairs(x):
            if part is not None:
                given = x[key]
                whole = _is_array(given) or isinstance(part, Separable)
                total = total + part.envelope(given if whole else tree.ravel(given)[0], step)
        return total

    def value_tree(self, x: Any) -> Value:
        """The sum of the terms."""
        return self(x)


def apply_prox(term: Term, x: Any, step: Any) -> Any:
    """The proximal operator for an array, or for all numbers of a tree."""
    return term.prox(x, step) if _is_array(x) else term.prox_tree(x, step)


def apply_conjugate(term: Term, x: Any, step: Any) -> Any:
    """The proximal operator of the conjugate for an array, or for all numbers of a tree."""
    if _is_array(x) or isinstance(term, Separable):
        return term.prox_conjugate(x, step)
    vector, unravel = tree.ravel(x)
    return unravel(term.prox_conjugate(vector, step))


def evaluate(term: Term, x: Any) -> Value:
    """The value at an array, or at all numbers of a tree."""
    return term(x) if _is_array(x) else term.value_tree(x)


def _is_array(x: Any) -> bool:
    return hasattr(x, "dtype") or bool(np.isscalar(x))


def as_separable(term: Term) -> Term:
    """A set for each part of a tree as a sum of terms, other terms as they are."""
    if not isinstance(term, Indicator) or not isinstance(term.of, Product):
        return term
    parts = term.of.parts
    named = {k: of if of is None else as_separable(Indicator(of)) for k, of in by_name(parts).items()}
    return Separable(named if isinstance(parts, dict) else list(named.values()))


def by_name(parts: Any) -> dict[Any, Any]:
    return dict(parts) if isinstance(parts, dict) else dict(enumerate(parts))


def check_term(title: str, term: Any) -> None:
    if isinstance(term, Set):
        raise TypeError(f"proximal.{title}: sets.{term.name} is a set; make a term of it with proximal.from_set.")
    if not isinstance(term, Term):
        raise TypeError(f"proximal.{title}: {term!r} is no term; they are made by optimize.proximal.")


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
            check_term("separable", part)
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
