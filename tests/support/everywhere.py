"""One program through the transformations, against the program itself run plainly: values, differences, a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad


def _moved(args: tuple[Any, ...], directions: list[Any], step: float) -> tuple[Any, ...]:
    pairs = zip(args, directions, strict=True)
    return tuple(np.asarray(a) + step * d if np.ndim(a) else float(a + step * d) for a, d in pairs)


def _difference(function: Callable[..., Any], args: tuple[Any, ...], directions: list[Any], step: float) -> Any:
    """The derivative along the directions, by differences of two steps, extrapolated."""
    at = lambda h: np.asarray(function(*_moved(args, directions, h)), float)
    coarse, fine = (at(step) - at(-step)) / (2 * step), (at(step / 2) - at(-step / 2)) / step
    return (4 * fine - coarse) / 3


def check_everywhere(function: Callable[..., Any], *args: Any, second: bool = True, step: float = 0.02) -> None:
    """Compare a function of numbers and arrays, with one number as its result, at several points.

    `step` is how far the other points are away: compiled functions meet them, too.
    """
    rng = np.random.default_rng(0)
    directions = [rng.normal(size=np.shape(a))[()] for a in args]
    every = tuple(range(len(args)))
    points = [args, _moved(args, directions, step), _moved(args, directions, -step)]
    values = [function(*point) for point in points]
    slopes = [_difference(function, point, directions, 1e-5) for point in points]
    along = lambda gradient: sum(np.sum(np.asarray(g) * d) for g, d in zip(gradient, directions, strict=True))
    close = lambda found, expected, tolerance: np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance
    )

    gradient = ad.value_and_grad(function, argnums=every)
    compiled, native = ad.jit(gradient), ad.jit(gradient, branches="native")
    plain = ad.jit(function)
    for point, value, slope in zip(points, values, slopes, strict=True):
        for transformed in (gradient, compiled, native):
            found, derivative = transformed(*point)
            close(found, value, 1e-10)
            close(along(derivative), slope, 1e-6)
        found, tangent = ad.jvp(function, point, tuple(directions))
        close(found, value, 1e-10)
        close(tangent, slope, 1e-6)
        close(plain(*point), value, 1e-10)
    stacks = [np.stack(column) for column in zip(*points, strict=True)]
    close(ad.vmap(function)(*stacks), values, 1e-10)
    rows = ad.jit(ad.vmap(ad.grad(function, argnums=every)))(*stacks)
    close([along([column[i] for column in rows]) for i in range(3)], slopes, 1e-6)
    if second:
        slope_of = ad.grad(function, argnums=every)
        _, product = ad.jvp(slope_of, args, tuple(directions))
        ends = [slope_of(*_moved(args, directions, h)) for h in (1e-5, -1e-5)]
        for found, high, low in zip(product, *ends, strict=True):
            close(found, (np.asarray(high) - np.asarray(low)) / 2e-5, 1e-4)
