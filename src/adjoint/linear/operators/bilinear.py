"""Bilinear maps and forms: b[u, v], linear in each slot; the second derivative of a function as one.

b[u, v] = Σᵢ Σⱼ uᵢ vⱼ b[eᵢ, eⱼ],        ∂²f(x)[u, v] = d/dt ∂f(x + t v)[u] at t = 0
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import jvp, vmap
from adjoint.api.tracing import trace
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.operators.from_function import from_function
from adjoint.linear.operators.maps import STATIC, LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import Value

__all__ = ["BilinearMap", "bilinear", "bilinear_form", "second_derivative"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class BilinearMap:
    """(u, v) ↦ b[u, v]: `b(u, v)`; `b.fix_first(u)`, `b.fix_second(v)` are linear maps; `b.to_dense()` its tensor.

    ```python
    b = ad.linear.bilinear(lambda u, v: np.sum(u * v), 2)
    b.to_dense()  # → [[[1.0, 0.0], [0.0, 1.0]]]
    ```
    """

    function: Callable[..., Any] = field(metadata=STATIC)
    parameters: tuple[Any, ...]
    first: Space = field(metadata=STATIC)
    second: Space = field(metadata=STATIC)
    target: Space = field(metadata=STATIC)
    symmetric: bool = field(default=False, metadata=STATIC)

    @property
    def range(self) -> Space:
        """Where its results lie."""
        return self.target

    @property
    def shape(self) -> tuple[int, int, int]:
        """The dimensions of the range and of the two slots: the shape of its tensor."""
        return self.target.size, self.first.size, self.second.size

    @user_facing
    def __call__(self, u: Any, v: Any) -> Any:
        u, v = self.first.checked(u, "b[u, v]: u"), self.second.checked(v, "b[u, v]: v")
        return self.target.checked(self.function(*self.parameters, u, v), "b[u, v]: the result")

    def fix_first(self, u: Any) -> LinearMap:
        """The linear map v ↦ b[u, v]."""
        u = self.first.checked(u, "fix_first: u")
        return from_function(
            lambda *all_: self.function(*all_[1:-1], all_[0], all_[-1]), self.second, parameters=(u, *self.parameters)
        )

    def fix_second(self, v: Any) -> LinearMap:
        """The linear map u ↦ b[u, v]."""
        v = self.second.checked(v, "fix_second: v")
        return from_function(
            lambda *all_: self.function(*all_[1:-1], all_[-1], all_[0]), self.first, parameters=(v, *self.parameters)
        )

    @property
    def swapped(self) -> BilinearMap:
        """(u, v) ↦ b[v, u]."""
        if self.symmetric:
            return self
        swapped = lambda *all_: self.function(*all_[:-2], all_[-1], all_[-2])
        return BilinearMap(swapped, self.parameters, self.second, self.first, self.target)

    def to_dense(self) -> Value:
        """The tensor b[eᵢ, eⱼ]ₖ, with axes (k, i, j)."""
        along = lambda u: vmap(lambda v: self.function(*self.parameters, u, v))(self.second.basis())
        table = vmap(along)(self.first.basis())
        leaves = [np.reshape(leaf, (self.first.size, self.second.size, -1)) for leaf in tree.leaves(table)]
        return np.moveaxis(np.concatenate(leaves, axis=2), 2, 0)

    def as_map(self) -> LinearMap:
        """For a form: the map A with b[u, v] = ⟨u, A v⟩."""
        if self.target.size != 1:
            raise ShapeError(f"as_map: only a form, with one number as its result, is a map; this one is {self.shape}.")
        facts = ("symmetric",) if self.symmetric else ()
        dense = np.reshape(self.to_dense(), (self.first.size, self.second.size))
        return matrix(dense, *facts, domain=self.second, range=self.first)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", "")
        kind = "form" if self.target.size == 1 else "map"
        return (
            f"<{'symmetric ' if self.symmetric else ''}bilinear {kind} {name}: {self.first} × {self.second} → "
            f"{self.target}>"
        )


def bilinear(
    function: Callable[..., Any], first: Any, second: Any = None, *, parameters: tuple[Any, ...] = (),
    symmetric: bool = False,
) -> BilinearMap:  # fmt: skip
    """The bilinear map of a function b(u, v), or b(p, …, u, v) with `parameters`.

    ```python
    b = ad.linear.bilinear(lambda u, v: u[0] * v[1], 2)
    b(np.array([2.0, 0.0]), np.array([0.0, 3.0]))  # → 6.0
    ```
    """
    one = Space.of(first)
    two = one if second is None else Space.of(second)
    program = trace(lambda u, v: function(*parameters, u, v))(one.tree, two.tree)
    return BilinearMap(function, parameters, one, two, Space(program.outputs, program.output_types), symmetric)


def bilinear_form(a: LinearMap) -> BilinearMap:
    """b[u, v] = ⟨u, A v⟩.

    ```python
    b = ad.linear.bilinear_form(ad.linear.matrix(np.array([[1.0, 2.0], [3.0, 4.0]])))
    b(np.array([1.0, 0.0]), np.array([0.0, 1.0]))  # → 2.0
    ```
    """
    target = Space.of(np.zeros((), np.finfo(a.dtype).dtype))
    return BilinearMap(_form, (a,), a.range, a.domain, target, "symmetric" in a.facts)


def _form(a: LinearMap, u: Any, v: Any) -> Value:
    return tree.vdot(u, a._apply(v))


def second_derivative(function: Callable[[Any], Any]) -> Callable[[Any], BilinearMap]:
    """second_derivative(f)(x)[u, v] = ∂²f(x)[u, v], symmetric; two pushes for each pair, no tensor unless asked.

    ```python
    b = ad.linear.second_derivative(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    b(np.array([1.0, 0.0]), np.array([0.0, 1.0]))  # → 4.0
    ```
    """
    pushed = _PushedTwice(function)
    return lambda x: bilinear(pushed, x, parameters=(x,), symmetric=True)


@dataclass(frozen=True)
class _PushedTwice:
    """∂²f(x)[u, v], equal to that of the same function."""

    function: Callable[[Any], Any]

    @property
    def __name__(self) -> str:
        return f"the second derivative of {getattr(self.function, '__name__', 'a function')}"

    def __call__(self, x: Any, u: Any, v: Any) -> Any:
        return jvp(lambda x: jvp(self.function, (x,), (u,))[1], (x,), (v,))[1]
