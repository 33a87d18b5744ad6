"""Polyhedra: the projection onto one is a quadratic program, and the largest linear function on it a linear one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.optimize.programs import quadratic  # as a module: programs over cones project onto sets
from adjoint.optimize.sets.set import Set, face, point, valid_where
from adjoint.optimize.statuses import UNBOUNDED
from adjoint.program.types import Value

__all__ = ["polyhedron"]


@final
@dataclass(frozen=True, eq=False)
class Polyhedron(Set):
    """G x ≤ h, and A x = b where there are equations."""

    G: Any
    h: Any
    A: Any = None
    b: Any = None
    name: ClassVar[str] = "polyhedron"
    axes: ClassVar[int | None] = 1

    def _check(self, x: Value) -> None:
        if x.shape[0] != self.G.shape[1]:
            raise ShapeError(f"sets.polyhedron: x has {x.shape[0]} numbers, and G {self.G.shape[1]} columns.")

    def _lmo(self, u: Value) -> Value:
        self._check(u)
        found = quadratic.lp(-face(u), G=self.G, h=self.h, A=self.A, b=self.b, check="ignore")
        return valid_where(found.converged, found.value)

    def _support(self, u: Value) -> Value:
        self._check(u)
        found = quadratic.lp(-face(u), G=self.G, h=self.h, A=self.A, b=self.b, check="ignore")
        endless = np.where(face(found.code) == UNBOUNDED, np.inf, np.nan)
        return np.where(found.converged, np.sum(u * np.where(found.converged, found.value, 0.0)), endless)

    def _project(self, x: Value) -> Value:
        self._check(x)
        found = quadratic.qp(np.eye(x.size, dtype=x.dtype), -x, G=self.G, h=self.h, A=self.A, b=self.b)
        return valid_where(found.converged, found.value)


def polyhedron(G: Any, h: Any, A: Any = None, b: Any = None) -> Polyhedron:
    """G x ≤ h and A x = b, by a quadratic program; where nothing lies in it the projection is NaN.

    ```python
    triangle = ad.optimize.sets.polyhedron(np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 1.0]))
    np.round(triangle.project(np.array([1.0, 0.5])), 6)  # → [0.75, 0.25]
    np.round(triangle.lmo(np.array([1.0, 0.5])), 6)  # → [1.0, 0.0]
    ```
    """
    G, h = point("sets.polyhedron: G", G, 2), point("sets.polyhedron: h", h, 1)
    if G.shape[0] != h.shape[0]:
        raise ShapeError(f"sets.polyhedron: G has {G.shape[0]} rows, and h {h.shape[0]} numbers.")
    if (A is None) != (b is None):
        raise TypeError(f"sets.polyhedron: {'b' if A is None else 'A'} is given without {'A' if A is None else 'b'}; "
                        "A x = b needs both.")  # fmt: skip
    if A is not None:
        A, b = point("sets.polyhedron: A", A, 2), point("sets.polyhedron: b", b, 1)
        if A.shape != (b.shape[0], G.shape[1]):
            raise ShapeError(f"sets.polyhedron: A has shape {A.shape}, b {b.shape} and G {G.shape}; A has a row for "
                             "each number of b, and a column for each of G.")  # fmt: skip
    return Polyhedron(G, h, A, b)
