"""scipy.linalg: `adjoint.scipy.linalg` has its functions for traced values, and for stacks of matrices."""

from adjoint.coverage.table import SIZES, Table

SCIPY_LINALG = Table("scipy.linalg")

# equations
SCIPY_LINALG.differentiable("solve solve_triangular inv det lstsq pinv pinvh norm", own=True)
SCIPY_LINALG.differentiable("cho_solve lu_solve solve_banded solveh_banded cho_solve_banded", own=True)
SCIPY_LINALG.differentiable("solve_toeplitz solve_circulant matmul_toeplitz", own=True)
SCIPY_LINALG.differentiable("solve_sylvester solve_lyapunov solve_continuous_lyapunov", own=True)
SCIPY_LINALG.differentiable("solve_discrete_lyapunov solve_continuous_are solve_discrete_are", own=True)
# factors
SCIPY_LINALG.differentiable("cholesky cho_factor cholesky_banded lu lu_factor ldl qr qr_multiply rq polar", own=True)
SCIPY_LINALG.differentiable("schur rsf2csf svd svdvals orth null_space", own=True)
SCIPY_LINALG.differentiable("subspace_angles orthogonal_procrustes", own=True)
# eigenvalues
SCIPY_LINALG.differentiable("eig eigh eigvals eigvalsh eig_banded eigvals_banded", own=True)
SCIPY_LINALG.differentiable("eigh_tridiagonal eigvalsh_tridiagonal", own=True)
# functions of matrices
SCIPY_LINALG.differentiable("expm expm_frechet expm_cond logm sqrtm signm funm fractional_matrix_power", own=True)
SCIPY_LINALG.differentiable("cosm sinm tanm coshm sinhm tanhm", own=True)
# matrices of a form
SCIPY_LINALG.differentiable("block_diag toeplitz circulant hankel companion convolution_matrix diagsvd", own=True)
SCIPY_LINALG.differentiable("fiedler fiedler_companion khatri_rao leslie", own=True)
SCIPY_LINALG.constant("hadamard helmert hilbert invhilbert pascal invpascal dft", SIZES)
SCIPY_LINALG.differentiable("clarkson_woodruff_transform", "input_matrix")
# questions
SCIPY_LINALG.constant("bandwidth issymmetric ishermitian", own=True)
SCIPY_LINALG.constant("find_best_blas_type get_blas_funcs get_lapack_funcs", SIZES)

RULE = "it has no rule here"
SCIPY_LINALG.refused("cdf2rdf", RULE, "Use the complex values and vectors of eig, or the real Schur form (schur)")
SCIPY_LINALG.refused("cossin", RULE, "Use svd of the blocks")
SCIPY_LINALG.refused("hessenberg", RULE, "Use schur, or qr")
SCIPY_LINALG.refused("matrix_balance", RULE, "Balance the plain matrix, and scale the traced one with what that gives")
SCIPY_LINALG.refused("qr_insert", RULE, "Use qr of the matrix with the new rows or columns (np.insert)")
SCIPY_LINALG.refused("qr_delete", RULE, "Use qr of the matrix without the rows or columns (np.delete)")
SCIPY_LINALG.refused("qr_update", RULE, "Use qr of q @ r + np.outer(u, v.conj())")
SCIPY_LINALG.refused("qz ordqz", RULE, "Use eig(a, b), or schur(solve(b, a), sort=…)")
SCIPY_LINALG.refused("kron", "SciPy computes it from plain arrays", "Use np.kron", until="1.17")
