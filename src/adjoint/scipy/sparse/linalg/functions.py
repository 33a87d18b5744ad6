"""Functions of sparse matrices: exponentials and their products, powers, norms, and questions about the pattern."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.scipy.linalg import expm as dense_expm
from adjoint.scipy.sparse.arrays import SparseArray
from adjoint.scipy.sparse.construction import as_sparse, csc_array
from adjoint.scipy.sparse.linalg.solving import LINALG, right_side, square
from adjoint.scipy.sparse.numbering import for_traced
from adjoint.scipy.sparse.products import summed

# m terms of the Taylor series of exp are exact to double precision up to this norm (Al-Mohy and Higham, 2011)
TERMS = (5, 10, 15, 20, 30, 40, 55)
REACH = (2.4e-3, 0.144, 0.641, 1.44, 3.54, 6.0, 9.9)
MOST = 20_000  # products of a matrix with a vector, each of which is recorded


def _scaled_norm(a: SparseArray, shift: Value) -> Value:
    """The 1-norm of A - shift · I."""
    rows, columns = a.coords
    beside = summed(np.abs(a.data) * (rows != columns), columns, a.shape[1])
    return np.max(beside + np.abs(a.diagonal() - shift), initial=0)


def _exponential_product(a: SparseArray, b: Value, time: Value) -> Value:
    """exp(t A) b = (e^(μ t/s) Σₖ (t (A - μ I)/s)ᵏ/k!)ˢ b, with as many steps s and terms as the norm asks for."""
    n = a.shape[0]
    shift = a.trace() / n
    size = np.abs(time) * _scaled_norm(a, shift)
    choice = int(np.searchsorted(np.array(REACH), size))  # an integer: compiled code is right for one choice
    steps = 1 if choice < len(TERMS) else math.ceil(size / REACH[-1])
    terms = TERMS[min(choice, len(TERMS) - 1)]
    if steps * terms > MOST:
        raise UnsupportedError(
            f"expm_multiply: the norm of the matrix asks for {steps * terms} products, each of which is recorded. "
            "Divide the time into steps with ad.scan, or use adjoint.scipy.linalg.expm of the dense matrix."
        )
    h = time / steps
    for _ in range(steps):
        term = b
        for k in range(1, terms + 1):
            term = (a @ term - shift * term) * (h / k)
            b = b + term
        b = b * np.exp(shift * h)
    return b


@for_traced(LINALG)
def expm_multiply(
    A: Any,
    B: Any,
    start: Any = None,
    stop: Any = None,
    num: Any = None,
    endpoint: Any = None,
    traceA: Any = None,
) -> Value:
    """exp(A) B without exp(A); exp(t A) B at `num` times from start to stop, one after the other along the first axis.

    Differentiable in A, B, start and stop.
    """
    a = square("expm_multiply", A)
    b = right_side("expm_multiply", a, B)
    dtype = np.result_type(a.dtype, b.dtype, np.float32)
    b = b.astype(dtype) if b.dtype != dtype else b
    if start is None and stop is None and num is None:
        return _exponential_product(a, b, 1.0)
    if start is None or stop is None or isinstance(num, Tracer):
        raise ValueError("expm_multiply: start and stop are given together, and num is a plain number.")
    count = 50 if num is None else operator.index(num)
    step = (stop - start) / max(count - (1 if endpoint is None or endpoint else 0), 1)
    states = [_exponential_product(a, b, start)]
    while len(states) < count:
        states.append(_exponential_product(a, states[-1], step))
    return np.stack(states)


@for_traced(LINALG)
def expm(A: Any) -> SparseArray:
    """exp(A), with an entry at every position."""
    return csc_array(dense_expm(square("expm", A).toarray()))


@for_traced(LINALG)
def matrix_power(A: Any, power: int) -> SparseArray:
    """A @ A @ …, by repeated squares."""
    a, n = square("matrix_power", A), operator.index(power)
    if n < 0:
        raise ValueError("matrix_power: the exponent must not be negative")
    import scipy.sparse

    result = as_sparse(scipy.sparse.eye_array(a.shape[0], dtype=a.dtype, format="csr"))
    while n:
        result = result @ a if n % 2 else result
        n //= 2
        a = a @ a if n else a
    return result


@for_traced(LINALG)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Value:
    """The norm of a sparse matrix, or along an axis."""
    a = as_sparse(x).canonical()
    if axis is None and ord in (None, "fro", "f"):
        return np.sqrt(np.sum(np.real(a.data * np.conjugate(a.data))))
    if axis is None and ord in (1, -1, math.inf, -math.inf):
        kept = 1 if abs(ord) == 1 else 0
        sums = summed(np.abs(a.data), a.coords[kept], a.shape[kept])
        return np.max(sums) if ord > 0 else np.min(sums)
    return np.linalg.norm(a.toarray(), ord, axis)


@for_traced(LINALG)
def is_sptriangular(A: Any) -> tuple[bool, bool]:
    """(whether lower triangular, whether upper triangular), by the positions of the entries."""
    rows, columns = as_sparse(A).coords
    return bool(np.all(rows >= columns)), bool(np.all(rows <= columns))


@for_traced(LINALG)
def spbandwidth(A: Any) -> tuple[int, int]:
    """(diagonals below the main one, diagonals above), by the positions of the entries."""
    rows, columns = as_sparse(A).coords
    return int(np.max(rows - columns, initial=0)), int(np.max(columns - rows, initial=0))
