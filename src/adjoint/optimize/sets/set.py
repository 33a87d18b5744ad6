"""What a set can do: project, maximize linear functions, tell whether a point lies in it.

    project(x) = argmin ‖p - x‖,      lmo(u) = argmax ⟨u, s⟩,      support(u) = max ⟨u, s⟩      over p, s in the set

A projection first finds the face of the set on which the answer lies, from values without derivative, and then writes
down the projection onto that face. Its derivative is the one of the face, at ties too, and never a mean of two.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient
from adjoint.base.errors import DtypeError, RuleError, ShapeError
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Set", "check_number", "face", "point", "safe_norm"]

POTENTIALS = ("entropy", "euclidean")


class Set:
    """A set of arrays; `optimize.sets` has them by name.

    One of your own is a subclass with `_project(x)`, and `_lmo(u)` where there is one, written with NumPy.

    ```python
    isinstance(ad.optimize.sets.simplex(), ad.optimize.sets.Set)  # → True
    ```
    """

    name: ClassVar[str] = "set"
    axes: ClassVar[int | None] = None  # how many axes a point has; None: any
    separable: ClassVar[bool] = False  # each number has a set of its own

    def project(self, x: Any) -> Value:
        """The point of the set that is nearest to x."""
        x = self._read("project", x)
        exists = self._exists()
        if self.separable:
            found = self._project(x)
            return (np.where(exists, found, np.nan) if isinstance(exists, TRACED) else found).astype(x.dtype)
        # a comparison with NaN would choose a face
        finite = np.logical_and(np.all(np.isfinite(face(x))), exists)
        return np.where(finite, self._project(np.where(finite, x, 0.0)), np.nan).astype(x.dtype)

    def lmo(self, u: Any) -> Value:
        """The point s of the set that makes ⟨u, s⟩ largest."""
        u = self._read("lmo", u)
        with np.errstate(invalid="ignore"):
            s = self._lmo(u).astype(u.dtype)
        if not isinstance(s, TRACED) and not np.all(np.isfinite(s)):
            raise RuleError(f"sets.{self.name}.lmo: the set has no end in a direction of u, so that ⟨u, s⟩ has no "
                            "largest value. Give finite bounds.")  # fmt: skip
        return s

    def support(self, u: Any) -> Value:
        """The largest ⟨u, s⟩ of all points s of the set."""
        u = self._read("support", u)
        return np.sum(u * self._lmo(u)).astype(u.dtype)

    def contains(self, x: Any, tol: float | None = None) -> Any:
        """Whether x lies in the set, or so near to it that rounding explains the distance."""
        x = self._read("contains", x)
        tol = 1e3 * float(np.finfo(x.dtype).eps) if tol is None else tol
        away = np.sqrt(np.sum(face(x - self._project(x)) ** 2))
        return away <= tol * (1.0 + np.sqrt(np.sum(face(x) ** 2)))

    def bregman_project(self, x: Any, potential: str = "entropy") -> Value:
        """The point p of the set with the smallest divergence from x: Σ p log(p / x) - p + x for "entropy"."""
        if potential not in POTENTIALS:
            raise ValueError(f"sets.{self.name}: the potential is {potential!r}; it is one of {', '.join(POTENTIALS)}.")
        if potential == "euclidean":
            return self.project(x)
        x = self._read("bregman_project", x)
        if not isinstance(x, TRACED) and np.any(x < 0):
            raise ValueError(f"sets.{self.name}.bregman_project: x has negative numbers; an entropy is of numbers ≥ 0.")
        return self._project_entropy(x).astype(x.dtype)

    def project_tree(self, x: Any) -> Any:
        """The projection of all numbers of a tree together, as one vector."""
        vector, unravel = tree.ravel(x)
        return unravel(self.project(vector))

    def _exists(self) -> Any:
        """Whether it has points: of numbers that a compiled program is given nothing else tells."""
        return face(getattr(self, "radius", 0.0)) >= 0

    # Not abstract: a product of sets has trees for points, and answers the public methods part by part.
    def _project(self, x: Value) -> Value:
        raise NotImplementedError

    def _lmo(self, u: Value) -> Value:
        raise RuleError(f"sets.{self.name} has no lmo: a linear function has no largest value on it, or none that is "
                        "known. Use its projection, with ProjectedGradient.")  # fmt: skip

    def _project_entropy(self, x: Value) -> Value:
        raise RuleError(f"sets.{self.name} has no projection by entropy. Those of simplices, boxes and transport "
                        "polytopes have one; potential='euclidean' is the usual projection.")  # fmt: skip

    def _read(self, what: str, x: Any) -> Value:
        x = point(f"sets.{self.name}.{what}", x, self.axes)
        if not self.separable and not isinstance(x, TRACED) and not np.all(np.isfinite(x)):
            raise ValueError(f"sets.{self.name}.{what}: x is infinite somewhere; no point of the set is nearest to it.")
        return x


def face(x: Value) -> Value:
    """x for decisions: without derivative."""
    return stop_gradient(x)


def point(title: str, x: Any, axes: int | None = None) -> Value:
    """x as an array of floating-point numbers, with as many axes as a point of the set has."""
    if not isinstance(x, TRACED):
        x = np.asarray(x)
        x = x.astype(float) if x.dtype.kind in "iu" else x
    if x.dtype.kind != "f":
        raise DtypeError(f"{title}: x has dtype {x.dtype}; it is made of real floating-point numbers.")
    if axes is not None and x.ndim != axes:
        form = {1: "a vector", 2: "a matrix"}[axes]
        raise ShapeError(f"{title}: x has shape {x.shape}; it is {form}. For a batch use ad.vmap, for all numbers of "
                         "an array or a tree together project_tree.")  # fmt: skip
    if not isinstance(x, TRACED) and np.isnan(x).any():
        at = [int(i) for i in np.argwhere(np.isnan(x))[0]]
        raise ValueError(
            f"{title}: x{at or ''} is NaN, which is near to nothing. Look where it comes from: ad.debug_nans."
        )
    return x


def check_number(title: str, name: str, value: Any, *, least: float = 0.0, strict: bool = False) -> None:
    """A parameter that is a number, or numbers, not below `least`, as far as it is known now."""
    if isinstance(value, TRACED) or not (np.isscalar(value) or isinstance(value, np.ndarray | list)):
        return
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"sets.{title}: {name} is {value!r}; it is a real number.")
    if not np.all(array > least if strict else array >= least):
        raise ValueError(
            f"sets.{title}: {name} is {value!r}; it must be {'above' if strict else 'at least'} {least:g}."
        )


def safe_norm(x: Value) -> Value:
    """‖x‖, whose derivative at 0 is 0."""
    square = np.sum(x * x)
    at_zero = face(square) == 0
    return np.where(at_zero, 0.0 * square, np.sqrt(np.where(at_zero, 1.0, square)))
