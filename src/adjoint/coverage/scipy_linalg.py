"""scipy.linalg."""

from adjoint.coverage.table import SIZES, Table

SCIPY_LINALG = Table("scipy.linalg")

SCIPY_LINALG.differentiable("solve solve_triangular inv det cholesky cho_factor", own=True)
SCIPY_LINALG.differentiable("cho_solve lu lu_factor lu_solve block_diag expm", own=True)

PLAIN = "SciPy computes it from plain arrays"
RULE = "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)"
TODO = "it has no rule here"

# in numpy.linalg, for stacks too
SCIPY_LINALG.refused("eig eigh eigvals eigvalsh", PLAIN, "Use the function of numpy.linalg with this name")
SCIPY_LINALG.refused("svd svdvals qr lstsq pinv norm", PLAIN, "Use the function of numpy.linalg with this name")
SCIPY_LINALG.refused("pinvh", PLAIN, "Use np.linalg.pinv(a, hermitian=True)")
SCIPY_LINALG.refused("rq", PLAIN, "Use np.linalg.qr of the rows in reverse order, transposed")
SCIPY_LINALG.refused("polar", PLAIN, "Use np.linalg.svd: with u, s, vh the factors are u @ vh and vh.mT @ (s * vh)")
SCIPY_LINALG.refused("qr_multiply", PLAIN, "Multiply by the q of np.linalg.qr")
SCIPY_LINALG.refused("qr_insert qr_delete qr_update", PLAIN, "Use np.linalg.qr of the new matrix")
SCIPY_LINALG.refused(
    "orth null_space", "its basis is not unique", "Use np.linalg.svd, and what does not depend on the basis"
)
SCIPY_LINALG.refused("subspace_angles orthogonal_procrustes", PLAIN, "Write it with np.linalg.svd of a.mT @ b")
# functions of matrices
SCIPY_LINALG.refused("expm_frechet", PLAIN, "Use ad.jvp of adjoint.scipy.linalg.expm")
SCIPY_LINALG.refused("cosm sinm tanm coshm sinhm tanhm", PLAIN, "Write it with adjoint.scipy.linalg.expm")
SCIPY_LINALG.refused("logm sqrtm funm signm fractional_matrix_power expm_cond", TODO, RULE)
# factors
SCIPY_LINALG.refused("ldl", TODO, RULE)
SCIPY_LINALG.refused("schur hessenberg qz ordqz cossin rsf2csf cdf2rdf matrix_balance", TODO, RULE)
# equations
SCIPY_LINALG.refused("solve_sylvester", TODO, RULE)
SCIPY_LINALG.refused("solve_continuous_lyapunov solve_lyapunov solve_discrete_lyapunov", TODO, RULE)
SCIPY_LINALG.refused("solve_continuous_are solve_discrete_are", TODO, RULE)
SCIPY_LINALG.refused("solve_banded solveh_banded cho_solve_banded cholesky_banded", TODO, RULE)
SCIPY_LINALG.refused("eig_banded eigvals_banded", PLAIN, "Build the matrix and use np.linalg.eigh or eigvalsh")
SCIPY_LINALG.refused(
    "eigh_tridiagonal eigvalsh_tridiagonal", PLAIN, "Build the matrix and use np.linalg.eigh or eigvalsh"
)
SCIPY_LINALG.refused(
    "solve_toeplitz solve_circulant matmul_toeplitz", PLAIN, "Build the matrix and use np.linalg.solve or @"
)
# matrices of a shape
SCIPY_LINALG.refused(
    "toeplitz circulant hankel", TODO, "Index the values: c[abs(i - j)] for places i, j from np.indices"
)
SCIPY_LINALG.refused("companion fiedler fiedler_companion leslie", PLAIN, "Write into adjoint.numpy.zeros")
SCIPY_LINALG.refused("convolution_matrix diagsvd khatri_rao", PLAIN, "Write it with np.convolve, np.diag or np.einsum")
SCIPY_LINALG.constant("hadamard helmert hilbert invhilbert pascal invpascal dft", SIZES)
SCIPY_LINALG.constant("find_best_blas_type get_blas_funcs get_lapack_funcs", SIZES)
# questions
SCIPY_LINALG.refused(
    "bandwidth issymmetric ishermitian", PLAIN, "Ask it of stop_gradient(x), or compare with np.allclose"
)
SCIPY_LINALG.refused("clarkson_woodruff_transform", "it draws its own random numbers", "Draw with ad.random, and use @")
