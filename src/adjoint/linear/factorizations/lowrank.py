"""Equations with a map plus one of low rank, by the Woodbury identity.

(R + U V*)⁻¹ = R⁻¹ - R⁻¹ U (1 + V* R⁻¹ U)⁻¹ V* R⁻¹
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.linear.operators.algebra import Identity, Scaled, Sum
from adjoint.linear.operators.dense import solve_dense
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operations import Congruence
from adjoint.linear.operators.structures import LowRank
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.types import Value

__all__ = ["Woodbury", "rank_of", "woodbury"]


class Woodbury(NamedTuple):
    """A sum taken apart into a part that is easy to solve with and parts of low rank."""

    easy: LinearMap
    thin: tuple[LinearMap, ...]

    @property
    def method(self) -> str:
        return f"{self.easy.method} with a low-rank update (Woodbury)"

    def factors(self) -> tuple[Value, Value]:
        """U and V."""
        pairs = [_factors(term) for term in self.thin]
        return np.concatenate([u for u, _ in pairs], axis=1), np.concatenate([v for _, v in pairs], axis=1)

    def solve(self, b: Any) -> Any:
        """x with (R + U V*) x = b."""
        (u, v), domain = self.factors(), self.easy.domain
        first = domain.ravel(self.easy._solve(b))
        spread = self.easy._solve_columns(u)
        small = np.eye(u.shape[1], dtype=u.dtype) + np.matmul(adjoint_matrix(v), spread)
        correction = np.matmul(spread, solve_dense(small, np.matmul(adjoint_matrix(v), first)))
        return domain.unravel(first - correction)


def woodbury(total: Sum) -> Woodbury | None:
    """The parts of a sum, when some have low rank, the rest can be solved with, and that is worth the trouble."""
    thin = tuple(term for term in total.terms if rank_of(term) is not None)
    rest = tuple(term for term in total.terms if rank_of(term) is None)
    if not thin or not rest or "diagonal" in total.facts:
        return None
    if 2 * sum(rank_of(term) or 0 for term in thin) > total.domain.size:
        return None
    easy = rest[0] if len(rest) == 1 else Sum(rest)
    return Woodbury(easy, thin) if easy.is_easy else None


def rank_of(a: LinearMap) -> int | None:
    """An upper bound on the rank that the form of a map shows, where it is smaller than the map."""
    if isinstance(a, Scaled):
        return rank_of(a.inner)
    if isinstance(a, LowRank):
        return a.rank
    if isinstance(a, Congruence) and a.outer.range.size < a.outer.domain.size:
        return a.outer.range.size
    return None


def _factors(a: LinearMap) -> tuple[Value, Value]:
    if isinstance(a, Scaled):
        u, v = _factors(a.inner)
        return a.factor * u, v
    if isinstance(a, LowRank):
        return a.left, a.other
    assert isinstance(a, Congruence)
    back = adjoint_matrix(a.outer._to_dense())
    if isinstance(a.inner, Identity):
        return back, back
    return np.matmul(back, a.inner._to_dense()), back
