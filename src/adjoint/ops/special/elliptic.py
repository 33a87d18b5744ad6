"""Elliptic integrals, Jacobi's functions, the arithmetic-geometric mean. m is the parameter k²."""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.carlson import second_kind_derivative, second_kind_last, third_kind_derivative, third_kind_last
from adjoint.ops.special.declare import named, polynomial, several, unary
from adjoint.ops.special.library import special, where
from adjoint.program.types import Value

_SQUARES = [(math.comb(2 * n, n) / 4.0**n) ** 2 for n in range(32)]  # K = π/2 Σ sₙ mⁿ, E = -π/2 Σ sₙ mⁿ/(2n-1)
_K_DERIVATIVE = [0.5 * math.pi * n * s for n, s in enumerate(_SQUARES)][1:]
_E_DERIVATIVE = [-0.5 * math.pi * n * s / (2 * n - 1) for n, s in enumerate(_SQUARES)][1:]
NEAR = 0.15


def k_derivative(p: Value) -> Value:
    """dK/dm = (E - p K) / (2 m p) with p = 1 - m; its series near m = 0."""
    near = np.abs(1.0 - p) < NEAR
    q = where(near, 0.5, p)
    formula = 0.5 * ((special.ellipe(1.0 - q) - q * special.ellipkm1(q)) / q) / (1.0 - q)  # q² may overflow
    return where(near, polynomial(_K_DERIVATIVE, where(near, 1.0 - p, 0.0)), formula)


def e_derivative(m: Value) -> Value:
    """dE/dm = (E - K) / (2m); its series near m = 0."""
    near = np.abs(m) < NEAR
    q = where(near, 0.5, m)
    formula = 0.5 * ((special.ellipe(q) - special.ellipk(q)) / q)
    return where(near, polynomial(_E_DERIVATIVE, where(near, m, 0.0)), formula)


unary(special.ellipk, lambda x: k_derivative(1.0 - x))
unary(special.ellipkm1, lambda x: -k_derivative(x))
unary(special.ellipe, lambda x: e_derivative(x))


def _reduced(phi: Value) -> tuple[Value, Value, Value]:
    """φ = nπ + r with |r| ≤ π/2: n, sin r, cos² r."""
    n = np.rint(phi / math.pi)
    r = phi - n * math.pi
    return n, np.sin(r), np.cos(r) * np.cos(r)


def _f_parameter(phi: Value, m: Value) -> Value:
    """∂F/∂m = sin³φ/6 R_D(cos²φ, 1, 1 - m sin²φ), and 2n dK/dm for the whole periods."""
    n, s, cc = _reduced(phi)
    return s * s * s / 6.0 * special.elliprd(cc, 1.0, 1.0 - m * s * s) + 2.0 * n * k_derivative(1.0 - m)


def _e_parameter(phi: Value, m: Value) -> Value:
    """∂E/∂m = -sin³φ/6 R_D(cos²φ, 1 - m sin²φ, 1), and 2n dE/dm for the whole periods."""
    n, s, cc = _reduced(phi)
    return -s * s * s / 6.0 * special.elliprd(cc, 1.0 - m * s * s, 1.0) + 2.0 * n * e_derivative(m)


def _delta(phi: Value, m: Value) -> Value:
    """√(1 - m sin²φ)."""
    s = np.sin(phi)
    return np.sqrt(1.0 - m * s * s)


named(special.ellipkinc, "phi m", phi=lambda phi, m: 1.0 / _delta(phi, m), m=_f_parameter)
named(special.ellipeinc, "phi m", phi=_delta, m=_e_parameter)


def _jacobi_parameter(m: Value, z: Value) -> tuple[Value, ...]:
    """The amplitude moves by ∂φ/∂m = -dn ∂F/∂m at fixed u; sn = sin φ, cn = cos φ, dn² = 1 - m sn²."""
    sn, cn, dn, phi = z
    shift = -dn * _f_parameter(phi, m)
    return cn * shift, -sn * shift, -(sn * sn + 2.0 * m * sn * cn * shift) / (2.0 * dn), shift


several(
    special.ellipj,
    "u m",
    u=lambda m, z: (z[1] * z[2], -z[0] * z[2], -m * z[0] * z[1], z[2]),
    m=_jacobi_parameter,
)


def _mean_derivative(a: Value, b: Value, z: Value) -> Value:
    """agm = π/4 (a+b)/K(m) with 1 - m = p = 4ab/(a+b)²: ∂/∂a = z (1/(a+b) - K′/K · 4b(a-b)/(a+b)³)."""
    s = a + b
    p = 4.0 * a * b / (s * s)
    return z * (1.0 / s - k_derivative(p) / special.ellipkm1(p) * 4.0 * b * (a - b) / (s * s * s))


named(special.agm, "a b", a=_mean_derivative, b=lambda a, b, z: _mean_derivative(b, a, z))

named(
    special.elliprf,
    "x y w",
    x=lambda x, y, w: -special.elliprd(y, w, x) / 6.0,
    y=lambda x, y, w: -special.elliprd(w, x, y) / 6.0,
    w=lambda x, y, w: -special.elliprd(x, y, w) / 6.0,
)
# R_C(x, y) = A(u)/√x with u = y/x - 1, A(u) = arctan(√u)/√u = Σ (-u)ⁿ/(2n+1)
_ARCTAN_DERIVATIVE = [(-1.0) ** n * n / (2.0 * n + 1.0) for n in range(1, 30)]


def _c_last(x: Value, y: Value, z: Value) -> Value:
    """∂R_C/∂y = (√x/y - R_C) / (2 (y - x)); A′(u)/x√x near y = x."""
    near = np.abs(y - x) < 0.2 * np.abs(x)
    base = where(near, x, 1.0)
    series = polynomial(_ARCTAN_DERIVATIVE, where(near, y - x, 0.0) / base) / (base * np.sqrt(base))
    return where(near, series, (np.sqrt(x) / y - z) / (2.0 * where(near, 1.0, y - x)))


def _c_first(x: Value, y: Value, z: Value) -> Value:
    """∂R_C/∂x = (R_C - 1/√x) / (2 (y - x)); near y = x from homogeneity of degree -½: x ∂x + y ∂y = -½ R_C."""
    near = np.abs(y - x) < 0.2 * np.abs(x)
    close = (-0.5 * z - y * _c_last(x, y, z)) / where(near, x, 1.0)
    return where(near, close, (z - 1.0 / np.sqrt(x)) / (2.0 * where(near, 1.0, y - x)))


named(special.elliprc, "x y", x=_c_first, y=_c_last)


def _g_derivative(x: Value, y: Value, w: Value) -> Value:
    """∂R_G/∂x = (R_F - x R_D(y, w, x)/3) / 4."""
    return 0.25 * (special.elliprf(x, y, w) - x * special.elliprd(y, w, x) / 3.0)


named(
    special.elliprg,
    "x y w",
    x=_g_derivative,
    y=lambda x, y, w: _g_derivative(y, x, w),
    w=lambda x, y, w: _g_derivative(w, x, y),
)


named(
    special.elliprd,
    "x y w",
    x=second_kind_derivative,
    y=lambda x, y, w, z: second_kind_derivative(y, x, w, z),
    w=second_kind_last,
)
named(
    special.elliprj,
    "x y w p",
    x=third_kind_derivative,
    y=lambda x, y, w, p, z: third_kind_derivative(y, x, w, p, z),
    w=lambda x, y, w, p, z: third_kind_derivative(w, x, y, p, z),
    p=third_kind_last,
)
