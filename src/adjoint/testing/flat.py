"""A function of trees as a function of its floats alone, (x₁, …, xₙ) ↦ (y₁, …, yₘ), and its differences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np

from adjoint.base.errors import DtypeError
from adjoint.testing.differences import active_offsets, balance_step, combine_values
from adjoint.testing.extrapolation import magnify_rounding, richardson
from adjoint.testing.stencils import coefficients
from adjoint.testing.vectors import describe_leaf, epsilon, has_tangent, line
from adjoint.tree import flatten, unflatten

Leaves: TypeAlias = tuple[Any, ...]

STENCIL = coefficients("central", 1, 3)


@final
@dataclass(frozen=True)
class Flat:
    """A function of the leaves in `point`; what cannot move is held fixed inside `call`."""

    call: Callable[..., Leaves]
    point: Leaves
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def at(self, point: Leaves) -> Leaves:
        return self.call(*point)


def flat_function(f: Callable[..., Any], args: Sequence[Any], name: str) -> Flat:
    """f at args in its floats: a Python int given as an argument is promoted, all other constants are held fixed."""
    arguments = tuple(float(a) if type(a) is int else a for a in (args if isinstance(args, tuple) else (args,)))
    leaves, structure = flatten(arguments)
    moving = [i for i, leaf in enumerate(leaves) if has_tangent(leaf)]
    if not moving:
        description = ", ".join(describe_leaf(leaf) for leaf in leaves) or "nothing"
        raise DtypeError(
            f"{name}: there are no real or complex floats in the arguments ({description}); make one a float."
        )
    results, result_structure = flatten(f(*arguments))
    kept = [i for i, leaf in enumerate(results) if has_tangent(leaf)]
    if not kept:
        description = ", ".join(describe_leaf(leaf) for leaf in results) or "nothing"
        raise DtypeError(
            f"{name}: f returns no real or complex floats ({description}), so it has no derivative to check."
        )

    def call(*values: Any) -> Leaves:
        filled = list(leaves)
        for i, value in zip(moving, values, strict=True):
            filled[i] = value
        outputs = flatten(f(*unflatten(structure, filled)))[0]
        return tuple(outputs[i] for i in kept)

    inputs, outputs = structure.paths("args"), result_structure.paths("output")
    return Flat(
        call, tuple(leaves[i] for i in moving), tuple(inputs[i] for i in moving), tuple(outputs[i] for i in kept)
    )


@final
class Differences:
    """∂f(x)[v] by differences: quickly, and where that is not enough, carefully.

    The doubt about a value counts up to a hundredth of its leaf: differences that are worse than that prove nothing.
    """

    def __init__(self, flat: Flat, y: Leaves, v: Leaves, step: float | None) -> None:
        self.flat, self.y, self.v, self.step = flat, y, v, step

    @cached_property
    def quick(self) -> tuple[Leaves, Leaves]:
        """A stencil of order 6, and what rounding can make of it."""
        δ = balance_step(STENCIL, self.flat.point, self.v) if self.step is None else self.step
        along = line(self.flat.point, self.v)
        with np.errstate(all="ignore"):
            values = {i: self.flat.at(along(i * δ)) for i in active_offsets(STENCIL)}
            value = combine_values(STENCIL, δ, values)
            return value, self.capped(10.0, magnify_rounding(STENCIL, δ, values), value)

    @cached_property
    def careful(self) -> tuple[Leaves, Leaves]:
        """Extrapolation, and four times the error it expects."""
        value, error = richardson(self.flat.at, self.flat.point, self.v, step=self.step, ratio=4.0, levels=10)
        return value, self.capped(4.0, error, value)

    def capped(self, factor: float, errors: Leaves, values: Leaves) -> Leaves:
        floor = 1e4 * epsilon(self.flat.point)  # what cancels to nearly nothing is noise, and may be called so
        limits = [
            0.01 * (np.max(np.abs(value), initial=0.0) + np.max(np.abs(y), initial=0.0)) + floor
            for value, y in zip(values, self.y, strict=True)
        ]
        return tuple(np.minimum(factor * error, limit) for error, limit in zip(errors, limits, strict=True))

    def attempts(self) -> Iterator[tuple[Leaves, Leaves]]:
        yield self.quick
        yield self.careful

    def along(self, v: Leaves) -> "Differences":
        return Differences(self.flat, self.y, v, self.step)
