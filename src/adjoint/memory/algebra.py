"""What linear algebra takes while it runs: copies that NumPy gives to LAPACK, and LAPACK's own work arrays.

LAPACK overwrites its arguments, so NumPy copies one matrix of a stack after the other. How large a work array a routine
wants, it says itself (`lwork`). Routines of SciPy's that are made of many others have a number of matrices that was
measured.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.memory.sizes import size_of
from adjoint.ops.linalg.decompose import LU, QR, Cholesky, Elimination
from adjoint.ops.linalg.degenerate_blocks import Levels
from adjoint.ops.linalg.determinant import Cofactors, Determinant, SignLogDeterminant
from adjoint.ops.linalg.eigenvalues import Eig
from adjoint.ops.linalg.expm import MatrixExponential
from adjoint.ops.linalg.ldl import LDL
from adjoint.ops.linalg.matrix_equations import Stein, Sylvester
from adjoint.ops.linalg.matrix_functions import Logarithm, PolarFactor, RealPower, Sign, SquareRoot
from adjoint.ops.linalg.riccati import Riccati
from adjoint.ops.linalg.schur import Schur, TriangularCommutator
from adjoint.ops.linalg.solve import Inverse, PseudoInverse, Solve
from adjoint.ops.linalg.spectral import SVD, Eigh
from adjoint.ops.linalg.spectral_function import SpectralDerivative
from adjoint.program.types import ArrayType

Types = Sequence[ArrayType]
INTEGER = 4  # bytes

# Workspaces in matrices of the result and in columns of it: (real, complex) each, measured. Some of them depend on
# values, such as how often a matrix is halved.
MATRICES: dict[type, tuple[tuple[float, float], tuple[float, float]]] = {
    MatrixExponential: ((6.5, 5.5), (0, 0)),
    SquareRoot: ((5.3, 2.4), (122, 118)),
    Logarithm: ((20.2, 10.1), (0, 0)),
    RealPower: ((20.2, 10.1), (0, 0)),
    Sign: ((10.0, 5.0), (0, 0)),
    Sylvester: ((8.0, 8.0), (26, 20)),
    Stein: ((21.0, 10.5), (0, 0)),
    Riccati: ((64.0, 60.0), (0, 0)),
    LDL: ((3.2, 4.1), (64, 64)),
    Schur: ((3.3, 3.4), (125, 118)),
    TriangularCommutator: ((2.0, 2.0), (0, 0)),
    LU: ((1.0, 1.0), (0, 0)),
    Elimination: ((1.0, 1.0), (0, 0)),
    Levels: ((1.0, 0.5), (0, 0)),
}


def is_algebra(op: Any) -> bool:
    """Whether `algebra_workspace` knows it."""
    return type(op) in MATRICES or type(op) in ROUTINES


def algebra_workspace(op: Any, types: Types, kinds: Types) -> int:
    """Bytes beside arguments and results."""
    if type(op) not in MATRICES:
        return int(ROUTINES[type(op)](op, types, kinds))
    found = next(k for k in kinds if k.ndim > 1 and k.dtype.kind in "fc")
    which = int(found.dtype.kind == "c")
    squares, columns = (pair[which] for pair in MATRICES[type(op)])
    m, n = found.shape[-2:]
    return int((squares * m * n + columns * n) * found.dtype.itemsize)


def _wide(*types: ArrayType) -> np.dtype[Any]:
    """What NumPy computes in: always with double precision."""
    return np.dtype(np.complex128 if any(t.dtype.kind == "c" for t in types) else np.float64)


def _cast(types: Types, kinds: Types) -> int:
    """Copies of arguments and results that have another dtype than NumPy computes in."""
    wide = _wide(*types)
    others = [t for t in types if t.dtype != wide and t.ndim]
    narrow = [k for k in kinds if k.dtype.itemsize < 8]
    return sum(size_of(ArrayType(t.shape, wide)) for t in others) + sum(2 * size_of(k) for k in narrow)


def _work(routine: str, wide: np.dtype[Any], *sizes: int, **options: Any) -> int:
    """Bytes of the work array that a routine of LAPACK's asks for."""
    from scipy.linalg.lapack import get_lapack_funcs

    found = get_lapack_funcs((f"{routine}_lwork",), dtype=wide)[0](*sizes, **options)
    wanted = [np.real(n) for n in found[:-1]]  # the last one is an error code
    return int(wanted[0]) * wide.itemsize


