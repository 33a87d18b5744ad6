"""numpy.linalg for traced values: equations, determinants, factorizations and what is made of them; but not norms."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ControlFlowError, ShapeError
from adjoint.numpy.dispatch import as_array, implements, normal_axis
from adjoint.numpy.inplace import laid_out
from adjoint.numpy.shaping import convert
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.decompose import QR, Cholesky, Elimination
from adjoint.ops.linalg.determinant import Determinant, SignLogDeterminant
from adjoint.ops.linalg.matrices import answer
from adjoint.ops.linalg.solve import Inverse, PseudoInverse, Solve, TriangularSolve
from adjoint.ops.linalg.spectral import SVD, Eig, Eigh
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value

NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]
_ONE = np.eye(1)
EighResult: Any = type(np.linalg.eigh(_ONE))
EigResult: Any = type(np.linalg.eig(_ONE))
QRResult: Any = type(np.linalg.qr(_ONE))
SVDResult: Any = type(np.linalg.svd(_ONE))
SlogdetResult: Any = type(np.linalg.slogdet(_ONE))


@implements(np.linalg.solve)
def solve(a: Value, b: Value) -> Value:
    a, b = as_array(a), as_array(b)
    if b.ndim == 1:
        return np.squeeze(bind(Solve(), a, np.expand_dims(b, -1)), -1)
    return laid_out(bind(Solve(), a, b))


@implements(np.linalg.inv)
def inv(a: Value) -> Value:
    return bind(Inverse(), a)


@implements(np.linalg.det)
def det(a: Value) -> Value:
    return bind(Determinant(), a)


@implements(np.linalg.slogdet)
def slogdet(a: Value) -> Any:
    return SlogdetResult(*bind(SignLogDeterminant(), a))


@implements(np.linalg.cholesky)
def cholesky(a: Value, /, *, upper: bool = False) -> Value:
    return laid_out(adjoint_matrix(bind(Cholesky(), adjoint_matrix(a)))) if upper else bind(Cholesky(), a)


def _triangle(uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo.upper() == "L"


@implements(np.linalg.eigh)
def eigh(a: Value, UPLO: str = "L") -> Any:  # noqa: N803
    return EighResult(*bind(Eigh(_triangle(UPLO)), a))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Value, UPLO: str = "L") -> Value:  # noqa: N803
    return eigh(a, UPLO)[0]


@implements(np.linalg.eig)
def eig(a: Value) -> Any:
    w, v = bind(Eig(), a)
    # NumPy answers in real numbers when it can; where values are not known yet, the answer stays complex
    if a.dtype.kind != "c" and answer(lambda w: np.not_equal(np.imag(w), 0), bind(StopGradient(), w)) is False:
        w, v = np.real(w), np.real(v)
    return EigResult(w, v)


@implements(np.linalg.eigvals)
def eigvals(a: Value) -> Value:
    return eig(a)[0]


@implements(np.linalg.svd)
def svd(a: Value, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        u, s, vh = _hermitian_svd(a)
    else:
        rows, columns = a.shape[-2:] if a.ndim > 1 else (0, 0)
        u, s, vh = bind(SVD(bool(full_matrices and compute_uv and rows != columns)), a)
    return SVDResult(u, s, vh) if compute_uv else s


def _hermitian_svd(a: Value) -> tuple[Value, Value, Value]:
    """From the eigenvalues: s = |w| in descending order, U the vectors, V the same with the signs of w."""
    w, u = eigh(a)
    order = np.flip(np.argsort(np.abs(w), axis=-1), axis=-1)
    w, u = np.take_along_axis(w, order, axis=-1), np.take_along_axis(u, np.expand_dims(order, -2), axis=-1)
    return u, np.abs(w), adjoint_matrix(u * np.expand_dims(np.where(w < 0, -1.0, 1.0).astype(w.dtype), -2))


@implements(np.linalg.svdvals)
def svdvals(x: Value, /) -> Value:
    return svd(x, compute_uv=False)


@implements(np.linalg.qr)
def qr(a: Value, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'; use 'reduced', 'complete', 'r' or 'raw'.")
    q, r = bind(QR(mode == "complete"), a)
    if mode == "raw":
        return _reflections(q, r)
    return r if mode == "r" else QRResult(q, r)


def _reflections(q: Value, r: Value) -> tuple[Value, Value]:
    """(h, τ): the reflections 1 - τⱼ vⱼ vⱼᴴ whose product is Q, and R, packed as LAPACK does and transposed.

    Q - 1 = -V T Vᴴ is a product of a lower and an upper triangular matrix, found by elimination: V stands below the
    diagonal, and τ on the diagonal of T. Where a column needs no reflection there is no derivative: NaN.
    """
    m, k = q.shape[-2:]
    n = min(m - 1, k)  # in the last row there is nothing left to reflect, but a phase of a complex number
    e = q - np.eye(m, k, dtype=q.dtype)
    packed = bind(Elimination(), e[..., :n])[0]
    tau = -np.diagonal(packed, axis1=-2, axis2=-1)
    if k == m:
        last = np.zeros((*q.shape[:-2], 1), q.dtype)
        if q.dtype.kind == "c":
            column = bind(TriangularSolve(lower=True, unit=True), packed[..., :n, :], e[..., :n, n:])
            last = (np.matmul(packed[..., n:, :], column) - e[..., n:, n:])[..., 0]
        tau = np.concatenate([tau, last], axis=-1)
    low = packed * np.tri(m, n, -1, dtype=q.dtype)
    rows, columns = m, r.shape[-1]
    below = np.concatenate([low, np.zeros((*low.shape[:-1], columns - n), q.dtype)], axis=-1)
    above = np.concatenate([r, np.zeros((*r.shape[:-2], rows - k, columns), r.dtype)], axis=-2)
    return np.swapaxes(below + above, -1, -2), tau


@implements(np.linalg.pinv)
def pinv(a: Value, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Value:
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    a = as_array(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"pinv: {a.ndim}-dimensional array given. Array must be at least two-dimensional")
    cutoff = rcond if rcond is not None else 1e-15 if rtol is NO_VALUE else rtol
    if cutoff is None:
        cutoff = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    return bind(PseudoInverse(hermitian), a, _constant(cutoff))


def _constant(x: Any) -> Value:
    return bind(StopGradient(), x) if isinstance(x, Tracer) else np.asarray(x)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Value, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Value:  # noqa: N803
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    A = _constant(A)  # noqa: N806
    if A.ndim < 2:
        return 1 - np.all(np.equal(A, 0)).astype(np.int64)
    s = np.linalg.svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        relative = max(A.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.expand_dims(as_array(rtol), -1)
        tol = np.max(s, axis=-1, keepdims=True, initial=0) * relative
    else:
        tol = np.expand_dims(as_array(tol), -1)
    return np.count_nonzero(s > tol, axis=-1)


@implements(np.linalg.lstsq)
def lstsq(a: Value, b: Value, rcond: Any = None) -> tuple[Value, Value, Value, Value]:
    a, b = as_array(a), as_array(b)
    columns = np.expand_dims(b, -1) if b.ndim == 1 else b
    if a.ndim != 2 or columns.ndim != 2:
        raise np.linalg.LinAlgError(
            f"lstsq: {a.ndim}-dimensional and {b.ndim}-dimensional arrays given. Arrays must be two-dimensional"
        )
    (m, n), eps = a.shape, float(np.finfo(a.dtype if a.dtype.kind in "fc" else float).eps)
    if columns.shape[0] != m:
        raise np.linalg.LinAlgError("lstsq: incompatible dimensions: the right side needs as many rows as the matrix")
    cutoff = eps * max(m, n) if rcond is None else eps if rcond < 0 else rcond
    s = np.linalg.svd(_constant(a), compute_uv=False)
    rank = np.count_nonzero(s > cutoff * np.max(s, initial=0))
    x = np.matmul(np.linalg.pinv(a, cutoff), columns)
    full = rank == n
    try:
        known = bool(full)
    except ControlFlowError:  # in the body of a loop or a branch: the residuals keep their shape, NaN for none
        known = None
    if m > n and known is not False:
        gap = columns - np.matmul(a, x)
        residuals = np.sum(np.real(np.conjugate(gap) * gap) if gap.dtype.kind == "c" else gap * gap, axis=0)
        residuals = np.where(full, residuals, np.nan) if known is None else residuals
    else:
        residuals = np.zeros(0, s.dtype)
    return (np.squeeze(x, -1) if b.ndim == 1 else x), residuals, convert(rank, np.int32), s


@implements(np.linalg.matrix_power)
def matrix_power(a: Value, n: Any) -> Value:
    n = operator.index(n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("matrix_power: the last two dimensions of the array must be square")
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
    factor, n = (np.linalg.inv(a), -n) if n < 0 else (a, n)
    result: Value = None
    while True:
        if n & 1:
            result = factor if result is None else np.matmul(result, factor)
        n >>= 1
        if not n:
            return result
        factor = np.matmul(factor, factor)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Value:
    """The product in the order that needs the fewest multiplications."""
    factors = [as_array(x) for x in arrays]
    if len(factors) < 2:
        raise ValueError("Expecting at least two arrays.")
    row, column = factors[0].ndim == 1, factors[-1].ndim == 1
    factors[0] = np.expand_dims(factors[0], 0) if row else factors[0]
    factors[-1] = np.expand_dims(factors[-1], -1) if column else factors[-1]
    for position, factor in enumerate(factors):
        if factor.ndim != 2:
            raise np.linalg.LinAlgError(
                f"multi_dot: factor {position} is {factor.ndim}-dimensional; it must be two-dimensional"
            )
    sizes = [factors[0].shape[0], *[factor.shape[1] for factor in factors]]
    product = _ordered_product(factors, _best_splits(sizes), 0, len(factors) - 1)
    product = product[0] if row else product
    product = product[..., 0] if column else product
    if out is not None:
        out[...] = product
        return out
    return product


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """For each range of factors i … j, after which one it is best divided."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], float] = {(i, i): 0 for i in range(n)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            choices = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i, j] = min(choices)
            splits[i, j] = i + choices.index(cost[i, j])
    return splits


