"""What a term Ω of an objective can do: its value, and its proximal operator

prox(x, γ) = argmin Ω(p) + ‖p - x‖² / 2γ
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.optimize.sets.set import face
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Term", "check_positive", "read_step", "soft"]


class Term:
    """A function whose proximal operator is known; `optimize.proximal` has them by name.

    One of your own is a subclass with `_value(x)` and `_prox(x, step)`, written with NumPy.

    ```python
    isinstance(ad.optimize.proximal.l1(), ad.optimize.proximal.Term)  # → True
    ```
    """

    name: ClassVar[str] = "term"
    axes: ClassVar[int | None] = None

    def __call__(self, x: Any) -> Value:
        """Ω(x)."""
        x = self._read("value", x)
        return self._value(x).astype(x.dtype)

    def prox(self, x: Any, step: Any = 1.0) -> Value:
        """The p that makes Ω(p) + ‖p - x‖² / 2 step smallest."""
        step = read_step(f"proximal.{self.name}", step)
        x = self._read("prox", x)
        return where_positive(step, self._prox(x, step)).astype(x.dtype)

    def prox_tree(self, x: Any, step: Any = 1.0) -> Any:
        """The proximal operator for all numbers of a tree together, as one vector."""
        vector, unravel = tree.ravel(x)
        return unravel(self.prox(vector, step))

    def value_tree(self, x: Any) -> Value:
        """Ω of all numbers of a tree together, as one vector."""
        return self(tree.ravel(x)[0])

    def prox_conjugate(self, x: Any, step: Any = 1.0) -> Value:
        """The proximal operator of the conjugate Ω*, by Moreau: x - γ prox(x / γ, 1 / γ)."""
        step = read_step(f"proximal.{self.name}", step)
        x = self._read("prox_conjugate", x)
        return where_positive(step, x - step * self._prox(x / step, 1.0 / step)).astype(x.dtype)

    def envelope(self, x: Any, step: Any = 1.0) -> Value:
        """The smallest Ω(p) + ‖p - x‖² / 2 step: a smooth function below Ω, with the gradient (x - prox) / step."""
        p = self.prox(x, step)
        x = self._read("envelope", x)
        return self._value(p) + np.sum((p - x) ** 2) / (2.0 * step)

    # Not abstract: a sum over the leaves of a tree answers the public methods part by part.
    def _value(self, x: Value) -> Value:
        raise NotImplementedError

    def _prox(self, x: Value, step: Any) -> Value:
        raise NotImplementedError

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
        return x


def read_step(title: str, step: Any) -> Any:
    """γ > 0."""
    if not isinstance(step, TRACED) and not np.all(np.asarray(step) > 0):
        raise ValueError(f"{title}: the step is {step!r}; a proximal operator has a positive one, since with a "
                             "negative one ‖p - x‖² / 2γ has no smallest value.")  # fmt: skip
    return step


def where_positive(step: Any, found: Value) -> Value:
    """NaN for a step that is not above zero: in compiled programs it is known no sooner."""
    return np.where(step > 0, found, np.nan) if isinstance(step, TRACED) else found


def check_positive(title: str, name: str, value: Any, *, strict: bool = False) -> None:
    """A factor that must not be negative, as far as it is known now."""
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
