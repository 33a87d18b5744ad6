"""Difference stencils with exact rational weights.

A stencil on the offsets i₀ … iₙ approximates a k-th derivative by values alone,

    δ⁻ᵏ Σᵢ aᵢ f(w + i δ v) = ∂ᵏf(w)[v, …, v] + c δ^q ∂ᵏ⁺^q f(w)[v, …, v] + …,

its weights being the solution of the Vandermonde system Σᵢ iʲ aᵢ = k! [j = k], j = 0 … n (with 0⁰ = 1), and the first
moment that it leaves over giving the order q and the constant c = Σᵢ iᵏ⁺^q aᵢ / (k + q)! of its error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial, lcm
from typing import Literal, final

Kind = Literal["central", "forward", "backward"]


@final
@dataclass(frozen=True)
class Stencil:
    """Weights aᵢ on integer offsets i for the k-th derivative, with error c δ^q ∂ᵏ⁺^q f.

    `weights` are exact. `numerators` and `denominator` are the same over one denominator: integers are exact in
    floating point, so the sum Σ nᵢ fᵢ carries no rounding of the weights.

    ```python
    stencil = ad.testing.coefficients("central")
    stencil.offsets, stencil.order  # → ((-1, 0, 1), 2)
    ```
    """

    derivative: int
    offsets: tuple[int, ...]
    weights: tuple[Fraction, ...]
    order: int
    constant: Fraction

    @property
    def denominator(self) -> int:
        return lcm(*(a.denominator for a in self.weights))

    @property
    def numerators(self) -> tuple[int, ...]:
        return tuple(int(a * self.denominator) for a in self.weights)

    @property
    def evaluations(self) -> int:
        """How many values of f the stencil needs: a weight that is zero costs none."""
        return sum(a != 0 for a in self.weights)

    @property
    def gain(self) -> float:
        """Σ |aᵢ|: how much the rounding of each value of f can weigh in the sum."""
        return float(sum(abs(a) for a in self.weights))


def coefficients(kind: Kind = "central", derivative: int = 1, points: int | None = None) -> Stencil:
    """The stencil of a kind, for the k-th derivative: i = 0 … p, i = -p … 0, or i = -p … p for p = `points`.

    `points` is by default the smallest that can see the derivative: k one-sided, ⌈k/2⌉ central.
    The order is p - k + 1 one-sided and 2p + 2 - 2⌊(k + 1)/2⌋ central, where the odd terms cancel.

    ```python
    ad.testing.coefficients("central", 2).weights  # → (Fraction(1, 1), Fraction(-2, 1), Fraction(1, 1))
    ```
    """
    if kind not in ("central", "forward", "backward"):
        raise ValueError(f"coefficients: kind is 'central', 'forward' or 'backward', not {kind!r}.")
    smallest = fewest_points(kind, derivative)
    p = smallest if points is None else points
    if p < smallest:
        raise ValueError(
            f"coefficients: {kind} differences of order {derivative} need points >= {smallest}, not points={points}."
        )
    first, last = {"central": (-p, p), "forward": (0, p), "backward": (-p, 0)}[kind]
    return stencil_on(tuple(range(first, last + 1)), derivative)


def fewest_points(kind: Kind, derivative: int) -> int:
    """The smallest p whose stencil can see the k-th derivative."""
    return (derivative + 1) // 2 if kind == "central" else derivative


def points_for_accuracy(kind: Kind, derivative: int, accuracy: int) -> int:
    """The smallest p whose stencil has an error of order δ^accuracy or better."""
    if accuracy < 1:
        raise ValueError(f"accuracy is the power of the step in the error, at least 1, not {accuracy}.")
    if kind == "central":
        return max(fewest_points(kind, derivative), (accuracy + 1) // 2 - 1 + (derivative + 1) // 2)
    return accuracy + derivative - 1


def stencil_on(offsets: Sequence[int], derivative: int = 1) -> Stencil:
    """The stencil on any distinct integer offsets, for the k-th derivative.

    ```python
    ad.testing.stencil_on((0, 1, 3)).order  # → 2
    ```
    """
    return _stencil_on(tuple(offsets), derivative)


@lru_cache(maxsize=256)
def _stencil_on(offsets: tuple[int, ...], derivative: int) -> Stencil:
    if derivative < 1:
        raise ValueError(f"stencil_on: the order of a derivative is 1, 2, …, not {derivative}.")
    if len(set(offsets)) != len(offsets):
        raise ValueError(f"stencil_on: the offsets {offsets} are not distinct; name each of them once.")
    if len(offsets) <= derivative:
        raise ValueError(
            f"stencil_on: {len(offsets)} offsets cannot see a derivative of order {derivative}; "
            f"give at least {derivative + 1}."
        )
    rows = [[Fraction(i) ** j for i in offsets] for j in range(len(offsets))]
    right = [Fraction(factorial(derivative) if j == derivative else 0) for j in range(len(offsets))]
    weights = solve_rationally(rows, right)
    power, moment = len(offsets) - 1, Fraction(0)
    while moment == 0:  # ends: as many vanishing moments as there are offsets would make every weight zero
        power += 1
        moment = sum((a * Fraction(i) ** power for i, a in zip(offsets, weights, strict=True)), Fraction(0))
    return Stencil(derivative, offsets, tuple(weights), power - derivative, moment / factorial(power))


def solve_rationally(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """Solve A a = b over the rationals, by elimination with the first pivot that is not zero."""
    n = len(right)
    table = [[*row, b] for row, b in zip(rows, right, strict=True)]
    for column in range(n):
        pivot = next((r for r in range(column, n) if table[r][column] != 0), None)
        if pivot is None:
            raise ValueError("solve_rationally: the matrix is singular; its rows must be independent.")
        table[column], table[pivot] = table[pivot], table[column]
        scale = table[column][column]
        table[column] = [entry / scale for entry in table[column]]
        for r in range(n):
            factor = table[r][column]
            if r != column and factor != 0:
                table[r] = [entry - factor * lead for entry, lead in zip(table[r], table[column], strict=True)]
    return [row[n] for row in table]
