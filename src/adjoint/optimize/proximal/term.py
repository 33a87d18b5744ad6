"""What a term Ω of an objective can do: its value, and its proximal operator

prox(x, γ) = argmin Ω(p) + ‖p - x‖² / 2γ
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, RuleError, ShapeError
from adjoint.optimize.sets.set import check_spread, face, valid_where
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Term", "check_has_conjugate", "check_positive", "read_step", "soft"]


class Term:
    """A function whose proximal operator is known; `optimize.proximal` has them by name.

    One of your own is a subclass with `_value(x)` and `_prox(x, step)`, written with NumPy.

    ```python
    isinstance(ad.optimize.proximal.l1(), ad.optimize.proximal.Term)  # → True
    ```
    """

    name: ClassVar[str] = "term"
    axes: ClassVar[int | None] = None
    elementwise: ClassVar[bool] = False  # each number has a term of its own, and may have a step of its own
    factors: ClassVar[tuple[str, ...]] = ("factor",)  # parameters that are not negative
    positive: ClassVar[tuple[str, ...]] = ()  # parameters that are positive
    spread: ClassVar[tuple[str, ...]] = ()  # parameters with one number for all of x, or one for each of them
    convex: ClassVar[bool] = True

    def __call__(self, x: Any) -> Value:
        """Ω(x)."""
        x = self._read("value", x)
        return self._where_exists(self._value(x)).astype(x.dtype)

    def prox(self, x: Any, step: Any = 1.0) -> Value:
        """The p that makes Ω(p) + ‖p - x‖² / 2 step smallest."""
        x = self._read("prox", x)
        step = self._read_step(step, x)
        found = self._where_exists(where_positive(step, self._prox(x, step)))
        if self._is_elementwise():
            return found.astype(x.dtype)
        # a comparison with NaN would choose a piece
        return valid_where(np.logical_not(np.any(np.isnan(face(x)))), found).astype(x.dtype)

    def prox_tree(self, x: Any, step: Any = 1.0) -> Any:
        """The proximal operator for all numbers of a tree together, as one vector."""
        vector, unravel = tree.ravel(x)
        return unravel(self.prox(vector, step))

    def value_tree(self, x: Any) -> Value:
        """Ω of all numbers of a tree together, as one vector."""
        return self(tree.ravel(x)[0])

    def prox_conjugate(self, x: Any, step: Any = 1.0) -> Value:
        """The proximal operator of the conjugate Ω*, by Moreau: x - γ prox(x / γ, 1 / γ)."""
        x = self._read("prox_conjugate", x)
        check_has_conjugate(self)
        step = self._read_step(step, x)
        found = self._where_exists(where_positive(step, x - step * self._prox(x / step, 1.0 / step)))
        return found.astype(x.dtype)

    def envelope(self, x: Any, step: Any = 1.0) -> Value:
        """The smallest Ω(p) + ‖p - x‖² / 2 step: a smooth function below Ω, with the gradient (x - prox) / step."""
        p = self.prox(x, step)
        x = self._read("envelope", x)
        return (self._value(p) + np.sum((p - x) ** 2 / (2.0 * step))).astype(x.dtype)

    # Not abstract: a sum over the leaves of a tree answers the public methods part by part.
    def _value(self, x: Value) -> Value:
        raise NotImplementedError

    def _prox(self, x: Value, step: Any) -> Value:
        raise NotImplementedError

    def _exists(self) -> Any:
        """Whether there is such a term: of numbers that a compiled program is given nothing else tells."""
        answer: Any = True
        for name in (*self.factors, *self.positive):
            value = getattr(self, name, 0.0)
            if isinstance(value, TRACED):
                good = face(value) > 0 if name in self.positive else face(value) >= 0
                answer = np.logical_and(answer, np.all(good))
        return answer

    def _is_elementwise(self) -> bool:
        return self.elementwise

    def _is_convex(self) -> bool:
        return self.convex

    def _where_exists(self, found: Value) -> Value:
        return valid_where(self._exists(), found)

    def _read_step(self, step: Any, x: Value) -> Any:
        step = read_step(f"proximal.{self.name}", step)
        if np.ndim(step) and not self._is_elementwise():
            raise ShapeError(f"proximal.{self.name}: the step has shape {np.shape(step)}; this term takes one number, "
                             "since it moves numbers together.")  # fmt: skip
        check_spread(f"proximal.{self.name}", "the step", step, x)
        return step

    def _read(self, what: str, x: Any) -> Any:
        title = f"proximal.{self.name}.{what}"
        if not isinstance(x, TRACED):
            x = np.asarray(x)
            x = x.astype(float) if x.dtype.kind in "iu" else x
        if x.dtype.kind != "f":
            raise DtypeError(f"{title}: x has dtype {x.dtype}; it is made of real floating-point numbers.")
        if self.axes is not None and x.ndim != self.axes:
            form = {1: "a vector", 2: "a matrix"}[self.axes]
            raise ShapeError(f"{title}: x has shape {x.shape}; it is {form}. For a batch use ad.vmap, for all numbers "
                             "of an array or a tree together prox_tree.")  # fmt: skip
        for name in self.spread:
            check_spread(title, name, getattr(self, name), x)
        return x


def check_has_conjugate(term: Term) -> None:
    """Moreau's identity holds for convex terms."""
    if not term._is_convex():
        raise RuleError(f"proximal.{term.name}: the term is not convex, so that the proximal operator of its conjugate "
                        "does not follow from its own by Moreau's identity. The conjugate is that of the convex hull: "
                        "give that term.")  # fmt: skip


def read_step(title: str, step: Any) -> Any:
    """γ > 0."""
    if not isinstance(step, TRACED) and not np.all(np.asarray(step) > 0):
        raise ValueError(f"{title}: the step is {step!r}; a proximal operator has a positive one, since with a "
                             "negative one ‖p - x‖² / 2γ has no smallest value.")  # fmt: skip
    return step


def where_positive(step: Any, found: Value) -> Value:
    """NaN for a step that is not above zero: in compiled programs it is known no sooner."""
    return valid_where(face(step) > 0, found) if isinstance(step, TRACED) else found


def check_positive(title: str, name: str, value: Any, *, strict: bool = False, single: bool = False) -> None:
    """A factor that must not be negative, as far as it is known now; `single` ones are numbers."""
    if single and np.ndim(value):
        raise ShapeError(f"proximal.{title}: {name} has shape {np.shape(value)}; it is one number.")
    if isinstance(value, TRACED) or not (np.isscalar(value) or isinstance(value, np.ndarray | list)):
        return
    array = np.asarray(value)
    if not np.all(array > 0 if strict else array >= 0):
        raise ValueError(
            f"proximal.{title}: {name} is {value!r}; it must {'be positive' if strict else 'not be negative'}."
        )


def soft(x: Value, threshold: Any) -> Value:
    """sign(x) max(|x| - t, 0), with derivative 0 where it is 0."""
    at = face(x)
    t = face(threshold + np.zeros((), x.dtype))
    return np.where(at > t, x - threshold, np.where(at < -t, x + threshold, np.where(np.isnan(at), x, 0.0)))
