"""Truncated Taylor series in several parameters, as arrays.

J[i, j, …] is the coefficient of the i-th power of the first letter, the j-th of the second …; the elements lie along
the last axis. A parameter, or a sum of them, enters as a linear form: its value and a coefficient for each letter.
"""

from __future__ import annotations

from itertools import product
from math import comb, factorial, pi, prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.parameters import bell, polygammas

Jet = Any


class Form(NamedTuple):
    """value + Σ coefficients[axis] ε_axis."""

    value: Any
    coefficients: tuple[float, ...]

    def __add__(self, other: Any) -> Form:
        if isinstance(other, Form):
            return Form(
                self.value + other.value,
                tuple(p + q for p, q in zip(self.coefficients, other.coefficients, strict=True)),
            )
        return Form(self.value + other, self.coefficients)

    def __neg__(self) -> Form:
        return Form(-self.value, tuple(-p for p in self.coefficients))

    def __sub__(self, other: Any) -> Form:
        return self + -other

    def chosen(self, where: Any) -> Form:
        return Form(self.value[where], self.coefficients)


def forms(*values: Any) -> list[Form]:
    """One letter for each value."""
    n = len(values)
    return [Form(value, tuple(float(i == j) for j in range(n))) for i, value in enumerate(values)]


def one(orders: tuple[int, ...], like: Any) -> Jet:
    """The constant 1."""
    jet = np.zeros((*[o + 1 for o in orders], *like.shape), like.dtype)
    jet[(0,) * len(orders)] = 1.0
    return jet


def times(jet: Jet, form: Form) -> Jet:
    """A jet times a linear form."""
    out = jet * form.value
    for axis, coefficient in enumerate(form.coefficients):
        if coefficient and jet.shape[axis] > 1:
            rows = (slice(None),) * axis
            out[(*rows, slice(1, None))] += coefficient * jet[(*rows, slice(None, -1))]
    return out


def over(jet: Jet, form: Form) -> Jet:
    """A jet over a linear form in one letter."""
    axis = next((i for i, coefficient in enumerate(form.coefficients) if coefficient), 0)
    out = jet / form.value
    rows = (slice(None),) * axis
    for k in range(1, jet.shape[axis]):
        out[(*rows, k)] -= form.coefficients[axis] * out[(*rows, k - 1)] / form.value
    return out


def multiplied(p: Jet, q: Jet, letters: int) -> Jet:
    """The product of two jets."""
    out = np.zeros_like(p)
    shape = p.shape[:letters]
    for i in product(*map(range, shape)):
        for j in product(*[range(n - k) for n, k in zip(shape, i, strict=True)]):
            out[tuple(a + b for a, b in zip(i, j, strict=True))] += p[i] * q[j]
    return out


def composed(derivatives: list[Any], form: Form, orders: tuple[int, ...]) -> Jet:
    """g(form) from g, g′, g″ … at its value."""
    jet = one(orders, np.asarray(derivatives[0]))
    for i in product(*[range(o + 1) for o in orders]):
        scale = prod(s**k / factorial(k) for s, k in zip(form.coefficients, i, strict=True))
        jet[i] = scale * derivatives[sum(i)]
    return jet


def power(base: Any, form: Form, orders: tuple[int, ...]) -> Jet:
    """base^form."""
    value, rate = np.exp(form.value * np.log(base)), np.log(base)
    return composed([value * rate**k for k in range(sum(orders) + 1)], form, orders)


def reciprocal_gamma(form: Form, orders: tuple[int, ...]) -> Jet:
    """1/Γ(form); left of ½ as Γ(1-s) sin(πs)/π."""
    s, n = form.value, sum(orders)
    left = s < 0.5
    right = where(left, 1.0 - s, s)
    rates = polygammas(n, right)
    above = [bell(k, rates) * special.gamma(right) for k in range(n + 1)]  # derivatives of Γ
    below = [bell(k, [-r for r in rates]) * special.rgamma(right) for k in range(n + 1)]
    sine, cosine = ufuncs._sinpi(s), ufuncs._cospi(s)
    turned = [pi ** (k - 1) * (sine, cosine, -sine, -cosine)[k % 4] for k in range(n + 1)]
    mirrored = [sum(comb(k, j) * (-1.0) ** j * above[j] * turned[k - j] for j in range(k + 1)) for k in range(n + 1)]
    return composed([where(left, m, b) for m, b in zip(mirrored, below, strict=True)], form, orders)


def gamma(form: Form, orders: tuple[int, ...]) -> Jet:
    """Γ(form)."""
    n = sum(orders)
    rates = polygammas(n, form.value)
    return composed([bell(k, rates) * special.gamma(form.value) for k in range(n + 1)], form, orders)


def series(orders: tuple[int, ...], upper: list[Form], lower: list[Form], x: Any, most: int) -> Jet:
    """Σ Π (upper)ₖ / Π (lower)ₖ xᵏ/k!, until the terms no longer count.

    NaN where the terms cancel to less than a millionth of a correct result, or have not become small by `most` of them.
    """
    term = one(orders, x + 0.0 * sum(f.value for f in (*upper, *lower)))
    total, peak = term.copy(), np.abs(term)
    for k in range(most):
        for form in upper:
            term = times(term, form + k)
        for form in lower:
            term = over(term, form + k)
        term = term * (x / (k + 1.0))
        total += term
        size = np.abs(term)
        peak = np.maximum(peak, size)
        if k % 8 == 7 and not np.any(size > 1e-18 * np.abs(total) + 1e-300):
            break
    lost = (1e-10 * peak > np.abs(total)) | (np.abs(term) > 1e-12 * peak)
    return where(lost, np.nan, total)
