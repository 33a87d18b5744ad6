"""Linear algebra written out by the factorizations that LAPACK has: determinants, cofactors, inverses, exponentials.

What depends on the numbers of a matrix (its rank, how often it is halved) is decided for each matrix of a stack by
itself: a loop over the stack, with branches inside.
"""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile.expand import RULES, Rule, constant_of_nothing
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.linalg import from_factors
from adjoint.ops.linalg.decompose import LU, Elimination
from adjoint.ops.linalg.determinant import (
    Cofactors,
    Determinant,
    RegularDeterminant,
    SignLogDeterminant,
    SingularDecomposition,
    minors,
    small_fraction,
)
from adjoint.ops.linalg.expm import MatrixExponential
from adjoint.ops.linalg.matrices import factor_dtype
from adjoint.ops.linalg.matrix_functions import PolarFactor
from adjoint.ops.linalg.solve import PseudoInverse, Solve
from adjoint.ops.linalg.spectral import SVD, Eigh
from adjoint.program.program import Equation
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType


def type_of(x: Any) -> ArrayType:
    return ArrayType(x.shape, x.dtype)


def choose(condition: Any, yes: Callable[..., Any], no: Callable[..., Any], *operands: Any) -> list[Any]:
    """The results of one of two functions, of which only that one runs."""
    kinds = [type_of(x) for x in operands]
    programs = tuple(record_program(lambda *xs, f=f: list(f(*xs)), kinds)[0] for f in (no, yes))
    return list(Cond(programs)(Convert(np.dtype(np.int64))(condition), *operands))


def each_matrix(function: Callable[..., Sequence[Any]], *operands: Any, stack: int) -> list[Any]:
    """The results of a function of single matrices, for stacks of them; `stack` is how many axes these have."""
    if stack == 0:
        return list(function(*operands))
    shape = operands[0].shape[:stack]
    count = math.prod(shape)
    rows = [np.reshape(x, (count, *x.shape[stack:])) for x in operands]
    kinds = [ArrayType(x.shape[1:], x.dtype) for x in rows]
    body, _ = record_program(lambda *xs: list(function(*xs)), kinds)
    results = Scan(body, 0, 0, count)(*rows)
    return [np.reshape(z, (*shape, *z.shape[1:])) for z in results]


def in_factor_dtype(rule: Rule) -> Callable[[Equation], Rule | None]:
    """A rule for matrices in the dtype in which LAPACK computes; what empty ones give is constant."""

    def expanded(op: Any, *xs: Any) -> Any:
        dtype = factor_dtype(op.title, type_of(xs[0]))
        return rule(op, xs[0] if xs[0].dtype == dtype else Convert(dtype)(xs[0]), *xs[1:])

    return lambda eq: constant_of_nothing if 0 in eq.inputs[0].type.shape else expanded


# Determinants


@RULES.rule(Determinant, RegularDeterminant, SignLogDeterminant)
def _determinant_rule(eq: Equation) -> Rule | None:
    return in_factor_dtype(_sign_log_determinant if eq.op.several else _determinant)(eq)


def _determinant(op: Any, a: Any) -> Any:
    packed, pivots, _ = LU()(a)
    return from_factors.determinant(packed, pivots)


