"""What a user wrote, as a problem: unknowns and fixed leaves, bounds and scales as vectors, conditions of a minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import TraceError, TreeError
from adjoint.implicit import conditions
from adjoint.optimize.bounds import read_bounds
from adjoint.optimize.derivatives import attach_derivative, attach_envelope, attach_nothing
from adjoint.optimize.frozen import Split, split
from adjoint.optimize.iteration import Ending
from adjoint.optimize.optimum import Prices
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.problem import Problem, Unknowns, read_unknowns
from adjoint.optimize.statuses import INFEASIBLE
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Setting", "without_aux"]


@final
@dataclass(frozen=True)
class Setting:
    """A problem before θ is known."""

    title: str
    function: Callable[..., Any]  # of (unknowns, fixed leaves, *θ)
    gradient: Callable[..., Any] | None
    x0: Any  # the unknowns at the start
    fixed: Any
    parts: Split
    unknowns: Unknowns
    box: tuple[Value, Value] | None
    curvature: Callable[..., Any] | None = None  # of (unknowns, direction, fixed leaves, *θ)

    @classmethod
    def of(
        cls, title: str, f: Callable[..., Any], x0: Any, bounds: Any, scale: Any, frozen: Any, grad: Any, has_aux: bool,
        curvature: Callable[..., Any] | None = None,
    ) -> Setting:  # fmt: skip
        """From the arguments of the user."""
        if not callable(f):
            raise TypeError(f"{title}: the function is a {type(f).__name__}; it is called with x, then the arguments.")
        parts = split(title, x0, frozen)
        x0, whole = read_unknowns(title, x0, parts.free)
        sizes = None if scale is None else _scale(title, scale, whole)
        box = read_bounds(title, bounds, whole)
        unknowns = whole
        if parts.free is not None:
            kept = [t for t, free in zip(whole.types, parts.free, strict=True) if free]
            chosen = np.concatenate([np.full(t.size, free) for t, free in zip(whole.types, parts.free, strict=True)])
            unknowns = Unknowns(tree.structure(parts.part(x0)), kept)
            sizes = None if sizes is None else sizes[chosen]
            box = None if box is None else (box[0][chosen], box[1][chosen])
        if sizes is not None:
            unknowns = Unknowns(unknowns.structure, unknowns.types, sizes)
            box = None if box is None else (box[0] / sizes, box[1] / sizes)
        start, fixed = parts.part(x0), parts.fixed(x0)
        _check_start(title, start, unknowns, box)
        f = prepare_call(f)
        objective = without_aux(title, f) if has_aux else f
        given = None if grad is None else parts.of_gradient(grad)
        product = None if curvature is None else parts.of_product(curvature)
        return cls(title, parts.of_function(objective), given, start, fixed, parts, unknowns, box, product)

    @property
    def known(self) -> Any:
        """The fixed leaves and the bounds: what the conditions and the solver depend on beside θ."""
        return self.fixed, self.box

    def problem(self, known: Any, theta: Sequence[Any], tol: Any, reject: Any = ()) -> Problem:
        """The problem at θ."""
        gradient, (fixed, box, *_) = self.gradient, known
        derivative = None if gradient is None else lambda x: gradient(x, fixed, *theta)
        lower, upper = (None, None) if box is None else box
        product, curved = self.curvature, None
        if product is not None:
            curved = lambda x, u: product(x, u, fixed, *theta)
        return Problem(self.title, lambda x: self.function(x, fixed, *theta), self.unknowns, tol, lower=lower,
                       upper=upper, gradient=derivative, reject=reject, curvature=curved)  # fmt: skip

    def conditions(self) -> Callable[..., Any]:
        """F(x, known, *θ), zero at a minimum: ∇f, with bounds x - P(x - ∇f)."""
        gradient = self._gradient()
        if self.box is None:
            return lambda x, known, *theta: gradient(x, known[0], *theta)
        unknowns = self.unknowns

        def residual(x: Any, known: Any, *theta: Any) -> Any:
            fixed, (lower, upper), *_ = known
            v, g = unknowns.vector(x), unknowns.cotangent(gradient(x, fixed, *theta))
            return v - np.minimum(np.maximum(v - g, lower), upper)

        return residual

    def _gradient(self) -> Callable[..., Any]:
        """∇f of (unknowns, fixed leaves, *θ)."""
        return conditions.stationary(self.function) if self.gradient is None else self.gradient

    def attach_value(self, x: Any, fun: Any, args: Sequence[Any]) -> Any:
        """fun with the derivative of the envelope theorem; bounds that depend on θ move it by their prices.

        f(x, θ) + ⟨∇f, b(θ)⟩ at the bounds b that hold has the derivative of the value. A function that cannot be
        traced, for which the user gave the gradient, tells nothing of θ: its derivative is NaN.
        """
        if self.box is None or not any(isinstance(side, TRACED) for side in self.box):
            whole = (self.fixed, *args)
            return self.attach_known(lambda: attach_envelope(self.function, x, fun, whole), x, fun, args)
        v, g = self.unknowns.vector(x), self.unknowns.cotangent(self._gradient()(x, self.fixed, *args))
        lower, upper = self.box
        above, below = v - g >= upper, v - g <= lower

        def valued(point: Any, box: Any, fixed: Any, *theta: Any) -> Any:
            bound = np.where(above, box[1], np.where(below, box[0], 0.0))
            return self.function(point[0], fixed, *theta) + np.sum(point[1] * bound)

        prices = np.where(np.logical_or(above, below), g, 0.0)
        whole = (self.box, self.fixed, *args)
        return self.attach_known(lambda: attach_envelope(valued, (x, prices), fun, whole), x, fun, whole)

    def attach_known(self, attach: Callable[[], Any], x: Any, fun: Any, args: Sequence[Any]) -> Any:
        """What attaches a derivative to fun by tracing f; NaN where that cannot be done, the gradient being given."""
        try:
            return attach()
        except (TraceError, TypeError, ValueError):
            if self.gradient is None:
                raise
            return attach_nothing(fun, (x, tuple(args)))

    def attach_gradient(self, x: Any, gradient: Any, args: Sequence[Any]) -> Any:
        """∇f with its derivative, where something holds x: it is the price of that."""
        return attach_derivative(self._gradient(), gradient, (x, self.fixed, *args))

    def price_bounds(self, active: Any, gradient: Any) -> Prices | None:
        """The multipliers of bounds: ∇f where one holds x back."""
        if self.box is None:
            return None
        g, none = self.unknowns.flat(gradient), np.zeros(0, self.unknowns.dtype)
        at = np.concatenate([np.reshape(leaf, (-1,)) for leaf in tree.leaves(active)])
        both = self.box[0] == self.box[1]
        below, above = np.logical_or(at < 0, both), np.logical_or(at > 0, both)
        return Prices(none, none, np.where(below & (g > 0), g, 0.0), np.where(above & (g < 0), -g, 0.0))

    def read_gradient(self, g: Value) -> Any:
        """The gradient along x, in the structure of x, from the one along v."""
        scale = self.unknowns.scale
        return self.unknowns.tree(g if scale is None else g / (scale * scale))

    def reported(self, ending: Ending, counts: dict[str, Any], known: Any) -> tuple[Any, dict[str, Any]]:
        """x and what is told beside it, as trees like x0."""
        unknowns = self.unknowns
        active, code = None, ending.code
        if self.box is not None:
            lower, upper = known[1]
            if any(isinstance(side, TRACED) for side in self.box):  # plain ones that cross are refused
                code = np.where(np.any(lower > upper), INFEASIBLE, code).astype(np.int64)
            at = (ending.x >= upper).astype(np.int64) - (ending.x <= lower).astype(np.int64)
            shapes = Unknowns(unknowns.structure, unknowns.types)
            active = tree.map(lambda leaf: np.real(leaf).astype(np.int64), shapes.tree(at))
        return unknowns.tree(ending.x), {
            "fun": ending.value,
            "grad": self.read_gradient(ending.gradient),
            "code": code,
            "iterations": ending.iterations,
            "evaluations": counts,
            "residual": ending.residual,
            "active": active,
            "history": ending.history,
            "state": ending.state,
        }


def _scale(title: str, scale: Any, unknowns: Unknowns) -> Value:
    """Typical sizes as a vector, from a number or a tree like x."""
    leaves = [scale] * len(unknowns.types) if np.ndim(scale) == 0 and not isinstance(scale, dict | list | tuple) else (
        tree.leaves_like(f"{title}: scale", unknowns.structure, scale))  # fmt: skip
    if any(isinstance(leaf, TRACED) for leaf in leaves):
        raise TraceError(f"{title}: scale is traced; typical sizes are plain numbers, which have no derivative.")
    each = [np.broadcast_to(np.asarray(leaf, float), t.shape) for leaf, t in zip(leaves, unknowns.types, strict=True)]
    vector = np.concatenate([np.tile(s.ravel(), 2 if t.dtype.kind == "c" else 1)
                             for s, t in zip(each, unknowns.types, strict=True)])  # fmt: skip
    if not np.all(vector > 0) or not np.all(np.isfinite(vector)):
        raise ValueError(f"{title}: scale tells typical sizes of the unknowns, which are positive numbers.")
    return vector.astype(unknowns.dtype)


def _check_start(title: str, x0: Any, unknowns: Unknowns, box: tuple[Value, Value] | None) -> None:
    if box is None or any(isinstance(v, TRACED) for v in (*tree.leaves(x0), *box)):
        return
    v = unknowns.vector(x0)
    outside = np.flatnonzero((v < box[0]) | (v > box[1]))
    if len(outside):
        i = int(outside[0])
        size = 1.0 if unknowns.scale is None else unknowns.scale[i]
        raise ValueError(
            f"{title}: x0 is outside its bounds: {unknowns.name(i)} is {v[i] * size:g}, and lies not in "
            f"[{box[0][i] * size:g}, {box[1][i] * size:g}]. Start within, e.g. at np.clip(x0, lower, upper)."
        )


def without_aux(title: str, f: Callable[..., Any], what: str = "number") -> Callable[..., Any]:
    """The first of the two things that f returns."""

    def objective(*args: Any) -> Any:
        found = f(*args)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TreeError(f"{title}: has_aux=True, but the function did not return a pair ({what}, aux).")
        return found[0]

    return objective
