"""Tricomi's function U(a, b, x) in its parameters, x > 0, with all derivatives.

    U = 1/Γ(a) ∫ exp(-xt) t^(a-1) (1+t)^(b-a-1) dt,  a > 0;    U(a, b, x) = x^(1-b) U(a-b+1, 2-b, x),

and where neither first parameter is positive, a recurrence in a, or in b where b is large. Over u = log t the integrand
has one peak; it is followed to both sides until it has fallen by e^-40.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np

from adjoint.ops.special.jets import Form, Jet, forms, multiplied, one, power, reciprocal_gamma, times
from adjoint.ops.special.library import where
from adjoint.ops.special.parameters import Orders, gauss

FALL = 40.0
MOST_STEPS = 2000.0  # of a recurrence


def hyperu_kernel(orders: Orders, a: Any, b: Any, x: Any) -> Any:
    """∂ⁱ∂ʲ∂ᵐ U(a, b, x)/∂aⁱ∂bʲ∂xᵐ, by ∂ᵐ/∂xᵐ U(a, b, x) = (-1)ᵐ (a)ₘ U(a+m, b+m, x)."""
    *inner, m = orders
    inner = tuple(inner)
    p, q = forms(a, b)
    jet = np.full_like(one(inner, x), np.nan)
    inside = (x > 0) & np.isfinite(x)
    if np.any(inside):
        jet[..., inside] = (-1.0) ** m * _any_sign(inner, (p + m).chosen(inside), (q + m).chosen(inside), x[inside])
    for k in range(m):
        jet = times(jet, p + k)
    return jet[inner] * prod(map(factorial, inner))


def _any_sign(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """Where a > 0 the integral; where a - b + 1 > 0 that of the transformed function; else down from there."""
    other = a - b + 1.0
    direct = a.value > 0.25
    mirrored = ~direct & (other.value > 0.25)
    jet = one(orders, x)
    raised = ~direct & ~mirrored & (b.value > np.maximum(x, 1.0) + 2.0)
    rest = ~(direct | mirrored | raised)
    near = (np.abs(a.value) < MOST_STEPS) & (np.abs(b.value) < MOST_STEPS)
    jet[..., (raised | rest) & ~near] = np.nan
    for here, method in (
        (direct, _integral),
        (mirrored, _mirrored),
        (raised & near, _upwards),
        (rest & near, _downwards),
    ):
        if np.any(here):
            jet[..., here] = method(orders, a.chosen(here), b.chosen(here), x[here])
    return jet


def _mirrored(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    inner = _integral(orders, a - b + 1.0, Form(2.0 - b.value, tuple(-s for s in b.coefficients)), x)
    return multiplied(power(x, Form(1.0 - b.value, tuple(-s for s in b.coefficients)), orders), inner, 2)


def _downwards(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """U(a-1) = (2a - b + x) U(a) - a (a-b+1) U(a+1), from a first parameter above ¼."""
    steps = np.ceil(0.25 - a.value) + 1.0
    top = a + steps
    upper, lower = _integral(orders, top + 1.0, b, x), _integral(orders, top, b, x)
    for k in range(int(np.max(steps))):
        here = top - float(k)
        next_one = times(lower, here + here - b + x) - times(times(upper, here), here - b + 1.0)
        going = k < steps
        upper, lower = where(going, lower, upper), where(going, next_one, lower)
    return lower


def _upwards(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """x U(b+1) = (b+x-1) U(b) - (b-a-1) U(b-1), from a second parameter near x: U grows the fastest."""
    steps = np.ceil(b.value - np.maximum(x, 1.0)) - 1.0
    bottom = b - steps
    lower, upper = _any_sign(orders, a, bottom - 1.0, x), _any_sign(orders, a, bottom, x)
    for k in range(int(np.max(steps))):
        here = bottom + float(k)
        next_one = (times(upper, here + (x - 1.0)) - times(lower, here - a - 1.0)) / x
        going = k < steps
        lower, upper = where(going, upper, lower), where(going, next_one, upper)
    return upper


def _integral(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """The integral, with the logarithms of t and 1 + t that the derivatives bring."""
    n = b.value - 1.0 - x
    root = np.sqrt(n * n + 4.0 * a.value * x)
    peak = np.log(where(n > 0, (n + root) / (2.0 * x), 2.0 * a.value / (root - n)))
    rest = b - a - 1.0

    def exponent(u: Any) -> Any:
        return a.value[:, None] * u - x[:, None] * np.exp(u) + rest.value[:, None] * np.logaddexp(0.0, u)

    top = exponent(peak[:, None])
    fallen: Callable[[Any], Any] = lambda u: exponent(u) - top
    low, high = peak - _reach(fallen, peak, -1.0), peak + _reach(fallen, peak, 1.0)
    corner = np.clip(0.0, low, high)  # where 1 + t bends
    first, second = np.minimum(corner, peak), np.maximum(corner, peak)
    jet = np.zeros_like(one(orders, x))
    for u, weights in _nodes(low, first, second, high):
        density = np.exp(fallen(u)) * weights
        bend = np.logaddexp(0.0, u)
        rates = [s * u + r * bend for s, r in zip(a.coefficients, rest.coefficients, strict=True)]
        for i in product(*[range(o + 1) for o in orders]):
            weight = prod((rate**k / factorial(k) for rate, k in zip(rates, i, strict=True)), start=1.0)
            jet[i] += np.sum(density * weight, axis=1)
    return multiplied(reciprocal_gamma(a, orders), jet * np.exp(top[:, 0]), 2)


def _reach(fallen: Any, peak: Any, side: float) -> Any:
    """How far from its peak the exponent has fallen by 40: by bisection of the logarithm of the distance."""
    low, high = np.full_like(peak, -14.0), np.full_like(peak, 14.0)
    for _ in range(24):
        middle = 0.5 * (low + high)
        short = fallen((peak + side * np.exp(middle))[:, None])[:, 0] > -FALL
        low, high = where(short, middle, low), where(short, high, middle)
    return np.exp(high)


def _nodes(low: Any, first: Any, second: Any, high: Any) -> Any:
    """Gauss's nodes and weights: stretched to the left of `first`, in three parts on each of the other intervals."""
    t, w = gauss(40)
    length = np.arcsinh((first - low) / 2.0)[:, None]
    yield first[:, None] - 2.0 * np.sinh(length * t), 2.0 * np.cosh(length * t) * length * w
    t, w = gauss(30)
    for begin, end in ((first, second), (second, high)):
        whole = end - begin
        near, far = np.minimum(4.0, whole / 3.0), np.maximum(whole - 4.0, 2.0 * whole / 3.0)
        for left, right in ((0.0 * whole, near), (near, far), (far, whole)):
            part = (right - left)[:, None]
            yield (begin + left)[:, None] + part * t, part * w
