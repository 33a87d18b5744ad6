"""Operators in any form that solvers take: linear maps, matrices, SciPy's sparse arrays and operators, functions."""

# pyright: reportPrivateUsage=false
# (a map's methods behind the public ones, whose arguments have been checked)

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import linear_transpose
from adjoint.base.errors import DtypeError, NotLinear, ShapeError
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.from_function import from_function
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.sparse_matrix import SparseMatrix, sum_by_index
from adjoint.linear.operators.stacks import check_single
from adjoint.linear.operators.structures import Diagonal, LowRank, Matrix, matrix
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.arguments import plain_value

__all__ = [
    "Operator",
    "black_box",
    "element",
    "is_sparse",
    "is_traced",
    "map_of_operator",
    "operator",
    "preconditioner",
]


@dataclass(frozen=True)
class Operator:
    """A linear map between spaces as two functions of trees; without `backwards` the adjoint is derived."""

    domain: Space
    range: Space
    forwards: Callable[[Any], Any]
    backwards: Callable[[Any], Any] | None = None
    facts: Facts = frozenset()
    source: Any = None  # what it was made of
    own_adjoint: bool = False  # the adjoint cannot be read off the program of `forwards`

    @functools.cached_property
    def _vectors(self) -> bool:
        return self.domain.is_vector and self.range.is_vector

    def flat(self, v: Value) -> Value:
        """A v for vectors."""
        return self.forwards(v) if self._vectors else self.range.ravel(self.forwards(self.domain.unravel(v)))

    def adjoint(self, u: Any) -> Any:
        """A* u."""
        if self.backwards is not None:
            return self.backwards(u)
        return linear_transpose(self.forwards, self.domain.tree)(u)[0]

    def flat_adjoint(self, u: Value) -> Value:
        """A* u for vectors."""
        return self.adjoint(u) if self._vectors else self.domain.ravel(self.adjoint(self.range.unravel(u)))


def element(value: Any, what: str) -> Any:
    """A tree of floating-point arrays, plain or traced."""
    leaves, structure = tree.flatten(value)
    found: list[Value] = []
    for leaf, path in zip(leaves, structure.paths(), strict=True):
        leaf = plain_value(leaf if hasattr(leaf, "dtype") or np.isscalar(leaf) else np.asarray(leaf), f"{what}{path}")
        leaf = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)[()]
        if leaf.dtype.kind not in "fc":
            if leaf.dtype.kind not in "biu":
                raise DtypeError(f"{what}{path} has dtype {leaf.dtype}; equations are made of real or complex numbers.")
            leaf = leaf.astype(np.float64)
        found.append(leaf)
    kinds = {leaf.dtype.kind for leaf in found}
    if len(kinds) > 1:
        raise DtypeError(f"{what} has real and complex arrays; make all of them complex, or take real parts apart.")
    return tree.unflatten(structure, found)


def operator(A: Any, b: Any, x0: Any, title: str) -> tuple[Operator, Any, Any]:
    """A in one form, the right side, and where to start: zero if it is not given."""
    b = np.asarray(b) if isinstance(b, list) and not isinstance(A, LinearMap) and not callable(A) else b
    b = element(b, f"{title}: b")
    x0 = None if x0 is None else element(x0, f"{title}: x0")
    if isinstance(A, LinearMap):
        made = _of_map(A)
    elif is_sparse(A):
        made = _sparse(A, _vector(A.shape, b, title))
    elif hasattr(A, "matvec") and hasattr(A, "shape"):
        made = _scipy_operator(A, _vector(A.shape, b, title))
    elif hasattr(A, "dtype") or isinstance(A, list):
        array: Any = A if hasattr(A, "dtype") else np.asarray(A)
        if array.ndim != 2:
            raise ShapeError(f"{title}: the matrix has shape {array.shape}; it must have two axes. For a stack of "
                             "equations use vmap.")  # fmt: skip
        dtype = np.result_type(array.dtype, _vector(array.shape, b, title), np.float32)
        made = _of_map(matrix(array.astype(dtype) if array.dtype != dtype else array))
    elif callable(A):
        made, b, x0 = _of_function(A, b, x0, title)
    else:
        raise TypeError(f"{title}: the operator is a {type(A).__name__}. Give a LinearMap, a matrix, a sparse array, a "
                        "scipy LinearOperator, or a function v -> A v.")  # fmt: skip
    b = _fit(made.range, b, f"{title}: b")
    x0 = made.domain.zeros() if x0 is None else _fit(made.domain, x0, f"{title}: x0")
    return made, b, x0


