"""Bessel functions in their order, of any derivative: integrals along paths through the saddle point.

All are Schläfli's integrals, in which dⁿ/dνⁿ puts (-t)ⁿ under the integral:

    J_ν(x) = 1/(2πi) ∫ exp(x sinh t - νt) dt,    I_ν(x) = 1/(2πi) ∫ exp(x cosh t - νt) dt,    ∞ - iπ … ∞ + iπ,
    H_ν(x) = 1/(πi) ∫ exp(x sinh t - νt) dt,    -∞ … ∞ + iπ,    K_ν(x) = ½ ∫ exp(νt - x cosh t) dt,    -∞ … ∞.

From the saddle t₀, with t = t₀ + τ, each exponent is E = p (cosh τ - 1) + ν (sinh τ - τ), where p is √(ν²-x²) for J,
i √(x²-ν²) for H, √(x²+ν²) for I; that loses no digits for large ν and x. Where x is small, power series.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, pi
from typing import Any

import numpy as np

from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.parameters import bell, gauss, polygammas

FALL = 40.0
UP, LEFT = 2.1, 0.36  # derivatives of the paths at the saddle: valleys of both E's square and its cube


def exponent(p: Any, v: Any, t: Any) -> Any:
    """p (cosh t - 1) + v (sinh t - t)."""
    half = np.sinh(0.5 * t)
    return 2.0 * p * half * half + v * (np.sinh(t) - t)


def _reach(p: Any, v: Any, square: float, cube: float) -> Any:
    """How far s goes until the exponent has fallen by 40: by its square, its cube, or its exponential growth."""
    size = np.abs(p) + 1e-300
    by_square, by_cube = square * np.sqrt(2.0 * FALL / size), cube * np.cbrt(6.0 * FALL / (v + 1e-300))
    by_growth = np.log1p(2.0 * (FALL + 12.0) / (size + v)) + 1.5
    return np.minimum(np.minimum(by_square, by_cube), by_growth)


def along(reach: Any, path: Callable[[Any], tuple[Any, Any]], integrand: Callable[[Any], Any], count: int = 36) -> Any:
    """∫ integrand(t(s)) t′(s) ds, s = 0 … reach, in three parts: a path bends near 0, and integrands end near reach."""
    first, last = np.minimum(4.0, reach / 3.0), np.maximum(reach - 4.0, 2.0 * reach / 3.0)
    nodes, weights = gauss(count)
    total = 0.0
    for low, high in ((np.zeros_like(reach), first), (first, last), (last, reach)):
        length = (high - low)[:, None]
        t, derivative = path(low[:, None] + length * nodes)
        total = total + np.sum(integrand(t) * derivative * weights * length, axis=1)
    return total


def bent(rise: Any, end: Any, width: Any = 1.0) -> Callable[[Any], tuple[Any, Any]]:
    """The path s + i end (1 - exp(-rise s/end)): it starts with the derivative `rise` and ends at height `end`.

    A low end is not reached sooner than in the width of the integrand, so that the nodes see the bend.
    """
    rise = np.minimum(rise, end / width)
    rise, end = (u[:, None] if u.ndim else u for u in (np.asarray(rise), np.asarray(end)))

    def path(s: Any) -> tuple[Any, Any]:
        decay = np.exp(-rise * s / end)
        return s + 1j * end * (1.0 - decay), 1.0 + 1j * rise * decay

    return path


def width_of(p: Any, v: Any) -> Any:
    """How far from the saddle the exponent is near its top, at most 1."""
    return 1.5 * np.minimum(1.0, np.minimum(1.0 / np.sqrt(np.abs(p) + 1e-300), 1.0 / np.cbrt(v + 1e-300)))


def column(*values: Any) -> list[Any]:
    return [value[:, None] for value in values]


def _powers(n: int, v: Any, x: Any, sign: float) -> Any:
    """dⁿ/dνⁿ Σ (±1)ᵏ (x/2)^(2k+ν)/(k! Γ(k+ν+1))."""
    k = np.arange(30.0)
    (v, x) = column(v, x)
    order = v + k + 1.0
    logarithm = np.log(0.5 * x)
    rates = polygammas(n, order)
    rates = [logarithm - rates[0], *[-r for r in rates[1:]]] if n else []
    term = sign**k * np.exp((2.0 * k + v) * logarithm - special.gammaln(k + 1.0) - special.gammaln(order))
    return np.sum(where(term == 0, 0.0, term * bell(n, rates)), axis=1)


def _first_kind_far(n: int, v: Any, x: Any) -> Any:
    """J for ν ≥ x: the saddle t₀ = arcosh(ν/x) and the path upwards from it."""
    p = np.sqrt((v - x) * (v + x))
    saddle = np.arcsinh(p / x)
    height = np.exp(p - v * saddle)
    pc, vc, t0 = column(p, v, saddle)
    upwards = along(_reach(p, v, 0.8, 0.66), bent(UP, pi), lambda t: (-t0 - t) ** n * np.exp(exponent(pc, vc, t)))
    return height * upwards.imag / pi


def _second_kind_far(n: int, v: Any, x: Any) -> Any:
    """Y for ν ≥ x: over the mountain at -t₀ along the real axis to t₀, then upwards."""
    p = np.sqrt((v - x) * (v + x))
    saddle = np.arcsinh(p / x)
    low = np.exp(2.0 * (p - v * saddle))  # the height at t₀ over that at -t₀
    pc, vc, t0 = column(p, v, saddle)
    upwards = along(_reach(p, v, 0.8, 0.66), bent(UP, pi), lambda t: (-t0 - t) ** n * np.exp(exponent(pc, vc, t)))
    straight: Callable[[Any], tuple[Any, Any]] = lambda s: (s, 1.0)
    back: Callable[[Any], tuple[Any, Any]] = lambda s: (-s, 1.0)
    mountain: Callable[[Any], Any] = lambda t: (t0 - t) ** n * np.exp(exponent(-pc, vc, t))
    left = along(_reach(p, v, 1.05, 1.05), back, mountain)
    right = along(np.minimum(2.0 * saddle, 4.0 * FALL / v + 6.0 * np.sqrt(2.0 * FALL / p)), straight, mountain)
    return -np.exp(v * saddle - p) * (left + right + low * upwards.real) / pi


def _third_kind_near(n: int, v: Any, x: Any) -> tuple[Any, Any]:
    """H for x > ν, as (h, phase) with H = h exp(i phase): the saddle iβ, β = arccos(ν/x), right to iπ, left to 0."""
    p = np.sqrt((x - v) * (x + v))
    angle = np.arctan2(p, v)
    pc, vc, angles = column(1j * p, v, angle)
    integrand: Callable[[Any], Any] = lambda t: (-1j * angles - t) ** n * np.exp(exponent(pc, vc, t))
    right = along(_reach(p, v, 0.84, 0.82), bent(1.3, pi - angle, width_of(p, v)), integrand)
    down = bent(LEFT, angle, width_of(p, v))

    def left(s: Any) -> tuple[Any, Any]:
        t, derivative = down(s)
        return -t, derivative

    return (right + along(_reach(p, v, 1.36, 1.38), left, integrand)) / (1j * pi), p - v * angle


def _third_kind(n: int, v: Any, x: Any, kinds: str = "JY") -> tuple[Any, Any]:
    """(J, Y), or the one of them that is asked for, for ν ≥ 0 and x > 0."""
    first, second = np.zeros_like(x), np.zeros_like(x)
    small, far = 0.25 * x * x <= v + 1.0, v >= x
    for here, method in ((small, _powers_of_j), (far & ~small, _first_kind_far)):
        if "J" in kinds and np.any(here):
            first[here] = method(n, v[here], x[here])
    if "Y" in kinds and np.any(far):
        second[far] = _second_kind_far(n, v[far], x[far])
    near = ~far & (~small | ("Y" in kinds))
    if np.any(near):
        h, phase = _third_kind_near(n, v[near], x[near])
        h = h * np.exp(1j * phase)
        first[near], second[near] = where(small[near], first[near], h.real), h.imag
    return first, second


def _powers_of_j(n: int, v: Any, x: Any) -> Any:
    return _powers(n, v, x, -1.0)


def _turned(n: int, v: Any) -> tuple[list[Any], list[Any]]:
    """cos(πν), sin(πν) and their derivatives to order n, exact at whole and half numbers."""
    c, s = ufuncs._cospi(v), ufuncs._sinpi(v)
    around = [(c, s), (-s, c), (-c, -s), (s, -c)]
    return [pi**k * around[k % 4][0] for k in range(n + 1)], [pi**k * around[k % 4][1] for k in range(n + 1)]


def bessel_pair(n: int, v: Any, x: Any, kinds: str) -> tuple[Any, Any]:
    """dⁿJ/dνⁿ, dⁿY/dνⁿ of any real order, x > 0; for ν < 0 by reflection, all derivatives of the product."""
    z = where((x == 0) & (v > n), 0.0, np.nan), np.full_like(x, np.nan)
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    left, right = inside & (v < 0), inside & (v >= 0)
    if np.any(right):
        z[0][right], z[1][right] = _third_kind(n, v[right], x[right], kinds)
    if np.any(left):
        u, y = -v[left], x[left]
        c, s = _turned(n, u)
        pairs = [_third_kind(k, u, y) for k in range(n + 1)]
        terms = [(comb(n, k), *pairs[k], c[n - k], s[n - k]) for k in range(n + 1)]
        sign = (-1.0) ** n
        z[0][left] = sign * sum(b * (_times(cos, j) - _times(sin, y)) for b, j, y, cos, sin in terms)
        z[1][left] = sign * sum(b * (_times(sin, j) + _times(cos, y)) for b, j, y, cos, sin in terms)
    return z


def _times(a: Any, b: Any) -> Any:
    """a b, and zero where a is, even when b has overflowed."""
    return where(a == 0, 0.0, a * b)


def _modified_second(n: int, v: Any, x: Any) -> Any:
    """eˣ dⁿK/dνⁿ for x > 0: ∫ tⁿ {cosh, sinh}(νt) exp(x - x cosh t) dt over t > 0, by the trapezoidal rule.

    The integrand is even, so the rule converges as on the whole line. In t = t₀ + τ, sinh t₀ = ν/x, the exponent
    νt - x cosh t is at most its value at τ = 0.
    """
    sign = where((v < 0) & (n % 2 == 1), -1.0, 1.0)
    v = np.abs(v)
    p = np.hypot(x, v)
    saddle = np.arcsinh(v / x)
    high = saddle + _reach(p, v, 1.05, 1.05)
    low = np.maximum(0.0, saddle - _reach(p, 0.0 * v, 1.05, 1.0) - 4.0 * FALL / (v + 4.0))
    count = 140
    step = (high - low) / count
    t = low[:, None] + step[:, None] * np.arange(count + 1.0)
    weights = where(np.arange(count + 1) % count == 0, 0.5, 1.0)
    vc, pc, t0 = column(v, p, saddle)
    both = -np.expm1(-2.0 * vc * t) if n % 2 else 1.0 + np.exp(-2.0 * vc * t)
    integrand = 0.5 * t**n * np.exp(-exponent(pc, vc, t - t0)) * both
    scale = np.exp(v * saddle - v * v / (p + x))
    return sign * scale * step * np.sum(integrand * weights, axis=1)


def _modified_first(n: int, v: Any, x: Any) -> Any:
    """e⁻ˣ dⁿI/dνⁿ for ν ≥ 0, x > 0."""
    z = np.empty_like(x)
    small = 0.25 * x * x <= 1.0 + 0.0 * v
    far = ~small & (v * v > 8.0 * x)
    near = ~small & ~far
    if np.any(small):
        z[small] = np.exp(-x[small]) * _powers(n, v[small], x[small], 1.0)
    if np.any(far):
        z[far] = _modified_first_far(n, v[far], x[far])
    if np.any(near):
        z[near] = _modified_first_near(n, v[near], x[near])
    return z


def _modified_first_far(n: int, v: Any, x: Any) -> Any:
    """From the saddle t₀ = arsinh(ν/x) upwards to iπ."""
    p = np.hypot(x, v)
    saddle = np.arcsinh(v / x)
    pc, vc, t0 = column(p, v, saddle)
    upwards = along(_reach(p, v, 0.8, 0.66), bent(UP, pi), lambda t: (-t0 - t) ** n * np.exp(exponent(pc, vc, t)))
    return np.exp(v * v / (p + x) - v * saddle) * upwards.imag / pi


def _modified_first_near(n: int, v: Any, x: Any) -> Any:
    """1/π ∫ exp(x (cos θ - 1)) cos νθ dθ - sin νπ/π ∫ exp(-x (cosh t + 1) - νt) dt; for ν² ≤ 8x nothing cancels."""
    nodes, weights = gauss(64)
    (vc, xc) = column(v, x)
    angle = np.minimum(pi, pi * np.sqrt(0.5 * FALL / x))
    theta = angle[:, None] * nodes
    derivatives: list[Callable[[Any], Any]] = [np.cos, lambda u: -np.sin(u), lambda u: -np.cos(u), np.sin]
    turned = derivatives[n % 4]
    around = np.exp(-2.0 * xc * np.sin(0.5 * theta) ** 2) * theta**n * turned(vc * theta)
    total = angle * np.sum(around * weights, axis=1)
    reach = np.arccosh(1.0 + FALL / x)
    t = reach[:, None] * nodes
    fall = np.exp(-2.0 * xc * np.cosh(0.5 * t) ** 2 - vc * t) * weights
    _, sines = _turned(n, v)
    rest = sum(comb(n, k) * sines[n - k] * np.sum((-t) ** k * fall, axis=1) for k in range(n + 1))
    return (total - reach * rest) / pi


def modified_pair(n: int, v: Any, x: Any, kinds: str) -> tuple[Any, Any]:
    """e⁻ˣ dⁿI/dνⁿ, eˣ dⁿK/dνⁿ of any real order, x > 0."""
    z = where((x == 0) & (v > n), 0.0, np.nan), np.full_like(x, np.nan)
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    v, x = v[inside], x[inside]
    if "K" in kinds:
        z[1][inside] = _modified_second(n, v, x)
    if "I" in kinds:
        left = v < 0
        values = np.empty_like(x)
        values[~left] = _modified_first(n, v[~left], x[~left])
        if np.any(left):
            u, y = -v[left], x[left]
            _, sines = _turned(n, u)
            rest = sum(comb(n, k) * sines[n - k] * _modified_second(k, u, y) for k in range(n + 1))
            values[left] = (-1.0) ** n * (_modified_first(n, u, y) + 2.0 / pi * np.exp(-2.0 * y) * rest)
        z[0][inside] = values
    return z
