"""Determinants by structure: products, diagonals, Kronecker products and low-rank updates need no big matrix.

log|A B| = log|A| + log|B|,    log|A ⊗ B| = m log|A| + n log|B|  (A: n × n, B: m × m),
log|R + U V*| = log|R| + log|1 + V* R⁻¹ U|
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.factorizations.factors import Factored
from adjoint.linear.factorizations.lowrank import woodbury
from adjoint.linear.operators.algebra import Adjoint, Composed, Conjugate, Scaled, Sum
from adjoint.linear.operators.blocks import BlockDiagonal, Raveled
from adjoint.linear.operators.kronecker import Kronecker
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operations import Congruence, Inverse, Power
from adjoint.linear.operators.stacks import check_single
from adjoint.linear.operators.structures import Permutation
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.linalg.matrices import hermitian
from adjoint.program.types import Value

__all__ = ["logdet", "slogdet"]

Pair = tuple[Any, Any]


@user_facing
def slogdet(a: LinearMap) -> Pair:
    """(sign, log|det A|), as np.linalg.slogdet gives them; the sign is a number of modulus one for complex maps.

    ```python
    ad.linear.slogdet(ad.linear.diagonal(np.array([-1.0, 2.0])))  # → (-1.0, 0.693147…)
    ```
    """
    check_single(a, "slogdet")
    if not a.is_square:
        raise ShapeError(f"slogdet: a map of shape {a.shape} has no determinant.")
    sign, size = _slogdet(a)
    # of a map without numbers (an identity, a permutation) they are Python's, and get the precision of the map
    real = np.finfo(a.dtype).dtype.type
    return (real(sign) if isinstance(sign, float) else sign), (real(size) if isinstance(size, float) else size)


@user_facing
def logdet(a: LinearMap) -> Value:
    """log|det A|, which is log det A for a positive definite map.

    ```python
    ad.linear.logdet(ad.linear.identity(3) + ad.linear.low_rank(np.ones(3)))  # → 1.386294…
    ```
    """
    return slogdet(a)[1]


def _slogdet(a: LinearMap) -> Pair:
    if "identity" in a.facts:
        return 1.0, 0.0
    if "unit diagonal" in a.facts and a.facts & {"lower triangular", "upper triangular"}:
        return 1.0, 0.0
    if isinstance(a, Scaled):
        return _join([_power(_of_numbers(np.reshape(a.factor, (1,))), a.shape[0]), _slogdet(a.inner)])
    if a.facts & {"diagonal", "lower triangular", "upper triangular"}:
        return _of_numbers(a.diagonal())
    if isinstance(a, Permutation):
        return _parity(a.order), 0.0
    if isinstance(a, Raveled):
        return _slogdet(a.inner)
    if isinstance(a, Adjoint | Conjugate):
        sign, size = _slogdet(a.inner)
        return np.conjugate(sign), size
    if isinstance(a, Inverse):
        sign, size = _slogdet(a.inner)
        return np.conjugate(sign), -size
    if isinstance(a, Power):
        return _power(_slogdet(a.inner), a.exponent)
    if isinstance(a, Composed) and all(factor.is_square for factor in a.factors):
        return _join(_slogdet(factor) for factor in a.factors)
    if isinstance(a, BlockDiagonal) and all(part.is_square for part in a.blocks):
        return _join(_slogdet(part) for part in a.blocks)
    if isinstance(a, Congruence) and a.outer.is_square:
        size = _slogdet(a.outer)[1]
        return _join([(1.0, 2 * size), _slogdet(a.inner)])
    if isinstance(a, Kronecker) and all(factor.is_square for factor in a.factors):
        n = a.shape[0]
        return _join(_power(_slogdet(factor), n // factor.shape[0]) for factor in a.factors)
    if isinstance(a, Sum) and (plan := woodbury(a)) is not None:
        u, v = plan.factors()
        inside = np.eye(u.shape[1], dtype=u.dtype) + np.matmul(adjoint_matrix(v), plan.easy._solve_columns(u))
        return _join([_slogdet(plan.easy), np.linalg.slogdet(inside)])
    return _of_matrix(a)


def _of_matrix(a: LinearMap) -> Pair:
    if isinstance(a, Factored) and a.kind == "cholesky":
        return 1.0, 2 * np.sum(np.log(np.real(np.diagonal(a.factors[0]))))
    if "positive definite" in a.facts:
        return 1.0, 2 * np.sum(np.log(np.real(np.diagonal(np.linalg.cholesky(hermitian(a._to_dense()))))))
    sign, size = np.linalg.slogdet(a._to_dense())
    return sign, size


def _of_numbers(d: Value) -> Pair:
    """Of a diagonal."""
    return np.prod(d / np.abs(d)) if d.dtype.kind == "c" else np.prod(np.sign(d)), np.sum(np.log(np.abs(d)))


def _parity(order: tuple[int, ...]) -> float:
    """+1 or -1, by the number of cycles."""
    seen: set[int] = set()
    cycles = 0
    for start in order:
        cycles += start not in seen
        while start not in seen:
            seen.add(start)
            start = order[start]
    return -1.0 if (len(order) - cycles) % 2 else 1.0


def _power(pair: Pair, n: int) -> Pair:
    return pair[0] ** n, n * pair[1]


def _join(pairs: Iterable[Pair]) -> Pair:
    sign, size = 1.0, 0.0
    for s, l in pairs:
        sign, size = sign * s, size + l
    return sign, size
