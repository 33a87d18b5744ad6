"""B-splines on a grid: their coefficients from values, and their values between the points of the grid.

f(x) = Σₖ cₖ βⁿ(x - k),    βⁿ(u) = Σⱼ (-1)ʲ C(n + 1, j) (u + (n + 1)/2 - j)₊ⁿ / n!
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import scipy.ndimage

from adjoint.ops.arrays.index import Gather
from adjoint.ops.linalg.banded import BandedSolve
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.ndimage.extension import folded

DENSE = 200  # points on a line up to which the coefficients are the product with a matrix
PADDED = 12  # points more, at both ends, for modes in which the coefficients have no edge of their own
# how coefficients go on beyond the edge, by the mode of the image
BEYOND = {
    "constant": "mirror",
    "wrap": "mirror",
    "mirror": "mirror",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "grid-wrap": "grid-wrap",
    "nearest": "nearest",
    "grid-constant": "grid-constant",
}


def check_order(order: int, least: int = 0) -> None:
    """Refuse splines of other orders than SciPy has."""
    if not least <= order <= 5:
        raise RuntimeError("spline order not supported")


@functools.lru_cache(maxsize=64)
def _matrix(n: int, order: int, mode: str) -> Any:
    """The matrix that takes values to coefficients."""
    return scipy.ndimage.spline_filter1d(np.eye(n), order, axis=0, mode=mode)


@functools.lru_cache(maxsize=64)
def _bands(n: int, order: int, mode: str) -> Any:
    """The diagonals of the matrix that takes coefficients to values: βⁿ at whole numbers, folded at the edges."""
    reach = order // 2
    side = [float(_piece(order, reach)[tap](0.0)) for tap in range(order + 1)]
    weights = side[: 2 * reach + 1] if order % 2 else side
    band = np.zeros((2 * reach + 1, n))
    rows = np.arange(n)
    for offset in range(-reach, reach + 1):
        columns = folded(rows + offset, n, mode)
        for row, column in zip(rows, columns, strict=True):
            band[reach + row - column, column] += weights[offset + reach]
    return band


def coefficients(x: Value, order: int, axis: int, mode: str) -> Value:
    """The coefficients along an axis of the spline through the values."""
    n = x.shape[axis]
    if order < 2 or n == 1:
        return x
    kind = {"nearest": "reflect", "grid-mirror": "reflect", "reflect": "reflect", "grid-wrap": "grid-wrap"}.get(
        mode, "mirror"
    )
    if n <= DENSE or kind == "grid-wrap":
        rows = np.matmul(np.moveaxis(x, axis, -1), _matrix(n, order, kind).T)
        return np.moveaxis(rows, -1, axis)
    columns = np.moveaxis(x, axis, 0)
    flat = np.reshape(columns, (n, math.prod(columns.shape[1:])))
    reach = order // 2
    solved = bind(BandedSolve(reach, reach), _bands(n, order, kind), flat)
    return np.moveaxis(np.reshape(solved, columns.shape), 0, axis)


@functools.cache
def _piece(order: int, reach: int) -> list[np.polynomial.Polynomial]:
    """βⁿ at t + reach - l for tap l = 0 … n, as polynomials in t: 0 ≤ t < 1 of odd order, |t| ≤ 1/2 of even."""
    middle = 0.5 if order % 2 else 0.0
    pieces = []
    for tap in range(order + 1):
        total = np.polynomial.Polynomial([0.0])
        for j in range(order + 2):
            start = reach - tap + (order + 1) / 2 - j
            if middle + start > 0:
                term = np.polynomial.Polynomial([start, 1.0]) ** order
                total = total + (-1) ** j * math.comb(order + 1, j) / math.factorial(order) * term
        pieces.append(total)
    return pieces


def gathered(x: Value, index: Value, axis: int) -> Value:
    """np.take(x, index, axis), where either may be traced."""
    found = Gather(1)(np.moveaxis(x, axis, 0), index)
    return np.moveaxis(found, range(index.ndim), range(axis, axis + index.ndim))


class Taps(NamedTuple):
    """What a value between the points of a line is made of, for each of several points."""

    index: Value  # of the coefficients, along a last axis
    weights: Value
    outside: Value | None  # which coefficients are a constant, in mode grid-constant
    beyond: Value | None  # which points are a constant, in mode constant


def taps(points: Value, n: int, order: int, mode: str) -> Taps:
    """The coefficients and weights of the spline of n points at the given ones."""
    beyond = None
    if mode == "constant":
        beyond = (points < 0) | (points > n - 1)
        points = np.where(beyond, 0.0, points)
    elif mode == "nearest":  # where all coefficients are the same
        points = np.clip(points, -float(order) - 1, float(n + order))
    elif mode != "grid-constant":
        points = mapped(points, n, mode)
    reach = order // 2
    base = np.floor(points) if order % 2 else np.floor(points + 0.5)
    t = points - base
    first = base.astype(np.intp) - reach
    index = np.expand_dims(first, -1) + np.arange(order + 1)
    columns = [_evaluated(piece, t) for piece in _piece(order, reach)]
    weights = np.stack(columns, axis=-1)
    outside = (index < 0) | (index >= n) if mode == "grid-constant" else None
    return Taps(folded(index, n, BEYOND[mode]), weights, outside, beyond)


def _evaluated(piece: np.polynomial.Polynomial, t: Value) -> Value:
    result = np.zeros_like(t) + piece.coef[-1]
    for c in piece.coef[-2::-1]:
        result = result * t + c
    return result


def mapped(points: Value, n: int, mode: str) -> Value:
    """Points on a line of n, from points outside: folded back, by the mode."""
    if n == 1:
        return points * 0.0
    if mode == "wrap":
        period = float(n - 1)
        low = points + period * (np.trunc(-points / period) + 1)
        high = points - period * np.trunc(points / period)
    elif mode == "grid-wrap":
        low = points + n * (np.trunc((-1 - points) / n) + 1)
        high = points - n * np.trunc(points / n)
    else:
        period = 2.0 * n - 2 if mode == "mirror" else 2.0 * n
        within = points - period * np.floor(points / period)
        back = period - within - (0 if mode == "mirror" else 1)
        low = np.where(within <= n - 1 if mode == "mirror" else within < n, within, back)
        high = np.where(within < n, within, back)
    return np.where(points < 0, low, np.where(points > n - 1, high, points))
