"""Linear maps between spaces of trees, without a matrix: what every map can do.

    (A + B)(x) = A x + B x,    (A @ B)(x) = A (B x),    (c A)(x) = c (A x),    ⟨A x, u⟩ = ⟨x, A* u⟩

Inner products are Re Σ conj(a) b over all elements of all leaves. A map is a tree of its parameters: it goes through
jit, vmap and grad, and what it does is differentiable in them. What is known about it (`facts`) is part of its
structure.
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.loading import deferred
from adjoint.base.source import user_facing
from adjoint.linear.operators import facts as known
from adjoint.linear.operators.dense import method_for, solve_dense
from adjoint.linear.operators.facts import Facts
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.stacks import batch_shape_of, check_single
from adjoint.linear.operators.text import describe_map, html
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["OPERATIONS", "STATIC", "LinearMap"]

STATIC = {"static": True}  # a field that is part of the structure, as `tree.static()` makes them

M = TypeVar("M", bound="LinearMap")

# What the operators of maps do, by name: sums, products and inverses are maps, which are defined above this file.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "adjoint": deferred("adjoint.linear.operators.algebra", "Adjoint"),
    "conjugate": deferred("adjoint.linear.operators.operations", "conjugate"),
    "inverse": deferred("adjoint.linear.operators.operations", "Inverse"),
    "add": deferred("adjoint.linear.operators.operations", "add"),
    "compose": deferred("adjoint.linear.operators.operations", "compose"),
    "scale": deferred("adjoint.linear.operators.operations", "scale"),
    "power": deferred("adjoint.linear.operators.operations", "power"),
    "complexify": deferred("adjoint.linear.operators.complexify", "complexified"),
    "scipy operator": deferred("adjoint.linear.operators.operator", "map_of_operator"),
    "woodbury": deferred("adjoint.linear.factorizations.lowrank", "woodbury"),
}


@dataclass(frozen=True, eq=False, repr=False)
class LinearMap(ABC):
    """A linear map A from `domain` to `range`: A(x) or A @ x applies it, `A.adjoint` is A*, `A @ B` is A after B.

    ```python
    A = ad.linear.matrix(np.array([[2.0, 1.0], [0.0, 1.0]]))
    (A.adjoint @ A + 1.0 * ad.linear.identity(2)) @ np.ones(2)  # → [7.0, 5.0]
    ```
    """

    __array_ufunc__ = None  # NumPy's operators leave us alone: `array @ A` asks A
    __array_priority__ = 1000.0
    # how many axes its arrays have, by the names of their fields; None: the field `axes` says it for each leaf
    _axes: ClassVar[tuple[tuple[str, int | None], ...]] = ()

    claims: Facts = field(default=frozenset(), kw_only=True, metadata=STATIC)

    @property
    @abstractmethod
    def domain(self) -> Space:
        """Where it acts."""

    @property
    @abstractmethod
    def range(self) -> Space:
        """Where its results lie."""

    @abstractmethod
    def _apply(self, x: Any) -> Any:
        """A x, for x in the domain."""

    @abstractmethod
    def _apply_adjoint(self, u: Any) -> Any:
        """A* u, for u in the range."""

    def _own_facts(self) -> Facts:
        """What follows from its form."""
        return frozenset()

    def _parts(self) -> tuple[LinearMap, ...]:
        """The maps that it is made of, for those who look at it."""
        return ()

    @functools.cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """How many maps are stacked here, as vmap returns them; () for a single one."""
        return batch_shape_of(self)

    @functools.cached_property
    def facts(self) -> Facts:
        """What is known about the map: from its form, from its parts, and by `assume`."""
        return known.deduce(self._own_facts() | self.claims, self.is_square)

    def has(self, *facts: str) -> bool:
        """Whether all these facts are known."""
        return known.read(facts) <= self.facts

    @property
    def shape(self) -> tuple[int, int]:
        """(dimension of the range, dimension of the domain): the shape of its matrix."""
        return self.range.size, self.domain.size

    @property
    def is_square(self) -> bool:
        """As many rows as columns."""
        return self.range.size == self.domain.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of its matrix."""
        return np.result_type(self.domain.dtype, self.range.dtype)

    # applying

    @user_facing
    def __call__(self, x: Any) -> Any:
        check_single(self)
        return self._apply(self.domain.checked(x, f"{type(self).__name__}: the argument"))

    @user_facing
    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, LinearMap):
            return OPERATIONS["compose"](self, other)
        if self.domain.is_vector and getattr(other, "ndim", 1) == 2:
            check_single(self)
            return _columns_product(self, self._checked_columns(other))
        return self(other)

    @user_facing
    def __rmatmul__(self, other: Any) -> Any:
        """yᵀ A = (Aᵀ y)ᵀ; a matrix of rows gives a matrix of rows."""
        if getattr(other, "ndim", 1) == 2 and self.range.is_vector:
            return np.transpose(self.T @ np.transpose(other))
        return self.T(other)

    def _checked_columns(self, columns: Any) -> Any:
        if columns.shape[0] != self.domain.size:
            raise ShapeError(f"A @ X: A takes vectors of {self.domain.size}, but the columns of X have shape "
                             f"{columns.shape}.")  # fmt: skip
        return columns.astype(np.result_type(self.domain.dtype, columns.dtype))

    def _apply_columns(self, columns: Value) -> Value:
        """A on every column of a matrix (in the order of `ravel`)."""
        stacked = self.domain.unravel_columns(columns)
        return self.range.ravel_columns(vmap(self._apply)(stacked))

    # algebra

    @property
    def adjoint(self) -> LinearMap:
        """A*: ⟨A x, u⟩ = ⟨x, A* u⟩."""
        if "symmetric" in self.facts:
            return self
        made = self._adjoint()
        # what was claimed of A holds, turned round, of A* as well
        return made if not self.claims else made._claiming(known.of_adjoint(self.claims))

    def _adjoint(self) -> LinearMap:
        return OPERATIONS["adjoint"](self)

    @property
    def H(self) -> LinearMap:
        """A*, by the name that NumPy's users know."""
        return self.adjoint

    @property
    def T(self) -> LinearMap:
        """Aᵀ: for real maps A*, for complex ones its conjugate, u ↦ conj(A* conj(u))."""
        complex_ = "c" in (self.domain.dtype.kind, self.range.dtype.kind)
        return OPERATIONS["conjugate"](self.adjoint) if complex_ else self.adjoint

    def __add__(self, other: Any) -> LinearMap:
        return OPERATIONS["add"](self, other) if isinstance(other, LinearMap) else _no_map("A + B", other)

    def __radd__(self, other: Any) -> LinearMap:  # so that sum() works
        return self if isinstance(other, int) and other == 0 else _no_map("B + A", other)

    def __sub__(self, other: Any) -> LinearMap:
        return OPERATIONS["add"](self, -other) if isinstance(other, LinearMap) else _no_map("A - B", other)

    def __rsub__(self, other: Any) -> LinearMap:
        return _no_map("B - A", other)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("A LinearMap is no array. A.to_dense() is its matrix; A @ x applies it.")

    def __neg__(self) -> LinearMap:
        return OPERATIONS["scale"](-1.0, self)

    def __mul__(self, factor: Any) -> LinearMap:
        return OPERATIONS["scale"](factor, self) if _is_number(factor) else _no_map("c * A", factor)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> LinearMap:
        return OPERATIONS["scale"](1 / factor, self) if _is_number(factor) else NotImplemented

    def __pow__(self, n: int) -> LinearMap:
        if not isinstance(n, int):
            return NotImplemented
        return OPERATIONS["power"](self, n) if n >= 0 else self.inverse**-n

    @property
    def inverse(self) -> LinearMap:
        """A⁻¹ as a map: it solves when it is applied."""
        if not self.is_square:
            raise ShapeError(f"The map has shape {self.shape}, so it has no inverse; A.solve(b) gives least squares.")
        return self._inverse()

    def _inverse(self) -> LinearMap:
        return OPERATIONS["inverse"](self)

    # solving

    @user_facing
    def solve(self, b: Any, method: str | None = None) -> Any:
        """x with A x = b by a direct method, which the facts choose; `A.method` says which, and `method` names one.

        With more rows than columns: least squares; with fewer: the solution of least norm. A matrix of columns gives a
        matrix of columns.
        """
        check_single(self)
        if method is None and self.range.is_vector and getattr(b, "ndim", 1) == 2:
            if b.shape[0] != self.range.size:
                raise ShapeError(f"{type(self).__name__}.solve: A gives vectors of {self.range.size}, but the right "
                                 f"side has shape {b.shape}.")  # fmt: skip
            solved = OPERATIONS["complexify"](self) if _is_widening(self.range, b) else self
            return solved._solve_columns(b.astype(np.result_type(solved.range.dtype, b.dtype)))
        b = self.range.checked(b, f"{type(self).__name__}.solve: the right side")
        return self._solve(b) if method is None else self._solve_dense(b, method)

    @property
    def method(self) -> str:
        """How `solve` solves."""
        return self._method()

    def _method(self) -> str:
        return method_for(self.facts, self.shape)

    @property
    def is_structured(self) -> bool:
        """Whether `solve` needs no matrix of the whole map."""
        return self._is_structured()

    @property
    def is_easy(self) -> bool:
        """Whether other maps may solve by way of this one: it is structured, and for all that is known invertible.

        A plain map that has no inverse, or may have none, is not: A + B may be invertible when A is not.
        """
        if not self.is_structured or "zero" in self.facts:
            return False
        return "invertible" in self.facts or any(isinstance(leaf, Tracer) for leaf in tree.leaves(self))

    def _is_structured(self) -> bool:
        return self.is_square and bool(self.facts & {"orthonormal", "diagonal"})

    def _solve(self, b: Any) -> Any:
        if "diagonal" in self.facts:
            return self.domain.unravel(self.range.ravel(b) / self.diagonal())
        if "orthonormal" in self.facts and self.is_square:
            return self._apply_adjoint(b)
        return self._solve_dense(b, None)

    def _solve_columns(self, columns: Value) -> Value:
        """The solutions for every column of a matrix (in the order of `ravel`)."""
        if not self.is_structured:
            return solve_dense(self._to_dense(), columns, self.facts)
        return self.domain.ravel_columns(vmap(self._solve)(self.range.unravel_columns(columns)))

    def _solve_dense(self, b: Any, method: str | None) -> Any:
        return self.domain.unravel(solve_dense(self.to_dense(), self.range.ravel(b), self.facts, method))

    # looking

    @user_facing
    def to_dense(self) -> Value:
        """The matrix, of shape `shape`, with the leaves of both spaces in the order of `ravel`."""
        self._check_matrix()
        return self._to_dense()

    def _check_matrix(self) -> None:
        check_single(self)
        if self.domain.dtype.kind == "c" and self.range.dtype.kind != "c":
            raise DtypeError(
                f"{self._label()} takes complex elements to real ones: it is linear over the real numbers alone, and "
                "has no matrix. Write the domain as pairs of real and imaginary parts."
            )

    def _to_dense(self) -> Value:
        rows, columns = self.shape
        if rows == 0 or columns == 0:
            return np.zeros(self.shape, self.dtype)
        if rows < columns and self.domain.dtype.kind == self.range.dtype.kind:
            back = self.adjoint
            return adjoint_matrix(back.range.ravel_columns(vmap(back._apply)(back.domain.basis())))
        return self._apply_columns(np.eye(columns, dtype=self.domain.dtype))

    def diagonal(self) -> Value:
        """The diagonal of the matrix."""
        check_single(self)
        if "diagonal" in self.facts:  # its product with a vector of ones
            return self.range.ravel(self._apply(self.domain.unravel(np.ones(self.domain.size, self.domain.dtype))))
        return np.diagonal(self._to_dense())

    def trace(self) -> Value:
        """The sum of the diagonal."""
        return np.sum(self.diagonal())

    def as_scipy(self) -> Any:
        """The map as a scipy.sparse.linalg.LinearOperator, on vectors."""
        import scipy.sparse.linalg

        self._check_matrix()
        operator: Any = scipy.sparse.linalg.LinearOperator
        map_ = self
        if len({t.dtype.kind for t in (*self.domain.types, *self.range.types)}) > 1:
            map_ = OPERATIONS["complexify"](self)
        back = map_.adjoint
        return operator(
            self.shape,
            matvec=lambda v: _flat_product(map_, np.reshape(v, (-1,))),
            rmatvec=lambda v: _flat_product(back, np.reshape(v, (-1,))),
            matmat=lambda v: _columns_product(map_, v),
            rmatmat=lambda v: _columns_product(back, v),
            dtype=self.dtype,
        )

    def _claiming(self: M, claims: Facts) -> M:
        return dataclasses.replace(self, claims=self.claims | claims) if claims - self.facts else self

    def __getstate__(self) -> dict[str, Any]:
        """What was computed from the fields is computed again."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def _label(self) -> str:
        """What it is, in a word or two."""
        return type(self).__name__

    def __repr__(self) -> str:
        return describe_map(self)

    def _repr_html_(self) -> str:
        return html(self)


def _is_widening(space: Space, values: Value) -> bool:
    """Whether complex values meet a space of real ones."""
    return values.dtype.kind == "c" and space.dtype.kind != "c"


def _flat_product(a: LinearMap, v: Value) -> Value:
    """A v for a vector, which may be complex when A is real."""
    if _is_widening(a.domain, v):
        return _flat_product(a, np.real(v)) + 1j * _flat_product(a, np.imag(v))
    return a.range.ravel(a._apply(a.domain.unravel(v)))


def _columns_product(a: LinearMap, columns: Value) -> Value:
    """A on every column of a matrix, which may be complex when A is real."""
    if _is_widening(a.domain, columns):
        return a._apply_columns(np.real(columns)) + 1j * a._apply_columns(np.imag(columns))
    return a._apply_columns(columns)


def _no_map(what: str, other: Any) -> Any:
    """Nothing, or an error that says how to make a map of an array or a number."""
    if what == "c * A":
        if hasattr(other, "dtype"):
            raise TypeError(f"{what}: c has shape {other.shape}; it must be one number. To scale each element: "
                            "linear.diagonal(c) @ A; to apply A: A @ x.")  # fmt: skip
    elif _is_number(other):
        raise TypeError(f"{what}: B is a number. For a multiple of the identity: c * linear.identity(A.domain).")
    elif hasattr(other, "dtype"):
        raise TypeError(f"{what}: B is an array of shape {other.shape}. Make it a map: linear.matrix(B).")
    return NotImplemented


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) or (hasattr(value, "dtype") and value.shape == ())
