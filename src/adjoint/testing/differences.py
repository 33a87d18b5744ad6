"""Finite differences: derivatives of any order from function values alone.

    ∂ᵏf(x)[v, …, v] ≈ δ⁻ᵏ Σᵢ aᵢ f(x + i δ v)

with the exact weights of `adjoint.testing.stencils`. Inputs and outputs are trees. The error has two parts: truncation
c δ^q ∂ᵏ⁺^q f, and the rounding ε of each value magnified to ε Σ|aᵢ| / δᵏ; the step balances them.
"""

from collections.abc import Callable, Iterator
from math import log2
from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError
from adjoint.testing.stencils import Kind, Stencil, coefficients, points_for_accuracy
from adjoint.testing.vectors import Array, at_values, describe_leaf, epsilon, has_tangent, line, matching_leaves
from adjoint.tree import Tree, flatten, unflatten


@at_values
def finite_difference(
    f: Callable[[Any], Tree],
    x: Tree,
    direction: Tree,
    *,
    kind: Kind = "central",
    derivative: int = 1,
    points: int | None = None,
    accuracy: int | None = None,
    step: float | None = None,
) -> Tree:
    """The k-th derivative of f at x along v: dᵏ/dtᵏ f(x + t v) at t = 0, a tree like f(x).

    The stencil is chosen by `points` (p) or by `accuracy`, the power of the step in the error. Without a `step` the one
    that balances truncation and rounding is taken. f is called once for each weight that is not zero: twice for the
    first derivative by the simplest rules.

    ```python
    ad.testing.finite_difference(np.sin, 0.0, 1.0)  # → 1.0
    ```
    """
    stencil = choose_stencil(kind, derivative, points, accuracy)
    along = line(x, direction)
    δ = balance_step(stencil, x, direction) if step is None else check_step(step)
    return combine_values(stencil, δ, {i: f(along(i * δ)) for i in active_offsets(stencil)})


@at_values
def difference_gradient(
    f: Callable[[Any], Any],
    x: Tree,
    *,
    kind: Kind = "central",
    points: int | None = None,
    accuracy: int | None = None,
    step: float | None = None,
) -> Tree:
    """The gradient of a real function f of P numbers, a tree like x: ∇f(x)ᵢ ≈ ∂f(x)[eᵢ].

    Costs P + 1 calls of f by forward or backward differences (f(x) is shared), 2P by central ones. For a complex leaf
    it is ∂f/∂a + i ∂f/∂b at z = a + i b; leaves that cannot move get zeros of their type.

    ```python
    result = ad.testing.difference_gradient(lambda x: x[0] * x[1], np.array([2.0, 3.0]), kind="central", step=0.5)
    result  # → [3.0, 2.0]
    ```
    """
    x = float(x) if type(x) is int else x
    partials = iter(partial_derivatives(f, x, choose_stencil(kind, 1, points, accuracy), step))
    leaves, structure = flatten(x)
    return unflatten(structure, [gradient_leaf(leaf, partials) for leaf in leaves])


def gradient_leaf(leaf: Any, partials: Iterator[Tree]) -> Any:
    x = np.asarray(leaf)
    gradient = np.zeros(x.shape, x.dtype)
    if has_tangent(leaf):
        for index in np.ndindex(x.shape):
            gradient[index] = real_scalar(next(partials))
            if x.dtype.kind == "c":
                gradient[index] += 1j * real_scalar(next(partials))
    return gradient[()]


