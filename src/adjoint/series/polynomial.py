"""Taylor polynomials as objects: p(x) = Σ_{|α| ≤ K} c_α (x - x₀)^α, c_α = ∂^α f(x₀) / α!."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import Function
from adjoint.base.source import user_facing
from adjoint.linear.operators.spaces import Space
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.series.derivatives import along, floating, whole_order
from adjoint.series.partials import Partials, partials_at
from adjoint.series.writing import written

__all__ = ["TaylorPolynomial", "taylor"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class TaylorPolynomial:
    """The Taylor polynomial of a function: `p(x)` evaluates it, `p.coefficients` are its c_α, `p[α]` is one of them.

    It is a tree: it goes through jit, vmap and grad, and is differentiable in x, in x₀ and in what f closes over.

    ```python
    p = ad.taylor(np.cos, 0.0, 4)
    [p[k] for k in range(5)]  # → [1.0, 0.0, -0.5, 0.0, 0.0416666…]
    ```
    """

    function: Callable[[Any], Any] = field(metadata={"static": True})
    point: Any
    partials: Partials

    @property
    def order(self) -> int:
        """The degree."""
        return self.partials.order

    @property
    def space(self) -> Space:
        """Where it is defined."""
        return self.partials.space

    @functools.cached_property
    def coefficients(self) -> Any:
        """c_α, in the structure of f's results with a first axis over `p.partials.indices` (for one number: 0 … K)."""
        return self.partials.coefficients

    def __getitem__(self, index: Any) -> Any:
        derivative = self.partials[index]
        powers = (index,) if isinstance(index, int | np.integer) else index
        scale = 1 / math.prod(math.factorial(int(k)) for k in powers)
        return tree.map(lambda leaf: leaf * scale, derivative)

    @property
    def _is_number(self) -> bool:
        return self.space.is_array and self.space.types[0].shape == ()

    @user_facing
    def __call__(self, x: Any) -> Any:
        """p(x). The polynomial of a function of one number takes arrays of them as well: their axes come first."""
        self.partials.check_single("TaylorPolynomial")
        if self._is_number:
            x = x if hasattr(x, "dtype") else np.asarray(x)[()]
            return tree.map(lambda c: _horner(c, x - self.point), self.coefficients)
        h = self.space.ravel(self._step(x))
        powers = [np.ones(h.shape, h.dtype)]
        for _ in range(self.order):
            powers.append(powers[-1] * h)
        table = np.stack(powers)
        exponents = np.array(self.partials.indices)
        factors = [table[exponents[:, v], v] for v in range(exponents.shape[1])]
        monomials = functools.reduce(operator.mul, factors)
        return tree.map(lambda c: np.tensordot(monomials, c, 1), self.coefficients)

    def _step(self, x: Any) -> Any:
        x = self.space.checked(floating(x, "TaylorPolynomial"), "TaylorPolynomial: the argument")
        return tree.map(lambda a, b: a - b, x, self.point)

    @user_facing
    def remainder(self, x: Any) -> Any:
        """The leading term of f(x) - p(x): ∂ᴷ⁺¹f(x₀)[h, …, h]/(K + 1)!, h = x - x₀, from one power series along h.

        It is off by a factor 1 + O(‖h‖), and tells where the polynomial can be trusted; it is no bound.
        """
        self.partials.check_single("TaylorPolynomial")
        h = self._step(x)
        last = along(self.function, self.point, h, self.order + 1, "remainder")[-1]
        return tree.map(lambda leaf: leaf / math.factorial(self.order + 1), last)

    def __repr__(self) -> str:
        stack_shape = self.partials.stack_shape
        if stack_shape or any(isinstance(leaf, Tracer) for leaf in tree.leaves((self.point, self.partials))):
            stack = f"{'×'.join(map(str, stack_shape))} stacked: " if stack_shape else ""
            return f"<{stack}Taylor polynomial of order {self.order} in {self.space.size} variables>"
        return written(self, latex=False)

    def _repr_latex_(self) -> str | None:
        leaves = tree.leaves((self.point, self.partials))
        if self.partials.stack_shape or any(isinstance(leaf, Tracer) for leaf in leaves):
            return None
        return f"${written(self, latex=True)}$"


def _horner(c: Value, h: Value) -> Value:
    h = np.reshape(h, (*h.shape, *[1] * (c.ndim - 1)))
    total = c[-1] + 0 * h
    for k in range(c.shape[0] - 2, -1, -1):
        total = c[k] + h * total
    return total


@user_facing
def taylor(function: Function, x0: tree.Tree, order: int) -> TaylorPolynomial:
    """The Taylor polynomial of f at x₀ up to an order: evaluate it, read its coefficients, ask for its remainder.

    x₀ may be a number, an array, or a tree; f may return any tree; of complex numbers it is holomorphic. Of the
    symmetric tensors of derivatives each entry is computed and stored once.

    ```python
    p = ad.taylor(np.exp, 0.0, 3)
    p(0.1)  # → 1.105166…
    p[3]  # → 0.166666…
    ```
    """
    order = whole_order(order, "taylor")
    x0 = floating(x0, "taylor")
    partials = partials_at(function, x0, order, "taylor")
    return TaylorPolynomial(function, partials.space.checked(x0, "taylor: x0"), partials)
