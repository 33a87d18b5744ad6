"""All mixed partial derivatives of a function up to an order, each computed and stored once."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import Function, vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import start_over
from adjoint.linear.operators.spaces import Space
from adjoint.program.types import Value
from adjoint.series.derivatives import along, floating, whole_order
from adjoint.series.multi_indices import Index, count_of, factorials, interpolation, multi_indices, of_degree

__all__ = ["Partials", "partials"]

LARGEST = 5_000_000  # multi-indices: beyond that their table alone takes gigabytes


@final
@dataclass(frozen=True, eq=False)
class Partials:
    """∂^α f(x) for all |α| ≤ order: C(n + order, order) of them, a symmetric tensor's equal entries only once.

    `values` has the structure of f's results, with a first axis over `indices`. It is a tree: it goes through jit, vmap
    and grad. `p[α]` is one derivative, by its multi-index or, for one variable, by its order; `p.tensor(k)` the full
    tensor of order k.

    ```python
    p = ad.partials(lambda x: np.sum(x**2), 2)(np.ones(2))
    p.tensor(2)  # → [[2.0, 0.0], [0.0, 2.0]]
    ```
    """

    values: Any
    space: Space = field(metadata={"static": True})
    order: int = field(metadata={"static": True})
    axes: tuple[int, ...] = field(default=(), metadata={"static": True})  # of the leaves of `values`

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", self.axes or tuple(np.ndim(leaf) for leaf in tree.leaves(self.values)))

    @property
    def stack_shape(self) -> tuple[int, ...]:
        """How many of them are stacked here, as vmap returns them; () for those of one point."""
        leaves = tree.leaves(self.values)
        return next((np.shape(v)[: np.ndim(v) - n] for v, n in zip(leaves, self.axes, strict=True)), ())

    def check_single(self, title: str) -> None:
        """Refuse a stack where the derivatives at one point are meant."""
        if self.stack_shape:
            count = "×".join(map(str, self.stack_shape))
            raise ShapeError(
                f"{title}: this is a stack of {count}, as vmap returns it. Map over it, too: "
                f"vmap(lambda p: {'p[index]' if title == 'Partials' else 'p(x)'})(stack)."
            )

    @property
    def indices(self) -> tuple[Index, ...]:
        """The multi-indices, by degree; variables count in the order of `ravel`."""
        return multi_indices(self.space.size, self.order)

    def __len__(self) -> int:
        return count_of(self.space.size, self.order)

    def __iter__(self) -> Iterator[Index]:
        return iter(self.indices)

    @user_facing
    def __getitem__(self, index: int | Sequence[int]) -> Any:
        wanted = tuple(map(operator.index, (index,) if isinstance(index, int | np.integer) else index))
        if len(wanted) != self.space.size or min(wanted, default=0) < 0 or sum(wanted) > self.order:
            raise IndexError(f"partials: {index} names no derivative; a multi-index has {self.space.size} nonnegative "
                             f"integers that add up to at most {self.order}.")  # fmt: skip
        self.check_single("Partials")
        position = self._position(wanted)
        return tree.map(lambda leaf: leaf[position], self.values)

    def _position(self, index: Index) -> int:
        degree = sum(index)
        start = count_of(self.space.size, degree - 1) if degree else 0
        return start + of_degree(self.space.size, degree).index(index)

    @user_facing
    def tensor(self, degree: int) -> Any:
        """∂ᵏf(x) with all its equal entries: the shape of the result, then k axes of n."""
        self.check_single("Partials")
        n = self.space.size
        if not 0 <= degree <= self.order:
            raise IndexError(f"partials: tensor({degree}) of derivatives up to order {self.order}.")
        start = count_of(n, degree - 1) if degree else 0
        position = {index: start + i for i, index in enumerate(of_degree(n, degree))}
        table = np.empty((n,) * degree, np.int64)
        for entry in np.ndindex(*table.shape):
            table[entry] = position[tuple(entry.count(v) for v in range(n))]
        return tree.map(
            lambda leaf: np.moveaxis(leaf[table], tuple(range(degree)), tuple(range(-degree, 0))), self.values
        )

    @property
    def coefficients(self) -> Any:
        """∂^α f(x) / α!, the coefficients of the Taylor polynomial."""
        self.check_single("Partials")
        scale = 1 / factorials(self.indices)
        return tree.map(lambda leaf: leaf * _real(scale.reshape(-1, *[1] * (leaf.ndim - 1)), leaf.dtype), self.values)

    def __repr__(self) -> str:
        stack = f"{'×'.join(map(str, self.stack_shape))} stacked: " if self.stack_shape else ""
        return f"<{stack}{len(self)} partial derivatives up to order {self.order} in {self.space.size} variables>"


@user_facing
def partials(function: Function, order: int) -> Callable[..., Partials]:
    """partials(f, K)(x): all mixed partial derivatives of f up to order K.

    One power series to order K along each of C(n + K - 1, K) directions, all side by side, and sums with fixed weights:
    for a fixed K the cost is polynomial in n, and for a fixed n in K; nested derivatives cost 2ᴷ evaluations for each
    of nᴷ entries. x may be any tree of n real or complex numbers (of which f is holomorphic); other arguments stay
    as they are. The sums lose about one digit for each order beyond the fourth when n > 1.

    ```python
    p = ad.partials(lambda x: x[0] ** 2 * x[1], 3)(np.array([2.0, 3.0]))
    p[2, 1]  # → 2.0
    p.tensor(1)  # → [12.0, 4.0]
    ```
    """
    order = whole_order(order, "partials")

    @user_facing
    def at(x: Any, *args: Any, **kwargs: Any) -> Partials:
        run = lambda function: partials_at(lambda x: function(x, *args, **kwargs), x, order, "partials")
        return start_over(run, function, ((x, *args), kwargs))

    return at


def partials_at(function: Callable[[Any], Any], x: Any, order: int, title: str) -> Partials:
    """All partial derivatives at a point."""
    x = floating(x, title)
    space = Space.of(x)
    x = space.checked(x, f"{title}: the argument")
    n = space.size
    if n == 0:
        raise ShapeError(f"{title}: the argument has no elements.")
    if count_of(n, order) > LARGEST:
        raise ShapeError(f"{title}: {n} variables have {count_of(n, order)} partial derivatives up to order {order}. "
                         "Take fewer variables or a lower order, or derivatives along directions: ad.jet.")  # fmt: skip
    if order == 0:
        return Partials(tree.map(lambda leaf: np.stack([leaf]), function(x)), space, 0)
    directions = np.array(of_degree(n, order), space.dtype)
    coefficients = vmap(lambda v: along(function, x, v, order, title))(space.unravel_columns(np.transpose(directions)))
    pieces = [tree.map(lambda leaf: leaf[:1], coefficients[0])]
    for degree in range(1, order + 1):
        positions, weights = interpolation(n, degree, order)
        scaled = weights / math.factorial(degree)
        pieces.append(tree.map(functools.partial(_sum, positions, scaled), coefficients[degree]))
    return Partials(tree.map(lambda *leaves: np.concatenate(leaves), *pieces), space, order)


def _sum(positions: Any, weights: Any, leaf: Value) -> Value:
    return np.sum(leaf[positions] * _real(weights.reshape(*weights.shape, *[1] * (leaf.ndim - 1)), leaf.dtype), axis=1)


def _real(weights: Any, dtype: Any) -> Any:
    return weights.astype(np.real(np.zeros(0, dtype)).dtype)
