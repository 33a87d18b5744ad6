"""Arguments for the functions of scipy.sparse and scipy.sparse.linalg."""

import numpy as np
import scipy.sparse

from adjoint.scipy import sparse
from tests.coverage.agreement import Example, each, of

A = scipy.sparse.csr_array(np.array([[3.0, 0.5, 0], [0.2, 2.0, 0], [0.4, 0, 4.0]]))
LOWER = scipy.sparse.csr_array(np.tril(A.toarray()))
D, B = A.data, np.array([0.3, -0.7, 1.1])
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def square(d):
    """The matrix with these entries: SciPy's of plain ones, ours of traced ones."""
    return sparse.csc_array(sparse.csr_array((d, A.indices, A.indptr), shape=A.shape))


def symmetric(d):
    return (square(d) + square(d).T) / 2


def filled(f, *args, **options):
    """The result as an array."""
    return f(*args, **options).toarray()


CLASSES = [f"{form}_{kind}" for form in FORMATS for kind in ("array", "matrix")]

SPARSE: dict[str, Example] = {
    **{name: of(lambda f, d: filled(f, np.outer(d, d)), D) for name in CLASSES},
    **each("csr_array csr_matrix", of(lambda f, d: filled(f, (d, A.indices, A.indptr)), D)),
    **each("coo_array coo_matrix", of(lambda f, d: filled(f, (d, ([0, 0, 1, 1, 2, 2], [1, 1, 0, 2, 2, 0]))), D)),
    "diags": of(lambda f, d: filled(f, d, 1), D),
    "diags_array": of(lambda f, d: filled(f, d, offsets=-1), D),
    "spdiags": of(lambda f, d: filled(f, d, 1, 6, 6), D),
    **each("bmat block_array", of(lambda f, d: filled(f, [[square(d), None], [A, square(d**2)]]), D)),
    **each("hstack vstack block_diag", of(lambda f, d: filled(f, [square(d), A]), D)),
    **each("kron kronsum", of(lambda f, d, e: filled(f, square(d), square(e)), D, D[::-1])),
    **each("tril triu permute_dims", of(lambda f, d: filled(f, square(d)), D)),
    "find": of(lambda f, d: f(square(d))[2], D),
    "swapaxes": of(lambda f, d: filled(f, square(d), 0, 1), D),
    "expand_dims": of(lambda f, d: filled(f, sparse.csr_array(square(d))[0]), D),
    **each("eye eye_array identity", of(lambda f: filled(f, 3))),
    **each("rand random", of(lambda f: filled(f, 3, 3, density=0.0))),
    "random_array": of(lambda f: filled(f, (3, 3), density=0.0)),
    "get_index_dtype": of(lambda f: int(f((A.indices,)) is np.int32)),
    "safely_cast_index_arrays": of(lambda f: f(A.tocoo())[0]),
    "issparse": of(lambda f, d: int(f(square(d))), D),
    **each(" ".join(f"isspmatrix_{form}" for form in FORMATS), of(lambda f, d: int(f(d)), D)),
    **each("isspmatrix isspmatrix_csr", of(lambda f, d: int(f(sparse.csr_matrix(square(d)))), D)),
}

LINALG: dict[str, Example] = {
    "spsolve": of(lambda f, d, b: f(square(d), b), D, B),
    "spsolve_triangular": of(lambda f, d, b: f(sparse.csr_array((d, LOWER.indices, LOWER.indptr)), b), LOWER.data, B),
    "splu": of(lambda f, d, b: f(square(d)).solve(b, "T"), D, B),
    "factorized": of(lambda f, d, b: f(square(d))(b), D, B),
    **each("inv expm", of(lambda f, d: filled(f, square(d)), D)),
    "expm_multiply": of(lambda f, d, b: f(square(d), b), D, B),
    "matrix_power": of(lambda f, d: filled(f, square(d), 3), D),
    "norm": of(lambda f, d: 1.0 * f(square(d)), D),
    **each(
        "bicg bicgstab cg cgs gcrotmk gmres lgmres minres qmr tfqmr",
        of(lambda f, d, b: f(symmetric(d), b, rtol=1e-13)[0], D, B),
    ),
    "aslinearoperator": of(lambda f, d: f(square(d)) @ B, D),
    **each("is_sptriangular spbandwidth", of(lambda f, d: tuple(map(int, f(square(d)))), D)),
    **each("eigs eigsh svds", of(lambda f, a: f(a, k=1), np.diag([1.0, 2.0, 4.0]))),
    "lobpcg": of(lambda f, a: f(a, np.ones((9, 1))), np.diag(np.arange(1.0, 10.0))),
    "spilu": of(lambda f, d: f(square(d)).solve(B), D),
    "onenormest": of(lambda f, a: f(a), np.diag([1.0, 2.0])),
    **each("lsqr lsmr", of(lambda f, b: f(A, b)[0], B)),
    "funm_multiply_krylov": of(lambda f, b: f(np.exp, A, b), B),
    "LinearOperator": of(lambda f, d: f((3, 3), matvec=lambda x: np.max(d) * x, dtype=float) @ B, D),
}
