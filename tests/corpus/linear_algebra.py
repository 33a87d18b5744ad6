"""Linear algebra by hand: factorizations, iterations, and eigenvalues."""

import math

import numpy as np
import scipy.linalg

from tests.corpus.programs import Program


def lu_solve(matrix, rhs):
    """Solution of a linear system by LU decomposition with partial pivoting."""
    A = matrix.copy()
    n = A.shape[0]
    perm = list(range(n))
    for k in range(n - 1):
        pivot = max(range(k, n), key=lambda r: abs(A[r, k]))
        if abs(A[pivot, k]) < 1e-14:
            raise np.linalg.LinAlgError("singular matrix")
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
            perm[k], perm[pivot] = perm[pivot], perm[k]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    y = np.zeros(n)
    for i in range(n):
        y[i] = rhs[perm[i]] - A[i, :i] @ y[:i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def thomas(lower, diagonal, upper):
    """Solution of a tridiagonal system with a right-hand side of ones."""
    n = len(diagonal)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = 1.0 / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i - 1] * c[i - 1]
        if i < n - 1:
            c[i] = upper[i] / m
        d[i] = (1.0 - lower[i - 1] * d[i - 1]) / m
    x = np.zeros(n)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def gauss_seidel(matrix, rhs, tol=1e-10, max_sweeps=200):
    """Solution of a diagonally dominant system by sweeps in place."""
    n = len(rhs)
    x = np.zeros(n)
    for _ in range(max_sweeps):
        largest = 0.0
        for i in range(n):
            sigma = 0.0
            for j in range(n):
                if j != i:
                    sigma += matrix[i, j] * x[j]
            new = (rhs[i] - sigma) / matrix[i, i]
            largest = max(largest, abs(new - x[i]))
            x[i] = new
        if largest < tol:
            return x
    raise RuntimeError(f"no convergence in {max_sweeps} sweeps")


def jacobi_eigenvalues(entries):
    """Eigenvalues of a symmetric matrix, given by its upper triangle, by Jacobi's rotations."""
    n = int((math.sqrt(8 * len(entries) + 1) - 1) / 2)
    A = np.zeros((n, n))
    A[np.triu_indices(n)] = entries
    A = A + np.triu(A, 1).T
    for _sweep in range(20):
        off = np.sqrt(np.sum(np.tril(A, -1) ** 2))
        if off < 1e-12:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-15:
                    continue
                theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta**2 + 1))
                c = 1 / math.sqrt(t**2 + 1)
                s = t * c
                J = np.eye(n)
                J[p, p] = J[q, q] = c
                J[p, q] = s
                J[q, p] = -s
                A = J.T @ A @ J
    return np.sort(np.diag(A))


def power_iteration(matrix, start=None, tol=1e-11):
    """Greatest eigenvalue of a matrix, with Rayleigh's quotient."""
    v = np.ones(matrix.shape[0]) if start is None else start
    v = v / np.linalg.norm(v)
    value, previous = 0.0, np.inf
    count = 0
    while abs(value - previous) > tol and count < 500:
        w = matrix @ v
        previous = value
        value = v @ w
        v = w / np.linalg.norm(w)
        count += 1
    return value


def householder_least_squares(design, observations):
    """Least squares by Householder's reflections, and the norm of the residual."""
    R = np.array(design)
    b = np.array(observations)
    n = R.shape[1]
    for k in range(n):
        x = R[k:, k]
        v = x.copy()
        v[0] += np.sign(x[0]) * np.linalg.norm(x)
        v /= np.linalg.norm(v)
        R[k:, k:] -= 2 * np.outer(v, v @ R[k:, k:])
        b[k:] -= 2 * v * (v @ b[k:])
    coefficients = scipy.linalg.solve_triangular(R[:n, :n], b[:n])
    return np.append(coefficients, np.sqrt(np.sum(b[n:] ** 2)))


def cholesky_log_determinant(matrix, jitter):
    """Logarithm of a determinant, by Cholesky's decomposition in lists."""
    n = len(matrix)
    L = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = matrix[i][j] + (jitter if i == j else 0.0)
            s -= sum(L[i][k] * L[j][k] for k in range(j))
            if i == j:
                assert s > 0, f"not positive definite at {i}"
                L[i][j] = math.sqrt(s)
            else:
                L[i][j] = s / L[j][j]
    return 2 * sum(math.log(L[i][i]) for i in range(n))


def conjugate_gradients(matrix, rhs, tol=1e-12):
    """Solution of a symmetric positive definite system."""
    x = np.zeros_like(rhs)
    r = rhs - matrix @ x
    p = r.copy()
    rs = r @ r
    k = 0
    while math.sqrt(rs) > tol and k < 4 * len(rhs):
        Ap = matrix @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        p = r + (rs_new / rs) * p
        rs = rs_new
        k += 1
    return x


def laplace_determinant(matrix):
    """Determinant by expansion along the first row."""
    n = matrix.shape[0]
    if n == 1:
        return matrix[0, 0]
    if n == 2:
        return matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    total = 0.0
    for j in range(n):
        minor = np.delete(matrix[1:], j, axis=1)
        total += (-1) ** j * matrix[0, j] * laplace_determinant(minor)
    return total


def gram_schmidt_volume(vectors, weight):
    """Volume spanned by vectors under a weighted inner product, by the modified Gram-Schmidt process."""
    metric = np.diag([1.0, weight, weight**2, 1.0])
    basis = []
    volume = 1.0
    for v in vectors:
        u = np.array(v)
        for q in basis:
            u = u - (q @ metric @ u) * q
        length = np.sqrt(u @ metric @ u)
        if length < 1e-12:
            return 0.0
        volume *= length
        basis.append(u / length)
    return volume


GENERAL = np.array([[0.2, 1.5, -0.7, 0.4], [2.1, -0.3, 0.8, 1.0], [0.5, 0.9, 1.7, -1.2], [-0.6, 0.1, 0.3, 2.4]])
DOMINANT = GENERAL + np.diag([5.0, 6.0, 5.5, 6.5])
POSITIVE = GENERAL @ GENERAL.T + 0.5 * np.eye(4)
RHS = np.array([1.0, -0.4, 0.7, 2.0])

PROGRAMS = [
    Program(lu_solve, (GENERAL, RHS)),
    Program(thomas, (np.array([0.4, -0.7, 0.9]), np.array([2.1, 2.6, 1.9, 3.0]), np.array([0.5, 0.3, -0.8]))),
    Program(gauss_seidel, (DOMINANT, RHS)),
    Program(jacobi_eigenvalues, (np.array([2.0, 0.3, -0.5, 1.1, 0.4, 3.2]),)),
    Program(power_iteration, (POSITIVE,)),
    Program(householder_least_squares, (GENERAL[:, :2], RHS)),
    Program(cholesky_log_determinant, (POSITIVE, 0.1)),
    Program(conjugate_gradients, (POSITIVE, RHS)),
    Program(laplace_determinant, (GENERAL,)),
    Program(gram_schmidt_volume, (GENERAL[:3], 1.4)),
]
