"""scipy.sparse and scipy.sparse.linalg: operators of sparse arrays take traced values as they are, and
`adjoint.scipy.sparse` takes traced entries, at positions that are plain.
"""

from adjoint.coverage.table import SIZES, Table

SPARSE = Table("scipy.sparse")

# classes: from entries, diagonals, blocks, or dense arrays
SPARSE.differentiable("bsr_array coo_array csc_array csr_array dia_array dok_array lil_array", "arg1", own=True)
SPARSE.differentiable("bsr_matrix coo_matrix csc_matrix csr_matrix dia_matrix dok_matrix lil_matrix", "arg1", own=True)
SPARSE.differentiable("diags diags_array", "diagonals", own=True)
SPARSE.differentiable("spdiags", "data", own=True)
SPARSE.differentiable("block_array block_diag bmat hstack vstack kron kronsum tril triu find", own=True)
SPARSE.differentiable("expand_dims permute_dims swapaxes", own=True, since="1.15")

# of sizes and patterns
SPARSE.constant("eye eye_array identity rand random random_array", SIZES)
SPARSE.constant("get_index_dtype safely_cast_index_arrays", SIZES, since="1.15")
SPARSE.constant("load_npz", SIZES)
SPARSE.constant("issparse isspmatrix", SIZES, own=True)
SPARSE.constant(
    "isspmatrix_bsr isspmatrix_coo isspmatrix_csc isspmatrix_csr isspmatrix_dia isspmatrix_dok isspmatrix_lil",
    SIZES,
    own=True,
)
SPARSE.refused("save_npz", "a file holds plain numbers", "Save what the transformed function returns")

SPARSE_LINALG = Table("scipy.sparse.linalg")

SPARSE_LINALG.differentiable("spsolve spsolve_triangular splu factorized inv", own=True)
SPARSE_LINALG.differentiable("expm expm_multiply matrix_power norm", own=True)
SPARSE_LINALG.differentiable("bicg bicgstab cg cgs gcrotmk gmres lgmres minres qmr tfqmr", own=True)
SPARSE_LINALG.differentiable("LinearOperator aslinearoperator", own=True)
SPARSE_LINALG.constant("is_sptriangular spbandwidth", own=True, since="1.15")
SPARSE_LINALG.constant("use_solver", SIZES)

DENSE = "ARPACK works on plain arrays"
SPARSE_LINALG.refused("eigs", DENSE, "Use np.linalg.eig(A.toarray())")
SPARSE_LINALG.refused("eigsh lobpcg", DENSE, "Use np.linalg.eigh(A.toarray())")
SPARSE_LINALG.refused("svds", DENSE, "Use np.linalg.svd(A.toarray(), full_matrices=False)")
SPARSE_LINALG.refused("spilu", "incomplete factors are a means, without a derivative of their own", "Use splu")
SPARSE_LINALG.refused(
    "onenormest", "it is an estimate from random products", "Use adjoint.scipy.sparse.linalg.norm(A, 1)"
)
SPARSE_LINALG.refused("lsqr lsmr", "SciPy runs it on plain arrays", "Use adjoint.linear.lsmr(A, b).value")
SPARSE_LINALG.refused(
    "funm_multiply_krylov",
    "SciPy runs it on plain arrays",
    "Use adjoint.scipy.linalg.funm, or adjoint.scipy.sparse.linalg.expm_multiply for exp",
    since="1.17",
)
