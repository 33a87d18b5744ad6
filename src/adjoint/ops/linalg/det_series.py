"""Coefficients of the power series of a determinant, from its values on a circle.

det(A₀ + t A₁ + … + tᵏ Aₖ) is a polynomial in t of a degree of at most n k. So the mean of det(A(t)) / tᵏ over N > (n -
1) k points of a circle |t| = ρ is its k-th coefficient, but for rounding. The differential equation of det(A) would go
through the series of A⁻¹, whose poles spoil high orders.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.calculus import total
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.matrices import factor_dtype
from adjoint.program.types import ArrayType, Value

MOST_ELEMENTS = 1 << 22  # of matrices on a circle, side by side


def coefficient_on_circle(determinant: Callable[[Value], Value], k: int, terms: Sequence[Value]) -> Value:
    """The k-th coefficient of det(A), for the terms Aⱼ up to the k-th; None is zero."""
    nonzero = [(j, a) for j, a in enumerate(terms) if a is not None]
    shape, n = terms[0].shape, terms[0].shape[-1]
    kind = factor_dtype("det", ArrayType(shape, np.result_type(*[a.dtype for _, a in nonzero])))
    if n * nonzero[-1][0] < k:
        return np.zeros(shape[:-2], kind)
    radius = _radius(k, n, nonzero)
    count = (n - 1) * k + 1
    count += 1 - count % 2  # odd: of a real series all points but the first come in pairs
    real = kind.kind != "c"
    number = np.arange(count // 2 + 1 if real else count)
    points = np.exp(2j * np.pi * number / count)
    weights = np.where(number == 0, 1, 2 if real else 1) / count * points**-k
    scaled = [(j, a * np.expand_dims(radius**j, (-2, -1)) if j else a) for j, a in nonzero]
    wide = np.result_type(kind, np.complex64)
    coefficient: Value = None
    size = max(1, MOST_ELEMENTS // max(1, math.prod(shape)))
    for start in range(0, len(points), size):
        some = np.reshape(points[start : start + size], (-1, *[1] * len(shape)))
        values = determinant(total(*[(some**j).astype(wide) * a for j, a in scaled]))
        share = np.reshape(weights[start : start + size].astype(wide), (-1, *[1] * (len(shape) - 2)))
        coefficient = total(coefficient, np.sum(share * values, axis=0))
    coefficient = (np.real(coefficient) if real else coefficient) / radius**k
    return coefficient if coefficient.dtype == kind else Convert(kind)(coefficient)


def _radius(k: int, n: int, nonzero: Sequence[tuple[int, Value]]) -> Value:
    """Where rounding does least, for each matrix; a constant to derivatives.

    Of the ρ at which two terms |Aⱼ| ρʲ are alike, and some beside them, that with the smallest max(|Aⱼ| ρʲ)ⁿ / ρᵏ.
    """
    sizes = StopGradient()(np.stack([np.sqrt(np.sum(np.abs(a) ** 2, axis=(-2, -1))) for _, a in nonzero]))
    sizes = np.where(np.isfinite(sizes), sizes, sizes.dtype.type(1))
    there = sizes > 0
    logs = np.log(np.where(there, sizes, sizes.dtype.type(1)))
    powers: Any = np.array([j for j, _ in nonzero])
    low, high = np.triu_indices(len(nonzero), 1)
    columns = (-1, *[1] * (len(sizes.shape) - 1))
    gap = np.reshape(powers[high] - powers[low], columns).astype(sizes.dtype)
    middle = (logs[low] - logs[high]) / gap
    at = np.concatenate([middle, middle - 2, middle + 2])
    valid = np.concatenate([np.logical_and(there[low], there[high])] * 3)
    lines = np.reshape(powers, (-1, *[1] * len(sizes.shape))).astype(sizes.dtype) * at + np.expand_dims(logs, 1)
    heights = np.where(np.expand_dims(there, 1), lines, sizes.dtype.type(-np.inf))
    bound = np.where(valid, n * np.max(heights, axis=0) - k * at, sizes.dtype.type(np.inf))
    best = np.take_along_axis(at, np.expand_dims(np.argmin(bound, axis=0), 0), axis=0)[0]
    return np.exp(np.where(np.any(valid, axis=0), best, sizes.dtype.type(0)))
