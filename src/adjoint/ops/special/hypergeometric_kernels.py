"""Hypergeometric functions in their parameters, with all derivatives: series of jets, where they converge fast.

₀F₁ for large |x| is a Bessel function; ₁F₁ has its asymptotic series; ₂F₁ near 1 is continued from ¾ along its
differential equation by Taylor's series, each step halving the distance to 1, so that no difference of parameters is an
exception.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial, prod
from typing import Any

import numpy as np

from adjoint.ops.special.jets import (
    Form,
    Jet,
    forms,
    gamma,
    multiplied,
    one,
    over,
    power,
    reciprocal_gamma,
    series,
    times,
)
from adjoint.ops.special.library import special, where
from adjoint.ops.special.orders import bessel_pair, modified_pair
from adjoint.ops.special.parameters import Orders, bell, polygammas


def _derivative(jet: Jet, orders: Orders) -> Any:
    """The derivative of the highest order that a jet has."""
    return jet[orders] * prod(map(factorial, orders))


def hyp0f1_kernel(orders: Orders, b: Any, x: Any) -> Any:
    """∂ⁿ∂ᵐ ₀F₁(b, x)/∂bⁿ∂xᵐ, by ∂ᵐ/∂xᵐ ₀F₁(b, x) = ₀F₁(b+m, x)/(b)ₘ."""
    n, m = orders
    (letter,) = forms(b)
    jet = one((n,), x)
    far = np.abs(x) > np.maximum(12.0, 4.0 * b)
    if np.any(~far):
        jet[:, ~far] = series((n,), [], [(letter + m).chosen(~far)], x[~far], 1000)
    if np.any(far):
        jet[:, far] = _bessel_jet(n, b[far] + m, x[far])
    for k in range(m):
        jet = over(jet, letter + k)
    return _derivative(jet, (n,))


def _bessel_jet(n: int, b: Any, x: Any) -> Jet:
    """Γ(b) y^(1-b) I_(b-1)(2y), y = √x; J for x < 0."""
    x = np.real(x)
    y = np.sqrt(np.abs(x))
    rates = polygammas(n, b)
    rates = [rates[0] - np.log(y), *rates[1:]] if n else []
    sums: list[Any] = []
    for k in range(n + 1):
        values = np.empty_like(y)
        right = x > 0
        values[right] = np.exp(2.0 * y[right]) * modified_pair(k, b[right] - 1.0, 2.0 * y[right], "I")[0]
        values[~right] = bessel_pair(k, b[~right] - 1.0, 2.0 * y[~right], "J")[0]
        sums.append(values)
    logarithmic = np.exp(special.gammaln(b) + (1.0 - b) * np.log(y))
    scale = where(b > 100.0, logarithmic, special.gamma(b) * y ** (1.0 - b))
    return np.stack(
        [
            scale * sum(comb(k, j) * bell(j, rates) * sums[k - j] for j in range(k + 1)) / factorial(k)
            for k in range(n + 1)
        ]
    )


def hyp1f1_kernel(orders: Orders, a: Any, b: Any, x: Any) -> Any:
    """∂ⁱ∂ʲ∂ᵐ ₁F₁(a, b, x)/∂aⁱ∂bʲ∂xᵐ."""
    *inner, m = orders
    inner = tuple(inner)
    p, q = forms(a, b)
    jet = one(inner, x + 0.0 * a)
    a, b = a + m, b + m
    far = (np.abs(x) > 50.0 + 2.0 * (np.abs(a) + np.abs(a - b))) & (np.abs(b) < 150.0)
    left = x < -1.0
    moderate = (np.abs(b) < 200.0) & (np.abs(a) < 1e4) & (np.abs(x) < 1e4)
    waves = ~far & moderate & where(left, a > b + 3.0, (x > 1.0) & (a < -3.0))
    rest = ~far & ~waves
    methods: list[tuple[Any, Callable[[Orders, Form, Form, Any], Jet]]] = [
        (far & left, _kummer_left),
        (far & ~left, _kummer_right),
        (waves & left, _kummer_steps),
        (waves & ~left, lambda o, a, b, x: np.exp(x) * _kummer_steps(o, b - a, b, -x)),
        (rest & left, _kummer_turned),
        (rest & ~left, _kummer_series),
    ]
    for here, method in methods:
        if np.any(here):
            jet[..., here] = method(inner, (p + m).chosen(here), (q + m).chosen(here), x[here])
    for k in range(m):
        jet = over(times(jet, p + k), q + k)
    return _derivative(jet, inner)


def _kummer_series(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    return series(orders, [a], [b], x, 2000)


def _kummer_turned(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """eˣ ₁F₁(b-a, b, -x)."""
    return np.exp(x) * series(orders, [b - a], [b], -x, 2000)


def _kummer_steps(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """Taylor's steps from -1 to the left along x y″ + (b-x) y′ - a y = 0, for large a: the function oscillates."""
    start = np.full_like(x, -1.0)
    value = _kummer_series(orders, a, b, start)
    derivative = over(times(_kummer_series(orders, a + 1.0, b + 1.0, start), a), b)
    here = start
    growth = 1.0 + np.minimum(0.5, 8.0 / np.abs(b.value))  # longer steps lift rounding errors along x^(1-b)
    while np.any(going := here > x):
        there = np.maximum(growth * here, x)
        parts = a.chosen(going), b.chosen(going)
        value[..., going], derivative[..., going] = _kummer_step(
            *parts, value[..., going], derivative[..., going], here[going], there[going]
        )
        here = where(going, there, here)
    return value


