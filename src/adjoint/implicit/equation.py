"""The linear equation behind the derivative of a solution: ∂ₓF t = b, and its adjoint.

∂ₓF is never formed where the unknowns are many: products with it are pushes and pulls of F, and the facts about it
choose the iteration. Few unknowns are solved directly, by one factorization that all right sides at a point share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from adjoint.api.gradients import vmap
from adjoint.base.loading import deferred
from adjoint.implicit.diagnosis import LinearSolved, Watch
from adjoint.implicit.vectors import real_size, to_arrays, to_vector
from adjoint.jit.pipeline import run_program
from adjoint.linear.operators.facts import read
from adjoint.linear.solvers.solution import Solution
from adjoint.ops.control.call import run_with
from adjoint.ops.control.recorded import call_program
from adjoint.ops.implicit_solve import Equation, is_plain_array, is_same
from adjoint.program.program import Program
from adjoint.program.types import Value

if TYPE_CHECKING:
    from adjoint.implicit.sparse_equation import factor_sparse
    from adjoint.linear.operators.derivative_maps import jacobian
    from adjoint.linear.operators.maps import LinearMap
    from adjoint.linear.operators.structures import matrix
    from adjoint.linear.solvers.solving import is_iterative, name_methods, solve
    from adjoint.scipy.linalg import lu_factor, lu_solve
else:  # a solution whose derivative nobody asks for needs none of them
    factor_sparse = deferred("adjoint.implicit.sparse_equation", "factor_sparse")
    jacobian = deferred("adjoint.linear.operators.derivative_maps", "jacobian")
    matrix = deferred("adjoint.linear.operators.structures", "matrix")
    is_iterative = deferred("adjoint.linear.solvers.solving", "is_iterative")
    name_methods = deferred("adjoint.linear.solvers.solving", "name_methods")
    solve = deferred("adjoint.linear.solvers.solving", "solve")
    lu_factor = deferred("adjoint.scipy.linalg", "lu_factor")
    lu_solve = deferred("adjoint.scipy.linalg", "lu_solve")

__all__ = ["DIRECT", "LinearizedEquation", "Stacked", "factor_or_nan", "jacobian_map"]

run_with(run_program)  # programs that are called run compiled, also where nothing else has loaded the compiler
DIRECT = 200  # so many unknowns, or fewer, are solved by factors of a matrix
_OWN = ("auto", "direct", "sparse", "least squares")


def jacobian_map(residual: Program, theta: Sequence[Value], x: Sequence[Value], facts: Sequence[str] = ()) -> LinearMap:
    """∂ₓF at a point, as a map between vectors of real numbers."""
    n = len(theta)
    unknown, types = residual.input_types[n:], residual.output_types

    def F(vector: Value) -> Value:
        return to_vector(call_program(residual, [*theta, *to_arrays(vector, unknown)]), types)

    made = jacobian(F)(to_vector(x, unknown))
    return made._claiming(read(facts)) if facts else made  # pyright: ignore[reportPrivateUsage]


@final
@dataclass(frozen=True)
class LinearizedEquation:
    """∂ₓF t = b by the method that facts and sizes choose.

    `linear`: "auto", "direct", "sparse", "least squares", the name of a method of `linear.solve`, or a function
    (A, b) ↦ t.
    """

    linear: str | Callable[[LinearMap, Value], Any]
    facts: tuple[str, ...]
    watch: Watch

    def __post_init__(self) -> None:
        read(self.facts)
        if isinstance(self.linear, str) and self.linear not in _OWN and self.linear not in name_methods():
            known = ", ".join(map(repr, dict.fromkeys((*_OWN, *name_methods()))))
            raise ValueError(f"{self.watch.title}: linear={self.linear!r} is no method. They are: {known}.")

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        n = len(theta)
        unknown, types = residual.input_types[n:], residual.output_types
        source, target = (unknown, types) if adjoint else (types, unknown)
        if all(is_plain_array(part) and not np.any(part) for part in b):  # nothing is asked, of a singular one either
            if self.watch.check != "ignore":
                with np.errstate(all="ignore"):
                    self.watch.check_solved(residual, theta, x, jacobian_map(residual, theta, x, self.facts))
            return [np.zeros(t.shape, t.dtype) for t in target]
        memory = memory if _is_plain([*theta, *x]) else {}  # traced values belong to one running transformation
        right = to_vector(b, source)
        with np.errstate(all="ignore"):
            A, found = self.solve_vector(residual, theta, x, right, adjoint, memory)
            t = found.value if self.watch.check == "ignore" else self.watch.look(residual, theta, x, A, right, found)
        return to_arrays(t, target)

    def solve_vector(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Value, adjoint: bool,
        memory: dict[str, Any],
    ) -> tuple[LinearMap, LinearSolved]:  # fmt: skip
        """∂ₓF, and t with ∂ₓF t = b as vectors, with what is known of how it was found."""
        A = _share(memory, "map", [*theta, *x], lambda: jacobian_map(residual, theta, x, self.facts))
        if self.linear == "sparse":
            factors = _share(memory, "factors", memory["map"][0], lambda: factor_sparse(residual, theta, x))
            return A, LinearSolved(factors.solve(b, "T" if adjoint else "N"), np.int64(0), "sparse")
        return A, self._solve_by(A, b, adjoint, real_size(residual.input_types[len(theta) :]), memory)

    def _solve_by(self, A: LinearMap, b: Value, adjoint: bool, size: int, memory: dict[str, Any]) -> LinearSolved:
        if callable(self.linear):
            found = self.linear(A.adjoint if adjoint else A, b)
            return _read(found) if isinstance(found, Solution) else LinearSolved(found, np.int64(0), "given")
        method = "direct" if self.linear == "auto" and size <= DIRECT else self.linear
        if method not in {"direct", "lu", "least squares"} and (method == "auto" or is_iterative(method)):
            return _read(solve(A.adjoint if adjoint else A, b, method=method))
        # one matrix and one factorization for all right sides at this point
        dense = _share(memory, "matrix", memory["map"][0], lambda: _form_matrix(A))
        if method == "least squares":
            cutoff = max(dense.shape) * float(np.finfo(dense.dtype).eps)
            return LinearSolved(np.linalg.pinv(dense.T if adjoint else dense, cutoff) @ b, np.int64(0), method)
        if method not in {"direct", "lu"}:
            solution = solve(matrix(dense.T if adjoint else dense), b, *self.facts, method=method)
            return LinearSolved(solution.value, solution.code, method, dense)
        if size == 1:
            return LinearSolved(b / dense[0], np.int64(0), method, dense, dense[0])
        packed, order = _share(memory, "factors", memory["map"][0], lambda: factor_or_nan(dense))
        t = lu_solve((packed, order), b, trans=2 if adjoint else 0)
        return LinearSolved(t, np.int64(0), method, dense, np.diagonal(packed))

    def matrix_at(self, residual: Program, theta: Sequence[Value], x: Sequence[Value], memory: dict[str, Any]) -> Value:
        """∂ₓF as a matrix."""
        A = _share(memory, "map", [*theta, *x], lambda: jacobian_map(residual, theta, x, self.facts))
        return _share(memory, "matrix", memory["map"][0], lambda: _form_matrix(A))

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)

    def with_paths(self, paths: tuple[str, ...]) -> LinearizedEquation:
        """The same, which knows the names of the unknowns."""
        return replace(self, watch=replace(self.watch, paths=paths))


def _read(solution: Solution) -> LinearSolved:
    return LinearSolved(solution.value, solution.code, solution.method, iterations=solution.iterations)


def _form_matrix(A: LinearMap) -> Value:
    if A.domain.size != 1:
        return A.to_dense()
    return np.reshape(A(np.ones(1, A.domain.dtype)), (1, 1))


def factor_or_nan(a: Value) -> tuple[Value, Value]:
    """P a = L U. A pivot that is zero is NaN: what it leaves undetermined is NaN then, and nothing raises."""
    packed, order = lu_factor(a)
    pivots = np.diagonal(packed)
    return packed + np.diag(np.where(pivots == 0, np.nan, 0.0).astype(packed.dtype)), order


def _share(memory: dict[str, Any], name: str, values: Sequence[Value], make: Callable[[], Any]) -> Any:
    """What was made of these very values before, or is made now."""
    known = memory.get(name)
    if known is not None and is_same(known[0], values):
        return known[1]
    made = make()
    memory[name] = (list(values), made)
    return made


@final
@dataclass(frozen=True)
class Stacked:
    """An equation for each batch element."""

    inner: Equation
    residual: Program  # of one element
    mapped: tuple[bool, ...]  # which of (θ, x) are stacked
    size: int

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        n = len(theta)
        axes = tuple(0 if m else None for m in self.mapped)

        def one(theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value]) -> tuple[Value, ...]:
            return tuple(self.inner.solve(self.residual, theta, x, b, adjoint, {}))

        mapped: Any = vmap(one, in_axes=(axes[:n], axes[n:], 0))
        return list(mapped(tuple(theta), tuple(x), tuple(b)))

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)


def _is_plain(values: Sequence[Value]) -> bool:
    return all(map(is_plain_array, values))