def _solve(op: Any, types: Types, kinds: Types) -> int:
    n, k = types[0].shape[-1], types[1].shape[-1]
    one = n * (n + k) * _wide(*types).itemsize + INTEGER * n
    return one + _cast(types, kinds)


def _inverse(op: Any, types: Types, kinds: Types) -> int:
    n = types[0].shape[-1]
    return 2 * n * n * _wide(*types).itemsize + INTEGER * n + _cast(types, kinds)


def _factor(op: Any, types: Types, kinds: Types) -> int:
    m, n = types[0].shape[-2:]
    return m * n * _wide(*types).itemsize + _cast(types, kinds)


def _cofactors(op: Any, types: Types, kinds: Types) -> int:
    return size_of(kinds[0]) + _inverse(op, types[:1], kinds)


def _qr(op: Any, types: Types, kinds: Types) -> int:
    """The factors are unpacked from a copy of A, beside which LAPACK has one of its own, and Q once more."""
    wide = _wide(*types)
    (m, n), k = types[0].shape[-2:], kinds[0].shape[-1]
    one = m * (n + k) * wide.itemsize + _work("geqrf", wide, m, max(n, k if op.full else n))
    q = size_of(ArrayType(kinds[0].shape, wide))
    return max(0, size_of(ArrayType(types[0].shape, wide)) + q + one - sum(map(size_of, kinds)))


def _svd(types: Types, full: bool) -> int:
    wide = _wide(*types)
    m, n = types[0].shape[-2:]
    k = min(m, n)
    rows, columns = (m, n) if full else (k, k)
    matrices = (m * n + m * rows + columns * n) * wide.itemsize
    whole = _work("gesdd", wide, m, n, compute_uv=True, full_matrices=full)
    real = 16 * (5 * k * k + 5 * k) if wide.kind == "c" else 8 * k
    return matrices + whole + real + INTEGER * 8 * k


def _spectrum(op: Any, types: Types, kinds: Types) -> int:
    return _svd(types, op.full) + _cast(types, kinds)


def _pseudo_inverse(op: Any, types: Types, kinds: Types) -> int:
    """The factors, and for complex A its conjugate."""
    u, result = size_of(ArrayType(types[0].shape, _wide(types[0]))), size_of(kinds[0])
    square = min(types[0].shape[-2:]) / max(types[0].shape[-2:]) * u
    conjugate = result if kinds[0].dtype.kind == "c" else 0
    return int(_svd(types[:1], False) + u + square + conjugate - result)


def _eigh(op: Any, types: Types, kinds: Types) -> int:
    n, wide = types[0].shape[-1], _wide(*types)
    numbers = 2 * n * n + 6 * n if wide.kind == "f" else 2 * (n * n + 2 * n) + 2 * n * n + 5 * n
    return n * n * wide.itemsize + 8 * (numbers + n) + INTEGER * 5 * n + _cast(types, kinds)


def _eig(op: Any, types: Types, kinds: Types) -> int:
    """For real A the vectors come as pairs of real columns, and are put together."""
    n, wide = types[0].shape[-1], _wide(*types)
    matrices = 4 * n * n * 8 if wide.kind == "f" else 2 * n * n * 16
    return matrices + _work("geev", wide, n, compute_vl=False, compute_vr=True) + _cast(types, kinds)


def _function(op: Any, types: Types, kinds: Types) -> int:
    n, wide = types[0].shape[-1], kinds[0].dtype
    matrices = 3 if len(types) == 1 else 70 if wide.kind == "f" else 36
    return matrices * n * n * wide.itemsize


ROUTINES: dict[type, Callable[[Any, Types, Types], int]] = {
    Solve: _solve,
    Inverse: _inverse,
    Determinant: _factor,
    SignLogDeterminant: _factor,
    Cholesky: _factor,
    Cofactors: _cofactors,
    QR: _qr,
    SVD: _spectrum,
    PolarFactor: _pseudo_inverse,
    PseudoInverse: _pseudo_inverse,
    Eigh: _eigh,
    Eig: _eig,
    SpectralDerivative: _function,
}
