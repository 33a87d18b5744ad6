"""Equations with a matrix, solved by what is known about it.

diagonal: one division; triangular: substitution; tridiagonal: elimination along the band; orthonormal: the adjoint;
definite: Cholesky, A = L L*; any other square matrix: LU with exchanges; more rows than columns: least squares by
A = Q R; fewer: the solution of least norm, by A* = Q R.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.linear.operators.facts import Facts
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.linalg.decompose import LU, Cholesky
from adjoint.ops.linalg.matrices import factor_dtype, hermitian
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value, type_of
from adjoint.scipy import linalg

__all__ = ["METHODS", "method_for", "solve_dense", "solve_or_nan"]

TRACED: Any = Tracer  # as Any: a test against it leaves the value what it was to the type checker
METHODS = ("diagonal", "triangular", "orthonormal", "tridiagonal", "cholesky", "lu", "qr")


def method_for(facts: Facts, shape: tuple[int, int]) -> str:
    """The name of the method that fits."""
    if shape[0] != shape[1]:
        return "qr"
    if "diagonal" in facts:
        return "diagonal"
    if facts & {"lower triangular", "upper triangular"}:
        return "triangular"
    if "orthonormal" in facts:
        return "orthonormal"
    if "tridiagonal" in facts:
        return "tridiagonal"
    return "cholesky" if facts & {"positive definite", "negative definite"} else "lu"


def solve_dense(a: Value, b: Value, facts: Facts = frozenset(), method: str | None = None) -> Value:
    """x with a x = b, for a vector b or the columns of a matrix b."""
    m, n = a.shape
    named, method = method, method_for(facts, (m, n)) if method is None else method
    if method not in METHODS:
        raise ValueError(f"solve: {method!r} is no direct method. They are: {', '.join(METHODS)}.")
    if m != n and method != "qr":
        raise ShapeError(f"solve: the matrix has shape {(m, n)}, and {method} needs as many rows as columns. Use 'qr'.")
    if named is not None and not isinstance(a, TRACED):
        _check_form(a, named, facts)
    if method == "diagonal":
        d = np.diagonal(a)
        return b / (d if b.ndim == 1 else d[:, None])
    if method != "orthonormal":
        factor_dtype("solve", type_of(a), type_of(b))
    if method == "triangular":
        lower = "lower triangular" in facts
        if not facts & {"lower triangular", "upper triangular"}:
            lower = isinstance(a, TRACED) or not np.any(np.triu(a, 1))
        return linalg.solve_triangular(a, b, lower=lower, unit_diagonal="unit diagonal" in facts)
    if method == "orthonormal":
        return np.matmul(adjoint_matrix(a), b)
    if method == "tridiagonal":
        return _tridiagonal(a, b)
    if method == "cholesky":
        sign = -1 if "negative definite" in facts else 1
        # symmetric by the facts: the Hermitian part gives each element its share, as the other methods do
        return sign * linalg.solve(hermitian(sign * a), b, assume_a="pos")
    if method == "lu":
        return linalg.solve(a, b)
    return _least_squares(a, b)


def solve_or_nan(a: Value, b: Value, facts: Facts = frozenset(), method: str | None = None) -> Value:
    """The same, with NaN where that raises, since a is singular or not definite; in a batch for that element alone.

    Derivatives are NaN there, too.
    """
    name = method_for(facts, a.shape) if method is None else method
    if name == "cholesky" and a.shape[0] == a.shape[1]:
        sign = -1 if "negative definite" in facts else 1
        factor = bind(Cholesky(checked=False), hermitian(sign * a))
        return sign * linalg.cho_solve((factor, True), b)
    if name == "triangular" and "unit diagonal" not in facts:
        is_singular = np.any(np.diagonal(a) == 0)
        a = a + np.where(is_singular, np.nan, 0.0).astype(a.dtype) * np.eye(a.shape[0], dtype=a.dtype)
    if name == "tridiagonal" and a.shape[0] < 3:
        name = method = "lu"
    if name != "lu" or a.shape[0] != a.shape[1]:
        return solve_dense(a, b, facts, method)
    packed, _, _ = bind(LU(), a)
    is_singular = np.any(np.diagonal(packed) == 0)
    x = solve_dense(np.where(is_singular, np.eye(a.shape[0], dtype=a.dtype), a), b, facts, method)
    return x + np.sum(a) * np.where(is_singular, np.nan, 0.0).astype(a.dtype)


_FORMS: dict[str, tuple[str, Any]] = {
    "diagonal": ("diagonal", lambda a: np.diag(np.diagonal(a))),
    "tridiagonal": ("tridiagonal", lambda a: np.triu(np.tril(a, 1), -1)),
    "cholesky": ("symmetric", adjoint_matrix),
}


def _check_form(a: Any, method: str, facts: Facts) -> None:
    """A method that was named reads a part of the matrix: the rest must be as it takes it to be."""
    wrong = ""
    if method == "triangular" and not facts & {"lower triangular", "upper triangular"}:
        wrong = "triangular" if np.any(np.triu(a, 1)) and np.any(np.tril(a, -1)) else ""
    elif method in _FORMS and _FORMS[method][0] not in facts:
        form, part = _FORMS[method]
        size = float(np.max(np.abs(a), initial=0.0))
        wrong = form if np.max(np.abs(a - part(a)), initial=0.0) > 1e3 * np.finfo(a.dtype).eps * size else ""
    if wrong:
        raise ValueError(f"solve: method {method!r} is for {wrong} matrices, and this one is not. Use 'lu'.")


def _tridiagonal(a: Value, b: Value) -> Value:
    n = a.shape[0]
    if n < 3:
        return linalg.solve(a, b)
    none = np.zeros(1, a.dtype)
    above = np.concatenate([none, np.diagonal(a, 1)])
    below = np.concatenate([np.diagonal(a, -1), none])
    return linalg.solve_banded((1, 1), np.stack([above, np.diagonal(a), below]), b)


def _least_squares(a: Value, b: Value) -> Value:
    if a.shape[0] >= a.shape[1]:
        q, r = _qr(a)
        return linalg.solve_triangular(r, np.matmul(adjoint_matrix(q), b))
    q, r = _qr(adjoint_matrix(a))
    return np.matmul(q, linalg.solve_triangular(adjoint_matrix(r), b, lower=True))


def _qr(a: Value) -> tuple[Any, Any]:
    q, r = np.linalg.qr(a)
    return q, r
