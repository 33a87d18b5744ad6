"""Arithmetic, sums, slices and formats of sparse arrays with traced entries: SciPy's values, and derivatives."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import AdjointError
from adjoint.scipy import sparse
from adjoint.scipy.sparse import SparseArray
from tests.numpy.checking import Case, every_check
from tests.scipy.signal.agreement import CHECKS
from tests.scipy.sparse.samples import DENSE, ENTRIES, OTHER, WIDE, dense, wide

FUNCTIONS = {
    "transpose": lambda d: wide(d).T,
    "transposed csc": lambda d: wide(d).tocsc().transpose(),
    "slice": lambda d: wide(d)[1:, [0, 2]],
    "row": lambda d: wide(d)[0],
    "row of a matrix": lambda d: wide(d, "csr_matrix")[0],
    "mask": lambda d: wide(d)[np.array([True, False, True, False])],
    "element": lambda d: wide(d)[0, 2] * d,
    "no element": lambda d: wide(d)[0, 1] + d,
    "elements": lambda d: wide(d, "csr_matrix")[[0, 1, 0], [2, 1, 1]],
    "getrow": lambda d: wide(d, "csr_matrix").getrow(1),
    "getcol": lambda d: wide(d, "csr_matrix").getcol(2),
    "scaled": lambda d: -wide(d) / 2 + 3 * wide(d),
    "A + B": lambda d: wide(d) + OTHER,
    "B + A": lambda d: OTHER + wide(d),
    "A - B": lambda d: wide(d) - OTHER,
    "B - A": lambda d: OTHER - wide(d),
    "A + dense": lambda d: wide(d) + DENSE.T,
    "dense - A": lambda d: DENSE.T - wide(d),
    "A @ sparse": lambda d: wide(d) @ OTHER.T,
    "sparse @ A": lambda d: OTHER.T @ wide(d),
    "A @ A.T": lambda d: wide(d) @ wide(d).T,
    "A @ dense": lambda d: wide(d) @ DENSE,
    "dense @ A": lambda d: DENSE @ wide(d),
    "A @ list": lambda d: wide(d) @ [1.0, -2.0, 3.0],
    "A @ traced": lambda d: wide(d) @ d[:3],
    "matrix * dense": lambda d: wide(d, "csr_matrix") * DENSE,
    "dense * matrix": lambda d: DENSE * wide(d, "csr_matrix"),
    "matrix ** 3": lambda d: wide(d, "csr_matrix")[:3] ** 3,
    "multiply": lambda d: wide(d).multiply(OTHER),
    "multiply row": lambda d: wide(d).multiply(np.arange(3.0)),
    "multiply column": lambda d: wide(d) * np.arange(4.0)[:, None],
    "divide": lambda d: wide(d) / DENSE.T,
    "power": lambda d: wide(d) ** 2,
    "abs": lambda d: abs(wide(d)),
    "sin": lambda d: wide(d).sin(),
    "expm1": lambda d: wide(d).expm1(),
    "reshape": lambda d: wide(d).reshape(2, 6),
    "conjugate": lambda d: (wide(d) * (1 + 2j)).conj().imag,
    "diagonal": lambda d: wide(d).diagonal(),
    "lower diagonal": lambda d: wide(d).diagonal(-1) + d[0],
    "trace": lambda d: np.asarray(1.0) * wide(d).trace(),
    "sum": lambda d: 1.0 * wide(d).sum(),
    "np.sum": lambda d: 1.0 * np.sum(wide(d)),
    "sum of columns": lambda d: wide(d).sum(axis=0),
    "sum of rows": lambda d: wide(d).sum(1),
    "sum of rows of a matrix": lambda d: wide(d, "csr_matrix").sum(1),
    "mean": lambda d: wide(d).mean(axis=0) + wide(d).mean(),
    "max": lambda d: 1.0 * wide(d).max() + 2.0 * wide(d).min(),
    "data": lambda d: wide(d).data,
    "to csc and back": lambda d: wide(d).tocsc().tocoo().tocsr().data,
    "single precision": lambda d: wide(d).astype(np.complex128),
}


@every_check([Case(name, lambda d, f=f: dense(f(d)), (ENTRIES,)) for name, f in FUNCTIONS.items()], CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("name", ["A @ A.T", "A + B", "multiply", "sum of columns", "slice"])
def test_compiled(name):
    f = lambda d: np.sum(dense(FUNCTIONS[name](d)) ** 2)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(ENTRIES), ad.grad(f)(ENTRIES), rtol=1e-12)


def made(entries=ENTRIES):
    """A sparse array of ours with plain entries: what a compiled function returns."""
    return ad.jit(wide)(entries)


def test_it_is_a_container():
    A = made()
    assert isinstance(A, SparseArray)
    gradient = ad.grad(lambda A: np.sum((A @ np.ones(3)) ** 2))(A)
    assert isinstance(gradient, SparseArray)
    assert gradient.shape == A.shape
    rows = WIDE.sum(axis=1)
    np.testing.assert_allclose(gradient.data, 2 * rows[A.row])


def test_compiled_again_for_another_pattern_only():
    f = ad.jit(lambda A: A @ np.ones(3))
    np.testing.assert_allclose(f(made()), WIDE @ np.ones(3))
    np.testing.assert_allclose(f(made(2 * ENTRIES)), 2 * WIDE @ np.ones(3))
    turned = ad.jit(lambda d: wide(d)[::-1])(ENTRIES)
    np.testing.assert_allclose(f(turned), (WIDE @ np.ones(3))[::-1])


def test_attributes():
    A = made()
    np.testing.assert_array_equal(A.indices, WIDE.indices)
    np.testing.assert_array_equal(A.indptr, WIDE.indptr)
    assert (A.shape, A.nnz, A.format, A.ndim, A.dtype) == ((4, 3), 5, "csr", 2, np.float64)
    with pytest.raises(AttributeError, match="tocsr"):
        A.tocoo().indptr
    with pytest.raises(TypeError, match="ambiguous"):
        len(A)


def test_repeated_positions_are_added():
    positions = (np.array([0, 0, 1]), np.array([1, 1, 0]))
    A = ad.jit(lambda d: sparse.coo_array((d, positions), shape=(2, 2)))(np.array([1.0, 2.0, 4.0]))
    assert A.nnz == 3
    np.testing.assert_array_equal(A.toarray(), [[0, 3], [4, 0]])
    np.testing.assert_array_equal(A.power(2).toarray(), [[0, 9], [16, 0]])
    np.testing.assert_array_equal(A.tocsr().data, [3, 4])
    np.testing.assert_array_equal(A.T.toarray(), [[0, 4], [3, 0]])


def test_what_is_not_done_is_refused():
    A = made()
    with pytest.raises(AdjointError, match="coo_array"):
        A[0, 0] = 1.0
    with pytest.raises(NotImplementedError, match="toarray"):
        A + 1.0
    with pytest.raises(NotImplementedError, match="power"):
        A.power(0)
    with pytest.raises(ValueError, match="inconsistent shapes"):
        A + OTHER.T
    with pytest.raises(ValueError, match="mismatch"):
        A @ WIDE
    assert (A == WIDE).all()
    assert not (A != WIDE).any()
