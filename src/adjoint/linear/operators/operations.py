"""What +, @, * and ** of linear maps build, simplified where the answer is plain; powers, inverses and B* S B."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.linear.operators import facts as known
from adjoint.linear.operators.algebra import Composed, Conjugate, Identity, OfMap, Scaled, Sum, Zero, same
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.maps import OPERATIONS, STATIC, LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["Congruence", "Inverse", "Power", "add", "compose", "congruence", "conjugate", "power", "scale"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Inverse(OfMap):
    """A⁻¹: applied, it solves with A by the method that the facts of A choose."""

    inner: LinearMap

    @property
    def domain(self) -> Space:
        return self.inner.range

    @property
    def range(self) -> Space:
        return self.inner.domain

    def _own_facts(self) -> Facts:
        return known.of_inverse(self.inner.facts)

    def _label(self) -> str:
        return f"Inverse ({self.inner.method})"

    def _apply(self, x: Any) -> Any:
        return self.inner._solve(x)

    def _apply_adjoint(self, u: Any) -> Any:
        return self.inner.adjoint._solve(u)

    def _adjoint(self) -> LinearMap:
        return Inverse(self.inner.adjoint)

    def _inverse(self) -> LinearMap:
        return self.inner

    def _solve(self, b: Any) -> Any:
        return self.inner._apply(b)

    def _method(self) -> str:
        return "product"

    def _is_structured(self) -> bool:
        return True


@final
@dataclass(frozen=True, eq=False, repr=False)
class Power(OfMap):
    """Aⁿ for n ≥ 2, by n applications."""

    inner: LinearMap
    exponent: int = field(metadata=STATIC)

    def _own_facts(self) -> Facts:
        return known.of_power(self.inner.facts, self.exponent)

    def _label(self) -> str:
        return f"Power({self.exponent})"

    def _apply(self, x: Any) -> Any:
        for _ in range(self.exponent):
            x = self.inner._apply(x)
        return x

    def _apply_adjoint(self, u: Any) -> Any:
        for _ in range(self.exponent):
            u = self.inner._apply_adjoint(u)
        return u

    def _adjoint(self) -> LinearMap:
        return Power(self.inner.adjoint, self.exponent)

    def _solve(self, b: Any) -> Any:
        for _ in range(self.exponent):
            b = self.inner._solve(b)
        return b

    def _method(self) -> str:
        return self.inner.method

    def _is_structured(self) -> bool:
        return self.inner.is_structured

    def _to_dense(self) -> Value:
        return np.linalg.matrix_power(self.inner._to_dense(), self.exponent)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Congruence(LinearMap):
    """B* S B, with B held once: symmetric when S is, positive when S is."""

    outer: LinearMap
    inner: LinearMap

    @property
    def domain(self) -> Space:
        return self.outer.domain

    @property
    def range(self) -> Space:
        return self.outer.domain

    def _own_facts(self) -> Facts:
        return known.of_congruence(self.outer.facts, self.inner.facts)

    def _parts(self) -> tuple[LinearMap, ...]:
        return (self.outer,) if isinstance(self.inner, Identity) else (self.outer, self.inner)

    def _label(self) -> str:
        return "A* A" if isinstance(self.inner, Identity) else "B* S B"

    def _apply(self, x: Any) -> Any:
        return self.outer._apply_adjoint(self.inner._apply(self.outer._apply(x)))

    def _apply_adjoint(self, u: Any) -> Any:
        return self.outer._apply_adjoint(self.inner._apply_adjoint(self.outer._apply(u)))

    def _adjoint(self) -> LinearMap:
        return Congruence(self.outer, self.inner.adjoint)

    def _solve(self, b: Any) -> Any:
        if not self.outer.is_square:
            return super()._solve(b)
        return self.outer._solve(self.inner._solve(self.outer.adjoint._solve(b)))

    def _method(self) -> str:
        if not self.outer.is_square:
            return super()._method()
        return f"{self.outer.method} after {self.inner.method} after {self.outer.adjoint.method}"

    def _is_structured(self) -> bool:
        return self.outer.is_square and self.outer.is_structured and self.inner.is_structured

    def _to_dense(self) -> Value:
        b = self.outer._to_dense()
        return np.matmul(adjoint_matrix(b), b if isinstance(self.inner, Identity) else self.inner._apply_columns(b))


def conjugate(a: LinearMap) -> LinearMap:
    """x ↦ conj(A conj(x))."""
    return a.inner if isinstance(a, Conjugate) else Conjugate(a)


def add(a: LinearMap, b: LinearMap) -> LinearMap:
    """A + B."""
    if (a.domain, a.range) != (b.domain, b.range):
        a, b = _over_one_field(a, b)
        a, b = _in_type_of(a, b.domain), _in_type_of(b, a.domain)
    if a.domain != b.domain or a.range != b.range:
        raise ShapeError(f"A + B: A goes from {a.domain} to {a.range}, B from {b.domain} to {b.range}. Sums need both "
                         "to be the same; an identity that fits is linear.identity(A.domain).")  # fmt: skip
    if isinstance(a, Zero) or isinstance(b, Zero):
        return b if isinstance(a, Zero) else a
    symmetric = a.domain == a.range and same(a.adjoint, b)
    terms = (*_terms(a), *_terms(b))
    return Sum(terms, claims=frozenset({"symmetric"}) if symmetric else frozenset())


def _over_one_field(a: LinearMap, b: LinearMap) -> tuple[LinearMap, LinearMap]:
    """Both maps complex, when one is."""
    kinds = {t.dtype.kind for m in (a, b) for t in (*m.domain.types, *m.range.types)}
    if len(kinds) < 2:
        return a, b
    return OPERATIONS["complexify"](a), OPERATIONS["complexify"](b)


def _in_type_of(a: LinearMap, space: Space) -> LinearMap:
    """A multiple of the identity in the precision of another map; all others as they are."""
    inner = a.inner if isinstance(a, Scaled) else a
    if not isinstance(inner, Identity) or inner.space.structure != space.structure:
        return a
    if any(
        s.shape != t.shape or s.dtype.kind != t.dtype.kind for s, t in zip(inner.space.types, space.types, strict=True)
    ):
        return a
    return dataclasses.replace(a, inner=Identity(space)) if isinstance(a, Scaled) else Identity(space)


def _terms(a: LinearMap) -> tuple[LinearMap, ...]:
    return a.terms if isinstance(a, Sum) and not a.claims else (a,)


def compose(a: LinearMap, b: LinearMap) -> LinearMap:
    """A after B. Where A is B*, or B* S, it is known to be symmetric."""
    if a.domain != b.range:
        a, b = _over_one_field(a, b)
    if a.domain != b.range:
        raise ShapeError(f"A @ B: A takes elements of {a.domain}, but B gives elements of {b.range}.")
    if isinstance(a, Identity) or isinstance(b, Identity):
        return b if isinstance(a, Identity) else a
    if isinstance(a, Zero) or isinstance(b, Zero):
        return Zero(b.domain, a.range)
    if isinstance(a, Scaled):
        return scale(a.factor, compose(a.inner, b))
    if isinstance(b, Scaled):
        return scale(b.factor, compose(a, b.inner))
    factors = (*_factors(a), *_factors(b))
    for count in range(1, len(factors) // 2 + 1):
        if all(same(factors[i].adjoint, factors[-1 - i]) for i in range(count)):
            middle = factors[count : len(factors) - count]
            if not middle:
                return congruence(_product(factors[-count:]))
            inner = _product(middle)
            if "symmetric" in inner.facts:
                return congruence(_product(factors[-count:]), inner)
    return _product(factors)


def _factors(a: LinearMap) -> tuple[LinearMap, ...]:
    return a.factors if isinstance(a, Composed) and not a.claims else (a,)


def _product(factors: tuple[LinearMap, ...]) -> LinearMap:
    return factors[0] if len(factors) == 1 else Composed(factors)


def congruence(outer: LinearMap, inner: LinearMap | None = None) -> LinearMap:
    """B* S B; B* B when S is left out.

    ```python
    B = ad.linear.matrix(np.array([[1.0, 2.0]]))
    ad.linear.congruence(B).to_dense()  # → [[1.0, 2.0], [2.0, 4.0]]
    ```
    """
    inner = Identity(outer.range) if inner is None else inner
    if inner.domain != outer.range or inner.range != outer.range:
        raise ShapeError(f"B* S B: B gives elements of {outer.range}, but S goes from {inner.domain} to {inner.range}.")
    return Congruence(outer, inner)


def scale(factor: Value, a: LinearMap, kind: str | None = None) -> LinearMap:
    """c A."""
    if isinstance(factor, int):
        factor = float(factor)
    if isinstance(a, Zero):
        return a
    if isinstance(a, Scaled) and not a.claims:
        factor, a = factor * a.factor, a.inner
    kind = kind_of(factor) if kind is None else kind
    if kind == "complex" and a.range.dtype.kind != "c":
        a = OPERATIONS["complexify"](a)
    return a if kind == "one" and not isinstance(factor, Tracer) else Scaled(a, factor, kind)


def power(a: LinearMap, n: int) -> LinearMap:
    """Aⁿ."""
    if a.domain != a.range:
        raise ShapeError(f"A ** {n}: A goes from {a.domain} to {a.range}, so it has no powers.")
    return Identity(a.domain) if n == 0 else a if n == 1 else Power(a, n)


def kind_of(factor: Value) -> str:
    """What is known of a number: its sign when it is a plain one, else whether it is real."""
    if isinstance(factor, complex) or getattr(factor, "dtype", np.dtype(float)).kind == "c":
        return "complex"
    if isinstance(factor, Tracer) or factor != factor:
        return "real"
    if factor in (1, -1):
        return "one" if factor == 1 else "minus one"
    return "zero" if factor == 0 else "positive" if factor > 0 else "negative"
