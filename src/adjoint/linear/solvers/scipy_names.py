"""The iterative solvers of scipy.sparse.linalg on traced values: SciPy's names, arguments and results (x, info).

The solution is that of the equation, whoever finds it: methods that `adjoint.linear` does not have are answered by
gmres or bicgstab. Derivatives are those of the equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.conversion.calls import call
from adjoint.linear.operators.from_function import from_function
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.sparse_matrix import as_map
from adjoint.linear.solvers import methods
from adjoint.program.trace import Tracer, live_trace
from adjoint.scipy.sparse.arrays import SparseArray
from adjoint.scipy.sparse.numbering import is_ours

__all__ = [
    "LinearOperator",
    "aslinearoperator",
    "bicg",
    "bicgstab",
    "cg",
    "cgs",
    "gcrotmk",
    "gmres",
    "lgmres",
    "minres",
    "qmr",
    "tfqmr",
]

# SciPy's method -> ours
ANSWERED_BY = {
    "cg": methods.cg,
    "minres": methods.minres,
    "gmres": methods.gmres,
    "lgmres": methods.gmres,
    "gcrotmk": methods.gmres,
    "bicgstab": methods.bicgstab,
    "bicg": methods.bicgstab,
    "cgs": methods.bicgstab,
    "qmr": methods.bicgstab,
    "tfqmr": methods.bicgstab,
}


def _iterative(name: str) -> Callable[..., Any]:
    ours = ANSWERED_BY[name]

    def on_traced(
        A: Any,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        given = {key: value for key, value in options.items() if value is not None}
        kept = {"restart": given.pop("restart")} if name == "gmres" and "restart" in given else {}
        if given:
            raise TypeError(
                f"scipy.sparse.linalg.{name}: {', '.join(given)} cannot be given with traced values; use "
                f"adjoint.linear.{ours.__name__}, which has options of its own."
            )
        matrix = as_map(A) if isinstance(A, SparseArray) else A
        right = b[:, 0] if np.ndim(b) == 2 and np.shape(b)[1] == 1 else b
        found = ours(
            matrix, right, x0, tol=rtol, atol=atol, max_iterations=maxiter, preconditioner=_preconditioner(M), **kept
        )
        return found.value, np.where(found.converged, 0, found.iterations)

    def solve(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if any(map(_is_traced, (*args, *kwargs.values()))):
            return on_traced(*args, **kwargs)
        import scipy.sparse.linalg

        return getattr(scipy.sparse.linalg, name)(*args, **kwargs)

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"(x, info) with A x = b as scipy.sparse.linalg.{name} finds it; info is 0 when it has converged."
    return solve


def _preconditioner(M: Any) -> Any:
    return as_map(M) if isinstance(M, SparseArray) else M


def _is_traced(value: Any) -> bool:
    """Whether a value is traced, or a map that may close over traced values."""
    return is_ours(value) or isinstance(value, LinearMap)


bicg, bicgstab, cg, cgs = _iterative("bicg"), _iterative("bicgstab"), _iterative("cg"), _iterative("cgs")
gcrotmk, gmres, lgmres = _iterative("gcrotmk"), _iterative("gmres"), _iterative("lgmres")
minres, qmr, tfqmr = _iterative("minres"), _iterative("qmr"), _iterative("tfqmr")


def aslinearoperator(A: Any) -> Any:
    """A linear map of `adjoint.linear` from a traced matrix, SciPy's own operator from a plain one."""
    import scipy.sparse.linalg

    if isinstance(A, SparseArray | Tracer):
        return as_map(A)
    return A if isinstance(A, LinearMap) else scipy.sparse.linalg.aslinearoperator(A)


def LinearOperator(  # noqa: N802 (the name of SciPy's class)
    shape: tuple[int, int],
    matvec: Callable[[Any], Any],
    rmatvec: Callable[[Any], Any] | None = None,
    matmat: Callable[[Any], Any] | None = None,
    dtype: Any = None,
    rmatmat: Callable[[Any], Any] | None = None,
) -> Any:
    """A linear map where the product gives traced values, or has no adjoint but that of its program; else SciPy's."""
    import scipy.sparse.linalg

    if live_trace() is not None:
        n, kind = shape[1], np.dtype(np.float64 if dtype is None else dtype)
        product = lambda x: call(matvec)(x)
        if rmatvec is None or isinstance(product(np.zeros(n, kind)), Tracer):
            back = None if rmatvec is None else lambda u: call(rmatvec)(u)
            return from_function(product, np.zeros(n, kind), adjoint=back, range=np.zeros(shape[0], kind))
    return scipy.sparse.linalg.LinearOperator(shape, matvec, rmatvec, matmat, dtype, rmatmat)
