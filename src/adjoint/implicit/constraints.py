"""What a minimizer is subject to: a set by its projection, a term by its proximal operator, or constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.conversion.driver import prepare

__all__ = ["Constraints", "Projected", "Proximal", "lagrangian"]

Function = Callable[..., Any]


@final
@dataclass(frozen=True)
class Projected:
    """x lies in the set that `projection(y)`, or `projection(y, *θ)`, projects onto; `step` is any η > 0.

    ```python
    box = ad.implicit.Projected(lambda y: np.clip(y, 0.0, 1.0))
    x = ad.implicit.argmin(lambda x, a: np.sum((x - a) ** 2), x0=np.zeros(2), subject_to=box)
    x(np.array([0.3, 5.0]))  # → [0.3, 1.0]
    ```
    """

    projection: Function
    step: float = 0.1


@final
@dataclass(frozen=True)
class Proximal:
    """f + g is minimized, where `prox(y, η)`, or `prox(y, η, *θ)`, is the proximal operator of ηg; any `step` η > 0.

    ```python
    soft = lambda y, step, a: np.sign(y) * np.maximum(np.abs(y) - step * a, 0.0)
    x = ad.implicit.argmin(lambda x, a: 0.5 * (x - 3.0) ** 2, x0=0.0, subject_to=ad.implicit.Proximal(soft))
    x(1.0), ad.grad(x)(1.0)  # → (2.0, -1.0)
    ```
    """

    prox: Function
    step: float = 0.1


@final
@dataclass(frozen=True)
class Constraints:
    """h(x, *θ) = 0, g(x, *θ) ≤ 0, bounds (lower, upper) on x, and G(x, *θ) in a cone that a projection tells.

    Bounds are numbers, arrays or trees like x; an infinite one is none, and so is None. Elements whose bounds are equal
    are fixed: the multipliers of equalities are then {"given", "fixed"}. `cone` is (G, projection).

    ```python
    rules = ad.implicit.Constraints(equality=lambda x, a: np.sum(x) - a, bounds=(0.0, None))
    rules.at(np.array([1.0, 2.0]), 2.5)["equality"]  # → 0.5
    ```
    """

    equality: Function | None = None
    inequality: Function | None = None
    bounds: tuple[Any, Any] | None = None
    cone: tuple[Function, Function] | None = None

    def at(self, x: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The values of all constraints at x: {"equality", "inequality" (bounds among them), "cone"}."""
        inequality: dict[str, Any] = {}
        equality = None if self.equality is None else prepare(self.equality)(x, *args, **kwargs)
        if self.inequality is not None:
            inequality["given"] = prepare(self.inequality)(x, *args, **kwargs)
        if self.bounds is not None:
            lower, upper = self.bounds
            fixed = _find_fixed(x, lower, upper)
            if any(np.any(f) for f in fixed):
                free = [~f for f in fixed]
                equality = {"given": equality, "fixed": _measure_bounds(x, lower, 1.0, fixed)}
            else:
                free = [np.ones(np.shape(f), bool) for f in fixed]
            if lower is not None:
                inequality["lower"] = _measure_bounds(x, lower, -1.0, free)
            if upper is not None:
                inequality["upper"] = _measure_bounds(x, upper, 1.0, free)
        return {
            "equality": equality,
            "inequality": inequality or None,
            "cone": None if self.cone is None else self.cone[0](x, *args, **kwargs),
        }


def _spread(x: Any, bound: Any) -> list[Any]:
    """A bound for each element of each leaf of x; none is infinite."""
    leaves, structure = tree.flatten(x)
    each = [bound] * len(leaves) if np.isscalar(bound) else tree.leaves_like("bounds", structure, bound)
    return [np.broadcast_to(np.asarray(limit, float), np.shape(leaf)) for leaf, limit in zip(leaves, each, strict=True)]


def _find_fixed(x: Any, lower: Any, upper: Any) -> list[Any]:
    """Where the bounds of an element are equal; refused where the lower one is above the upper one."""
    if lower is None or upper is None:
        return [np.zeros(np.shape(leaf), bool) for leaf in tree.leaves(x)]
    found: list[Any] = []
    paths = tree.structure(x).paths()
    for low, high, path in zip(_spread(x, lower), _spread(x, upper), paths, strict=True):
        if np.any(low > high):
            raise ValueError(f"Constraints: the lower bound is above the upper one at x{path}; nothing lies between.")
        found.append(np.asarray(low == high))
    return found


def _measure_bounds(x: Any, bound: Any, sign: float, chosen: Sequence[Any]) -> Any:
    """sign (x - bound) where the bound is finite and chosen, leaf by leaf, as vectors."""
    leaves, structure = tree.flatten(x)
    found: list[Any] = []
    for leaf, limits, wanted in zip(leaves, _spread(x, bound), chosen, strict=True):
        finite = np.flatnonzero(np.isfinite(limits) & wanted)
        found.append(sign * (np.reshape(leaf, (-1,))[finite] - limits.reshape(-1)[finite]))
    return tree.unflatten(structure, found)


def lagrangian(f: Function, constraints: Constraints, x: Any, z: Any, args: Any, kwargs: Any) -> Any:
    """f + ⟨ν, h⟩ + ⟨μ, g⟩ - ⟨y, G⟩."""
    found = constraints.at(x, *args, **kwargs)
    total = f(x, *args, **kwargs)
    for name, sign in (("equality", 1.0), ("inequality", 1.0), ("cone", -1.0)):
        for multiplier, value in zip(tree.leaves(z[name]), tree.leaves(found[name]), strict=True):
            total = total + sign * np.sum(multiplier * value)
    return total