@at_values
def difference_jacobian(
    f: Callable[[Any], Tree],
    x: Tree,
    *,
    kind: Kind = "central",
    points: int | None = None,
    accuracy: int | None = None,
    step: float | None = None,
) -> Tree:
    """The Jacobian of f at x: a tree like f(x) of trees like x, each leaf of shape (shape of output, shape of input).

    One column ∂f(x)[eᵢ] for each of the P numbers in x: P + 1 calls of f one-sided, 2P central.

    ```python
    ad.testing.difference_jacobian(lambda x: x**2, np.array([1.0, 2.0]), step=0.5)  # → [[2.0, 0.0], [0.0, 4.0]]
    ```
    """
    x = float(x) if type(x) is int else x
    leaves, structure = flatten(x)
    for leaf in leaves:
        if not has_tangent(leaf):
            raise DtypeError(
                f"difference_jacobian: {describe_leaf(leaf)} is constant; leave it out of x or make it a float."
            )
        if np.iscomplexobj(leaf):
            raise DtypeError(
                "difference_jacobian: a function of complex numbers has no one Jacobian; "
                "use finite_difference along 1 and along 1j, or take real and imaginary parts as inputs."
            )
    columns = [flatten(c) for c in partial_derivatives(f, x, choose_stencil(kind, 1, points, accuracy), step)]
    if not columns:
        raise ValueError("difference_jacobian: x holds no numbers, so there is no direction to move in.")
    rows: list[Tree] = []
    for which in range(len(columns[0][0])):
        stacked = iter([np.asarray(outputs[which]) for outputs, _ in columns])
        rows.append(unflatten(structure, [jacobian_leaf(leaf, stacked) for leaf in leaves]))
    return unflatten(columns[0][1], rows)


def jacobian_leaf(leaf: Any, columns: Iterator[Array]) -> Array:
    shape = np.shape(leaf)
    pieces = [next(columns) for _ in np.ndindex(shape)]
    if not pieces:
        return np.zeros(shape)
    return np.stack(pieces, axis=-1).reshape(pieces[0].shape + shape)


def partial_derivatives(f: Callable[[Any], Tree], x: Tree, stencil: Stencil, step: float | None) -> Iterator[Tree]:
    """∂f(x)[e] for every coordinate e of x, for 1 and then i where a coordinate is complex. f(x) is computed once."""
    leaves, structure = flatten(x)
    offsets = active_offsets(stencil)
    middle = {0: f(x)} if 0 in offsets else {}
    for number, leaf in enumerate(leaves):
        if not has_tangent(leaf):
            continue
        base = np.asarray(leaf)
        for index in np.ndindex(base.shape):
            for unit in (1.0, 1j) if base.dtype.kind == "c" else (1.0,):
                δ = balance_step(stencil, base[index], unit) if step is None else check_step(step)
                values = dict(middle)
                for i in offsets:
                    if i != 0:
                        moved = base.copy()
                        moved[index] += i * δ * unit
                        values[i] = f(unflatten(structure, [*leaves[:number], moved[()], *leaves[number + 1 :]]))
                yield combine_values(stencil, δ, values)


def choose_stencil(kind: Kind, derivative: int, points: int | None, accuracy: int | None) -> Stencil:
    """The stencil that `points` or `accuracy` asks for."""
    if points is not None and accuracy is not None:
        raise ValueError(f"give points={points} or accuracy={accuracy}, not both: one follows from the other.")
    if accuracy is not None:
        points = points_for_accuracy(kind, derivative, accuracy)
    return coefficients(kind, derivative, points)


def optimal_step(
    stencil: Stencil, rounding: float = float(np.finfo(np.float64).eps), size: float = 1.0, remainder: float = 1.0
) -> float:
    """The δ that minimizes |c| δ^q M + ε F Σ|aᵢ| / δᵏ; a power of two.

    F = ‖f‖ is the `size` and M = ‖∂ᵏ⁺^q f‖ the `remainder`. The minimum is at δ^{q+k} = k ε F Σ|aᵢ| / (q |c| M):
    about √ε for forward and ε^{1/3} for central first differences. A power of two makes x + δ and the division by δᵏ
    (nearly) exact.

    ```python
    ad.testing.optimal_step(ad.testing.coefficients("forward"))  # → 2.980232…e-08
    ```
    """
    k, q = stencil.derivative, stencil.order
    δ = (k * rounding * size * stencil.gain / (q * abs(float(stencil.constant)) * remainder)) ** (1.0 / (q + k))
    return power_of_two(δ)


