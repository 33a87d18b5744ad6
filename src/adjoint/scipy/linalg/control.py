"""Matrix equations of control: Sylvester, Lyapunov and Riccati. Their derivatives solve equations of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.matrices import answer
from adjoint.ops.linalg.matrix_equations import Stein, Sylvester
from adjoint.ops.linalg.riccati import Riccati
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import array, inexact, matrix, not_hermitian, square


def solve_sylvester(a: Any, b: Any, q: Any) -> Value:
    """x with a x + x b = q; a LinAlgError if an eigenvalue of a is minus one of b."""
    call = "solve_sylvester"
    return bind(Sylvester(), square(a, call), square(b, call), matrix(q, call))


def solve_continuous_lyapunov(a: Any, q: Any) -> Value:
    """x with a x + x aᴴ = q."""
    a = square(a, "solve_continuous_lyapunov")
    return bind(Sylvester("solve_continuous_lyapunov"), a, adjoint_matrix(a), matrix(q, "solve_continuous_lyapunov"))


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Value:
    """x with a x aᴴ - x + q = 0. One method serves for both of SciPy's names."""
    if method is not None and method.lower() not in ("direct", "bilinear"):
        raise ValueError(f"Unknown solver {method}")
    a = square(a, "solve_discrete_lyapunov")
    return bind(Stein(), a, adjoint_matrix(a), matrix(q, "solve_discrete_lyapunov"))


def _riccati(op: Riccati, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Value:
    a, q, r = (square(np.atleast_2d(array(x)), op.title) for x in (a, q, r))
    b = matrix(np.atleast_2d(array(b)), op.title)
    dtype = inexact(a).dtype
    e = np.eye(a.shape[-1], dtype=dtype) if e is None else square(e, op.title)
    s = np.zeros(b.shape[-2:], dtype) if s is None else matrix(s, op.title)
    for name, x in (("q", q), ("r", r)):
        if answer(not_hermitian, bind(StopGradient(), inexact(x))):
            raise ValueError(f"{op.title}: matrix {name} should be symmetric/hermitian.")
    return bind(op, *[inexact(x) for x in (a, b, q, r, e, s)])


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Value:
    """The stabilizing x with aᴴ x e + eᴴ x a - (eᴴ x b + s) r⁻¹ (bᴴ x e + sᴴ) + q = 0; e = 1, s = 0 if not given."""
    return _riccati(Riccati(discrete=False, balanced=bool(balanced)), a, b, q, r, e, s)


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Value:
    """The stabilizing x with aᴴ x a - eᴴ x e - (aᴴ x b + s) (r + bᴴ x b)⁻¹ (bᴴ x a + sᴴ) + q = 0."""
    return _riccati(Riccati(discrete=True, balanced=bool(balanced)), a, b, q, r, e, s)
