"""Spheroidal wave functions, prolate and oblate, in x and in c.

In Legendre's normalized functions of order m the coefficients v of a wave function are an eigenvector of
diag(l(l+1)) ± c² X, where X is multiplication by x²: so ∂λ/∂c = ±2c vᵀXv, and ∂v/∂c follows. The angular functions are
sums of Legendre functions, scaled so that at 0 they are that of degree n; the radial functions of the first kind are
sums of spherical Bessel functions of cx.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.ops.special.declare import named, several
from adjoint.ops.special.degrees import whole_degree
from adjoint.ops.special.eigenvectors import TridiagonalEigh
from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.quadrature import spread_out
from adjoint.program.types import Value

SIZE = 34  # coefficients, besides one for each two degrees: enough for c up to 40


class Expansion(NamedTuple):
    """Plain arrays; the last axis is for the coefficients, of degree l = m + r."""

    m: Any
    r: Any
    l: Any
    square: Any  # X
    own_order: Any
    phase: Any  # i^(l-n)


def _expansion(m: Value, n: Value) -> Expansion:
    orders, degrees = whole_degree(m), whole_degree(n)
    if orders is None or degrees is None:
        raise UnsupportedError(
            "spheroidal wave functions: m and n must be plain integers where c is differentiated; one is traced."
        )
    orders, degrees = np.broadcast_arrays(orders, degrees)
    size = SIZE + int(np.max(degrees, initial=0)) // 2
    m, n = orders[..., None], np.maximum(degrees, orders)[..., None]
    r = 2 * np.arange(size) + (n - m) % 2
    l = m + r
    # x P_(l-1) has this much of P_l, and back
    step: Callable[[Any], Any] = lambda d: np.sqrt((d * d - m * m) / (4.0 * d * d - 1.0))
    below = where(l == m, 0.0, step(where(l == m, m + 1, l)))
    square = _placed_on(below**2 + step(l + 1) ** 2, 0)
    beside = (step(l + 1) * step(l + 2))[..., :-1]
    square = square + _placed_on(beside, 1) + _placed_on(beside, -1)
    return Expansion(m, r, l, square, (l == n) * 1.0, where((l - n) // 2 % 2 == 0, 1.0, -1.0))


def _placed_on(values: Any, offset: int) -> Any:
    """A matrix with the values on a diagonal."""
    size = values.shape[-1]
    return values[..., None] * np.eye(size) if offset == 0 else _shifted(values, offset)


def _shifted(values: Any, offset: int) -> Any:
    size = values.shape[-1] + 1
    matrix = np.zeros((*values.shape[:-1], size, size))
    k = np.arange(int(size) - 1)
    matrix[..., k + (offset < 0), k + (offset > 0)] = values
    return matrix


def _eigen(e: Expansion, c: Value, sign: float) -> tuple[Value, Value, Value]:
    matrix = (sign * c * c)[..., None, None] * e.square if np.ndim(c) else sign * c * c * e.square
    values, vectors = TridiagonalEigh()(matrix + _placed_on(e.l * (e.l + 1.0), 0))
    return values, vectors, np.einsum("...kj,...j->...k", vectors, np.broadcast_to(e.own_order, values.shape))


def _applied(e: Expansion, v: Value) -> Value:
    """X v."""
    return np.einsum("...ij,...j->...i", np.broadcast_to(e.square, (*v.shape, v.shape[-1])), v)


def _value_derivative(sign: float) -> Callable[..., Value]:
    def derivative(m: Value, n: Value, c: Value) -> Value:
        e = _expansion(m, n)
        v = _eigen(e, c, sign)[2]
        return 2.0 * sign * c * np.sum(v * _applied(e, v), axis=-1)

    return derivative


def _coefficients(e: Expansion, c: Value, sign: float) -> tuple[Value, Value]:
    """v and ∂v/∂c, with either sign of both."""
    values, vectors, v = _eigen(e, c, sign)
    own = np.expand_dims(np.sum(values * e.own_order, axis=-1), -1)
    gap = where(e.own_order > 0, 1.0, own - values)
    turned = np.einsum("...ij,...i->...j", vectors, _applied(e, v))
    derivative = np.einsum("...ij,...j->...i", vectors, where(e.own_order > 0, 0.0, turned / gap))
    return v, 2.0 * sign * np.expand_dims(c, -1) * derivative


def _legendre(e: Expansion, x: Value) -> tuple[Value, Value]:
    """C_r^(m+½)(x) with the norm of Legendre's functions, and its derivative: they are these times (1-x²)^(m/2)."""
    a, m, r = e.m + 0.5, e.m, e.r
    # ∫ (1-x²)ᵐ C² dx = π 2^(-2m) Γ(r+2m+1) / (r! (r+m+½) Γ(m+½)²)
    norm = np.exp(
        0.5 * (special.gammaln(r + 1.0) + np.log((r + a) / math.pi) - special.gammaln(r + 2.0 * m + 1.0))
        + special.gammaln(a)
        + m * math.log(2.0)
    )
    lower = where(r == 0, 0, r - 1)
    derivative = where(r == 0, 0.0, 2.0 * a * special.eval_gegenbauer(lower, a + 1.0, x))
    return norm * special.eval_gegenbauer(r, a, x), norm * derivative


