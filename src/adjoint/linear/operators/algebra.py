"""Identity and zero; maps made of maps: adjoints, conjugates, multiples, sums and products."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.linear.operators import facts as known
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.maps import OPERATIONS, STATIC, LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.stacks import check_single
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.types import Value

__all__ = ["Adjoint", "Composed", "Conjugate", "Identity", "Scaled", "Sum", "Zero", "same"]


def same(a: Any, b: Any) -> bool:
    """Whether two maps are made of the same arrays in the same way."""
    if a is b:
        return True
    left, structure = tree.flatten(a)
    right, other = tree.flatten(b)
    return structure == other and all(x is y for x, y in zip(left, right, strict=True))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Identity(LinearMap):
    """x ↦ x."""

    space: Space = field(metadata=STATIC)

    @property
    def domain(self) -> Space:
        return self.space

    @property
    def range(self) -> Space:
        return self.space

    def _own_facts(self) -> Facts:
        return frozenset({"identity"})

    def _apply(self, x: Any) -> Any:
        return x

    def _apply_adjoint(self, u: Any) -> Any:
        return u

    def _apply_columns(self, columns: Value) -> Value:
        return columns

    def _solve(self, b: Any) -> Any:
        return b

    def _method(self) -> str:
        return "identity"

    def _is_structured(self) -> bool:
        return True

    def _inverse(self) -> LinearMap:
        return self

    def _to_dense(self) -> Value:
        return np.eye(self.space.size, dtype=self.space.dtype)

    def diagonal(self) -> Value:
        return np.ones(self.space.size, self.space.dtype)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Zero(LinearMap):
    """x ↦ 0."""

    source: Space = field(metadata=STATIC)
    target: Space = field(metadata=STATIC)

    @property
    def domain(self) -> Space:
        return self.source

    @property
    def range(self) -> Space:
        return self.target

    def _own_facts(self) -> Facts:
        return frozenset({"zero"})

    def _apply(self, x: Any) -> Any:
        return self.target.zeros()

    def _apply_adjoint(self, u: Any) -> Any:
        return self.source.zeros()

    def _adjoint(self) -> LinearMap:
        return Zero(self.target, self.source)

    def _to_dense(self) -> Value:
        return np.zeros(self.shape, self.dtype)


class OfMap(LinearMap):
    """A map made of one other: between the same spaces, with the same facts, unless it says otherwise."""

    inner: LinearMap

    @property
    def domain(self) -> Space:
        return self.inner.domain

    @property
    def range(self) -> Space:
        return self.inner.range

    def _own_facts(self) -> Facts:
        return self.inner.facts

    def _parts(self) -> tuple[LinearMap, ...]:
        return (self.inner,)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Adjoint(OfMap):
    """A*, by the adjoint rule of A."""

    inner: LinearMap

    @property
    def domain(self) -> Space:
        return self.inner.range

    @property
    def range(self) -> Space:
        return self.inner.domain

    def _own_facts(self) -> Facts:
        return known.of_adjoint(self.inner.facts)

    def _apply(self, x: Any) -> Any:
        return self.inner._apply_adjoint(x)

    def _apply_adjoint(self, u: Any) -> Any:
        return self.inner._apply(u)

    def _adjoint(self) -> LinearMap:
        return self.inner

    def _to_dense(self) -> Value:
        return adjoint_matrix(self.inner._to_dense())


@final
@dataclass(frozen=True, eq=False, repr=False)
class Conjugate(OfMap):
    """x ↦ conj(A conj(x)): the map whose matrix is conjugate."""

    inner: LinearMap

    def _apply(self, x: Any) -> Any:
        return tree.map(np.conjugate, self.inner._apply(tree.map(np.conjugate, x)))

    def _apply_adjoint(self, u: Any) -> Any:
        return tree.map(np.conjugate, self.inner._apply_adjoint(tree.map(np.conjugate, u)))

    def _solve(self, b: Any) -> Any:
        return tree.map(np.conjugate, self.inner._solve(tree.map(np.conjugate, b)))

    def _method(self) -> str:
        return self.inner.method

    def _to_dense(self) -> Value:
        return np.conjugate(self.inner._to_dense())


@final
@dataclass(frozen=True, eq=False, repr=False)
class Scaled(OfMap):
    """c A. What is known of the number c when the map is made (`kind`) goes with it."""

    _axes = (("factor", 0),)
    inner: LinearMap
    factor: Value
    kind: str = field(default="complex", metadata=STATIC)

    def _own_facts(self) -> Facts:
        return known.of_scaled(self.inner.facts, self.kind)

    def _label(self) -> str:
        c = self.factor
        return f"Scaled({c:.4g})" if isinstance(c, float | np.floating) else "Scaled"

    def _apply(self, x: Any) -> Any:
        return self.range.scaled(self.factor, self.inner._apply(x))

    def _apply_adjoint(self, u: Any) -> Any:
        return self.domain.scaled(np.conjugate(self.factor), self.inner._apply_adjoint(u))

    def _apply_columns(self, columns: Value) -> Value:
        return self.factor * self.inner._apply_columns(columns)

    def _adjoint(self) -> LinearMap:
        factor = np.conjugate(self.factor) if self.kind == "complex" else self.factor
        return Scaled(self.inner.adjoint, factor, self.kind)

    def _solve(self, b: Any) -> Any:
        return self.domain.scaled(1 / self.factor, self.inner._solve(b))

    def _method(self) -> str:
        return self.inner.method

    def _is_structured(self) -> bool:
        return self.inner.is_structured

    def _to_dense(self) -> Value:
        return self.factor * self.inner._to_dense()

    def diagonal(self) -> Value:
        check_single(self)
        return self.factor * self.inner.diagonal()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Sum(LinearMap):
    """A + B + …."""

    terms: tuple[LinearMap, ...]

    @property
    def domain(self) -> Space:
        return self.terms[0].domain

    @property
    def range(self) -> Space:
        return self.terms[0].range

    def _own_facts(self) -> Facts:
        return known.of_sum([term.facts for term in self.terms])

    def _parts(self) -> tuple[LinearMap, ...]:
        return self.terms

    def _apply(self, x: Any) -> Any:
        return self.range.total([term._apply(x) for term in self.terms])

    def _apply_adjoint(self, u: Any) -> Any:
        return self.domain.total([term._apply_adjoint(u) for term in self.terms])

    def _apply_columns(self, columns: Value) -> Value:
        return functools.reduce(np.add, [term._apply_columns(columns) for term in self.terms])

    def _adjoint(self) -> LinearMap:
        return Sum(tuple(term.adjoint for term in self.terms))

    def _to_dense(self) -> Value:
        return functools.reduce(np.add, [term._to_dense() for term in self.terms])

    def _solve(self, b: Any) -> Any:
        plan = OPERATIONS["woodbury"](self)
        return super()._solve(b) if plan is None else plan.solve(b)

    def _method(self) -> str:
        plan = OPERATIONS["woodbury"](self)
        return super()._method() if plan is None else plan.method

    def _is_structured(self) -> bool:
        return OPERATIONS["woodbury"](self) is not None or super()._is_structured()

    def diagonal(self) -> Value:
        return functools.reduce(np.add, [term.diagonal() for term in self.terms])


@final
@dataclass(frozen=True, eq=False, repr=False)
class Composed(LinearMap):
    """A B …: the last factor acts first."""

    factors: tuple[LinearMap, ...]

    @property
    def domain(self) -> Space:
        return self.factors[-1].domain

    @property
    def range(self) -> Space:
        return self.factors[0].range

    def _own_facts(self) -> Facts:
        return known.of_product([factor.facts for factor in self.factors])

    def _parts(self) -> tuple[LinearMap, ...]:
        return self.factors

    def _apply(self, x: Any) -> Any:
        for factor in reversed(self.factors):
            x = factor._apply(x)
        return x

    def _apply_adjoint(self, u: Any) -> Any:
        for factor in self.factors:
            u = factor._apply_adjoint(u)
        return u

    def _apply_columns(self, columns: Value) -> Value:
        for factor in reversed(self.factors):
            columns = factor._apply_columns(columns)
        return columns

    def _adjoint(self) -> LinearMap:
        return Composed(tuple(factor.adjoint for factor in reversed(self.factors)))

    def _by_factors(self) -> bool:
        return all(factor.is_square for factor in self.factors)

    def _solve(self, b: Any) -> Any:
        if not self._by_factors():
            return super()._solve(b)
        for factor in self.factors:
            b = factor._solve(b)
        return b

    def _method(self) -> str:
        if not self._by_factors():
            return super()._method()
        return " after ".join(reversed([factor.method for factor in self.factors]))

    def _is_structured(self) -> bool:
        return self._by_factors() and all(factor.is_structured for factor in self.factors)

    def _to_dense(self) -> Value:
        return functools.reduce(np.matmul, [factor._to_dense() for factor in self.factors])
