"""`solve`: the method that fits what is known about the operator."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.operators.dense import METHODS, solve_or_nan
from adjoint.linear.operators.facts import Facts, deduce, read
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operator import element, is_sparse
from adjoint.linear.operators.structures import Matrix, matrix
from adjoint.linear.solvers.iteration import TRACED, either, norm
from adjoint.linear.solvers.least_squares import lsmr
from adjoint.linear.solvers.methods import bicgstab, cg, gmres, minres
from adjoint.linear.solvers.solution import CONVERGED, NOT_POSITIVE, SINGULAR, Solution

__all__ = ["ITERATIVE", "choose", "is_iterative", "name_methods", "solve"]

ITERATIVE: dict[str, Any] = {"cg": cg, "minres": minres, "gmres": gmres, "bicgstab": bicgstab, "lsmr": lsmr}
_OPTIONS = {
    name
    for run in ITERATIVE.values()
    for name, given in inspect.signature(run).parameters.items()
    if given.kind is given.KEYWORD_ONLY
}


def is_iterative(method: str) -> bool:
    """Whether it is the name of an iteration."""
    return method in ITERATIVE


def name_methods() -> tuple[str, ...]:
    """The names that `solve` takes."""
    return ("auto", "direct", *ITERATIVE, *METHODS)


@user_facing
def solve(A: Any, b: Any, *facts: str, method: str = "auto", x0: Any = None, **options: Any) -> Solution:
    """x with A x = b (least squares where A is not square), by the method that the facts about A choose.

    A matrix, and a map that is structured, is solved directly. Else: positive definite: cg; symmetric: minres; more or
    fewer rows than columns: lsmr; all others: gmres. `facts` tell what is known about A ("symmetric", "positive
    definite"), and are believed; `method` names one: "direct", "cg", "minres", "gmres", "bicgstab", "lsmr", or a direct
    method ("cholesky", "lu", "qr" …). The other arguments are those of the iterative methods.

    ```python
    solution = ad.linear.solve(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 3.0]), "positive definite")
    solution.value, solution.method  # → ([1.0, 1.0], 'cholesky')
    ```
    """
    claims = read(facts)
    chosen = choose(A, claims) if method == "auto" else method
    if chosen in ITERATIVE:
        if chosen == "cg" and "negative definite" in _facts(A, claims):
            return cg(_negate(A), tree.scale(-1.0, element(b, "solve: b")), x0, **options)
        return ITERATIVE[chosen](A, b, x0, **options)
    if chosen not in name_methods():
        raise ValueError(f"solve: {method!r} is no method. They are: {', '.join(name_methods())}.")
    for name in options.keys() - _OPTIONS:
        raise TypeError(f"solve: {name!r} is no option. They are: x0, {', '.join(sorted(_OPTIONS))}.")
    if "damp" in options:
        raise TypeError("solve: damp is for least squares by lsmr; give method='lsmr'.")
    return _direct(A, b, claims, None if chosen == "direct" else chosen)


def choose(A: Any, claims: Facts = frozenset()) -> str:
    """The name of the method that `solve` takes."""
    facts = _facts(A, claims)
    square = not hasattr(A, "shape") or A.shape[0] == A.shape[1]
    if isinstance(A, Matrix) or (_is_matrix(A) and not is_sparse(A)):
        return "direct"
    if isinstance(A, LinearMap) and A.is_structured:
        return "direct"
    if not square:
        return "lsmr"
    if facts & {"positive definite", "negative definite"}:
        return "cg"
    return "minres" if "symmetric" in facts else "gmres"


def _negate(A: Any) -> Any:
    if isinstance(A, list):
        return -np.asarray(A)
    return -A if hasattr(A, "shape") else lambda v: tree.scale(-1.0, A(v))


def _is_matrix(A: Any) -> bool:
    return isinstance(A, list) or (hasattr(A, "dtype") and hasattr(A, "ndim") and not hasattr(A, "matvec"))


def _facts(A: Any, claims: Facts) -> Facts:
    found = deduce(claims, square=True)
    if isinstance(A, LinearMap):
        return found | A.facts
    if is_sparse(A) and A.shape[0] == A.shape[1] and abs(A - A.conj().T).max() == 0:
        return found | {"symmetric"}
    return found


def _direct(A: Any, b: Any, claims: Facts, method: str | None) -> Solution:
    if not isinstance(A, LinearMap):
        array = A.toarray() if is_sparse(A) else A
        b = np.asarray(b) if isinstance(b, list) else b
        dtype = np.result_type(array.dtype, b.dtype, np.float32) if hasattr(array, "dtype") else None
        array = array.astype(dtype) if dtype is not None and array.dtype != dtype else array
        A = matrix(array, *claims)
    elif claims:
        A = A._claiming(claims)  # pyright: ignore[reportPrivateUsage]
    b = element(b, "solve: b")
    if A.range.is_vector and getattr(b, "ndim", 1) == 2:
        raise ShapeError(f"solve: b has shape {b.shape}, and the operator takes one right side. For several use vmap "
                         "over the columns, or A.solve(b) of a LinearMap.")  # fmt: skip
    b = A.range.checked(b, "solve: b")
    name = A.method if method is None else method
    is_dense = method is not None or not A.is_structured
    is_traced = any(isinstance(v, TRACED) for v in (*tree.leaves(A), *tree.leaves(b)))
    try:
        if is_dense and is_traced:
            x = A.domain.unravel(solve_or_nan(A.to_dense(), A.range.ravel(b), A.facts, method))
        else:
            x = A.solve(b, method)
    except np.linalg.LinAlgError:
        if is_traced:  # one element of a batch is no reason for NaN in all
            raise
        nan = A.domain.unravel(np.full(A.domain.size, np.nan, A.domain.dtype))
        code = NOT_POSITIVE if name == "cholesky" else SINGULAR
        return Solution(nan, np.int64(code), np.int64(0), np.float64(np.nan), np.float64(0), np.float64(0), None, name)
    right = A.range.ravel(b)
    residual = norm(right - A.range.ravel(A(x)))
    target = float(np.finfo(right.dtype).eps) ** 0.5 * norm(right) if A.is_square else np.inf + 0 * residual
    failed = either(np.isnan(residual), NOT_POSITIVE, SINGULAR) if name == "cholesky" else SINGULAR
    code = either(residual <= target, CONVERGED, failed)  # NaN is neither
    code = np.int64(code) if not isinstance(code, TRACED) else code
    return Solution(x, code, np.int64(0), residual, target, 0 * residual, None, name)
