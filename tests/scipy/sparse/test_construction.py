"""Sparse arrays from traced entries, diagonals and blocks: SciPy's values, and derivatives."""

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import sparse
from adjoint.scipy.sparse import SparseArray
from tests.numpy.checking import Case, every_check
from tests.scipy.signal.agreement import CHECKS
from tests.scipy.sparse.samples import ENTRIES, OTHER, WIDE, dense, wide

POSITIONS = ([0, 0, 1, 1, 2], [1, 1, 2, 0, 0])
SQUARE = OTHER[:3]

FUNCTIONS = {
    "csc": lambda d: sparse.csc_array((d, WIDE.tocsc().indices, WIDE.tocsc().indptr), shape=WIDE.shape),
    "csr of unsorted": lambda d: sparse.csr_array((d, [2, 0, 1, 1, 0], [0, 2, 3, 5]), shape=(3, 3)),
    "csr of unsorted, transposed": lambda d: sparse.csr_array((d, [2, 0, 1, 1, 0], [0, 2, 3, 5]), shape=(3, 3)).T,
    "coo of repeated": lambda d: sparse.coo_array((d, POSITIONS)),
    "csr of repeated": lambda d: sparse.csr_array((d, POSITIONS), shape=(4, 4)),
    "repeated, as csr": lambda d: sparse.coo_matrix((d, POSITIONS)).tocsr() * 2,
    "csr matrix": lambda d: sparse.csr_matrix((d, WIDE.indices, WIDE.indptr), shape=WIDE.shape),
    "dia": lambda d: sparse.dia_array((np.stack([d[:3], d[2:]]), [0, -1]), shape=(3, 3)),
    "bsr": lambda d: sparse.bsr_array((np.reshape(np.concatenate([d, d[:3]]), (2, 2, 2)), [0, 1], [0, 1, 2])),
    "csr of dense": lambda d: sparse.csr_array(np.outer(d, d)),
    "lil of dense": lambda d: sparse.lil_array(np.outer(d, d)),
    "dok of dense": lambda d: sparse.dok_matrix(np.outer(d, d)),
    "csc of csr": lambda d: sparse.csc_matrix(wide(d)),
    "dtype": lambda d: sparse.csr_array((d, POSITIONS), dtype=np.complex128),
    "hstack": lambda d: sparse.hstack([wide(d), OTHER]),
    "vstack": lambda d: sparse.vstack([wide(d), OTHER], format="csc"),
    "bmat": lambda d: sparse.bmat([[wide(d), None], [None, OTHER]]),
    "block_array": lambda d: sparse.block_array([[wide(d), OTHER], [None, wide(2 * d)]]),
    "block_diag": lambda d: sparse.block_diag([wide(d), np.outer(d, d), OTHER]),
    "diags": lambda d: sparse.diags(d, 1),
    "diags of several": lambda d: sparse.diags_array([d, d[:-1], d[:4]], offsets=[0, 1, -1]),
    "diags of numbers": lambda d: sparse.diags([d[0], d[1]], [0, 1], shape=(4, 4), dtype=float),
    "spdiags": lambda d: sparse.spdiags(np.stack([d, d * 2]), [0, 1], 5, 5),
    "kron": lambda d: sparse.kron(wide(d), OTHER),
    "kron of dense": lambda d: sparse.kron(wide(d), np.eye(2)),
    "kronsum": lambda d: sparse.kronsum(wide(d)[:3], SQUARE),
    "tril": lambda d: sparse.tril(wide(d), -1),
    "triu": lambda d: sparse.triu(wide(d), 1, format="csc"),
    "find": lambda d: sparse.find(wide(d))[2],
    "permute_dims": lambda d: sparse.permute_dims(wide(d)),
    "swapaxes": lambda d: sparse.swapaxes(wide(d), 0, 1),
    "expand_dims": lambda d: sparse.expand_dims(wide(d)[0], axis=1),
}


@every_check([Case(name, lambda d, f=f: dense(f(d)), (ENTRIES,)) for name, f in FUNCTIONS.items()], CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_plain_entries_give_scipys_arrays():
    assert isinstance(sparse.csr_array((ENTRIES, WIDE.indices, WIDE.indptr)), scipy.sparse.csr_array)
    assert isinstance(sparse.diags([1.0, 2.0]), scipy.sparse.dia_matrix)
    assert isinstance(sparse.eye_array(3), scipy.sparse.dia_array)


def test_entries_stand_in_the_order_given():
    """`data` has SciPy's order, also where the columns of a row are not sorted."""
    A = ad.jit(FUNCTIONS["csr of unsorted"])(ENTRIES)
    np.testing.assert_array_equal(A.data, ENTRIES)
    np.testing.assert_array_equal(A.toarray(), FUNCTIONS["csr of unsorted"](ENTRIES).toarray())


def test_positions_from_a_closure_and_from_arguments():
    """While a function is compiled they are traced: its program is for these positions, and another one for others."""
    rows, columns = np.array([0, 0, 1, 3, 2]), np.array([1, 2, 2, 0, 0])
    wanted = lambda d, i: scipy.sparse.coo_array((d, (i, columns)), shape=(5, 5)).toarray()
    f = ad.jit(lambda d: sparse.coo_array((d, (rows, columns)), shape=(5, 5)).toarray())
    np.testing.assert_array_equal(f(ENTRIES), wanted(ENTRIES, rows))
    g = ad.jit(lambda d, i: sparse.coo_array((d, (i, columns)), shape=(5, 5)).toarray())
    for i in (rows, rows[::-1].copy()):
        np.testing.assert_array_equal(g(ENTRIES, i), wanted(ENTRIES, i))
    every = ad.vmap(lambda d, i: sparse.coo_array((d, (i, columns)), shape=(5, 5)).toarray())
    stacks = np.stack([ENTRIES, 2 * ENTRIES]), np.stack([rows, rows[::-1]])
    np.testing.assert_array_equal(every(*stacks), [wanted(d, i) for d, i in zip(*stacks, strict=True)])


def test_positions_that_are_not_known_are_refused():
    def body(carry, i):
        return carry + sparse.coo_array((ENTRIES * carry, (np.arange(5) * 0 + i, np.arange(5))), (5, 5)).sum(), None

    with pytest.raises(UnsupportedError, match="positions of entries is traced"):
        ad.jit(lambda x: ad.scan(body, x, np.arange(3))[0])(1.0)


def test_questions():
    A = ad.jit(lambda d: wide(d, "csr_matrix"))(ENTRIES)
    assert isinstance(A, SparseArray)
    assert sparse.issparse(A)
    assert sparse.issparse(WIDE)
    assert not sparse.issparse(ENTRIES)
    assert sparse.isspmatrix(A)
    assert sparse.isspmatrix_csr(A)
    assert not sparse.isspmatrix_csc(A)
    assert not sparse.isspmatrix_csr(WIDE)