def balance_step(stencil: Stencil, x: Tree, direction: Tree) -> float:
    """The optimal step for the precision of x, such that no coordinate moves by more than δ max(1, |xᵢ|)."""
    return power_of_two(optimal_step(stencil, epsilon(x)) * unit_step(x, direction))


def unit_step(x: Tree, direction: Tree) -> float:
    """The largest t for which t |vᵢ| <= max(1, |xᵢ|) in every coordinate; 1 for a direction that is zero."""
    fastest = 0.0
    leaves, structure = flatten(x)
    for leaf, v in zip(leaves, matching_leaves(direction, structure, "direction", "x"), strict=True):
        if (has_tangent(leaf) or type(leaf) is int) and np.size(leaf):
            fastest = max(fastest, float(np.max(np.abs(v) / np.maximum(1.0, np.abs(leaf)))))
    return 1.0 / fastest if 0.0 < fastest < np.inf else 1.0


def power_of_two(step: float) -> float:
    """The power of two nearest to a positive number."""
    return 2.0 ** round(log2(step))


def check_step(step: float) -> float:
    if not 0.0 < step < np.inf:
        raise ValueError(f"step: the distance between two points is positive and finite, not {step!r}.")
    return float(step)


def active_offsets(stencil: Stencil) -> list[int]:
    """The offsets at which f is needed."""
    return [i for i, a in zip(stencil.offsets, stencil.weights, strict=True) if a != 0]


def combine_values(stencil: Stencil, δ: float, values: dict[int, Tree]) -> Tree:
    """δ⁻ᵏ Σᵢ aᵢ fᵢ for the values fᵢ at the offsets i, each leaf in its own dtype (integers as float64)."""
    return leafwise(weighted_sum, stencil, δ, values)


def leafwise(
    total: Callable[[list[int], tuple[Any, ...], float], Any], stencil: Stencil, δ: float, values: dict[int, Tree]
) -> Tree:
    """A tree of total(numerators, values of one leaf at all offsets, common divisor)."""
    offsets = active_offsets(stencil)
    structure = flatten(values[offsets[0]])[1]
    columns = [matching_leaves(values[i], structure, "f(x + δ v)", "f(x)") for i in offsets]
    numerators = [n for n in stencil.numerators if n]
    divisor = stencil.denominator * δ**stencil.derivative
    return unflatten(structure, [total(numerators, leaves, divisor) for leaves in zip(*columns, strict=True)])


def weighted_sum(numerators: list[int], leaves: tuple[Any, ...], divisor: float) -> Any:
    """Σ nᵢ fᵢ / divisor, summed in double precision at least."""
    arrays = [np.asarray(leaf) for leaf in leaves]
    for array in arrays:
        if array.dtype.kind not in "biufc":
            raise DtypeError(
                f"differences: f returned {describe_leaf(leaves[0])}, which has no difference; return numbers."
            )
        if array.shape != arrays[0].shape:
            raise ShapeError(f"differences: f returned shapes {arrays[0].shape} and {array.shape} at nearby points.")
    wide = np.result_type(np.float64, *arrays)
    total = sum((n * a.astype(wide) for n, a in zip(numerators, arrays, strict=True)), np.zeros((), wide))
    result = np.asarray(total / divisor)
    return (result.astype(arrays[0].dtype) if arrays[0].dtype.kind in "fc" else result)[()]


def real_scalar(value: Any) -> float:
    array = np.asarray(value) if not isinstance(value, (tuple, list, dict)) else np.empty(0)
    if array.shape != () or array.dtype.kind not in "biuf":
        raise DtypeError(
            f"gradient: f must return one real number, not {describe_leaf(value)}; use difference_jacobian for many."
        )
    return float(array)