def _fit(space: Space, value: Any, what: str) -> Any:
    try:
        return space.checked(value, what)
    except ShapeError as problem:
        raise ShapeError(f"{problem} The operator works with {space}.") from None


def _vector(shape: tuple[int, int], b: Any, title: str) -> np.dtype[Any]:
    """The element type of a right side for a matrix."""
    if not hasattr(b, "dtype") or b.ndim != 1:
        found = f"shape {b.shape}" if hasattr(b, "dtype") else "a tree"
        raise ShapeError(f"{title}: the matrix of shape {tuple(shape)} takes vectors, but b has {found}. For several "
                         "right sides use vmap over the columns.")  # fmt: skip
    if b.shape[0] != shape[0]:
        raise ShapeError(f"{title}: the matrix has {shape[0]} rows, but b has {b.shape[0]} elements.")
    return b.dtype


def _of_map(A: LinearMap) -> Operator:
    """A plain matrix without a detour; the adjoints of what is made of functions may be the user's own."""
    check_single(A)
    domain, range_ = A.domain, A.range
    if isinstance(A, Matrix) and domain.is_vector and range_.is_vector:
        array = A.array
        return Operator(domain, range_, lambda x: np.matmul(array, x), A._apply_adjoint, A.facts, A)
    if isinstance(A, SparseMatrix) and not is_traced((A.entries, A.rows, A.columns)):
        made = _sparse(A._as_sparse(), A.dtype)
        return Operator(domain, range_, made.forwards, made.backwards, A.facts, A)
    own = not isinstance(A, Diagonal | LowRank | SparseMatrix)
    return Operator(domain, range_, A._apply, A._apply_adjoint, A.facts, A, own)


def _of_function(A: Callable[[Any], Any], b: Any, x0: Any, title: str) -> tuple[Operator, Any, Any]:
    """The range is that of the results; a wider type there widens the unknown and the right side."""
    start = b if x0 is None else x0
    for _ in range(2):
        domain = Space.of(start)
        result = A(domain.zeros())
        _check_zero(result, title)
        leaves = tree.leaves_like(f"{title}: the result of the operator", tree.structure(b), result)
        types = [_type(leaf, title) for leaf in leaves]
        for leaf, right, path in zip(leaves, tree.leaves(b), tree.structure(b).paths(), strict=True):
            if np.shape(leaf) != np.shape(right):
                raise ShapeError(f"{title}: the operator gives shape {np.shape(leaf)}{f' for {path}' if path else ''}, "
                                 f"but b has shape {np.shape(right)} there.")  # fmt: skip
        wide = [np.result_type(t, right.dtype) for t, right in zip(types, tree.leaves(b), strict=True)]
        narrow = [x.dtype for x in tree.leaves(start)]
        widest = np.result_type(*wide, *narrow) if wide else np.dtype(float)
        if all(t == widest for t in (*wide, *narrow)):
            break
        start = tree.map(lambda x: x.astype(widest), start)  # noqa: B023
        b = tree.map(lambda x: x.astype(widest), b)  # noqa: B023
        x0 = None if x0 is None else start
    space = Space.of(b)

    def forwards(x: Any) -> Any:
        leaves = tree.leaves_like(title, space.structure, A(x))
        return tree.unflatten(
            space.structure, [_as(leaf, t.dtype) for leaf, t in zip(leaves, space.types, strict=True)]
        )

    return Operator(domain, space, forwards, source=A), b, x0


def _check_zero(result: Any, title: str) -> None:
    """A linear function takes zero to zero."""
    if is_traced(result) or not any(np.any(np.abs(leaf) > 0) for leaf in tree.leaves(result)):
        return
    raise NotLinear(f"{title}: the operator does not take zero to zero, so it is not linear. Leave the constant out: "
                    "b - A(0) belongs to the right side.")  # fmt: skip


def _type(leaf: Any, title: str) -> np.dtype[Any]:
    dtype = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
    return dtype if dtype.kind in "fc" else np.dtype(float)