def _ordered_product(factors: Sequence[Value], splits: dict[tuple[int, int], int], i: int, j: int) -> Value:
    if i == j:
        return factors[i]
    k = splits[i, j]
    return np.matmul(_ordered_product(factors, splits, i, k), _ordered_product(factors, splits, k + 1, j))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Value, b: Value, axes: Any = None) -> Value:
    a, b = as_array(a), as_array(b)
    if axes is not None:
        last = [normal_axis(k, a.ndim) for k in axes]
        a = np.transpose(a, [k for k in range(a.ndim) if k not in last] + last)
    shape = a.shape[b.ndim :]
    size = math.prod(b.shape)
    if math.prod(a.shape) != size * size:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.reshape(np.linalg.solve(np.reshape(a, (size, size)), np.ravel(b)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Value, ind: int = 2) -> Value:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows, columns = math.prod(a.shape[:ind]), math.prod(a.shape[ind:])
    if rows != columns:
        raise ShapeError(
            f"tensorinv: the first {ind} axes of {a.shape} have {rows} elements, the others {columns}, not as many."
        )
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, columns))), (*a.shape[ind:], *a.shape[:ind]))


@implements(np.linalg.trace)
def trace(x: Value, /, *, offset: int = 0, dtype: Any = None) -> Value:
    return np.trace(x, offset, -2, -1, dtype=dtype)


