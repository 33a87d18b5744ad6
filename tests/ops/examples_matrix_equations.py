"""Examples for matrix equations, functions of matrices, and factors with structure.

Where a Hermitian matrix is expected, the derivative is that of the Hermitian part: those examples are marked as not
smooth, and tests/scipy compares them along Hermitian directions.
"""

from collections.abc import Iterator

import numpy as np

from adjoint.ops.linalg.banded import BandedSolve
from adjoint.ops.linalg.decompose import Elimination, PivotOrder
from adjoint.ops.linalg.degenerate_blocks import AnticommutatorSolve, BlockRightSolve, CommutatorSolve, EigenvalueBlocks
from adjoint.ops.linalg.degenerate_residue import BlockGradient
from adjoint.ops.linalg.eigenvalues import Defect, GeneralBlockGradient, GeneralCommutatorSolve, GeneralEigenvalueBlocks
from adjoint.ops.linalg.ldl import LDL
from adjoint.ops.linalg.matrix_equations import Stein, Sylvester
from adjoint.ops.linalg.matrix_functions import Logarithm, PolarFactor, RealPower, Sign, SquareRoot
from adjoint.ops.linalg.riccati import Riccati
from adjoint.ops.linalg.schur import Schur, TriangularCommutator
from adjoint.ops.linalg.sparse_product import SparseProduct
from adjoint.ops.linalg.sparse_solve import SparseSolve
from adjoint.ops.linalg.spectral_function import SpectralDerivative
from adjoint.ops.special.eigenvectors import TridiagonalEigh
from tests.ops.samples import COMPLEX, FLOAT, SINGLE, Example, normal


def apart(*shape, dtype=FLOAT, seed=0):
    """A wide diagonal and something small around it."""
    n = shape[-1]
    return (np.diag(4.0 + 2.5 * np.arange(n)) + 0.3 * normal(*shape, dtype=dtype, seed=seed)).astype(dtype)


def matrix_equation_examples() -> Iterator[Example]:
    """All of them."""
    yield from _equations()
    yield from _sparse_equations()
    yield from _functions()
    yield from _factors()
    yield from _levels()


def _equations() -> Iterator[Example]:
    for op, size in ((Sylvester(), 1.0), (Stein(), 0.05)):
        yield Example(op, (size * apart(3, 3), size * apart(2, 2), normal(3, 2)))
        yield Example(op, (size * apart(2, 2, dtype=COMPLEX), size * apart(2, 2), normal(2, 2)))
        yield Example(op, (size * apart(2, 2, 2), size * apart(2, 2), normal(3, 1, 2, 2)), note="broadcast")
        yield Example(op, (apart(0, 0), size * apart(2, 2), normal(0, 2)), note="empty")
        single = [np.asarray(size * x, SINGLE) for x in (apart(2, 2), apart(2, 2), normal(2, 2))]
        yield Example(op, tuple(single))
    q, b = apart(2, 2), normal(2, 1)
    q = q @ q.T
    yield Example(Riccati(True), (normal(2, 2), b, q, np.eye(1), apart(2, 2, seed=1), 0.1 * normal(2, 1, seed=2)))
    ones = np.ones((1, 1), COMPLEX)
    yield Example(Riccati(False), (normal(2, 1, 1), ones, ones, 2 * ones, 1j * ones, 0.1 * ones), note="stack")
    for positive in (False, True):
        for dtype in (FLOAT, COMPLEX):
            ab = 0.4 * normal(3, 4, dtype=dtype)
            ab[0, 0] = ab[2, 3] = 0
            ab[1] = ab[1].real + 5
            ab[2, :3] = np.conj(ab[0, 1:]) if positive else ab[2, :3]
            op = BandedSolve(1, 1, positive)
            yield Example(op, (ab, normal(4, 2, dtype=dtype)), smooth=not positive)
            yield Example(op, (np.stack([ab, 1.1 * ab]), normal(4, 1)), smooth=not positive)
    yield Example(BandedSolve(2, 0), (normal(3, 4) + np.array([[5.0], [0], [0]]), normal(4, 1)))
    yield Example(BandedSolve(0, 1), (normal(2, 0), normal(0, 2)), note="empty")


