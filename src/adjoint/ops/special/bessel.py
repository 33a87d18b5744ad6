"""Bessel functions in argument and order; Airy and Kelvin functions.

The recurrences that stay regular at zero are preferred: 2 J′ᵥ = Jᵥ₋₁ - Jᵥ₊₁.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.ops.special.complex_orders import COMPLEX_KERNELS
from adjoint.ops.special.declare import named, removable, several, unary
from adjoint.ops.special.large_arguments import scaled_derivative
from adjoint.ops.special.library import special, ufuncs, where
from adjoint.ops.special.orders import bessel_pair, modified_pair
from adjoint.ops.special.parameters import Orders, ParameterDerivative, family
from adjoint.program.types import Value


def _real(name: str, x: Value) -> Value:
    """The scaled functions have |Re x| or |Im x| in their scale, so they are not holomorphic."""
    if x.dtype.kind == "c":
        raise UnsupportedError(
            f"{name} is not holomorphic (its scale is an absolute value), so it has no rule for complex arguments. "
            "Use the function without scale."
        )
    return x


def _of_order(
    f: Any,
    kernel: Callable[[Orders, Any, Any], Any],
    below: float,
    above: float,
    scale: Callable[[Value], Value] | None = None,
    *,
    phase: complex = 1.0,
    real: bool = False,
) -> None:
    """Declare a Bessel function and its derivatives in the order.

    f′ = below f(ν-1) + above f(ν+1) + scale f, and the same for each derivative in ν; `turn` is that of
    `scaled_derivative`.
    """
    name = f.__name__

    def derivative(g: Callable[..., Value], v: Value, x: Value, z: Callable[[], Value]) -> Value:
        x = _real(name, x) if real else x
        dz = below * g(v - 1.0, x) + above * g(v + 1.0, x)
        return dz if scale is None else dz + scale(x) * z()

    def derivative_of_order(orders: Orders, v: Value, x: Value) -> Value:
        g = ParameterDerivative(name, (orders[0], 0))
        return derivative(g, v, x, lambda: g(v, x))

    partials = family(
        f, "v x", kernel, "v", most=5, derivatives={"x": derivative_of_order}, complex_kernel=COMPLEX_KERNELS[name]
    )
    if scale is None:
        named(f, "v x", **partials, x=lambda v, x: derivative(f, v, x, lambda: None))
    else:
        near: Callable[[Value, Value, Value], Value] = lambda v, x, z: derivative(f, v, x, lambda: z)
        named(f, "v x", **partials, x=lambda v, x, z: scaled_derivative(phase, v, x, z, lambda u: near(v, u, z)))


def _kernel_j(orders: Orders, v: Any, x: Any) -> Any:
    return bessel_pair(orders[0], v, x, "J")[0]


def _kernel_y(orders: Orders, v: Any, x: Any) -> Any:
    return bessel_pair(orders[0], v, x, "Y")[1]


def _kernel_h(sign: float, scaled: bool) -> Callable[[Orders, Any, Any], Any]:
    def kernel(orders: Orders, v: Any, x: Any) -> Any:
        j, y = bessel_pair(orders[0], v, x, "JY")
        return (j + sign * 1j * y) * (np.exp(-sign * 1j * x) if scaled else 1.0)

    return kernel


def _kernel_i(orders: Orders, v: Any, x: Any) -> Any:
    return modified_pair(orders[0], v, x, "I")[0]


def _kernel_k(orders: Orders, v: Any, x: Any) -> Any:
    return modified_pair(orders[0], v, x, "K")[1]


_of_order(special.jv, _kernel_j, 0.5, -0.5)
_of_order(special.yv, _kernel_y, 0.5, -0.5)
_of_order(special.jve, _kernel_j, 0.5, -0.5, real=True)
_of_order(special.yve, _kernel_y, 0.5, -0.5, real=True)
_of_order(special.hankel1, _kernel_h(1.0, False), 0.5, -0.5)
_of_order(special.hankel2, _kernel_h(-1.0, False), 0.5, -0.5)
_of_order(special.hankel1e, _kernel_h(1.0, True), 0.5, -0.5, lambda x: -1j, phase=1j)
_of_order(special.hankel2e, _kernel_h(-1.0, True), 0.5, -0.5, lambda x: 1j, phase=-1j)
_of_order(special.iv, lambda o, v, x: np.exp(x) * _kernel_i(o, v, x), 0.5, 0.5)
_of_order(special.kv, lambda o, v, x: np.exp(-x) * _kernel_k(o, v, x), -0.5, -0.5)
_of_order(special.ive, _kernel_i, 0.5, 0.5, lambda x: -np.sign(x), phase=-1.0, real=True)
_of_order(special.kve, _kernel_k, -0.5, -0.5, lambda x: 1.0)
named(special.yn, "n x", whole="n", x=lambda n, x: 0.5 * (special.yn(n - 1, x) - special.yn(n + 1, x)))
named(special.kn, "n x", whole="n", x=lambda n, x: -0.5 * (special.kn(np.abs(n - 1), x) + special.kn(n + 1, x)))


def _i1e_derivative(x: Value, z: Value) -> Value:
    return 0.5 * (special.i0e(x) + special.ive(2.0, x)) - np.sign(x) * z


unary(special.j0, lambda x: -special.j1(x))
unary(special.j1, lambda x: 0.5 * (special.j0(x) - special.jv(2.0, x)))
unary(special.y0, lambda x: -special.y1(x))
unary(special.y1, lambda x, z: special.y0(x) - z / x)
unary(special.i0, lambda x: special.i1(x))
unary(special.i1, lambda x: 0.5 * (special.i0(x) + special.iv(2.0, x)))
unary(special.i0e, lambda x, z: scaled_derivative(-1.0, 0.0, x, z, lambda u: special.i1e(u) - np.sign(u) * z))
unary(special.i1e, lambda x, z: scaled_derivative(-1.0, 1.0, x, z, lambda u: _i1e_derivative(u, z)))
unary(special.k0, lambda x: -special.k1(x))
unary(special.k1, lambda x, z: -special.k0(x) - z / x)
unary(special.k0e, lambda x, z: scaled_derivative(1.0, 0.0, x, z, lambda u: z - special.k1e(u)))
unary(special.k1e, lambda x, z: scaled_derivative(1.0, 1.0, x, z, lambda u: z - special.k0e(u) - z / u))


def _spherical(f: Any, below: float, above: float) -> Callable[..., Value]:
    """(2n+1) fₙ′ = ±n fₙ₋₁ ± (n+1) fₙ₊₁."""

    def derivative(n: Value, x: Value) -> Value:
        weight = 1.0 / (2 * n + 1)
        return (below * n * weight) * f(np.abs(n - 1), x) + (above * (n + 1) * weight) * f(n + 1, x)

    return derivative


named(ufuncs._spherical_jn, "n x", whole="n", x=_spherical(ufuncs._spherical_jn, 1.0, -1.0))
named(ufuncs._spherical_yn, "n x", whole="n", x=_spherical(ufuncs._spherical_yn, 1.0, -1.0))
named(ufuncs._spherical_in, "n x", whole="n", x=_spherical(ufuncs._spherical_in, 1.0, 1.0))
named(ufuncs._spherical_kn, "n x", whole="n", x=_spherical(ufuncs._spherical_kn, -1.0, -1.0))

several(special.airy, "x", x=lambda x, z: (z[1], x * z[0], z[3], x * z[2]))


def _scaled_airy(x: Value, z: Value) -> tuple[Value, ...]:
    """Right of 0, Ai and Ai′ are scaled by exp(⅔ x √x), Bi and Bi′ by its inverse; left of it only Bi is real."""
    rate = np.sqrt(where(_real("airye", x) > 0, x, 0.0))
    left = where(x < 0, np.nan, 0.0)
    ai, aip, bi, bip = z
    return aip + rate * ai + left, x * ai + rate * aip + left, bip - rate * bi, x * bi - rate * bip


several(special.airye, "x", x=_scaled_airy)


# Kelvin's functions: ber + i bei = J₀(x exp(3πi/4)), so f″ = i f - f′/x
_BER_BY_X = [
    0.0 if k % 4 != 2 else (-1.0) ** ((k + 2) // 4) * (k + 2) / (2.0 ** (k + 2) * math.factorial((k + 2) // 2) ** 2)
    for k in range(30)
]
_BEI_BY_X = [
    0.0 if k % 4 != 0 else (-1.0) ** (k // 4) * (k + 2) / (2.0 ** (k + 2) * math.factorial((k + 2) // 2) ** 2)
    for k in range(30)
]


def _berp_by_x(x: Value) -> Value:
    return removable(x, _BER_BY_X, lambda u: special.berp(u) / u, 1.0)


def _beip_by_x(x: Value) -> Value:
    return removable(x, _BEI_BY_X, lambda u: special.beip(u) / u, 1.0)


unary(special.ber, lambda x: special.berp(x))
unary(special.bei, lambda x: special.beip(x))
unary(special.ker, lambda x: special.kerp(x))
unary(special.kei, lambda x: special.keip(x))
unary(special.berp, lambda x: -special.bei(x) - _berp_by_x(x))
unary(special.beip, lambda x: special.ber(x) - _beip_by_x(x))
unary(special.kerp, lambda x, z: -special.kei(x) - z / x)
unary(special.keip, lambda x, z: special.ker(x) - z / x)
several(
    special.kelvin,
    "x",
    x=lambda x, z: (z[2], z[3], 1j * z[0] - _berp_by_x(x) - 1j * _beip_by_x(x), 1j * z[1] - z[3] / x),
)
