"""Mathieu functions in x and in q.

The coefficients v of a Fourier series that solves Mathieu's equation are an eigenvector of D + q S, D = diag(h²) with
the frequencies h, S symmetric with ones beside the diagonal. So ∂a/∂q = vᵀSv, and ∂v/∂q = Σ vⱼ (vⱼᵀSv)/(a - aⱼ). The
modified functions are series of products of Bessel functions with the same coefficients, of u₁ = √q e⁻ˣ and u₂ = √q eˣ.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.ops.special.declare import named, several
from adjoint.ops.special.degrees import whole_degree
from adjoint.ops.special.eigenvectors import TridiagonalEigh
from adjoint.ops.special.library import special, where
from adjoint.ops.special.quadrature import placed, spread_out
from adjoint.program.types import Value

DEGREE = math.pi / 180.0
SIZE = 48  # coefficients, besides one for each two orders: enough for q up to some thousand


class Series(NamedTuple):
    """What a Fourier series is made of: plain arrays, with a last axis for the terms."""

    frequency: Any
    coupling: Any  # S
    own_order: Any  # 1 for the eigenvector of order m, 0 for the others
    weight: Any  # of the coefficients: 1/√2 for the constant term
    sign: Any  # of the function or its derivative at 0, and at 90° (the one of the two that is not 0)
    middle: Any
    index: Any
    gap: Any  # the order of the first Bessel function beside l + s


def _series(odd: bool, m: Value) -> Series:
    orders = whole_degree(m)
    if orders is None:
        raise UnsupportedError(
            f"mathieu functions: the order m must be a plain integer where q is differentiated, got {m!r}."
        )
    m = where(orders < int(odd), int(odd), orders)[..., None]  # SciPy gives NaN there
    size = SIZE + int(np.max(m, initial=0)) // 2
    k = np.arange(size)
    half = m % 2 == 1
    lowest = where(half, 1, 2 if odd else 0)
    frequency = (2 * k + lowest).astype(float)
    coupling = np.zeros((*m.shape[:-1], size, size))
    coupling[..., k[:-1], k[1:]] = coupling[..., k[1:], k[:-1]] = 1.0
    constant = (lowest == 0)[..., 0]
    coupling[constant, 0, 1] = coupling[constant, 1, 0] = math.sqrt(2.0)
    coupling[half[..., 0], 0, 0] = -1.0 if odd else 1.0
    index = (m - lowest) // 2
    weight = where((lowest == 0) & (k == 0), math.sqrt(0.5), 1.0)
    sign = where(k % 2 == 0, 1.0, -1.0)  # cos or sin of h 90°, or the derivative, up to a common sign
    at_middle = where(half == odd, 1.0, frequency) * sign
    at_zero = (frequency if odd else 1.0) * weight
    at_middle = at_middle * weight * where(index % 2 == 0, 1.0, -1.0)
    own_order = (k == index) * 1.0
    return Series(frequency, coupling, own_order, weight, at_zero, at_middle, index[..., 0], lowest[..., 0])


@placed
def _side(q: Value, at_zero: Value, at_middle: Value) -> Value:
    """The sign that the eigenvector needs: where q ≥ 0 the function is large at 90°, elsewhere at 0."""
    return where(q >= 0, np.sign(at_middle), np.sign(at_zero))


def _eigen(series: Series, q: Value) -> tuple[Value, Value, Value]:
    """a, all eigenvectors beside each other, and the coefficients of order m with their sign."""
    matrix = np.expand_dims(np.expand_dims(q, -1), -1) * series.coupling + _diagonal(series.frequency**2)
    values, vectors = TridiagonalEigh()(matrix)
    v = np.einsum("...kj,...j->...k", vectors, np.broadcast_to(series.own_order, values.shape))
    sign = _side(q, np.sum(v * series.sign, axis=-1), np.sum(v * series.middle, axis=-1))
    return values, vectors, v * np.expand_dims(sign, -1)


def _diagonal(d: Any) -> Any:
    return d[..., None] * np.eye(d.shape[-1])


def _derivative_of_value(odd: bool) -> Callable[..., Value]:
    def derivative(m: Value, q: Value) -> Value:
        series = _series(odd, m)
        v = _eigen(series, q)[2]
        return np.einsum("...i,...ij,...j->...", v, np.broadcast_to(series.coupling, (*v.shape, v.shape[-1])), v)

    return derivative


def _coefficients(series: Series, q: Value) -> tuple[Value, Value]:
    """The coefficients of the Fourier series and their derivatives in q."""
    values, vectors, v = _eigen(series, q)
    own = np.expand_dims(np.sum(values * series.own_order, axis=-1), -1)
    gap = where(series.own_order > 0, 1.0, own - values)
    coupled = np.einsum("...ij,...j->...i", np.broadcast_to(series.coupling, (*v.shape, v.shape[-1])), v)
    turned = np.einsum("...ij,...i->...j", vectors, coupled)
    derivative = np.einsum("...ij,...j->...i", vectors, where(series.own_order > 0, 0.0, turned / gap))
    return v * series.weight, derivative * series.weight


def _in_q(odd: bool) -> Callable[..., tuple[Value, Value]]:
    def derivatives(m: Value, q: Value, x: Value) -> tuple[Value, Value]:
        series = _series(odd, m)
        _, derivative = _coefficients(series, q)
        angle = np.expand_dims(x * DEGREE, -1) * series.frequency
        wave, turned = (np.sin(angle), np.cos(angle)) if odd else (np.cos(angle), -np.sin(angle))
        return np.sum(derivative * wave, axis=-1), np.sum(derivative * series.frequency * turned, axis=-1)

    return derivatives


# Of m, q, x and (y, y′).
Equation: TypeAlias = Callable[[Value, Value, Value, Value], tuple[Value, Value]]


def _in_x(value: Any) -> Equation:
    """y″ = (2q cos 2x - a) y, x in degrees but not in y′."""

    def derivatives(m: Value, q: Value, x: Value, z: Value) -> tuple[Value, Value]:
        curve = 2.0 * q * np.cos(2.0 * DEGREE * x) - value(m, q)
        return DEGREE * z[1], DEGREE * curve * z[0]

    return derivatives


def _modified_in_x(value: Any) -> Equation:
    """y″ = (a - 2q cosh 2x) y."""
    return lambda m, q, x, z: (z[1], (value(m, q) - 2.0 * q * np.cosh(2.0 * x)) * z[0])


@placed
def _strongest(*coefficients: Value) -> Value:
    """The term with the greatest coefficient, by which the series is divided."""
    return np.argmax(np.abs(np.stack(coefficients)), axis=0)


def _bessel(f: Any, order: Value, u: Value) -> tuple[Value, Value]:
    """f(u) and u f′(u)."""
    return f(order, u), 0.5 * u * (f(order - 1.0, u) - f(order + 1.0, u))


def _modified_in_q(odd: bool, second: Any) -> Callable[..., tuple[Value, Value]]:
    """± Σ (-1)ˡ cₗ/c_s (J_(l-s)(u₁) C_(l+s+p)(u₂) ± J_(l+s+p)(u₁) C_(l-s)(u₂)), C = J or Y, for any s.

    With D = u d/du, ∂/∂x is D₂ - D₁, ∂/∂q is (D₁ + D₂)/(2q), and D² Jₙ = (n² - u²) Jₙ.
    """

    def derivatives(m: Value, q: Value, x: Value) -> tuple[Value, Value]:
        series = _series(odd, m)
        c, rate = _coefficients(series, q)
        l = np.arange(float(c.shape[-1]))
        strongest = np.expand_dims(_strongest(*[c[..., i] for i in range(c.shape[-1])]), -1)
        chosen = np.equal(l, strongest)
        top, top_rate = (np.expand_dims(np.sum(where(chosen, f, 0.0), axis=-1), -1) for f in (c, rate))
        ratio, ratio_rate = c / top, (rate - c / top * top_rate) / top
        kept = np.abs(ratio) > 1e-24
        first, last = where(kept, l - strongest, 0.0), where(kept, l + strongest + series.gap[..., None], 0.0)
        sign = where((l + series.index[..., None]) % 2 == 0, 1.0, -1.0)
        halved = where(np.equal(strongest, 0.0) & (series.weight[..., :1] < 1.0), 0.5, 1.0)
        scale = where(kept, sign * halved, 0.0)
        root, q, x = *spread_out(np.sqrt(q)), *spread_out(q, x)
        low, high = root * np.exp(-x), root * np.exp(x)
        value, derivative = 0.0, 0.0
        for n, k, factor in ((first, last, 1.0), (last, first, -1.0 if odd else 1.0)):
            (j, dj), (b, db) = _bessel(special.jv, n, low), _bessel(second, k, high)
            product, in_q, in_x = j * b, (dj * b + j * db) / (2.0 * q), j * db - dj * b
            both = ((k * k - high * high) - (n * n - low * low)) * product / (2.0 * q)
            value = value + factor * where(kept, ratio_rate * product + ratio * in_q, 0.0)
            derivative = derivative + factor * where(kept, ratio_rate * in_x + ratio * both, 0.0)
        return np.sum(scale * value, axis=-1), np.sum(scale * derivative, axis=-1)

    return derivatives


named(special.mathieu_a, "m q", whole="m", q=_derivative_of_value(False))
named(special.mathieu_b, "m q", whole="m", q=_derivative_of_value(True))
several(special.mathieu_cem, "m q x", whole="m", q=_in_q(False), x=_in_x(special.mathieu_a))
several(special.mathieu_sem, "m q x", whole="m", q=_in_q(True), x=_in_x(special.mathieu_b))
for _function, _odd, _second in (
    (special.mathieu_modcem1, False, special.jv),
    (special.mathieu_modcem2, False, special.yv),
    (special.mathieu_modsem1, True, special.jv),
    (special.mathieu_modsem2, True, special.yv),
):
    several(
        _function,
        "m q x",
        whole="m",
        q=_modified_in_q(_odd, _second),
        x=_modified_in_x(special.mathieu_b if _odd else special.mathieu_a),
    )
