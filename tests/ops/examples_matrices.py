"""Examples for the primitives of linear algebra.

Matrices are a wide diagonal and something small around it, so that eigenvalues, singular values and pivots stay apart
within the circle in which differences are taken.

Eigenvectors and singular vectors are fixed up to a factor, or a sign, that LAPACK chooses. These examples are
marked as not smooth: tests/ops/linalg/test_spectral.py compares them otherwise.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.ops.arrays.norm import Length
from adjoint.ops.linalg.decompose import LU, QR, Cholesky
from adjoint.ops.linalg.determinant import Determinant, RegularDeterminant, SignLogDeterminant, SingularDecomposition
from adjoint.ops.linalg.expm import MatrixExponential
from adjoint.ops.linalg.solve import Inverse, PseudoInverse, Solve, TriangularSolve
from adjoint.ops.linalg.spectral import SVD, Eig, Eigh
from tests.ops.examples_matrix_equations import matrix_equation_examples
from tests.ops.samples import COMPLEX, FLOAT, SINGLE, SINGLE_COMPLEX, Example, normal, strided


def spread(*shape: int, dtype: np.dtype[Any] = FLOAT, seed: int = 0) -> Any:
    """A wide diagonal and something small around it."""
    m, n = shape[-2:]
    wide = np.zeros((m, n))
    k = min(m, n)
    wide[range(k), range(k)] = 4.0 + 2.5 * np.arange(k)
    return (wide + 0.3 * normal(*shape, dtype=dtype, seed=seed)).astype(dtype)


def positive(*shape: int, dtype: np.dtype[Any] = FLOAT) -> Any:
    """Hermitian, with eigenvalues far apart."""
    x = spread(*shape, dtype=dtype)
    return ((x + np.conj(np.swapaxes(x, -1, -2))) / 2).astype(dtype)


def matrix_examples() -> Iterator[Example]:
    """All of them."""
    square = [spread(3, 3), spread(2, 2, 2), spread(1, 1), spread(0, 0), spread(0, 2, 2)]
    square += [spread(2, 2, dtype=d) for d in (SINGLE, COMPLEX, SINGLE_COMPLEX)]
    square += [spread(2, 2, 2, dtype=COMPLEX), strided(spread(3, 3)), np.asfortranarray(spread(3, 3))]
    for op in (Inverse(), Determinant(), RegularDeterminant(), SignLogDeterminant(), SingularDecomposition()):
        for a in square:
            yield Example(op, (a,), smooth=not isinstance(op, SingularDecomposition))
    for a in square:
        yield Example(MatrixExponential(), (a * a.dtype.type(0.1),))
    yield Example(Determinant(), (np.ones((3, 3)),), note="rank one")
    yield Example(Determinant(), (np.zeros((2, 2)),), note="rank zero")
    yield from _equations()
    yield from _factors()
    yield from matrix_equation_examples()
    for x in (normal(3) + 3, normal(2, 3) + 3, normal(2, 3, dtype=COMPLEX) + 3, (normal(3) + 3).astype(SINGLE)):
        yield Example(Length((x.ndim - 1,)), (x,))
    yield Example(Length((0, 2)), (normal(2, 2, 2) + 3,))
    yield Example(Length((0,)), (normal(2, 0),), note="empty")


def _equations() -> Iterator[Example]:
    for op in (
        Solve(),
        TriangularSolve(lower=True),
        TriangularSolve(lower=False),
        TriangularSolve(lower=True, unit=True),
    ):
        yield Example(op, (spread(3, 3), normal(3, 2)))
        yield Example(op, (spread(2, 3, 3), normal(2, 3, 1)))
        yield Example(op, (spread(3, 3), normal(2, 3, 2)), note="one matrix for a stack")
        yield Example(op, (spread(2, 1, 2, 2), normal(3, 2, 1)), note="broadcast")
        yield Example(op, (spread(2, 2, dtype=COMPLEX), normal(2, 2)))
        yield Example(op, (spread(2, 2), normal(2, 2, dtype=COMPLEX)))
        yield Example(op, (spread(2, 2, dtype=SINGLE), normal(2, 1, dtype=SINGLE)))
        yield Example(op, (spread(0, 0), normal(0, 2)), note="empty")
        yield Example(op, (strided(spread(3, 3)), strided(normal(3, 2))))
    cutoff = np.asarray(1e-15)
    for shape in ((3, 3), (3, 2), (2, 3), (2, 3, 2)):
        yield Example(PseudoInverse(), (spread(*shape), cutoff))
        yield Example(PseudoInverse(), (spread(*shape, dtype=COMPLEX), cutoff))
    yield Example(PseudoInverse(), (spread(2, 3, 2), np.full(2, 1e-15)), note="a cutoff for each matrix")
    yield Example(PseudoInverse(symmetric=True), (positive(3, 3), cutoff))


def _factors() -> Iterator[Example]:
    shapes: list[tuple[int, ...]] = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (0, 2), (2, 0)]
    for shape in shapes:
        for dtype in (FLOAT, COMPLEX):
            for op in (LU(), QR()):
                yield Example(op, (spread(*shape, dtype=dtype),))
            for op in (SVD(), QR(full=True), SVD(full=True)):
                yield Example(op, (spread(*shape, dtype=dtype),), smooth=False)
    for op in (LU(), QR(), SVD()):
        yield Example(op, (spread(3, 2, dtype=SINGLE),), smooth=not isinstance(op, SVD))
    for shape in ((3, 3), (2, 2, 2), (1, 1), (0, 0)):
        for dtype in (FLOAT, COMPLEX, SINGLE):
            yield Example(Cholesky(), (positive(*shape, dtype=dtype),))
            yield Example(Cholesky(checked=False), (positive(*shape, dtype=dtype),))
            yield Example(Eigh(), (positive(*shape, dtype=dtype),), smooth=False)
            yield Example(Eigh(lower=False), (positive(*shape, dtype=dtype),), smooth=False)
            yield Example(Eig(), (spread(*shape, dtype=dtype),), smooth=dtype is FLOAT)
