"""Richardson's extrapolation: differences at several steps, combined to a far better one that knows its error."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.testing.differences import (
    active_offsets,
    check_step,
    choose_stencil,
    combine_values,
    leafwise,
    unit_step,
)
from adjoint.testing.stencils import Kind, Stencil
from adjoint.testing.vectors import Array, at_values, epsilon, line
from adjoint.tree import Tree, flatten, unflatten


class Extrapolated(NamedTuple):
    """A derivative and an estimate of its error, both trees like f(x).

    ```python
    ad.testing.richardson(np.exp, 0.0, 1.0).error < 1e-10  # → True
    ```
    """

    value: Tree
    error: Tree

    def __repr__(self) -> str:
        number = isinstance(self.value, (float, np.floating))
        return f"{self.value:.15g} ± {self.error:.1e}" if number else f"{self.value} ± {self.error}"


@at_values
def richardson(
    f: Callable[[Any], Tree],
    x: Tree,
    direction: Tree,
    *,
    kind: Kind = "central",
    derivative: int = 1,
    points: int | None = None,
    accuracy: int | None = None,
    step: float | None = None,
    ratio: float = 2.0,
    levels: int = 8,
) -> Extrapolated:
    """Richardson's extrapolation of differences with the steps δ, δ/r, δ/r², …, and the error it expects.

    If D(δ) = D + c₁ δ^{q₁} + c₂ δ^{q₂} + …, then (r^{q₁} D(δ/r) - D(δ)) / (r^{q₁} - 1) is free of the first term; and
    so on down the tableau. Powers rise by 2 for central stencils, by 1 for one-sided ones. The error of an entry is how
    far it lies from the two it was made from, and the rounding that its smallest step magnifies; the result is, element
    by element, the entry with the least. `step` is the largest step (0.1 at unit scale by default). A step that leaves
    the domain of f (NaN) is passed over.

    ```python
    result = ad.testing.richardson(np.exp, 0.0, 1.0)
    abs(result.value - 1.0) < 1e-11  # → True
    ```
    """
    if ratio <= 1 or levels < 2:
        raise ValueError(f"richardson: needs ratio > 1 and levels >= 2, got ratio={ratio} and levels={levels}.")
    stencil = choose_stencil(kind, derivative, points, accuracy)
    along = line(x, direction)
    unit = unit_step(x, direction)
    first = 0.1 * unit if step is None else check_step(step)
    estimates: list[list[Any]] = []
    roundings: list[list[Any]] = []
    structure: Any = None
    with np.errstate(all="ignore"):
        for δ in [first / ratio**level for level in range(levels)]:
            values = {i: f(along(i * δ)) for i in active_offsets(stencil)}
            leaves, structure = flatten(combine_values(stencil, δ, values))
            estimates.append(leaves)
            # Rounding of the values, and of the points themselves: a relative error ε of x is one of ε/δ of the slope.
            noise = epsilon(x) * unit / δ
            rounding = flatten(magnify_rounding(stencil, δ, values))[0]
            roundings.append([r + noise * np.abs(leaf) for r, leaf in zip(rounding, leaves, strict=True)])
        powers = [stencil.order + column * (2 if kind == "central" else 1) for column in range(levels)]
        columns = zip(zip(*estimates, strict=True), zip(*roundings, strict=True), strict=True)
        best = [extrapolate_leaf(values, rounding, [ratio**q for q in powers]) for values, rounding in columns]
    return Extrapolated(unflatten(structure, [b[0] for b in best]), unflatten(structure, [b[1] for b in best]))


def extrapolate_leaf(estimates: tuple[Any, ...], roundings: tuple[Any, ...], factors: list[float]) -> tuple[Any, Any]:
    """The best entry of the tableau for each element of one leaf, and its error.

    Best is the entry with the least error; but where that is large against the entry itself, an entry that is sure of
    four digits and disagrees is believed instead: steps beyond a pole agree among each other on something small.
    """
    first = np.asarray(estimates[0])
    nearest, nearest_error = first, np.full(first.shape, np.inf)
    surest, surest_error = first, np.full(first.shape, np.inf)
    above: list[Array] = [first]
    for estimate, rounding in zip(estimates[1:], roundings[1:], strict=True):
        row: list[Array] = [np.asarray(estimate)]
        for column, previous in enumerate(above):
            entry = (factors[column] * row[column] - previous) / (factors[column] - 1.0)
            error = np.maximum(np.abs(entry - row[column]), np.abs(entry - previous)) + rounding
            better = error < nearest_error  # false for NaN
            nearest, nearest_error = np.where(better, entry, nearest), np.where(better, error, nearest_error)
            better = error * np.abs(surest) < surest_error * np.abs(entry)
            better |= np.isinf(surest_error) & np.isfinite(error)
            surest, surest_error = np.where(better, entry, surest), np.where(better, error, surest_error)
            row.append(entry)
        above = row
    vague = nearest_error > 1e-3 * np.abs(nearest)
    disagree = np.abs(surest - nearest) > surest_error + nearest_error
    other = vague & disagree & (surest_error < 1e-4 * np.abs(surest))
    return np.where(other, surest, nearest)[()], np.where(other, surest_error, nearest_error)[()]


def magnify_rounding(stencil: Stencil, δ: float, values: dict[int, Tree]) -> Tree:
    """δ⁻ᵏ Σᵢ |aᵢ| ε |fᵢ|: what the rounding of each value can make of the sum."""
    return leafwise(rounding_sum, stencil, δ, values)


def rounding_sum(numerators: list[int], leaves: tuple[Any, ...], divisor: float) -> Any:
    """Σ |nᵢ| ε |fᵢ| / divisor."""
    arrays = [np.asarray(leaf) for leaf in leaves]
    spacing = float(np.finfo(arrays[0].dtype).eps) if arrays[0].dtype.kind in "fc" else 0.0
    return sum(abs(n) * np.abs(a) * spacing for n, a in zip(numerators, arrays, strict=True)) / divisor
