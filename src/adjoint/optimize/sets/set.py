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

__all__ = [
    "Set",
    "as_numbers",
    "check_number",
    "check_single",
    "check_spread",
    "face",
    "point",
    "safe_norm",
    "valid_where",
]

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
    spread: ClassVar[tuple[str, ...]] = ()  # parameters with one number for all of x, or one for each of them
    positive: ClassVar[tuple[str, ...]] = ()  # parameters without which there is no such set
    single: ClassVar[tuple[str, ...]] = ("radius", "total")  # parameters that are one number
    least: ClassVar[int] = 0  # how many numbers a point has at least
    convex: ClassVar[bool] = True

    def project(self, x: Any) -> Value:
        """The point of the set that is nearest to x."""
        x = self._read("project", x)
        if self.separable or x.size == 0:
            return self._where_exists(x, self._project(x) if x.size else x)
        # a comparison with NaN would choose a face
        finite = np.logical_and(self._is_near(face(x)), self._exists(face(x)))
        return valid_where(finite, self._project(np.where(finite, x, 0.0))).astype(x.dtype)

    def lmo(self, u: Any) -> Value:
        """The point s of the set that makes ⟨u, s⟩ largest."""
        u = self._read("lmo", u)
        with np.errstate(invalid="ignore"):
            s = self._where_exists(u, valid_where(np.all(face(u) == face(u)), self._lmo(u) if u.size else u))
        if not isinstance(s, TRACED) and not np.all(np.isfinite(s)):
            raise RuleError(f"sets.{self.name}.lmo: the set has no end in a direction of u, so that ⟨u, s⟩ has no "
                            "largest value. Give finite bounds.")  # fmt: skip
        return s

    def support(self, u: Any) -> Value:
        """The largest ⟨u, s⟩ of all points s of the set."""
        u = self._read("support", u)
        with np.errstate(invalid="ignore"):
            return self._where_exists(u, self._support(u) if u.size else np.sum(u))

    def contains(self, x: Any, tol: float | None = None) -> Any:
        """Whether x lies in the set, or so near to it that rounding explains the distance."""
        x = self._read("contains", x)
        tol = 1e3 * float(np.finfo(x.dtype).eps) if tol is None else tol
        finite = np.logical_and(np.all(np.isfinite(face(x))), np.all(self._exists(face(x))))
        x = np.where(finite, face(x), 0.0)
        away = np.sqrt(np.sum(face(x - self._project(x)) ** 2)) if x.size else 0.0
        return np.logical_and(finite, away <= tol * (1.0 + np.sqrt(np.sum(x**2))))

    def bregman_project(self, x: Any, potential: str = "entropy") -> Value:
        """The point p of the set with the smallest divergence from x: Σ p log(p / x) - p + x for "entropy"."""
        if potential not in POTENTIALS:
            raise ValueError(f"sets.{self.name}: the potential is {potential!r}; it is one of {', '.join(POTENTIALS)}.")
        if potential == "euclidean":
            return self.project(x)
        x = self._read("bregman_project", x)
        if not isinstance(x, TRACED) and np.any(x < 0):
            raise ValueError(f"sets.{self.name}.bregman_project: x has negative numbers; an entropy is of numbers ≥ 0.")
        return valid_where(np.all(face(x) >= 0), self._where_exists(x, self._project_entropy(x))).astype(x.dtype)

    def project_tree(self, x: Any) -> Any:
        """The projection of all numbers of a tree together, as one vector."""
        vector, unravel = tree.ravel(x)
        return unravel(self.project(vector))

    def _exists(self, x: Value) -> Any:
        """Whether it has points, of the form of x: of numbers that a compiled program is given nothing else tells."""
        answer: Any = face(getattr(self, "radius", 0.0)) >= 0
        for name in self.positive:
            value = getattr(self, name)
            if isinstance(value, TRACED):
                answer = np.logical_and(answer, np.all(face(value) > 0))
        return answer

    def _is_near(self, x: Value) -> Any:
        """Whether some point of the set is nearest to x."""
        return np.all(np.isfinite(x))

    def _where_exists(self, x: Value, found: Value) -> Value:
        return valid_where(self._exists(face(x)), found).astype(x.dtype)

    # Not abstract: a product of sets has trees for points, and answers the public methods part by part.
    def _project(self, x: Value) -> Value:
        raise NotImplementedError

    def _lmo(self, u: Value) -> Value:
        raise RuleError(f"sets.{self.name} has no lmo: a linear function has no largest value on it, or none that is "
                        "known. Use its projection, with ProjectedGradient.")  # fmt: skip

    def _support(self, u: Value) -> Value:
        return np.sum(u * self._lmo(u))

    def _project_entropy(self, x: Value) -> Value:
        raise RuleError(f"sets.{self.name} has no projection by entropy. Those of simplices, boxes and transport "
                        "polytopes have one; potential='euclidean' is the usual projection.")  # fmt: skip

    def _read(self, what: str, x: Any) -> Value:
        title = f"sets.{self.name}.{what}"
        x = point(title, x, self.axes)
        if x.size < self.least:
            raise ShapeError(f"{title}: x has shape {x.shape}, and no point of the set is empty.")
        for name in self.spread:
            check_spread(title, name, getattr(self, name), x)
        for name in self.single:
            check_single(title, name, getattr(self, name, 0.0))
        if not self.separable and what != "contains" and not isinstance(x, TRACED) and not self._is_near(x):
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