def _angular_in_c(sign: float) -> Callable[..., tuple[Value, Value]]:
    def derivatives(m: Value, n: Value, c: Value, x: Value) -> tuple[Value, Value]:
        e = _expansion(m, n)
        v, rate = _coefficients(e, c, sign)
        odd = e.r[..., :1] % 2 == 1
        at_zero = where(odd, _legendre(e, 0.0)[1], _legendre(e, 0.0)[0])  # the derivative, where the value is 0
        target = np.sum(at_zero * e.own_order, axis=-1) / np.sum(_norm_of_degree(e), axis=-1)
        (t,) = spread_out(x)
        value, derivative = _legendre(e, t)
        here, here_rate = np.sum(v * at_zero, axis=-1), np.sum(rate * at_zero, axis=-1)
        shift = here_rate / here
        inner = np.sum(rate * value, axis=-1) - shift * np.sum(v * value, axis=-1)
        inner_x = np.sum(rate * derivative, axis=-1) - shift * np.sum(v * derivative, axis=-1)
        order = e.m[..., 0]
        root = (1.0 - x) * (1.0 + x)
        power = np.power(root, 0.5 * order)
        falling = where(order == 0, 0.0, -order * x * np.power(root, where(order == 0, 0.0, 0.5 * order - 1.0)))
        scale = target / here
        return scale * power * inner, scale * (power * inner_x + falling * inner)

    return derivatives


def _norm_of_degree(e: Expansion) -> Any:
    """For the function of degree n, the factor from Legendre's P_n^m to the normalized one."""
    l, m = e.l, e.m
    log = 0.5 * (np.log(l + 0.5) + special.gammaln(l - m + 1.0) - special.gammaln(l + m + 1.0))
    return np.exp(log) * e.own_order


def _spherical(l: Any, y: Value) -> tuple[Value, Value, Value]:
    """j_l, its first and its second derivative."""
    j, below, above = (ufuncs._spherical_jn(k, y) for k in (l, np.abs(l - 1), l + 1))
    derivative = (l * below - (l + 1) * above) / (2 * l + 1)
    return j, derivative, -2.0 / y * derivative - (1.0 - l * (l + 1) / (y * y)) * j


def _radial_in_c(sign: float) -> Callable[..., tuple[Value, Value]]:
    """(1 ∓ 1/x²)^(m/2) Σ aₗ jₗ(cx), aₗ = i^(l-n) gₗ/Σ g, g = v √((2l+1)(l+m)!/(l-m)!)."""

    def derivatives(m: Value, n: Value, c: Value, x: Value) -> tuple[Value, Value]:
        e = _expansion(m, n)
        v, rate = _coefficients(e, c, sign)
        log = special.gammaln(e.l + e.m + 1.0) - special.gammaln(e.l - e.m + 1.0)
        weight = np.sqrt(2.0 * e.l + 1.0) * np.exp(0.5 * log)
        total, total_rate = (np.expand_dims(np.sum(f * weight, axis=-1), -1) for f in (v, rate))
        a = e.phase * weight * v / total
        a_c = e.phase * weight * (rate - v * total_rate / total) / total
        c_column, x_column = spread_out(c, x)
        j, derivative, curve = _spherical(e.l, c_column * x_column)
        inner = np.sum(a_c * j + a * x_column * derivative, axis=-1)
        inner_x = np.sum(a * (derivative + c_column * x_column * curve) + c_column * a_c * derivative, axis=-1)
        order = e.m[..., 0]
        base = 1.0 - sign / (x * x)
        power = np.power(base, 0.5 * order)
        grown = sign * order * np.power(base, where(order == 0, 0.0, 0.5 * order - 1.0)) / (x * x * x)
        return power * inner, power * inner_x + grown * inner

    return derivatives


Curve = Callable[[Value, Value, Value, Value, Value], tuple[Value, Value]]


def _angular_curve(sign: float) -> Curve:
    """(1-x²) y″ = 2x y′ - (λ ∓ c²x² - m²/(1-x²)) y, also for the prolate radial functions."""

    def derivatives(m: Value, c: Value, value: Value, x: Value, z: Value) -> tuple[Value, Value]:
        s = 1.0 - x * x
        return z[1], (2.0 * x * z[1] - (value - sign * c * c * x * x - m * m / s) * z[0]) / s

    return derivatives


def _oblate_radial_curve(m: Value, c: Value, value: Value, x: Value, z: Value) -> tuple[Value, Value]:
    """(1+x²) y″ = -2x y′ + (λ - c²x² - m²/(1+x²)) y: x is ix above, and c is -ic."""
    s = 1.0 + x * x
    return z[1], (-2.0 * x * z[1] + (value - c * c * x * x - m * m / s) * z[0]) / s


def _with_own_value(curve: Curve, value: Any) -> Curve:
    return lambda m, n, c, x, z: curve(m, c, value(m, n, c), x, z)


def _with_given_value(curve: Curve) -> Curve:
    return lambda m, c, cv, x, z: curve(m, c, cv, x, z)


def _declare(kind: str, sign: float) -> None:
    value = getattr(special, f"{kind}_cv")
    named(value, "m n c", whole="m n", c=_value_derivative(sign))
    angular = _angular_curve(sign)
    radial = angular if sign > 0 else _oblate_radial_curve
    curves: dict[str, tuple[Curve, dict[str, Curve]]] = {
        "ang1": (angular, {"c": _angular_in_c(sign)}),
        "rad1": (radial, {"c": _radial_in_c(sign)}),
        "rad2": (radial, {}),
    }
    for name, (curve, in_c) in curves.items():
        function, with_value = getattr(special, f"{kind}_{name}"), getattr(special, f"{kind}_{name}_cv")
        several(function, "m n c x", whole="m n", x=_with_own_value(curve, value), **in_c)
        # cv is the number that belongs to m, n and c: in c or cv alone there is no derivative
        several(with_value, "m n c cv x", whole="m n", x=_with_given_value(curve))


_declare("pro", 1.0)
_declare("obl", -1.0)