def _sparse_equations() -> Iterator[Example]:
    rows, columns = np.array([0, 1, 2, 0, 1]), np.array([0, 1, 2, 2, 0])
    for trans in "NTH":
        for dtype in (FLOAT, COMPLEX):
            data = (4.0 * np.array([1, 1, 1, 0, 0]) + normal(5, dtype=dtype)).astype(dtype)
            op = SparseSolve(3, trans)
            yield Example(op, (data, normal(3, 2, dtype=dtype), rows, columns))
            yield Example(op, (np.stack([data, 1.3 * data]), normal(3, 1), rows, columns), note="stack of entries")
        yield Example(op, (data.real, normal(2, 1, 3, 1, dtype=COMPLEX), rows, columns), note="stack of sides")
    for dtype in (FLOAT, COMPLEX, SINGLE):
        entries = normal(5, dtype=dtype)
        yield Example(SparseProduct(4), (entries, normal(3, 2, dtype=dtype), rows, columns))
        yield Example(SparseProduct(3), (np.stack([entries, 2 * entries]), normal(3, 1), rows, columns), note="stack")
    yield Example(SparseProduct(3), (entries, normal(2, 1, 3, 1, dtype=COMPLEX), rows, columns), note="stack of sides")
    one = np.zeros(3, int), np.array([0, 2, 1])
    yield Example(SparseProduct(1), (normal(3), normal(3, 1), *one), note="one row")
    yield Example(SparseProduct(1), (normal(2, 3), normal(3, 1), *one), note="one row, stack")
    yield Example(SparseProduct(3), (normal(0), normal(3, 2), rows[:0], columns[:0]), note="empty")
    yield Example(SparseSolve(3), (data.real.astype(SINGLE), normal(3, 1).astype(SINGLE), rows, columns))
    yield Example(SparseSolve(3), (data.real, normal(3, 0), rows, columns), note="empty")


def _functions() -> Iterator[Example]:
    for dtype in (FLOAT, COMPLEX, SINGLE):
        yield Example(SquareRoot(), (apart(3, 3, dtype=dtype),))
        yield Example(SquareRoot(), (apart(2, 2, 2, dtype=dtype),))
        yield Example(Sign(), ((apart(3, 3, dtype=dtype) - np.diag([9, 0, 0])).astype(dtype),))
        yield Example(PolarFactor(), (apart(2, 2, dtype=dtype),))
        yield Example(PolarFactor(), (np.concatenate([apart(2, 2, dtype=dtype), normal(1, 2, dtype=dtype)]),))
    yield Example(Logarithm(), (apart(2, 2),))
    yield Example(Logarithm(), (apart(1, 2, 2, dtype=COMPLEX),))
    yield Example(RealPower(), (apart(1, 1, dtype=COMPLEX), np.full((1, 1), 0.4)))
    yield Example(RealPower(), (apart(1, 2, 2), np.full((1, 1, 1), -0.4)))
    yield Example(PolarFactor(), (2.0 * np.eye(3),), note="equal singular values")
    for op in (SquareRoot(), Sign(), PolarFactor()):
        yield Example(op, (apart(0, 0),), note="empty")
    a = apart(2, 2, dtype=COMPLEX)
    a = 0.2 * (a + np.conj(a.T))
    yield Example(SpectralDerivative(np.exp), (a,), smooth=False)
    yield Example(SpectralDerivative(np.sin, 1), (a.real, normal(2, 2, 2, dtype=COMPLEX)), smooth=False)
    yield Example(SpectralDerivative(np.exp), (np.stack([np.eye(2), np.diag([1.0, 2.0])]),), smooth=False)


