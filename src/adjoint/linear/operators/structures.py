"""Maps given by arrays: a matrix, a diagonal, a product of thin matrices, a permutation."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.linear.operators.algebra import Identity, Zero
from adjoint.linear.operators.dense import solve_dense
from adjoint.linear.operators.facts import Facts, read
from adjoint.linear.operators.maps import STATIC, LinearMap
from adjoint.linear.operators.operations import scale
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.stacks import axes_of, check_single
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.arguments import plain_value

__all__ = ["Diagonal", "LowRank", "Matrix", "Permutation", "diagonal", "identity", "low_rank", "matrix", "permutation",
           "scaling", "triangular", "zero"]  # fmt: skip


@final
@dataclass(frozen=True, eq=False, repr=False)
class Matrix(LinearMap):
    """x ↦ A x for a matrix A; between spaces of trees, on their elements written one after another."""

    _axes = (("array", 2),)
    array: Value
    source: Space | None = field(default=None, metadata=STATIC)
    target: Space | None = field(default=None, metadata=STATIC)

    @property
    def domain(self) -> Space:
        return self.source or Space.vector(self.array.shape[-1], self.array.dtype)

    @property
    def range(self) -> Space:
        return self.target or Space.vector(self.array.shape[-2], self.array.dtype)

    def _apply(self, x: Any) -> Any:
        y = np.matmul(self.array, x if self.source is None else self.source.ravel(x))
        return y if self.target is None else self.target.unravel(y)

    def _apply_adjoint(self, u: Any) -> Any:
        w = np.matmul(adjoint_matrix(self.array), u if self.target is None else self.target.ravel(u))
        return w if self.source is None else self.source.unravel(w)

    def _apply_columns(self, columns: Value) -> Value:
        return np.matmul(self.array, columns)

    def _solve_columns(self, columns: Value) -> Value:
        return solve_dense(self.array, columns, self.facts)

    def _to_dense(self) -> Value:
        return self.array


@final
@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(LinearMap):
    """x ↦ d ∘ x, element by element: d is an element of the space. `sign` is a fact that they showed."""

    elements: Any
    sign: str = field(default="", metadata=STATIC)
    axes: tuple[int, ...] = field(default=(), metadata=STATIC)
    _axes = (("elements", None),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", self.axes or axes_of(self.elements))

    @property
    def domain(self) -> Space:
        return Space.of(self.elements)

    range = domain

    def _own_facts(self) -> Facts:
        symmetric = {"symmetric"} if self.domain.dtype.kind != "c" else set()
        return frozenset({"diagonal", *symmetric, *([self.sign] if self.sign else [])})

    def _apply(self, x: Any) -> Any:
        return tree.map(np.multiply, self.elements, x)

    def _apply_adjoint(self, u: Any) -> Any:
        return tree.map(lambda d, u: np.multiply(np.conjugate(d), u), self.elements, u)

    def _adjoint(self) -> LinearMap:
        return Diagonal(tree.map(np.conjugate, self.elements), self.sign, self.axes)

    def _inverse(self) -> LinearMap:
        sign = "" if "semidefinite" in self.sign else self.sign
        return Diagonal(tree.map(lambda d: 1 / d, self.elements), sign, self.axes)

    def _solve(self, b: Any) -> Any:
        return tree.map(np.divide, b, self.elements)

    def diagonal(self) -> Value:
        check_single(self)
        return self.domain.ravel(self.elements)

    def _to_dense(self) -> Value:
        return np.diag(self.diagonal())


@final
@dataclass(frozen=True, eq=False, repr=False)
class LowRank(LinearMap):
    """x ↦ U (V* x), with as many columns in U and V as its rank; U U* when V is left out."""

    _axes = (("left", 2), ("right", 2))
    left: Value
    right: Value | None = None

    @property
    def other(self) -> Value:
        """V."""
        return self.left if self.right is None else self.right

    @property
    def rank(self) -> int:
        """The number of columns: an upper bound on the rank."""
        return self.left.shape[-1]

    @property
    def domain(self) -> Space:
        return Space.vector(self.other.shape[-2], self.other.dtype)

    @property
    def range(self) -> Space:
        return Space.vector(self.left.shape[-2], self.left.dtype)

    def _own_facts(self) -> Facts:
        return frozenset({"positive semidefinite"} if self.right is None else ())

    def _label(self) -> str:
        return f"LowRank({self.rank})"

    def _apply(self, x: Any) -> Any:
        return np.matmul(self.left, np.matmul(adjoint_matrix(self.other), x))

    def _apply_adjoint(self, u: Any) -> Any:
        return np.matmul(self.other, np.matmul(adjoint_matrix(self.left), u))

    def _apply_columns(self, columns: Value) -> Value:
        return self._apply(columns)

    def _adjoint(self) -> LinearMap:
        return LowRank(self.other, self.left)

    def diagonal(self) -> Value:
        check_single(self)
        return np.sum(self.left * np.conjugate(self.other), axis=1)

    def _to_dense(self) -> Value:
        return np.matmul(self.left, adjoint_matrix(self.other))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Permutation(LinearMap):
    """x ↦ x[order]."""

    order: tuple[int, ...] = field(metadata=STATIC)
    element: np.dtype[Any] = field(default=np.dtype(float), metadata=STATIC)

    @property
    def domain(self) -> Space:
        return Space.vector(len(self.order), self.element)

    range = domain

    def _own_facts(self) -> Facts:
        return frozenset({"permutation"})

    @functools.cached_property
    def _positions(self) -> Any:
        return np.array(self.order, dtype=np.intp)

    @functools.cached_property
    def _back(self) -> Any:
        return np.argsort(self._positions)

    def _apply(self, x: Any) -> Any:
        return x[self._positions]

    def _apply_columns(self, columns: Value) -> Value:
        return self._apply(columns)

    def _apply_adjoint(self, u: Any) -> Any:
        return u[self._back]

    def _solve(self, b: Any) -> Any:
        return self._apply_adjoint(b)

    def _solve_columns(self, columns: Value) -> Value:
        return self._apply_adjoint(columns)

    def _adjoint(self) -> LinearMap:
        return Permutation(tuple(self._back.tolist()), self.element)

    _inverse = _adjoint

    def _method(self) -> str:
        return "permutation"


def _array(value: Any, what: str, ndim: int) -> Value:
    """A matrix or vector of floating-point numbers, plain or traced."""
    value = plain_value(value if hasattr(value, "dtype") else np.asarray(value), what)
    if value.dtype.kind not in "fc":
        if value.dtype.kind not in "biu":
            raise DtypeError(f"{what} has dtype {value.dtype}; linear maps are made of real or complex numbers.")
        value = value.astype(float)
    if value.ndim != ndim:
        raise ShapeError(f"{what} has shape {value.shape}; it must have {ndim} axes.")
    return value


def matrix(array: Any, *facts: str, domain: Any = None, range: Any = None) -> LinearMap:
    """x ↦ A x. `facts` say what is known of A ("symmetric", "positive definite" …), and are believed.

    With `domain` and `range` (elements, trees of types, or spaces) it acts between those, on their elements in the
    order of `ravel`.

    ```python
    A = ad.linear.matrix(np.array([[2.0, 1.0], [1.0, 2.0]]), "positive definite")
    A @ np.array([1.0, 0.0])  # → [2.0, 1.0]
    ```
    """
    array = _array(array, "matrix: the array", 2)
    source, target = (None if space is None else Space.of(space) for space in (domain, range))
    for space, n, name in ((source, array.shape[1], "domain"), (target, array.shape[0], "range")):
        if space is not None and space.size != n:
            raise ShapeError(f"matrix: the array has shape {array.shape}, but the {name} has {space.size} elements.")
    return Matrix(array, source, target, claims=read(facts))


def triangular(array: Any, *, lower: bool = True, unit_diagonal: bool = False) -> LinearMap:
    """The map of one triangle of a matrix; the other is not read, nor is the diagonal with `unit_diagonal`.

    ```python
    L = ad.linear.triangular(np.array([[2.0, 9.0], [1.0, 4.0]]))
    ad.linear.solve(L, np.array([2.0, 5.0])).value  # → [1.0, 1.0]
    ```
    """
    array = _array(array, "triangular: the array", 2)
    if array.shape[0] != array.shape[1]:
        raise ShapeError(f"triangular: the array has shape {array.shape}; it must have as many rows as columns.")
    kept = (np.tril if lower else np.triu)(array, (-1 if lower else 1) if unit_diagonal else 0)
    if unit_diagonal:
        kept = kept + np.eye(array.shape[0], dtype=array.dtype)
    words = ["lower triangular" if lower else "upper triangular", *(["unit diagonal"] if unit_diagonal else [])]
    return Matrix(kept, claims=frozenset(words))


def diagonal(elements: Any) -> LinearMap:
    """x ↦ d ∘ x, for a tree of arrays d. Plain elements tell whether it is positive.

    ```python
    result = ad.linear.diagonal({"a": np.array([1.0, 2.0]), "b": 3.0}) @ {"a": np.ones(2), "b": 1.0}
    result  # → {'a': [1.0, 2.0], 'b': 3.0}
    ```
    """
    leaves, structure = tree.flatten(np.asarray(elements) if isinstance(elements, list) else elements)
    leaves = [_as_float(leaf) for leaf in leaves]
    return Diagonal(tree.unflatten(structure, leaves), _sign(leaves))


def _as_float(leaf: Any) -> Value:
    value = plain_value(leaf, "diagonal: an element")
    value = value if hasattr(value, "dtype") else np.asarray(value)[()]
    return value.astype(float) if value.dtype.kind in "biu" else value


def _sign(leaves: Sequence[Value]) -> str:
    """What plain elements show: their sign, and whether one can divide by them."""
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return ""
    found = "" if any(leaf.dtype.kind == "c" for leaf in leaves) else _real_sign(leaves)
    if found or not all(np.all(np.abs(leaf) > 0) for leaf in leaves):
        return found
    return "invertible"


def _real_sign(leaves: Sequence[Value]) -> str:
    if all(np.all(leaf > 0) for leaf in leaves):
        return "positive definite"
    if all(np.all(leaf < 0) for leaf in leaves):
        return "negative definite"
    if all(np.all(leaf >= 0) for leaf in leaves):
        return "positive semidefinite"
    return "negative semidefinite" if all(np.all(leaf <= 0) for leaf in leaves) else ""


def low_rank(left: Any, right: Any = None) -> LinearMap:
    """U V*: never made into a matrix. Vectors a, b give a b*; without `right` it is U U*, positive semidefinite.

    ```python
    A = ad.linear.identity(3) + ad.linear.low_rank(np.ones(3))
    A.method  # → 'identity with a low-rank update (Woodbury)'
    ```
    """
    u = _columns(left)
    if right is None:
        return LowRank(u)
    v = _columns(right)
    if u.shape[1] != v.shape[1]:
        raise ShapeError(f"low_rank: U has {u.shape[1]} columns and V has {v.shape[1]}; they need the same number.")
    return LowRank(u, v)


def _columns(value: Any) -> Value:
    value = value if hasattr(value, "dtype") else np.asarray(value)
    return _array(value[:, None] if value.ndim == 1 else value, "low_rank: the factor", 2)


def permutation(order: Sequence[int], dtype: Any = float) -> LinearMap:
    """x ↦ x[order].

    ```python
    ad.linear.permutation([2, 0, 1]) @ np.array([1.0, 2.0, 3.0])  # → [3.0, 1.0, 2.0]
    ```
    """
    positions = tuple(int(i) for i in order)
    if sorted(positions) != list(range(len(positions))):
        raise ValueError(f"permutation: {positions} does not name each of 0 … {len(positions) - 1} once.")
    return Permutation(positions, np.dtype(dtype))


def identity(space: Any) -> LinearMap:
    """x ↦ x on a space: n for vectors, a shape, an element, or a tree of types.

    ```python
    ad.linear.identity(2).to_dense()  # → [[1.0, 0.0], [0.0, 1.0]]
    ```
    """
    return Identity(Space.of(space))


def zero(domain: Any, range: Any = None) -> LinearMap:
    """x ↦ 0.

    ```python
    ad.linear.zero(2) @ np.ones(2)  # → [0.0, 0.0]
    ```
    """
    source = Space.of(domain)
    return Zero(source, source if range is None else Space.of(range))


def scaling(factor: Value, space: Any) -> LinearMap:
    """x ↦ c x.

    ```python
    ad.linear.scaling(3.0, 2) @ np.ones(2)  # → [3.0, 3.0]
    ```
    """
    return scale(factor, identity(space))
