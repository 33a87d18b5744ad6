"""Sets made of others: their intersection, and one for each leaf of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.implicit.roots import root
from adjoint.linear.solvers.iteration import both, loop
from adjoint.optimize.sets.set import Set, face
from adjoint.program.types import Value

__all__ = ["Product", "intersection", "product"]

ROUNDS = 20000


@final
@dataclass(frozen=True, eq=False)
class Intersection(Set):
    """Points of all sets, by Dykstra's method: x = y - Σ pᵢ with x = Pᵢ(x + pᵢ) for all i."""

    parts: tuple[Set, ...]
    name: ClassVar[str] = "intersection"

    def _project(self, x: Value) -> Value:

        def solve(y: Value) -> Value:
            return _dykstra(self.parts, y)

        def equations(corrections: Value, y: Value) -> Value:
            p = y - np.sum(corrections, 0)
            found = [p - part._project(p + corrections[i]) for i, part in enumerate(self.parts)]  # pyright: ignore[reportPrivateUsage]
            return np.stack(found)

        corrections = root(equations, solve, linear="least squares", check="ignore")(x)

        return x - np.sum(corrections, 0)

    def _exists(self, x: Value) -> Any:
        answer: Any = True
        for part in self.parts:
            answer = both(answer, np.all(part._exists(x)))  # pyright: ignore[reportPrivateUsage]
        return answer

    def contains(self, x: Any, tol: float | None = None) -> Any:
        """Whether x lies in all of them."""
        answer = self.parts[0].contains(x, tol)
        for part in self.parts[1:]:
            answer = both(answer, part.contains(x, tol))
        return answer


def _dykstra(parts: tuple[Set, ...], y: Value) -> Value:
    eps = float(np.finfo(y.dtype).eps)
    size = 1.0 + np.max(np.abs(y))

    def step(now: Any) -> Any:
        x, corrections, _, count = now
        new: list[Value] = []
        moved = 0.0 * size
        for i, part in enumerate(parts):
            before = x + corrections[i]
            after = part._project(before)  # pyright: ignore[reportPrivateUsage]
            new.append(before - after)
            moved = np.maximum(moved, np.max(np.abs(after - x)))
            x = after
        return x, np.stack(new), moved, count + 1

    goes_on = lambda now: both(now[2] > 10 * eps * size, now[3] < ROUNDS)
    start = (y, np.zeros((len(parts), *y.shape), y.dtype) + 0 * y, np.inf * size, np.int64(0))
    x, corrections, moved, _ = loop(goes_on, step, start)
    # sets that do not meet leave two of them apart for ever
    apart = moved > max(1e-6, 100 * eps) * size
    return np.where(apart, np.nan, corrections + 0 * x)


@final
@dataclass(frozen=True, eq=False)
class Product(Set):
    """A set for each leaf of a tree; None is free."""

    parts: Any
    name: ClassVar[str] = "product"

    def _map(self, what: str, x: Any, *rest: Any) -> Any:
        """what(x) of the set of each part of x."""
        if isinstance(self.parts, dict):
            if not isinstance(x, dict):
                raise TreeError(f"sets.product: x is a {type(x).__name__}, and the sets stand in a dictionary.")
            unknown = sorted(map(str, set(self.parts) - set(x)))
            if unknown:
                raise TreeError(f"sets.product: there is a set for {', '.join(unknown)}, and x has no such key.")
            pieces = {key: (self.parts.get(key), leaf) for key, leaf in x.items()}
            return {key: _apply(part, what, leaf, *rest) for key, (part, leaf) in pieces.items()}
        if not isinstance(x, tuple | list) or len(x) != len(self.parts):
            raise TreeError(f"sets.product: x is a {type(x).__name__}, and there are {len(self.parts)} sets in a row.")
        found = [_apply(part, what, leaf, *rest) for part, leaf in zip(self.parts, x, strict=True)]
        return type(x)(found) if not hasattr(x, "_fields") else type(x)(*found)

    def project(self, x: Any) -> Any:
        """Each part in its set."""
        return self._map("project", x)

    def lmo(self, u: Any) -> Any:
        """Each part at its best."""
        return self._map("lmo", u)

    def support(self, u: Any) -> Value:
        """The sum over all parts."""
        found = self._map("support", u)
        total: Any = 0.0
        for leaf in tree.leaves(found):
            total = total + leaf
        return total

    def contains(self, x: Any, tol: float | None = None) -> Any:
        """Whether each part lies in its set."""
        answer: Any = True
        for leaf in tree.leaves(self._map("contains", x, tol)):
            answer = both(answer, leaf)
        return answer

    def bregman_project(self, x: Any, potential: str = "entropy") -> Any:
        """Each part in its set, by divergence."""
        return self._map("bregman_project", x, potential)

    def project_tree(self, x: Any) -> Any:
        """Each part in its set."""
        return self.project(x)


def _apply(part: Set | None, what: str, x: Any, *rest: Any) -> Any:
    if part is None:
        if what == "support":
            return tree.map(lambda leaf: np.where(np.all(face(leaf) == 0), 0.0, np.inf), x)
        return tree.map(lambda leaf: True if what == "contains" else leaf, x)
    if isinstance(part, Product) or hasattr(x, "dtype") or np.isscalar(x):
        return getattr(part, what)(x, *rest)
    vector, unravel = tree.ravel(x)
    found = getattr(part, what)(vector, *rest)
    return found if what in {"support", "contains"} else unravel(found)


def intersection(*parts: Set) -> Intersection:
    """Points that lie in all of the sets. The nearest one is found by Dykstra's method, so it takes a while.

    Where no point lies in all of them the projection is NaN.

    ```python
    from adjoint.optimize import sets
    both = sets.intersection(sets.box(0.0, 1.0), sets.hyperplane(np.ones(2), 1.5))
    np.round(both.project(np.array([2.0, 0.0])), 9)  # → [1.0, 0.5]
    ```
    """
    for part in parts:
        if not isinstance(part, Set) or isinstance(part, Product):
            raise TypeError(f"sets.intersection: {part!r} is no set of arrays; they are made by optimize.sets.")
        if not part.convex:
            raise ValueError(f"sets.intersection: sets.{part.name} is not convex here, and Dykstra's method finds the "
                             "nearest point of convex sets only.")  # fmt: skip
    if not parts:
        raise ValueError("sets.intersection: there are no sets in it. sets.free() is the set of all points.")
    return Intersection(tuple(parts))


def product(parts: Any) -> Product:
    """A set for each part of a tree: a dictionary, tuple or list of sets; None, or no entry, leaves a part free.

    ```python
    from adjoint.optimize import sets
    both = sets.product({"weights": sets.simplex(), "scale": sets.nonnegative()})
    both.project({"weights": np.array([1.0, 1.0]), "scale": -2.0})  # → {'weights': [0.5, 0.5], 'scale': 0.0}
    ```
    """
    if not isinstance(parts, dict | tuple | list):
        raise TypeError(f"sets.product: it takes a dictionary, a tuple or a list of sets; got {type(parts).__name__}.")
    for part in parts.values() if isinstance(parts, dict) else parts:
        if part is not None and not isinstance(part, Set):
            raise TypeError(f"sets.product: {part!r} is no set; they are made by optimize.sets.")
    return Product(parts)