def _as(leaf: Any, dtype: np.dtype[Any]) -> Value:
    leaf = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return leaf if leaf.dtype == dtype else leaf.astype(dtype)


def is_sparse(A: Any) -> bool:
    return hasattr(A, "tocsr") and hasattr(A, "nnz")


def _sparse(A: Any, dtype: np.dtype[Any]) -> Operator:
    """A constant; on traced vectors its products are gathered and added up, so that they compile."""
    dtype = np.result_type(A.dtype, dtype, np.float32)
    rows = A.tocsr().astype(dtype)
    columns = rows.conj().T.tocsr()
    m, n = rows.shape
    product, back = _sparse_product(rows), _sparse_product(columns)
    return Operator(Space.vector(n, dtype), Space.vector(m, dtype), product, back, source=rows)


def _sparse_product(csr: Any) -> Callable[[Value], Value]:
    entries = csr.tocoo()
    positions, from_, values = np.asarray(entries.row), np.asarray(entries.col), np.asarray(entries.data)

    def product(v: Any) -> Value:
        if not is_traced(v):
            return csr @ v
        return sum_by_index(values * v[from_], positions, csr.shape[0])

    return product


def _scipy_operator(A: Any, dtype: np.dtype[Any]) -> Operator:
    """A constant black box: its products are computed by SciPy, also inside compiled programs."""
    own = A.dtype if getattr(A, "dtype", None) is not None else np.dtype(float)
    dtype = np.result_type(own, dtype, np.float32)
    m, n = A.shape

    def product(v: Value) -> Value:
        return np.asarray(A.matvec(v), dtype).reshape(m)

    def back(u: Value) -> Value:
        return np.asarray(A.rmatvec(u), dtype).reshape(n)

    forwards, backwards = black_box(product, back), black_box(back, product)
    return Operator(Space.vector(n, dtype), Space.vector(m, dtype), forwards, backwards, source=A, own_adjoint=True)


def map_of_operator(A: Any, *facts: str) -> LinearMap:
    """A LinearOperator of SciPy as a map."""
    own = A.dtype if getattr(A, "dtype", None) is not None else np.dtype(float)
    made = _scipy_operator(A, np.dtype(own))
    return from_function(made.forwards, made.domain, *facts, adjoint=made.backwards, range=made.range)


def black_box(product: Callable[[Value], Value], back: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """A linear function of plain vectors with its adjoint, as something that traced vectors go through."""

    def apply(v: Value) -> Value:
        return product(v) if not isinstance(v, Tracer) else ruled(v)

    def rule(v: Value) -> Any:
        return product(v), lambda ct: (black_box(back, product)(ct),)

    ruled = custom_rule(product, vjp=rule)
    return apply


def preconditioner(M: Any, A: Operator, title: str) -> Operator | None:
    """M, close to A⁻¹, in one form: it maps residuals to unknowns."""
    if M is None:
        return None
    if isinstance(M, str):
        raise ValueError(f"{title}: {M!r} is no preconditioner. Give a map or function close to A⁻¹, e.g. "
                         "linear.jacobi(A) or linear.block_jacobi(A, size).")  # fmt: skip
    if isinstance(M, LinearMap):
        made = _of_map(M)
    elif is_sparse(M) or hasattr(M, "dtype"):  # SciPy's operators as well
        made, _, _ = operator(M, A.domain.zeros(), A.range.zeros(), f"{title}: the preconditioner")
    elif callable(M):

        def forwards(r: Any) -> Any:
            return A.domain.checked(M(r), f"{title}: the result of the preconditioner")

        made = Operator(A.range, A.domain, forwards, source=M)
    else:
        raise TypeError(
            f"{title}: the preconditioner is a {type(M).__name__}; give a LinearMap, a matrix or a function."
        )
    if made.domain.size != A.range.size or made.range.size != A.domain.size:
        raise ShapeError(f"{title}: the preconditioner has shape {(made.range.size, made.domain.size)}, the operator "
                         f"{(A.range.size, A.domain.size)}; it is an approximate inverse.")  # fmt: skip
    return made


def is_traced(value: Any) -> bool:
    """Whether some array in a tree is traced."""
    return any(isinstance(leaf, Tracer) for leaf in tree.leaves(value))
