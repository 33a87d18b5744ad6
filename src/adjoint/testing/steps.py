"""A difference that chooses its own step for the function at hand, and tells both of its errors.

The error of the rule δ⁻ᵏ Σᵢ aᵢ f(x + i δ v) has two parts, of which one falls with the step and the other rises,

    truncation |c| δ^q M,  M = ‖∂ᵏ⁺^q f‖,        rounding η Σ|aᵢ fᵢ| / δᵏ,

with η the relative error of a value of f. M is measured by one more difference, of the order k + q. The step that
makes the sum least has δ^{q+k} = k η Σ|aᵢ| ‖f‖ / (q |c| M). The complex step subtracts nothing, so that its truncation
is too small to be seen and only rounding is left.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from adjoint.testing.complex_step import complex_step, tiny_step
from adjoint.testing.counting import count_calls
from adjoint.testing.differences import (
    active_offsets,
    balance_step,
    check_step,
    choose_stencil,
    combine_values,
    leafwise,
    optimal_step,
    power_of_two,
    unit_step,
)
from adjoint.testing.extrapolation import richardson
from adjoint.testing.stencils import Kind, Stencil, coefficients, fewest_points
from adjoint.testing.vectors import at_values, epsilon, line
from adjoint.tree import Tree, flatten, unflatten

Method = Literal["central", "forward", "backward", "complex", "richardson"]
FARTHEST = 0.125  # the largest step, for numbers of size one


@dataclass(frozen=True)
class Difference:
    """A derivative from values alone: trees like f(x), and how they were found.

    ```python
    ad.testing.difference(np.exp, 0.0, kind="complex").value  # → 1.0
    ```
    """

    value: Tree
    truncation: Tree  # estimates of the absolute errors
    rounding: Tree
    step: float  # for Richardson's extrapolation the largest one
    kind: str
    evaluations: int

    @property
    def error(self) -> Tree:
        """truncation + rounding."""
        first, structure = flatten(self.truncation)
        return unflatten(structure, [a + b for a, b in zip(first, flatten(self.rounding)[0], strict=True)])

    def __repr__(self) -> str:
        value, worst, t, r = (
            flatten(self.value)[0],
            _largest(self.error),
            *map(_largest, (self.truncation, self.rounding)),
        )
        shown = f"{value[0]:.12g}" if len(value) == 1 and np.ndim(value[0]) == 0 else f"{self.value}"
        return (
            f"{shown} ± {worst:.1e} ({self.kind}, step {self.step:.1e}: truncation {t:.1e}, rounding {r:.1e}; "
            f"{self.evaluations} evaluation{'' if self.evaluations == 1 else 's'})"
        )


@at_values
def difference(
    f: Callable[[Any], Tree],
    x: Tree,
    direction: Tree = 1.0,
    *,
    kind: Method = "central",
    derivative: int = 1,
    points: int | None = None,
    accuracy: int | None = None,
    step: float | None = None,
    noise: float | None = None,
) -> Difference:
    """The k-th derivative of f at x along v with a step made for f, and estimates of its two errors.

    `kind` is a rule of differences, "complex" for the complex step, or "richardson" for the extrapolation of central
    differences. `noise` is the relative error of the values of f, machine precision by default; say more for a function
    that is itself the result of an iteration. With a `step` given, only the errors are estimated.

    ```python
    result = ad.testing.difference(np.exp, 0.0)
    abs(result.value - 1.0) < 10 * (result.truncation + result.rounding)  # → True
    ```
    """
    counted: Any = count_calls(f)
    if kind in ("complex", "richardson") and (noise is not None or points is not None or accuracy is not None):
        raise ValueError(f"difference: kind={kind!r} takes no points, accuracy or noise; leave them out.")
    η = epsilon(x) if noise is None else noise
    if kind == "richardson":
        first = _wide_step(counted, x, direction, η) if step is None else check_step(step)
        value, error = richardson(counted, x, direction, derivative=derivative, step=first)
        return Difference(value, error, _leaves(lambda v: η * np.abs(v), value), first, kind, counted.calls)
    if kind == "complex":
        if derivative != 1:
            raise ValueError(f"difference: the complex step gives first derivatives, not derivative={derivative}.")
        δ = tiny_step(x) if step is None else check_step(step)
        value = complex_step(counted, x, direction, step=δ)
        # the error of truncation is δ²/6 ∂³f, with the third derivative taken to be as large as the first at scale one
        truncation = _leaves(lambda v: δ * δ / 6 * np.abs(v), value)
        return Difference(value, truncation, _leaves(lambda v: 2 * η * np.abs(v), value), δ, kind, counted.calls)
    stencil = choose_stencil(kind, derivative, points, accuracy)
    next_, size = _remaining(counted, x, direction, kind, stencil, η)
    M = max(_largest(next_), np.finfo(float).tiny)
    farthest = power_of_two(FARTHEST * unit_step(x, direction))
    δ = min(optimal_step(stencil, η, size, M), farthest) if step is None else check_step(step)
    along = line(x, direction)
    values = {i: counted(along(i * δ)) for i in active_offsets(stencil)}
    truncation = _leaves(lambda d: abs(float(stencil.constant)) * δ**stencil.order * d, next_)
    return Difference(
        combine_values(stencil, δ, values), truncation, _rounding(stencil, δ, values, η), δ, kind, counted.calls
    )


def _wide_step(f: Callable[[Any], Tree], x: Tree, direction: Tree, η: float) -> float:
    """A step to begin an extrapolation with: half the length over which f changes, (‖f‖ / ‖∂³f‖)^{1/3}."""
    third, size = _remaining(f, x, direction, "central", coefficients(), η)
    length = (size / max(_largest(third), np.finfo(float).tiny)) ** (1 / 3)
    return min(0.5 * length, 0.1 * unit_step(x, direction))


def _remaining(
    f: Callable[[Any], Tree], x: Tree, direction: Tree, kind: Kind, stencil: Stencil, η: float
) -> tuple[Tree, float]:
    """|∂ᵏ⁺^q f|, but no less than what its own rounding lets one see; and the size of f."""
    order = stencil.derivative + stencil.order
    higher = coefficients(kind, order, fewest_points(kind, order))
    step = balance_step(higher, x, direction)
    along = line(x, direction)
    values = {i: f(along(i * step)) for i in active_offsets(higher)}
    derivatives, structure = flatten(combine_values(higher, step, values))
    noises = flatten(_rounding(higher, step, values, η))[0]
    size = max(_largest(value) for value in values.values())
    seen = [np.maximum(np.abs(d), n) for d, n in zip(derivatives, noises, strict=True)]
    return unflatten(structure, seen), max(size, np.finfo(float).tiny)


def _rounding(stencil: Stencil, δ: float, values: dict[int, Tree], η: float) -> Tree:
    """η Σ |aᵢ fᵢ| / δᵏ."""

    def total(numerators: list[int], leaves: tuple[Any, ...], divisor: float) -> Any:
        return η * sum(abs(n) * np.abs(np.asarray(a, float)) for n, a in zip(numerators, leaves, strict=True)) / divisor

    return leafwise(total, stencil, δ, values)


def _leaves(function: Callable[[Any], Any], tree: Tree) -> Tree:
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def _largest(tree: Tree) -> float:
    return max((float(np.max(np.abs(leaf), initial=0.0)) for leaf in flatten(tree)[0]), default=0.0)
