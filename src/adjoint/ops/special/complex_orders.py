"""Bessel functions of complex argument in their real order: the paths of `orders`, from a complex saddle point.

K and I in the right half plane are the two from which the others are made. The saddle is t₀ = log((ν+p)/z) with
p = √(z²+ν²); below the real axis (the rest is its mirror image) the path of K,

    dⁿK/dνⁿ = ½ ∫ tⁿ exp(νt - z cosh t) dt,

goes right to the height -arg z and left to arg z, that of I up to π - arg z and down to -π - arg z. Where |z| is large
and arg z near -π/2 two saddles count for I; there πi I(z) = exp(-πiν) K(z) - K(z exp(πi)).
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, pi
from typing import Any

import numpy as np

from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.orders import along, bent, column, exponent, width_of
from adjoint.ops.special.parameters import Orders, bell, polygammas

FALL = 40.0
_GRID = np.geomspace(1e-5, 900.0, 48)
Many = list[Any]  # a function and its derivatives in the order, 0 … n


def _leibniz(f: Many, g: Many) -> Many:
    """The derivatives of a product."""
    return [sum(comb(n, k) * f[k] * g[n - k] for k in range(n + 1)) for n in range(len(f))]


def _phase(n: int, v: Any, angle: float) -> Many:
    """exp(i angle ν) and its derivatives; exact where the angle is a quarter turn and ν an integer."""
    s = v * (angle / pi)
    first = ufuncs._cospi(s) + 1j * ufuncs._sinpi(s)
    return [(1j * angle) ** k * first for k in range(n + 1)]


def _fallen(path: Callable[[Any], tuple[Any, Any]], real: Callable[[Any], Any]) -> Any:
    """How far along a path the exponent has fallen by 40 for good."""
    t, _ = path(_GRID)
    high = np.nan_to_num(real(t), nan=-np.inf) > -FALL
    last = _GRID.size - np.argmax(high[:, ::-1], axis=1)  # the first place after the last that is high
    last = where(np.any(high, axis=1), last, 0)
    return _GRID[np.minimum(last, _GRID.size - 1)]


def _saddle(v: Any, z: Any) -> tuple[Any, Any]:
    """p = √(z²+ν²), which is like z for large z, and t₀."""
    far = np.abs(z) > v
    r = v / z
    p = where(far, z * np.sqrt(1.0 + r * r), np.sqrt(z + 1j * v) * np.sqrt(z - 1j * v))
    return p, np.log((v + p) / z)


def _second_below(n: int, v: Any, z: Any) -> Many:
    """K for -¾π ≤ arg z ≤ 0, ν ≥ 0."""
    p, saddle = _saddle(v, z)
    angle = -np.angle(z)
    pc, vc, t0 = column(p, v, saddle)
    fall: Callable[[Any], Any] = lambda t: -exponent(pc, vc, t)
    width = width_of(p, v)
    right = bent(np.tan(0.35 * angle / (0.5 * pi)), np.maximum(angle - saddle.imag, 1e-30), width)
    sink = bent(np.tan(0.91 * angle / (0.5 * pi)), np.maximum(angle + saddle.imag, 1e-30), width)
    level = np.maximum(2.0 * saddle.real, 0.0)[:, None]  # over the mountain on a level path, then down

    def straight(s: Any) -> tuple[Any, Any]:
        return -(s + 0j), 1.0

    def left(s: Any) -> tuple[Any, Any]:
        t, derivative = sink(s)
        return -level - t, derivative

    within = _fallen(straight, lambda t: where(-t.real < level, fall(t).real, -np.inf))
    pieces = [
        (right, _fallen(right, lambda t: fall(t).real)),
        (straight, np.minimum(level[:, 0], within)),
        (left, _fallen(left, lambda t: fall(t).real)),
    ]
    scale = 0.5 * np.exp(v * saddle - p)
    return [
        scale * sum(along(reach, path, lambda t, k=k: (t0 + t) ** k * np.exp(fall(t))) for path, reach in pieces)
        for k in range(n + 1)
    ]


def _first_saddle(n: int, v: Any, z: Any) -> Many:
    """I by one saddle, for -π/2 ≤ arg z ≤ 0 and ν ≥ |z|, or arg z near 0."""
    p, saddle = _saddle(v, z)
    angle = -np.angle(z)
    pc, vc, t0 = column(p, v, saddle)
    up = bent(4.7, pi + angle - saddle.imag)
    mirror = bent(1.9, pi - angle + saddle.imag)

    def down(s: Any) -> tuple[Any, Any]:
        t, derivative = mirror(s)
        return np.conj(t), np.conj(derivative)

    rise: Callable[[Any], Any] = lambda t: exponent(pc, vc, t)
    reaches = [(sign, path, _fallen(path, lambda t: rise(t).real)) for sign, path in ((1.0, up), (-1.0, down))]
    scale = np.exp(p - v * saddle) / (2j * pi)
    return [
        scale
        * sum(s * along(reach, path, lambda t, k=k: (-t0 - t) ** k * np.exp(rise(t))) for s, path, reach in reaches)
        for k in range(n + 1)
    ]


def _first_powers(n: int, v: Any, z: Any) -> Many:
    """I by its power series."""
    k = np.arange(40.0)
    v, z = column(v, z)
    order, logarithm = v + k + 1.0, np.log(0.5 * z)
    rates = polygammas(n, order)
    rates = [logarithm - rates[0], *[-r for r in rates[1:]]] if n else []
    term = np.exp((2.0 * k + v) * logarithm - special.gammaln(k + 1.0) - special.gammaln(order))
    return [np.sum(term * bell(i, rates), axis=1) for i in range(n + 1)]


def _first_pair(n: int, v: Any, z: Any) -> Many:
    """I for arg z near -π/2 and |z| > ν."""
    rotated = _leibniz(_phase(n, v, -pi), _second_below(n, v, z))
    other = [np.conj(k) for k in _second_below(n, v, np.conj(-z))]  # at z exp(πi)
    return [(a - b) / (1j * pi) for a, b in zip(rotated, other, strict=True)]


def _first_below(n: int, v: Any, z: Any) -> Many:
    """I for -π/2 ≤ arg z ≤ 0, ν ≥ 0."""
    size = np.abs(z)
    small = (size < 4.0) | (0.25 * size * size < v + 1.0)
    one = ~small & ((v >= size) | (np.angle(z) > -0.7))
    out = [np.empty_like(z) for _ in range(n + 1)]
    for here, method in ((small, _first_powers), (one, _first_saddle), (~small & ~one, _first_pair)):
        if np.any(here):
            for target, values in zip(out, method(n, v[here], z[here]), strict=True):
                target[here] = values
    return out


def _mirrored(function: Callable[..., Many], n: int, v: Any, z: Any) -> Many:
    """A function that is real on the real axis, from its values below it."""
    above = z.imag > 0
    values = function(n, v, where(above, np.conj(z), z))
    return [where(above, np.conj(f), f) for f in values]


def _right_half(n: int, v: Any, z: Any) -> tuple[Many, Many]:
    """I and K for Re z ≥ 0, ν ≥ 0."""
    return _mirrored(_first_below, n, v, z), _mirrored(_second_below, n, v, z)


def modified(n: int, v: Any, z: Any) -> tuple[Many, Many]:
    """I and K of complex z and real order, with their derivatives in the order."""
    u = np.abs(v)
    left = z.real < 0
    first, second = _right_half(n, u, where(left, -z, z))
    sines = [np.imag(t) for t in _phase(n, u, pi)]
    # I = (even in ν) - sin(πν)/π K: at ν = 0 the odd derivatives are those of the small second part alone
    odd = _leibniz(sines, second)
    first = [where((u == 0) & (k % 2 == 1), -odd[k] / pi, f) for k, f in enumerate(first)]
    half = where(z.imag >= 0, 1.0, -1.0)  # z = w exp(±πi)
    phase = [where(half > 0, t, np.conj(t)) for t in _phase(n, u, pi)]
    over = [a - half * 1j * pi * b for a, b in zip(_leibniz([np.conj(t) for t in phase], second), first, strict=True)]
    second = [where(left, a, b) for a, b in zip(over, second, strict=True)]
    first = [where(left, a, b) for a, b in zip(_leibniz(phase, first), first, strict=True)]
    reflected = [a + 2.0 / pi * b for a, b in zip(first, _leibniz(sines, second), strict=True)]
    sign = where(v < 0, -1.0, 1.0)
    first = [where(v < 0, sign**k * a, b) for k, (a, b) in enumerate(zip(reflected, first, strict=True))]
    return first, [sign**k * b for k, b in enumerate(second)]


def _upper(n: int, v: Any, z: Any) -> tuple[Many, Many]:
    """J and H¹ for Im z ≥ 0, ν ≥ 0: those of the right half plane, turned by a quarter."""
    first, second = _right_half(n, v, -1j * z)
    j = _leibniz(_phase(n, v, 0.5 * pi), first)
    h = _leibniz(_phase(n, v, -0.5 * pi), second)
    return j, [2.0 / (1j * pi) * part for part in h]


def cylinder(n: int, v: Any, z: Any) -> tuple[Many, Many]:
    """J and Y of complex z and real order, with their derivatives in the order."""
    u = np.abs(v)
    below = z.imag < 0
    j, h = _upper(n, u, where(below, np.conj(z), z))
    y = [-1j * (a - b) for a, b in zip(h, j, strict=True)]
    j, y = ([where(below, np.conj(f), f) for f in part] for part in (j, y))
    phases = _phase(n, u, pi)
    cosine, sine = [np.real(t) for t in phases], [np.imag(t) for t in phases]
    reflected_j = [a - b for a, b in zip(_leibniz(cosine, j), _leibniz(sine, y), strict=True)]
    reflected_y = [a + b for a, b in zip(_leibniz(sine, j), _leibniz(cosine, y), strict=True)]
    sign = where(v < 0, -1.0, 1.0)
    return (
        [where(v < 0, sign**k * a, b) for k, (a, b) in enumerate(zip(reflected_j, j, strict=True))],
        [where(v < 0, sign**k * a, b) for k, (a, b) in enumerate(zip(reflected_y, y, strict=True))],
    )


def third(n: int, v: Any, z: Any, kind: int) -> Many:
    """H¹ or H² of complex z and real order: where it is the smaller of the two directly, elsewhere as J ± iY."""
    u = np.abs(v)
    own = z.imag >= 0 if kind == 1 else (z.imag < 0) | ((z.imag == 0) & (z.real > 0))  # left of 0, as from above
    w = where(z.imag < 0, np.conj(z), z)
    j, h = _upper(n, u, w)
    small = h
    large = [2.0 * a - b for a, b in zip(j, h, strict=True)]
    values = [where(own, a, np.conj(b)) for a, b in zip(small, large, strict=True)]
    if kind == 2:
        values = [where(own, np.conj(a), b) for a, b in zip(small, large, strict=True)]
    phase = _phase(n, u, pi if kind == 1 else -pi)
    sign = where(v < 0, -1.0, 1.0)
    return [where(v < 0, sign**k * a, b) for k, (a, b) in enumerate(zip(_leibniz(phase, values), values, strict=True))]


def _kernel(which: Callable[[int, Any, Any], Any], scale: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    def kernel(orders: Orders, v: Any, z: Any) -> Any:
        v, z = np.real(v), np.asarray(z, np.complex128)
        values = which(orders[0], v, z)
        return values if scale is None else values * scale(z)

    return kernel


COMPLEX_KERNELS: dict[str, Callable[..., Any]] = {
    "jv": _kernel(lambda n, v, z: cylinder(n, v, z)[0][n]),
    "yv": _kernel(lambda n, v, z: cylinder(n, v, z)[1][n]),
    "jve": _kernel(lambda n, v, z: cylinder(n, v, z)[0][n], lambda z: np.exp(-np.abs(z.imag))),
    "yve": _kernel(lambda n, v, z: cylinder(n, v, z)[1][n], lambda z: np.exp(-np.abs(z.imag))),
    "iv": _kernel(lambda n, v, z: modified(n, v, z)[0][n]),
    "kv": _kernel(lambda n, v, z: modified(n, v, z)[1][n]),
    "ive": _kernel(lambda n, v, z: modified(n, v, z)[0][n], lambda z: np.exp(-np.abs(z.real))),
    "kve": _kernel(lambda n, v, z: modified(n, v, z)[1][n], lambda z: np.exp(z)),
    "hankel1": _kernel(lambda n, v, z: third(n, v, z, 1)[n]),
    "hankel2": _kernel(lambda n, v, z: third(n, v, z, 2)[n]),
    "hankel1e": _kernel(lambda n, v, z: third(n, v, z, 1)[n], lambda z: np.exp(-1j * z)),
    "hankel2e": _kernel(lambda n, v, z: third(n, v, z, 2)[n], lambda z: np.exp(1j * z)),
}
