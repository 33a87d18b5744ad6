"""B-spline basis functions, those that are not zero at each of many points, and matrices of them."""

from __future__ import annotations

import numpy as np

from adjoint.program.types import Value
from adjoint.scipy.arguments import read


def intervals(t: Value, k: int, points: Value) -> Value:
    """Of each point, the index i with tᵢ ≤ x < tᵢ₊₁, among those where k + 1 functions meet; the nearest outside.

    None of these intervals is empty. (For steps, k = 0, the last one may be: it holds the last knot.)
    """
    n = t.shape[0] - k - 1
    low, high = (
        (np.searchsorted(t, t[k], side="right") - 1, np.searchsorted(t, t[n], side="left") - 1) if k else (0, n - 1)
    )
    return np.clip(np.searchsorted(t, points, side="right") - 1, low, high)


def basis(t: Value, k: int, i: Value, points: Value, nu: int = 0) -> list[Value]:
    """Derivative nu of the functions Bᵢ₋ₖ … Bᵢ of degree k at each point, where i is the index of its interval.

    By Cox and de Boor: Bⱼ,ₖ = (x - tⱼ)/(tⱼ₊ₖ - tⱼ) Bⱼ,ₖ₋₁ + (tⱼ₊ₖ₊₁ - x)/(tⱼ₊ₖ₊₁ - tⱼ₊₁) Bⱼ₊₁,ₖ₋₁, and
    B′ⱼ,ₖ = k Bⱼ,ₖ₋₁/(tⱼ₊ₖ - tⱼ) - k Bⱼ₊₁,ₖ₋₁/(tⱼ₊ₖ₊₁ - tⱼ₊₁).
    """
    if nu > k:
        return [0.0 * points] * (k + 1)
    near = {r: read(t, i + r) for r in range(1 - k, k + 1)} if k else {}
    functions = [0.0 * points + 1.0]
    for degree in range(1, k + 1):
        # of degree - 1, divided by the lengths of their supports; function number r starts at knot i + 1 - degree + r
        shares = [f / (near[r + 1] - near[r + 1 - degree]) for r, f in enumerate(functions)]
        if degree > k - nu:
            left, right = [degree * share for share in shares], [-degree * share for share in shares]
        else:
            left = [(points - near[r + 1 - degree]) * share for r, share in enumerate(shares)]
            right = [(near[r + 1] - points) * share for r, share in enumerate(shares)]
        functions = [right[0], *[a + b for a, b in zip(left[:-1], right[1:], strict=True)], left[-1]]
    return functions


def combined(t: Value, c: Value, k: int, points: Value, nu: int = 0) -> Value:
    """Derivative nu of Σⱼ cⱼ Bⱼ at points of one axis; c has the coefficients along its first."""
    i = intervals(t, k, points)
    values = 0.0
    for r, function in enumerate(basis(t, k, i, points, nu)):
        values = values + np.reshape(function, (-1, *[1] * (c.ndim - 1))) * read(c, i - k + r)
    return values  # type: ignore[return-value]


def design(t: Value, k: int, points: Value, nu: int = 0) -> Value:
    """The matrix Bⱼ(xᵢ)."""
    i = intervals(t, k, points)
    columns = np.arange(t.shape[0] - k - 1)
    functions = basis(t, k, i, points, nu)
    return sum(np.expand_dims(f, 1) * (np.expand_dims(i - k + r, 1) == columns) for r, f in enumerate(functions))  # type: ignore[return-value]


def banded(rows: Value, first: Value, k: int) -> Value:
    """The diagonals of the square matrix whose row i holds rows[i] from column first[i] on, k on each side."""
    n = rows.shape[0]
    row = np.arange(-k, k + 1)[:, None] + np.arange(n)
    known = (row >= 0) & (row < n)
    row = np.where(known, row, 0)
    position = np.arange(n) - read(first, row)
    there = known & (position >= 0) & (position <= k)
    return np.where(there, read(rows, row, np.clip(position, 0, k)), 0.0)
