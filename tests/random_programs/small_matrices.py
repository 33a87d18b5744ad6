"""Steps that factorize small matrices, real and complex, single and stacked: made of the elements of any array.

Where signs or phases are a matter of convention (Q, eigenvectors, singular vectors) what does not depend on them is
computed: f(A) = V f(λ) Vᴴ.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import scipy.linalg

from tests.random_programs.steps import Pool, Step, pick

ROWS = [1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 12]


def matrix_of(x: Any, n: int, stack: int) -> Any:
    """n × n numbers of order one, the elements of x again and again; a stack of them unless `stack` is 0."""
    shape = (stack, n, n) if stack else (n, n)
    count = int(np.prod(shape))
    flat = np.ravel(x * 1.0)
    mixed = np.tanh(flat[np.arange(count) % x.size]) + np.cos(1.7 * np.arange(count)).astype(flat.real.dtype)
    return np.reshape(mixed, shape)


def symmetric(a: Any) -> Any:
    """A + Aᴴ, its eigenvalues drawn apart by the diagonal."""
    n = a.shape[-1]
    return (a + np.conj(np.swapaxes(a, -1, -2))) / 2 + np.diag(3.0 * np.arange(n)).astype(a.dtype)


def definite(a: Any) -> Any:
    n = a.shape[-1]
    return a @ np.conj(np.swapaxes(a, -1, -2)) / n + 0.5 * np.eye(n, dtype=a.dtype)


def regular(a: Any) -> Any:
    return a + 3.0 * np.eye(a.shape[-1], dtype=a.dtype)


def _spectral(a: Any) -> Any:
    w, v = np.linalg.eigh(symmetric(a))
    return (v * np.sin(w)[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2))


def _singular(a: Any) -> Any:
    u, s, vh = np.linalg.svd(symmetric(a) + regular(a), full_matrices=False)
    return (u * np.tanh(s)[..., None, :]) @ vh


def _orthogonal(a: Any) -> Any:
    q, r = np.linalg.qr(definite(a) + regular(a))
    return np.conj(np.swapaxes(r, -1, -2)) @ r + q @ np.conj(np.swapaxes(q, -1, -2))


def _least_squares(a: Any) -> Any:
    return np.linalg.pinv(regular(a)[..., : max(1, a.shape[-1] - 1)])


FORMS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda a: np.linalg.solve(regular(a), a),
    "solve vector": lambda a: np.linalg.solve(regular(a), a[..., :1])[..., 0],
    "two solves": lambda a: np.linalg.solve(regular(a), a) @ np.linalg.solve(regular(a), np.cos(a)),
    "inv": lambda a: np.linalg.inv(regular(a)),
    "det": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(regular(a))[1],
    "cholesky": lambda a: np.linalg.cholesky(definite(a)),
    "cholesky upper": lambda a: scipy.linalg.cholesky(definite(a)[0] if a.ndim == 3 else definite(a)),
    "qr": _orthogonal,
    "eigh": _spectral,
    "eigvalsh": lambda a: np.linalg.eigvalsh(symmetric(a)),
    "svd": _singular,
    "svdvals": lambda a: np.linalg.svd(symmetric(a), compute_uv=False),
    "expm": lambda a: scipy.linalg.expm(0.3 * a),
    "pinv": _least_squares,
    "power": lambda a: np.linalg.matrix_power(a / 3, 3),
    "triangular": lambda a: scipy.linalg.solve_triangular(
        np.tril(regular(a[0] if a.ndim == 3 else a)), a[0] if a.ndim == 3 else a, lower=True
    ),
    "lu_solve": lambda a: scipy.linalg.lu_solve(
        scipy.linalg.lu_factor(regular(a[0] if a.ndim == 3 else a)), a[0] if a.ndim == 3 else a
    ),
    "norm": lambda a: np.linalg.norm(a, axis=(-2, -1)),
    "nuclear": lambda a: np.linalg.norm(symmetric(a), ord="nuc", axis=(-2, -1)),
}


def a_small_matrix(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, kinds="fc")
    if not pool[i].size or pool[i].dtype == np.float16:
        raise ValueError("no elements, or none that LAPACK takes")
    n, stack, name = r.choice(ROWS), r.choice([0, 0, 0, 1, 2, 3]), r.choice(sorted(FORMS))
    return Step(f"{name} of {stack or 'a'} {n}×{n} from x{i}", lambda p: FORMS[name](matrix_of(p[i], n, stack)))