def _sign_log_determinant(op: Any, a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = LU()(a)
    return from_factors.sign_and_logarithm(packed, pivots)


def _cofactors(op: Cofactors, a: Any, z: Any) -> Any:
    """C = det(A) A⁻ᵀ where A is regular, by singular values where it is nearly not."""
    if a.shape[-1] <= 4:
        return minors(a)
    return each_matrix(_cofactors_of_one, a, z, stack=a.ndim - 2)[0]


def _cofactors_of_one(a: Any, z: Any) -> list[Any]:
    packed, _, order = LU()(a)
    singular = np.logical_or(np.equal(z, 0), np.any(np.equal(from_factors.diagonal_of(packed), 0)))
    no_inverse: Callable[..., Any] = lambda a, *_: [np.full(a.shape, np.nan, a.dtype), np.ones((), bool)]
    product, poor = choose(singular, no_inverse, _by_inverse, a, z, packed, order)
    return choose(poor, lambda a, c: [_by_singular_values(a)], lambda a, c: [c], a, product)


def _by_inverse(a: Any, z: Any, packed: Any, order: Any) -> list[Any]:
    """det(A) A⁻ᵀ, and whether it is poor. Where this line is only changes rounding.

    A⁻¹ by the factors that were looked at: another factorization might find the matrix singular.
    """
    inverse = from_factors.inverse(packed, order)
    condition = np.max(np.abs(a)) * np.max(np.abs(inverse))
    return [z * np.swapaxes(inverse, -1, -2), np.logical_not(condition < small_fraction(a.dtype) ** -2)]


def _by_singular_values(a: Any) -> Any:
    """Cᵀ = det(U) det(Vᴴ) V diag(pᵢ) Uᴴ, pᵢ the product of all singular values but the i-th; NaN if A is not finite."""
    finite, n = np.all(np.isfinite(a)), a.shape[-1]
    u, s, vh = SVD(full=True)(np.where(finite, a, np.zeros(a.shape, a.dtype)))
    others = np.where(np.eye(n, dtype=bool), s.dtype.type(1), np.broadcast_to(s, (n, n)))
    phase = Determinant()(u) * Determinant()(vh)
    result = phase * np.matmul(np.conjugate(u) * np.prod(others, axis=-1), np.conjugate(vh))
    return np.where(finite, result, result.dtype.type(np.nan))


def _singular_decomposition(op: SingularDecomposition, a: Any) -> tuple[Any, ...]:
    u, s, vh = SVD(full=True)(a)
    top = np.max(s, axis=-1)
    small = s <= s.dtype.type(small_fraction(s.dtype)) * np.expand_dims(top, -1)
    scale = np.where(np.equal(top, 0), s.dtype.type(1), top)
    return (
        u, vh, Convert(u.dtype)(small), Convert(u.dtype)(scale), Determinant()(u) * Determinant()(vh),
        np.sum(Convert(np.dtype(np.int64))(small), axis=-1),
    )  # fmt: skip


def _elimination(op: Elimination, a: Any) -> tuple[Any, ...]:
    """P A = L U with P = 1: column by column, a step of a loop each."""
    m, n = a.shape[-2:]
    rows, columns, integer = np.reshape(np.arange(m), (m, 1)), np.arange(n), np.dtype(np.int64)

    def step(packed: Any, k: Any) -> list[Any]:
        zero = packed.dtype.type(0)
        column = np.sum(np.where(np.equal(columns, k), packed, zero), axis=-1, keepdims=True)
        row = np.sum(np.where(np.equal(rows, k), packed, zero), axis=-2, keepdims=True)
        pivot = np.sum(np.where(np.equal(columns, k), row, zero), axis=-1, keepdims=True)
        counts = np.logical_and(np.greater(rows, k), np.not_equal(column, 0))
        factors = np.where(counts, column / np.where(counts, pivot, packed.dtype.type(1)), zero)
        reduced = packed - np.where(np.greater(columns, k), factors * row, zero)
        return [np.where(np.logical_and(np.equal(columns, k), np.greater(rows, k)), factors, reduced)]

    body, _ = record_program(step, [type_of(a), ArrayType((), integer)])
    packed = Scan(body, 0, 1, min(m, n))(a, np.arange(min(m, n)))[0]
    stack = a.shape[:-2]
    pivots = np.broadcast_to(np.arange(min(m, n), dtype=np.int32), (*stack, min(m, n)))
    return packed, pivots, np.broadcast_to(np.arange(m), (*stack, m))


# Inverses and functions


def _polar_factor(op: PolarFactor, a: Any) -> Any:
    u, _, vh = SVD()(a)
    return np.matmul(u, vh)


def _pseudo_inverse(op: PseudoInverse, a: Any, cutoff: Any) -> Any:
    """V diag(1/s) Uᴴ over the singular values above the cutoff."""
    if op.symmetric:
        s, v = Eigh()(a)
        uh = adjoint_matrix(v)
    else:
        u, s, vh = SVD()(a)
        v, uh = adjoint_matrix(vh), adjoint_matrix(u)
    sizes = np.abs(s)
    line = np.expand_dims(np.multiply(cutoff, np.max(sizes, axis=-1)), -1)
    large = sizes > Convert(s.dtype)(line) if line.dtype != s.dtype else sizes > line
    inverse = np.where(large, 1 / np.where(large, s, s.dtype.type(1)), s.dtype.type(0))
    return np.matmul(v * np.expand_dims(Convert(a.dtype)(inverse), -2), uh)


# Padé's approximant of eᴬ of degree 13: the coefficients, and up to which norm; beyond it, A is halved.
THIRTEEN = 5.371920351148152
THIRTEENTH = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _exponential(op: MatrixExponential, a: Any) -> Any:
    return each_matrix(_exponential_of_one, a, stack=a.ndim - 2)[0]


def _times(coefficient: float, x: Any) -> Any:
    return x * x.dtype.type(coefficient)


def _thirteenth(a: Any) -> Any:
    """q(A)⁻¹ p(A)."""
    b, one = THIRTEENTH, np.eye(a.shape[-1], dtype=a.dtype)
    a2 = np.matmul(a, a)
    a4 = np.matmul(a2, a2)
    a6 = np.matmul(a4, a2)
    high = np.matmul(a6, _times(b[13], a6) + _times(b[11], a4) + _times(b[9], a2))
    odd = np.matmul(a, high + _times(b[7], a6) + _times(b[5], a4) + _times(b[3], a2) + _times(b[1], one))
    top = np.matmul(a6, _times(b[12], a6) + _times(b[10], a4) + _times(b[8], a2))
    even = top + _times(b[6], a6) + _times(b[4], a4) + _times(b[2], a2) + _times(b[0], one)
    return Solve()(even - odd, even + odd)


def _exponential_of_one(a: Any) -> list[Any]:
    """eᴬ = (exp A/2ˢ)^(2ˢ): halved so often that the norm is small enough, then squared as often."""
    norm = np.max(np.sum(np.abs(a), axis=-2))
    integer = np.dtype(np.int64)
    halvings = np.ceil(np.log2(np.maximum(norm / norm.dtype.type(THIRTEEN), norm.dtype.type(1))))
    halvings = np.where(np.isfinite(norm), halvings, norm.dtype.type(0))
    times = Convert(integer)(halvings)
    start = _thirteenth(a * Convert(a.dtype)(np.exp2(-halvings)))
    number = ArrayType((), integer)
    condition, _ = record_program(lambda times, i, x: [np.less(i, times)], [number, number, type_of(start)])
    body, _ = record_program(lambda i, x: [i + 1, np.matmul(x, x)], [number, type_of(start)])
    return [While(condition, body, 1, 0)(times, np.int64(0), start)[1]]


RULES.update(
    {
        Cofactors: in_factor_dtype(_cofactors),
        Elimination: in_factor_dtype(_elimination),
        SingularDecomposition: in_factor_dtype(_singular_decomposition),
        PolarFactor: in_factor_dtype(_polar_factor),
        PseudoInverse: in_factor_dtype(_pseudo_inverse),
        MatrixExponential: in_factor_dtype(_exponential),
    }
)