def as_numbers(value: Any) -> Any:
    """A parameter as an array; of a tree of them all numbers in one vector, as project_tree sees those of x."""
    if value is None or isinstance(value, TRACED | int | float):
        return value
    if isinstance(value, list):
        try:
            return np.asarray(value, float)
        except (TypeError, ValueError):
            pass  # of traced numbers, or of parts of several shapes
    if isinstance(value, dict | tuple | list):
        return tree.ravel(tree.map(lambda v: v if isinstance(v, TRACED) else np.asarray(v, float), value))[0]
    array = np.asarray(value)
    return array[()] if array.dtype.kind == "f" else array.astype(float)[()]


def check_spread(title: str, name: str, value: Any, x: Value) -> None:
    """A parameter has one number for all of x, or one for each."""
    shape = np.shape(value)
    if shape in {(), x.shape}:
        return
    try:
        fits = np.broadcast_shapes(shape, x.shape) == x.shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{title}: {name} has shape {shape}, and x {x.shape}; there is one number for all of x, or "
                         "one for each.")  # fmt: skip


def check_single(title: str, name: str, value: Any) -> None:
    """A parameter that is one number."""
    if np.ndim(value):
        raise ShapeError(f"{title}: {name} has shape {np.shape(value)}; it is one number. For a batch of sets use "
                         "ad.vmap.")  # fmt: skip


def valid_where(valid: Any, found: Value) -> Value:
    """NaN elsewhere, and so are its derivatives."""
    if not isinstance(valid, TRACED) and np.all(valid):
        return found
    return found * np.where(valid, 1.0, np.nan).astype(found.dtype)


def safe_norm(x: Value) -> Value:
    """‖x‖, whose derivative at 0 is 0, and whose squares neither overflow nor vanish."""
    largest = np.max(np.abs(face(x)), initial=0.0)
    bounds = np.finfo(x.dtype)
    small, large = float(bounds.tiny) ** 0.5 / float(bounds.eps), float(bounds.max) ** 0.5 * float(bounds.eps)
    far = np.logical_and(np.logical_or(largest < small, largest > large), largest > 0)
    unit = np.where(far, largest, 1.0).astype(x.dtype)
    square = np.sum((x / unit) ** 2)
    at_zero = face(square) == 0
    return unit * np.where(at_zero, 0.0 * square, np.sqrt(np.where(at_zero, 1.0, square)))
