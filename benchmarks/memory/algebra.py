"""Linear algebra of all kinds."""

# pyright: basic

from __future__ import annotations

import numpy as np
from memory.registry import R, program

import adjoint as ad

A = R.normal(size=(200, 200)) / 10 + 3 * np.eye(200)
S = R.normal(size=(200, 200)) / 10
B = R.normal(size=(300, 120))
T3 = R.normal(size=(30, 40, 40)) / 10 + 2 * np.eye(40)
SPD = S @ S.T + np.eye(200)
RHS = R.normal(size=(200, 50))
# linear algebra


@program(A)
def solve_one(a):
    return np.sum(np.linalg.solve(a, np.ones(200)) ** 2)


@program(A)
def solve_many(a):
    return np.sum(np.linalg.solve(a, RHS) ** 2)


@program(T3)
def solve_stack(a):
    return np.sum(np.linalg.solve(a, np.ones((30, 40, 1))) ** 2)


@program(A)
def inv(a):
    return np.sum(np.linalg.inv(a) ** 2)


@program(T3)
def inv_stack(a):
    return np.sum(np.linalg.inv(a) ** 2)


@program(A)
def det(a):
    return np.linalg.det(a / 3)


@program(A)
def slogdet(a):
    return np.linalg.slogdet(a)[1]


@program(T3)
def det_stack(a):
    return np.sum(np.linalg.det(a))


@program(SPD)
def cholesky(a):
    return np.sum(np.log(np.diag(np.linalg.cholesky(a))))


@program(SPD)
def gauss(a):
    l = np.linalg.cholesky(a)
    return np.sum(ad.scipy.linalg.solve_triangular(l, RHS, lower=True) ** 2) + np.sum(np.log(np.diag(l)))


@program(B)
def qr(a):
    q, r = np.linalg.qr(a)
    return np.sum(q**3) + np.sum(np.abs(np.diag(r)))


@program(B)
def qr_complete(a):
    q, _ = np.linalg.qr(a, mode="complete")
    return np.sum(np.tanh(q))


@program(B)
def svd(a):
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return np.sum(s * np.arange(120)) + np.sum(u**3)


@program(B)
def svdvals(a):
    return np.sum(np.linalg.svd(a, compute_uv=False) ** 3)


@program(B)
def nuclear(a):
    return np.linalg.norm(a, "nuc")


@program(T3)
def svd_stack(a):
    return np.sum(np.linalg.svd(a)[1] ** 3)


@program(S)
def eigvalsh(a):
    return np.sum(np.linalg.eigvalsh(a + a.T) ** 3)


@program(S)
def eigh(a):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(w**3) + np.sum(v**4)


@program(T3)
def eigh_stack(a):
    w, v = np.linalg.eigh(a + np.swapaxes(a, -1, -2))
    return np.sum(w**3) + np.sum(v**4)


@program(S)
def eig(a):
    w, _ = np.linalg.eig(a)
    return np.sum(np.abs(w) ** 2)


@program(S)
def eigvals(a):
    return np.sum(np.abs(np.linalg.eigvals(a)) ** 2)


@program(B)
def lstsq(a):
    return np.sum(np.linalg.lstsq(a, np.ones(300), rcond=None)[0] ** 2)


@program(B)
def pinv(a):
    return np.sum(np.linalg.pinv(a) ** 2)


@program(S)
def expm(a):
    return np.sum(ad.scipy.linalg.expm(a) ** 2)


@program(SPD)
def sqrtm(a):
    return np.sum(ad.scipy.linalg.sqrtm(a) ** 2)


@program(SPD[:100, :100] + 0)
def logm(a):
    return np.sum(ad.scipy.linalg.logm(a) ** 2)


@program(A)
def matrix_power(a):
    return np.sum(np.linalg.matrix_power(a / 3, 7))


@program(A)
def multi_dot(a):
    return np.sum(np.linalg.multi_dot([a, RHS, RHS.T, a]))


@program(A)
def lu(a):
    _, l, u = ad.scipy.linalg.lu(a)
    return np.sum(np.log(np.abs(np.diag(u)))) + np.sum(l**2)


@program(A)
def lu_solve(a):
    return np.sum(ad.scipy.linalg.lu_solve(ad.scipy.linalg.lu_factor(a), RHS) ** 2)


@program(SPD)
def cho_solve(a):
    return np.sum(ad.scipy.linalg.cho_solve(ad.scipy.linalg.cho_factor(a), RHS) ** 2)


@program(S[:80, :80] + 0)
def sylvester(a):
    return np.sum(ad.scipy.linalg.solve_sylvester(a, 5 * np.eye(80), np.ones((80, 80))) ** 2)


@program(A)
def kron(a):
    return np.sum(np.kron(a[:20, :20], a[:20, :20]) ** 2)


@program(A)
def cond_number(a):
    return np.linalg.norm(a) * np.linalg.norm(a, 2)


@program(S[:80, :80] + 0)
def schur(a):
    return np.sum(ad.scipy.linalg.schur(a + a.T)[0] ** 2)


@program(A.astype(np.float32))
def solve_f32(a):
    return np.sum(np.linalg.solve(a, np.ones(200, np.float32)) ** 2)


@program(A + 0.1j)
def solve_complex(a):
    return np.sum(np.abs(np.linalg.solve(a, RHS)) ** 2)


@program(S + 0.1j * S.T)
def eigh_complex(a):
    w, v = np.linalg.eigh(a + np.conj(a.T))
    return np.sum(w**3) + np.sum(np.abs(v) ** 4)
