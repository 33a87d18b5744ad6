"""The linear equation behind the derivative of a solution: ∂ₓF t = b, and its adjoint.

∂ₓF is never formed where the unknowns are many: products with it are pushes and pulls of F, and the facts about it
choose the iteration. Few unknowns are solved directly, by one factorization that all right sides at a point share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.api.gradients import vmap
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.vectors import real_size, to_arrays, to_vector
from adjoint.linear.factorizations.factors import factored
from adjoint.linear.operators.dense import METHODS
from adjoint.linear.operators.derivative_maps import jacobian
from adjoint.linear.operators.facts import read
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.structures import matrix
from adjoint.linear.solvers.solution import Solution
from adjoint.linear.solvers.solving import ITERATIVE, solve
from adjoint.ops.implicit_solve import Equation, is_plain_array, is_same
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value

__all__ = ["DIRECT", "LinearizedEquation", "Stacked", "jacobian_map"]

DIRECT = 200  # so many unknowns, or fewer, are solved by factors of a matrix
_NAMES = ("auto", "direct", "least squares", *ITERATIVE, *METHODS)


def jacobian_map(residual: Program, theta: Sequence[Value], x: Sequence[Value], facts: Sequence[str] = ()) -> LinearMap:
    """∂ₓF at a point, as a map between vectors of real numbers."""
    n = len(theta)
    unknown, types = residual.input_types[n:], residual.output_types

    def F(vector: Value) -> Value:
        return to_vector(interpret(residual, [*theta, *to_arrays(vector, unknown)]), types)

    made = jacobian(F)(to_vector(x, unknown))
    return made._claiming(read(facts)) if facts else made  # pyright: ignore[reportPrivateUsage]


@final
@dataclass(frozen=True)
class LinearizedEquation:
    """∂ₓF t = b by the method that facts and sizes choose.

    `linear`: "auto", "direct", "least squares", the name of a method of `linear.solve`, or a function (A, b) ↦ t.
    """

    linear: str | Callable[[LinearMap, Value], Any]
    facts: tuple[str, ...]
    watch: Watch

    def __post_init__(self) -> None:
        read(self.facts)
        if isinstance(self.linear, str) and self.linear not in _NAMES:
            known = ", ".join(map(repr, _NAMES))
            raise ValueError(f"{self.watch.title}: linear={self.linear!r} is no method. They are: {known}.")

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        n = len(theta)
        unknown, types = residual.input_types[n:], residual.output_types
        source, target = (unknown, types) if adjoint else (types, unknown)
        memory = memory if _is_plain([*theta, *x]) else {}  # traced values belong to one running transformation
        right = to_vector(b, source)
        with np.errstate(all="ignore"):
            found = self._solved(self._map(residual, theta, x, memory), right, adjoint, real_size(unknown), memory)
            if self.watch.check != "ignore":
                self.watch.look(residual, theta, x, found, right, self._known(residual, theta, x, memory), adjoint)
        return to_arrays(found.value, target)

    def _map(self, residual: Program, theta: Sequence[Value], x: Sequence[Value], memory: dict[str, Any]) -> LinearMap:
        return _shared(memory, "map", [*theta, *x], lambda: jacobian_map(residual, theta, x, self.facts))

    def _known(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], memory: dict[str, Any]
    ) -> LinearMap:
        return memory["matrix"][1] if "matrix" in memory else self._map(residual, theta, x, memory)

    def _solved(self, A: LinearMap, b: Value, adjoint: bool, size: int, memory: dict[str, Any]) -> Solution:
        if callable(self.linear):
            found = self.linear(A.adjoint if adjoint else A, b)
            return found if isinstance(found, Solution) else _without_report(found, "given")
        method = self.linear
        if method == "auto":
            method = "direct" if size <= DIRECT else "auto"
        if method in ITERATIVE or method == "auto":
            return solve(A.adjoint if adjoint else A, b, method=method)
        # one matrix and one factorization for all right sides at this point
        dense = _shared(memory, "matrix", _parts(memory), lambda: matrix(A.to_dense()))
        if method == "least squares":
            array = dense.to_dense()
            return _without_report(_least_squares(array.T if adjoint else array, b), "least squares")
        if method not in {"direct", "lu"}:
            return solve(dense.adjoint if adjoint else dense, b, *self.facts, method=method)
        factors = _shared(memory, "factors", _parts(memory), lambda: factored(dense))
        return _without_report((factors.adjoint if adjoint else factors).solve(b), "lu")

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)


def _least_squares(a: Value, b: Value) -> Value:
    """The shortest t among those with the smallest ‖a t - b‖: what ∂ₓF does not determine stays at rest."""
    return np.linalg.pinv(a) @ b


def _without_report(value: Value, method: str) -> Solution:
    none = np.float64(0.0)
    return Solution(value, np.int64(0), np.int64(0), none, none, none, None, method)


def _parts(memory: dict[str, Any]) -> list[Value]:
    return memory["map"][0]


def _shared(memory: dict[str, Any], name: str, values: Sequence[Value], make: Callable[[], Any]) -> Any:
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