def _kummer_step(a: Form, b: Form, value: Jet, derivative: Jet, here: Any, there: Any) -> tuple[Jet, Jet]:
    """(k+2)(k+1) x₀ yₖ₊₂ = (k+a) yₖ - (k+1)(k+b-x₀) yₖ₊₁."""
    step = there - here
    ratio = step / here
    upper, lower = value, derivative * step  # terms yₖ hᵏ
    result, rise = value + lower, lower.copy()
    for k in range(400):
        both = times(upper, a + k) * (step * ratio) - times(lower, b - here + k) * ((k + 1.0) * ratio)
        term = both / ((k + 2.0) * (k + 1.0))
        upper, lower = lower, term
        result += term
        rise += (k + 2.0) * term
        if k % 8 == 7 and not np.any(np.abs(term) * k > 1e-18 * np.abs(result) + 1e-300):
            break
    return result, rise / step


def _kummer_left(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    """Γ(b)/Γ(b-a) y^(-a) Σ (a)ₖ (a-b+1)ₖ/(k! yᵏ), y = -x."""
    y = -np.real(x)
    tail = _asymptotic(orders, [a, a - b + 1.0], 1.0 / y)
    scale = multiplied(gamma(b, orders), reciprocal_gamma(b - a, orders), 2)
    return multiplied(multiplied(scale, power(y, -a, orders), 2), tail, 2)


def _kummer_right(orders: Orders, a: Form, b: Form, x: Any) -> Jet:
    return np.exp(x) * _kummer_left(orders, b - a, b, -x)


def _asymptotic(orders: Orders, upper: list[Form], x: Any) -> Jet:
    """Σ Π (upper)ₖ xᵏ/k!, as long as the terms fall."""
    term = one(orders, x + 0.0 * upper[0].value)
    total, last = term.copy(), np.full(x.shape, np.inf)
    going = np.ones(x.shape, bool)
    for k in range(60):
        for form in upper:
            term = times(term, form + k)
        term = term * (x / (k + 1.0))
        size = np.max(np.abs(term), axis=tuple(range(len(orders))))
        going &= (size <= last) | (k < 4)
        total += where(going, term, 0.0)
        last = size
    return total


def hyp2f1_kernel(orders: Orders, a: Any, b: Any, c: Any, x: Any) -> Any:
    """∂ⁱ∂ʲ∂ᵏ∂ᵐ ₂F₁(a, b, c, x)/∂aⁱ∂bʲ∂cᵏ∂xᵐ for x ≤ 1."""
    *inner, m = orders
    inner = tuple(inner)
    p, q, r = forms(a, b, c)
    jet = np.full_like(one(inner, x), np.nan)
    small = np.abs(x) <= 0.6
    left = x < -0.6
    over_b = left & (b <= a)
    methods: list[tuple[Any, Callable[[Orders, Form, Form, Form, Any], Jet]]] = [
        (small | ((x > 0.6) & (x < 0.75)), _gauss_series),
        (over_b, _pfaff),
        (left & ~over_b, lambda o, a, b, c, x: _pfaff(o, b, a, c, x)),
        ((x >= 0.75) & (x < 1.0), _gauss_near_one),
        (x == 1.0, _gauss_at_one),
    ]
    moderate = (np.abs(a) < 1e4) & (np.abs(b) < 1e4) & (np.abs(c) < 1e4)  # elsewhere NaN
    for region, method in methods:
        if np.any(here := region & moderate):
            a, b, c = [(f + m).chosen(here) for f in (p, q, r)]
            jet[..., here] = method(inner, a, b, c, x[here])
    for k in range(m):
        jet = over(times(times(jet, p + k), q + k), r + k)
    return _derivative(jet, inner)


def _gauss_series(orders: Orders, a: Form, b: Form, c: Form, x: Any) -> Jet:
    return series(orders, [a, b], [c], x, 1500)


def _pfaff(orders: Orders, a: Form, b: Form, c: Form, x: Any) -> Jet:
    """(1-x)^(-a) ₂F₁(a, c-b, c, x/(x-1))."""
    w, away = x / (x - 1.0), 1.0 / (1.0 - x)
    inner = one(orders, x)
    near = w >= 0.75
    if np.any(~near):
        inner[..., ~near] = _gauss_series(orders, a.chosen(~near), (c - b).chosen(~near), c.chosen(~near), w[~near])
    if np.any(near):
        parts = a.chosen(near), (c - b).chosen(near), c.chosen(near)
        inner[..., near] = _gauss_near_one(orders, *parts, w[near], away[near])
    return multiplied(power(away, a, orders), inner, 3)


def _gauss_near_one(orders: Orders, a: Form, b: Form, c: Form, x: Any, away: Any = None) -> Jet:
    """By s = c-a-b: the series, which falls as k^(-s); Euler's (1-x)ˢ ₂F₁(c-a, c-b, c, x); Taylor's steps.

    For large c the steps would lift rounding errors along the other solution, x^(1-c).
    """
    away = 1.0 - x if away is None else away
    rest = c - a - b
    high, low = rest.value > 12.0, (rest.value < -12.0) & (np.abs(c.value) > 20.0)
    jet = one(orders, x)
    if np.any(high):
        jet[..., high] = _gauss_series(orders, a.chosen(high), b.chosen(high), c.chosen(high), x[high])
    if np.any(low):
        inner = _gauss_series(orders, (c - a).chosen(low), (c - b).chosen(low), c.chosen(low), x[low])
        jet[..., low] = multiplied(power(away[low], rest.chosen(low), orders), inner, 3)
    if np.any(middle := ~high & ~low):
        parts = a.chosen(middle), b.chosen(middle), c.chosen(middle)
        jet[..., middle] = _gauss_steps(orders, *parts, away[middle])
    return jet


def _gauss_steps(orders: Orders, a: Form, b: Form, c: Form, away: Any) -> Jet:
    """Taylor's steps from ¾ along x (1-x) y″ + (c - (a+b+1) x) y′ - ab y = 0 to the distance `away` from 1."""
    start = np.full_like(away, 0.75)
    value = _gauss_series(orders, a, b, c, start)
    derivative = _gauss_series(orders, a + 1.0, b + 1.0, c + 1.0, start)
    derivative = over(times(times(derivative, a), b), c)
    here = np.full_like(away, 0.25)  # the distance to 1
    for _ in range(1100):
        going = here > away
        if not np.any(going):
            break
        last = away > 0.45 * here
        there = where(last, away, 0.5 * here)
        chosen = a.chosen(going), b.chosen(going), c.chosen(going)
        value[..., going], derivative[..., going] = _step(
            *chosen, value[..., going], derivative[..., going], here[going], there[going]
        )
        here = where(going, there, here)
    return value


def _step(a: Form, b: Form, c: Form, value: Jet, derivative: Jet, here: Any, there: Any) -> tuple[Jet, Jet]:
    """The solution and its derivative at distance `there` from 1, from those at distance `here`, both jets."""
    ratio = 1.0 - there / here  # the step, over the radius of convergence
    x0 = 1.0 - here
    total = a + b + 1.0
    upper, lower = value, derivative * (ratio * here)  # terms yₖ hᵏ
    result, rise = value + lower, lower.copy()
    for k in range(400):
        # (k+2)(k+1) x₀ (1-x₀) yₖ₊₂ = (k+a)(k+b) yₖ - (k+1) ((1-2x₀) k + c - (a+b+1) x₀) yₖ₊₁
        middle = times(lower, c + k * (1.0 - 2.0 * x0)) - x0 * times(lower, total)
        both = times(times(upper, a + k), b + k) * (ratio * ratio * here) - middle * ((k + 1.0) * ratio)
        term = both / ((k + 2.0) * (k + 1.0) * x0)
        upper, lower = lower, term
        result += term
        rise += (k + 2.0) * term
        if k % 8 == 7 and not np.any(np.abs(term) * k > 1e-18 * np.abs(result) + 1e-300):
            break
    return result, rise / (ratio * here)


def _gauss_at_one(orders: Orders, a: Form, b: Form, c: Form, x: Any) -> Jet:
    """Γ(c) Γ(c-a-b)/(Γ(c-a) Γ(c-b)), for c > a + b."""
    rest = c - a - b
    upper = multiplied(gamma(c, orders), gamma(rest, orders), 3)
    lower = multiplied(reciprocal_gamma(c - a, orders), reciprocal_gamma(c - b, orders), 3)
    return where(rest.value > 0, multiplied(upper, lower, 3), np.nan)