@implements(np.linalg.diagonal)
def diagonal(x: Value, /, *, offset: int = 0) -> Value:
    return np.diagonal(x, offset, -2, -1)


@implements(np.linalg.outer)
def outer(x1: Value, x2: Value, /) -> Value:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} and x2.ndim={np.ndim(x2)}."
        )
    return np.outer(x1, x2)


@implements(np.linalg.cross)
def cross(x1: Value, x2: Value, /, *, axis: int = -1) -> Value:
    if np.shape(x1)[axis] != 3 or np.shape(x2)[axis] != 3:
        raise ValueError(
            f"cross: both arrays must hold 3-dimensional vectors; their shapes are {np.shape(x1)} and {np.shape(x2)}."
        )
    return np.cross(x1, x2, axis=axis)


@implements(np.linalg.matmul)
def matmul(x1: Value, x2: Value, /) -> Value:
    return np.matmul(x1, x2)


@implements(np.linalg.tensordot)
def tensordot(x1: Value, x2: Value, /, *, axes: Any = 2) -> Value:
    return np.tensordot(x1, x2, axes=axes)


@implements(np.linalg.vecdot)
def vecdot(x1: Value, x2: Value, /, *, axis: int = -1) -> Value:
    return np.vecdot(x1, x2, axis=axis)  # type: ignore[call-overload]


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Value, /) -> Value:
    return np.matrix_transpose(x)
