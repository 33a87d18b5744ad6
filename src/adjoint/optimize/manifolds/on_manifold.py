"""Methods for all of ℝⁿ on a manifold: each step is one in the coordinates of the tangent space at the present point.

f̂(ξ) = f(retract(x, embed(x, ξ))) is an ordinary function, whose derivatives are exact; a step of the method on it, from
ξ = 0, leads to the next point, where the frame is a new one and what the method has learned keeps its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.implicit import conditions
from adjoint.linear.solvers.iteration import either, norm
from adjoint.optimize.composite.objective import Composite
from adjoint.optimize.iteration import as_code
from adjoint.optimize.manifolds.manifold import Manifold
from adjoint.optimize.problem import Problem, Unknowns
from adjoint.optimize.second_order.lbfgs import LBFGS
from adjoint.optimize.setting import Setting
from adjoint.program.types import ArrayType, Value

__all__ = ["OnManifold"]

# what a state says of the point in its own frame, and must be computed anew in the next one
AT_POINT = {"value", "gradient", "values", "vectors", "factors", "measure"}


class _State(NamedTuple):
    value: Value
    gradient: Value  # along the manifold, around it
    inner: Any  # the state of the method, in coordinates
    measure: Value
    code: Value


@final
@dataclass(frozen=True)
class OnManifold(Composite):
    """A method for ℝⁿ (gradient descent, conjugate gradients, BFGS, L-BFGS, trust region …) on a manifold.

    It has converged where every coordinate of the gradient along the manifold is at most `tol`. The solution is
    differentiated by the conditions that this gradient is zero, and that x stays on the manifold.

    ```python
    from adjoint.optimize import manifolds
    A = np.diag([3.0, 1.0, 2.0])
    method = ad.optimize.OnManifold(manifolds.stiefel(), ad.optimize.TrustRegion())
    found = ad.optimize.minimize(lambda X: np.trace(X.T @ A @ X), np.eye(3)[:, [0, 2]] + 0.1, method=method)
    float(np.round(found.fun, 9)), found.status  # → (3.0, 'converged')
    ```
    """

    manifold: Any
    method: Any = field(default_factory=LBFGS)
    linear = "least squares"  # where x stands for a class of points, nothing determines which of them it is

    def __post_init__(self) -> None:
        if not isinstance(self.manifold, Manifold):
            raise TypeError(f"OnManifold: {self.manifold!r} is no manifold; they are made by optimize.manifolds.")
        if isinstance(self.method, str) or not hasattr(self.method, "step"):
            raise TypeError(f"OnManifold: method is {self.method!r}; it is an object such as optimize.LBFGS().")

    @property
    def needs(self) -> tuple[str, ...]:
        """The oracles of the method."""
        return self.method.needs

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """As the method does."""
        return True

    def start(self, problem: Problem, v: Value) -> Value:
        """On the manifold."""
        return problem.unknowns.flat(self.manifold.project(problem.tree(v)))

    def _lift(self, problem: Problem, x: Value) -> tuple[Problem, Callable[[Value], Value]]:
        """f in the coordinates at x, and the point at given coordinates."""
        point, the = problem.tree(x), self.manifold

        def at(coordinates: Value) -> Any:
            return the.retract(point, the.embed(point, coordinates))

        d = the.dimension(point)
        unknowns = Unknowns(tree.structure(np.zeros(d)), [ArrayType((d,), problem.dtype)])
        names = tuple(problem.counts)
        f = lambda coordinates: problem._checked(at(coordinates))  # pyright: ignore[reportPrivateUsage]
        lifted = Problem(problem.title, f, unknowns, problem.tol, names)
        lifted.counts = problem.counts
        return lifted, lambda coordinates: problem.unknowns.flat(at(coordinates))

    def _at(self, problem: Problem, x: Value, inner: Any) -> _State:
        point = problem.tree(x)
        around = problem.unknowns.flat(self.manifold.embed(point, inner.gradient))
        return _State(inner.value, around, inner, np.max(np.abs(inner.gradient)), as_code(inner.code))

    def init(self, problem: Problem, x: Value) -> _State:
        """The method's own start, in coordinates."""
        lifted, _ = self._lift(problem, x)
        inner = self.method.init(lifted, 0.0 * np.zeros(lifted.size) + 0 * x[0])
        problem.counts = lifted.counts
        return self._at(problem, x, inner)

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step of the method, and the frame at its end."""
        lifted, point_at = self._lift(problem, x)
        zero = np.zeros(lifted.size) + 0 * x[0]
        moved, inner = self.method.step(lifted, zero, state.inner)
        problem.counts = lifted.counts
        x = point_at(moved)
        lifted, _ = self._lift(problem, x)
        fresh = self.method.init(lifted, zero)
        problem.counts = lifted.counts
        learned = {name: getattr(inner, name) for name in fresh._fields if name not in AT_POINT}
        if "direction" in learned:  # the frame turns with the point: what fell need not fall in the new one
            d, g = learned["direction"], fresh.gradient
            falls = np.vdot(g, d) < -1e-10 * norm(g) * norm(d)
            learned["direction"] = either(falls, d, fresh.direction)
            learned["fresh"] = np.logical_or(np.logical_not(falls), learned["fresh"])
        return x, self._at(problem, x, fresh._replace(**learned))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """As the method judges its own state."""
        lifted, _ = self._lift(problem, x)
        code = self.method.done(lifted, np.zeros(lifted.size) + 0 * x[0], state.inner)
        problem.counts = lifted.counts
        return code

    def conditions(self, setting: Setting) -> Callable[..., Any]:
        """The gradient along the manifold, plus how far x is from it."""
        gradient = conditions.stationary(setting.function) if setting.gradient is None else setting.gradient
        unknowns = setting.unknowns

        def F(x: Any, known: Any, *theta: Any) -> Value:
            on = self.manifold.project(x)
            along = self.manifold.tangent_part(on, gradient(on, known[0], *theta))
            return unknowns.flat(along) + unknowns.flat(x) - unknowns.flat(on)

        return F

    def evaluate_total(self, setting: Setting) -> Callable[..., Any]:
        """f."""
        return setting.function