def _factors() -> Iterator[Example]:
    for dtype in (FLOAT, COMPLEX):
        a = apart(3, 3, dtype=dtype)
        yield Example(Schur(), (a,), smooth=dtype is FLOAT)
        yield Example(Schur("rhp"), (apart(2, 2, 2, dtype=dtype),), smooth=dtype is FLOAT)
        for hermitian in (True, False):
            h = (a + (np.conj(a.T) if hermitian else a.T)) / 2
            yield Example(LDL(True, hermitian), (h,))
            yield Example(LDL(False, hermitian), (np.stack([h, 1.1 * h]),))
        for op in (TriangularCommutator(), TriangularCommutator(adjoint=True)):
            yield Example(op, (np.triu(a), normal(3, 3, dtype=dtype)), smooth=False)
            yield Example(op, (np.triu(apart(2, 2, 2, dtype=dtype)), normal(2, 2)), smooth=False)
    turned = np.array([[1.0, 2.0, 0.3], [-1.5, 1.2, 0.4], [0.1, 0.2, 3.0]])
    yield Example(Schur(), (turned,), smooth=False, note="a pair of eigenvalues")
    yield Example(Elimination(), (apart(3, 3),))
    yield Example(Elimination(), (apart(2, 3, 3, dtype=COMPLEX),))
    yield Example(PivotOrder(), (apart(3, 3),))
    yield Example(PivotOrder(), (apart(2, 2, 2, dtype=COMPLEX),))


def _levels() -> Iterator[Example]:
    """Derivatives in the blocks are those of blocks, which their diagonal does not show: they are not smooth here."""
    w = np.array([1.0, 1.0, 2.5])
    for dtype in (FLOAT, COMPLEX):
        v = np.linalg.qr(normal(3, 3, dtype=dtype))[0]
        a = (v * w) @ np.conj(v.T)
        yield Example(EigenvalueBlocks(), (a, v, v, w), smooth=False)
        yield Example(EigenvalueBlocks(), tuple(np.stack([x, x]) for x in (a, v, v, w)), smooth=False)
        blocks = np.diag(w).astype(dtype)
        for op in (CommutatorSolve(), AnticommutatorSolve(), BlockRightSolve()):
            yield Example(op, (blocks, normal(3, 3, dtype=dtype)), smooth=False)
            yield Example(op, (np.stack([blocks, 2 * blocks]), normal(3, 1, 3, 3, dtype=dtype)), smooth=False)
        # no two values alike: with equal ones, the answer may be NaN
        apart_blocks = np.diag([1.0, 2.0, 4.0]).astype(dtype)
        yield Example(BlockGradient(), (apart_blocks, normal(3)), smooth=False)
        yield Example(BlockGradient(), (np.stack([apart_blocks] * 2), normal(2, 3)), smooth=False)
    v = apart(3, 3, dtype=COMPLEX)
    values = w.astype(COMPLEX) + 0.5j
    a = (v * values) @ np.linalg.inv(v)
    yield Example(GeneralEigenvalueBlocks(), (a, v, values), smooth=False)
    yield Example(GeneralEigenvalueBlocks(), tuple(np.stack([x, x]) for x in (a, v, values)), smooth=False)
    yield Example(Defect(), (values, v), smooth=False)
    yield Example(Defect(), tuple(np.stack([x, x]) for x in (values, v)), smooth=False)
    blocks = np.diag(values)
    yield Example(GeneralCommutatorSolve(), (blocks, normal(3, 3, dtype=COMPLEX)), smooth=False)
    yield Example(
        GeneralCommutatorSolve(), (np.stack([blocks, 2 * blocks]), normal(3, 1, 3, 3, dtype=COMPLEX)), smooth=False
    )
    blocks = np.diag([1.0, 2.0j, 4.0])
    yield Example(GeneralBlockGradient(), (blocks, normal(3, dtype=COMPLEX)), smooth=False)
    yield Example(GeneralBlockGradient(), (np.stack([blocks] * 2), normal(2, 3, dtype=COMPLEX)), smooth=False)
    chain = np.diag([1.0, 2.5, 4.0]) + np.diag([0.5, 0.7], 1) + np.diag([0.5, 0.7], -1)
    yield Example(TridiagonalEigh(), (chain,), smooth=False)
    yield Example(TridiagonalEigh(), (np.stack([chain, chain + np.diag([0.0, 0.1, 0.3])]),), smooth=False)
