"""A problem as methods see it: a function of one vector of real numbers, with its oracles, bounds and tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, jvp, value_and_grad
from adjoint.api.jacobians import jacfwd
from adjoint.base.errors import DtypeError, RuleError, ShapeError, TreeError
from adjoint.base.loading import deferred
from adjoint.implicit.vectors import dtype_of, named_element, path_in_x, to_arrays, to_vector
from adjoint.linear.solvers.iteration import TRACED, both
from adjoint.optimize.oracles import Counter
from adjoint.program.types import ArrayType, Value, type_of

if TYPE_CHECKING:
    from adjoint.sparse.derivatives import hessian as sparse_hessian
else:
    sparse_hessian = deferred("adjoint.sparse.derivatives", "hessian")

__all__ = ["COMPILED", "Problem", "Unknowns", "read_unknowns"]

COMPILED = 100_000  # numbers in the products of a sparse derivative from which on they are compiled


@final
class Unknowns:
    """The tree that x is, and the vector of real numbers that methods work on: x = tree(scale · v)."""

    def __init__(self, structure: Any, types: Sequence[ArrayType], scale: Any = None) -> None:
        self.structure, self.types = structure, list(types)
        self.dtype = dtype_of(self.types)
        self.scale = scale
        # x is the vector itself
        self._is_plain = len(self.types) == 1 and len(structure.nodes) == 1 and self.types[0].ndim == 1
        self._is_plain = self._is_plain and self.types[0].dtype == self.dtype

    def vector(self, x: Any) -> Value:
        """The vector of a tree."""
        v = self.flat(x)
        return v if self.scale is None else v / self.scale

    def flat(self, x: Any) -> Value:
        """All numbers of a tree like x, without the scale."""
        return to_vector(tree.leaves(x), self.types)

    def tree(self, v: Value) -> Any:
        """The tree of a vector."""
        v = v if self.scale is None else v * self.scale
        if self._is_plain and type(v) is np.ndarray:
            return v[:]
        return tree.unflatten(self.structure, to_arrays(v, self.types))

    def cotangent(self, g: Any) -> Value:
        """The gradient along v, from the one along x."""
        flat = g if self._is_plain and type(g) is np.ndarray and g.dtype == self.dtype else self.flat(g)
        return flat if self.scale is None else flat * self.scale

    def name(self, number: int) -> str:
        """Where an element of the vector stands in x."""
        return named_element(number, self.types, self.structure.paths())

    @property
    def size(self) -> int:
        return sum(t.size * (2 if t.dtype.kind == "c" else 1) for t in self.types)


def read_unknowns(title: str, x0: Any, free: Sequence[bool] | None = None) -> tuple[Any, Unknowns]:
    """x0 with floating-point leaves, and how it is a vector; leaves that are not free may be anything."""
    leaves, structure = tree.flatten(x0)
    if not leaves or not sum(np.size(leaf) if not isinstance(leaf, TRACED) else leaf.size for leaf in leaves):
        raise TreeError(f"{title}: x0 has no numbers in it; it is where the search starts, like x.")
    found: list[Any] = []
    unknown = [True] * len(leaves) if free is None else free
    for leaf, path, is_free in zip(leaves, structure.paths(), unknown, strict=True):
        if not is_free:
            found.append(leaf)
            continue
        value = leaf if isinstance(leaf, TRACED) else np.asarray(float(leaf) if isinstance(leaf, int) else leaf)[()]
        if isinstance(leaf, bool) or value.dtype.kind not in "fc":
            where = "x0" + path_in_x(path)[1:]
            raise DtypeError(
                f"{title}: {where} is {type_of(value)}; unknowns are floating-point numbers. Write x0.astype(float)."
            )
        found.append(value)
    types = [ArrayType(t.shape, t.dtype) for t in (type_of(v if hasattr(v, "dtype") else np.asarray(v)) for v in found)]
    return tree.unflatten(structure, found), Unknowns(structure, types)


@final
class Problem(Counter):
    """f over vectors, with counted oracles: `value`, `value_and_gradient`, `gradient`, `hvp`, `hessian`."""

    def __init__(
        self,
        title: str,
        f: Callable[[Any], Any],
        unknowns: Unknowns,
        tol: Any,
        names: tuple[str, ...] = ("value", "gradient", "hvp", "hessian", "solve"),
        lower: Value | None = None,
        upper: Value | None = None,
        gradient: Callable[[Any], Any] | None = None,
        reject: tuple[type[BaseException], ...] = (),
        curvature: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(names)
        self.title, self.unknowns, self.tol = title, unknowns, tol
        self.dtype, self.size = unknowns.dtype, unknowns.size
        self.eps = float(np.finfo(unknowns.dtype).eps)
        self.lower, self.upper = lower, upper
        self.reject = reject
        self.note = ""  # what is known about a failure
        self.last: Any = None  # the last state of a plain loop, for whoever interrupts it
        self._f, self._own_gradient, self._curvature = f, gradient, curvature
        self._sparse: Any = None  # the Hessian with its coloring
        self._both = value_and_grad(self._checked)
        self._gradient = grad(self._checked)

    @property
    def has_own_gradient(self) -> bool:
        """Whether the gradient is one that the user gave."""
        return self._own_gradient is not None

    @property
    def bounded(self) -> bool:
        return self.lower is not None

    def tree(self, v: Value) -> Any:
        """x as the user sees it."""
        return self.unknowns.tree(v)

    def evaluations(self) -> Any:
        """How often the function was called so far."""
        return self.counts["value"]

    def _checked(self, x: Any) -> Any:
        """f(x), which must be one real number."""
        value = self._f(x)
        if isinstance(value, tuple):
            raise TreeError(f"{self.title}: the function returned a tuple of {len(value)}; it returns one number. With "
                            "has_aux=True it returns (number, anything).")  # fmt: skip
        found = value if isinstance(value, TRACED) else np.asarray(value)
        if not hasattr(found, "dtype") or found.dtype.kind not in "biufc":
            raise DtypeError(f"{self.title}: the function returned a {type(value).__name__}; it returns one number.")
        if found.dtype.kind == "b":
            raise DtypeError(f"{self.title}: the function returned a truth value; it returns one number. Conditions go "
                             "into subject_to=, or into np.where(…).")  # fmt: skip
        if found.dtype.kind == "c":
            raise DtypeError(f"{self.title}: the function returned a complex number; only real ones have a smallest. "
                             "Write np.real(…) or np.abs(…) ** 2.")  # fmt: skip
        if found.shape != ():
            raise ShapeError(f"{self.title}: the function returned an array of shape {found.shape}; it returns one "
                             "number. Write np.sum(…), or use least_squares for residuals.")  # fmt: skip
        return value

    def _number(self, value: Any) -> Any:
        if isinstance(value, TRACED):
            return value if value.dtype == self.dtype else value.astype(self.dtype)
        return self.dtype.type(value)

    def _guarded(self, run: Callable[[], Any], instead: Callable[[], Any]) -> Any:
        if not self.reject:
            return run()
        try:
            return run()
        except self.reject:
            return instead()

    def value(self, v: Value) -> Value:
        """f."""
        self.count("value")
        return self._guarded(lambda: self._number(self._checked(self.tree(v))), lambda: self.dtype.type(np.nan))

    def value_and_gradient(self, v: Value) -> tuple[Value, Value]:
        """f and ∇f."""
        self.count("value", "gradient")

        def run() -> tuple[Value, Value]:
            x = self.tree(v)
            if self._own_gradient is not None:
                return self._number(self._checked(x)), self._given(x)
            value, gradient = self._both(x)
            return self._number(value), self.unknowns.cotangent(gradient)

        return self._guarded(run, lambda: (self.dtype.type(np.nan), np.full(self.size, np.nan, self.dtype)))

    def gradient(self, v: Value) -> Value:
        """∇f."""
        self.count("gradient")
        return self._raw_gradient(v)

    def _raw_gradient(self, v: Value) -> Value:
        x = self.tree(v)
        return self._given(x) if self._own_gradient is not None else self.unknowns.cotangent(self._gradient(x))

    def _given(self, x: Any) -> Value:
        assert self._own_gradient is not None
        found = self._own_gradient(x)
        if found is None:
            raise TreeError(f"{self.title}: grad(x) returned nothing; it returns the gradient, a tree like x.")
        leaves = tree.leaves_like(f"{self.title}: grad", self.unknowns.structure, found)
        for leaf, kind, path in zip(leaves, self.unknowns.types, self.unknowns.structure.paths(), strict=True):
            if np.shape(leaf) != kind.shape:
                where = path_in_x(path)
                raise ShapeError(f"{self.title}: grad(x) has shape {np.shape(leaf)} at {where}, and {where} has "
                                 f"{kind.shape}.")  # fmt: skip
        return self.unknowns.cotangent(tree.unflatten(self.unknowns.structure, [np.asarray(v) for v in leaves]))

    def hvp(self, v: Value, u: Value) -> Value:
        """∇²f u, or the product with what stands for ∇²f."""
        self.count("hvp")
        return self._multiply(v, u) if self._curvature is not None else jvp(self._raw_gradient, (v,), (u,))[1]

    def _multiply(self, v: Value, u: Value) -> Value:
        assert self._curvature is not None
        product = self._curvature(self.tree(v), self.unknowns.tree(u))
        tree.leaves_like(f"{self.title}: curvature", self.unknowns.structure, product)
        return self.unknowns.cotangent(product)

    def hessian(self, v: Value) -> Value:
        """∇²f as a matrix."""
        self.count("hessian")
        if self._curvature is None:
            H = jacfwd(self._raw_gradient)(v)
        else:
            H = jacfwd(lambda u: self._multiply(v, u))(0 * v)
        return 0.5 * (H + H.T)

    def sparse_hessian(self, v: Value) -> Any:
        """∇²f as a sparse matrix, by coloring."""
        self.count("hessian")
        if self._curvature is not None:
            raise RuleError(f"{self.title}: a sparse Hessian is found from the function itself: leave curvature= out, "
                            "or use newton-cg, newton or trust-exact.")  # fmt: skip
        if self._sparse is None:
            f = lambda v: self._checked(self.tree(v))
            coloring = sparse_hessian(f).coloring(v)
            self._sparse = sparse_hessian(f, coloring=coloring, jit=self.size * len(coloring) > COMPILED)
        return self._sparse(v)

    def measure(self, v: Value, g: Value) -> Value:
        """‖∇f‖∞, and with bounds ‖v - P(v - ∇f)‖∞: how far v is from stationary."""
        if self.lower is not None:
            g = v - np.clip(v - g, self.lower, self.upper)
        return np.max(np.abs(g))

    def is_feasible(self, v: Value) -> Any:
        """Whether v obeys its bounds."""
        if self.lower is None:
            return True
        return both(np.all(v >= self.lower), np.all(v <= self.upper))

    def is_unbounded(self, value: Value) -> Any:
        """Whether a value is so small that the function falls without end."""
        return value < -1.0 / self.eps**2

    def project(self, v: Value) -> Value:
        """The nearest point within bounds."""
        return v if self.lower is None else np.clip(v, self.lower, self.upper)

    def require(self, name: str, method: object) -> None:
        """A method that needs an oracle that is not there is refused."""
        if name in {"hvp", "hessian"} and self._own_gradient is not None and self._curvature is None:
            raise RuleError(
                f"{self.title}: {type(method).__name__} needs the oracle {name!r}, and with grad= there are values and "
                "gradients only. Use bfgs, lbfgs or lbfgsb, or write the function with NumPy and leave grad= out."
            )

    def finite(self, value: Value, g: Value) -> Any:
        """Whether a value and a gradient are finite."""
        return both(np.isfinite(value), np.all(np.isfinite(g)))
