"""Parabolic cylinder functions D, V and W, in the argument and in the order.

    D_v(z) = 1/√(2π) ∫ exp(z²/4 - z t + t²/2) tᵛ dy,  t = c + iy, c > 0

holds for all v and z; a derivative in v multiplies by log t, one in z by z/2 - t. The line goes through the saddle,
t - z + v/t = 0, or between the two conjugate ones. V_v(x) = √(2/π) Re(exp(iπ(v+1)/2) D_(-v-1)(ix)) for x ≥ 0.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math

import numpy as np

from adjoint.ops.special.declare import SQRT_2PI, several
from adjoint.ops.special.gamma import reciprocal_derivative
from adjoint.ops.special.library import real, special, where
from adjoint.ops.special.quadrature import placed, spread_out
from adjoint.program.types import Value

NODES = 240
LEAST = 0.7  # distance of the line from the branch point


@placed
def _line_of_d(v: Value, x: Value) -> Value:
    """c: the real part of the saddle on the right."""
    under = x * x - 4.0 * v
    return np.maximum(0.5 * (x + np.sqrt(np.maximum(under, 0.0))), LEAST)


@placed
def _height_of_d(v: Value, x: Value) -> Value:
    """Where the integrand has vanished."""
    return np.sqrt(np.maximum(v, 0.0)) + 10.5


@placed
def _line_of_v(v: Value, x: Value) -> Value:
    inner = np.maximum(v + 1.0, 0.0)  # the pole at 0 is of this order: no nearer to it than the saddle allows
    return np.maximum(np.maximum(0.5 * np.sqrt(np.maximum(4.0 * inner - x * x, 0.0)), 0.3 * np.sqrt(inner)), LEAST)


@placed
def _middle_of_v(v: Value, x: Value) -> Value:
    """The height of the saddle (ix ± √(4(v+1) - x²))/2."""
    return 0.5 * (x + np.sqrt(np.maximum(x * x - 4.0 * (v + 1.0), 0.0)))


def _d_values(v: Value, x: Value) -> tuple[Value, ...]:
    """D_v(x), its derivative in x, and the derivatives of both in v; x ≥ 0."""
    v, x, c, height = spread_out(v, x, _line_of_d(v, x), _height_of_d(v, x))
    unit = np.arange(float(NODES)) / NODES
    weights = where(unit == 0, 1.0, 2.0) / NODES
    t = c + 1j * (height * unit)
    log_t = np.log(t)
    # z²/4 - z t + t²/2 = (t - z)²/2 - z²/4
    term = np.exp(0.5 * (t - x) * (t - x) - 0.25 * x * x + v * log_t) * (height * weights / SQRT_2PI)
    factors = (1.0, 0.5 * x - t, log_t, log_t * (0.5 * x - t))
    return tuple(np.sum(real(term * f), axis=-1) for f in factors)


def _v_values(v: Value, x: Value) -> tuple[Value, ...]:
    """The same for V_v, x ≥ 0."""
    v, x, c, middle = spread_out(v, x, _line_of_v(v, x), _middle_of_v(v, x))
    unit = np.arange(1.0 - NODES, float(NODES)) / NODES
    reach = middle + 10.5
    t = c + 1j * (middle + reach * unit)
    log_t = np.log(t)
    z = 1j * x
    power = -v - 1.0
    phase = np.exp(0.5j * math.pi * (v + 1.0)) * (math.sqrt(2.0 / math.pi) / (SQRT_2PI * NODES))
    term = np.exp(0.5 * (t - z) * (t - z) - 0.25 * z * z + power * log_t) * (phase * reach)
    derivative, rate = 1j * (0.5 * z - t), 0.5j * math.pi - log_t
    return tuple(np.sum(real(term * f), axis=-1) for f in (1.0, derivative, rate, rate * derivative))


def _order_of_d(v: Value, x: Value) -> tuple[Value, Value]:
    """∂/∂v of D and D′; left of 0 by D_v(-x) = cos(πv) D_v(x) + π/Γ(-v) V_v(x)."""
    left = x < 0
    d, dx, dv, dvx = _d_values(v, np.abs(x))
    w, wx, wv, wvx = _v_values(v, np.abs(x))
    cosine, sine = np.cos(math.pi * v), math.pi * np.sin(math.pi * v)
    inverse = math.pi * special.rgamma(-v)
    derivative = -math.pi * reciprocal_derivative(-v, special.rgamma(-v))
    value = cosine * dv - sine * d + inverse * wv + derivative * w
    rate = cosine * dvx - sine * dx + inverse * wvx + derivative * wx
    return where(left, value, dv), where(left, -rate, dvx)


def _order_of_v(v: Value, x: Value) -> tuple[Value, Value]:
    """∂/∂v of V and V′; left of 0 by V_v(-x) = -sin(πv)/Γ(v+1) D_v(x) - cos(πv) V_v(x)."""
    left = x < 0
    d, dx, dv, dvx = _d_values(v, np.abs(x))
    w, wx, wv, wvx = _v_values(v, np.abs(x))
    cosine, sine = np.cos(math.pi * v), np.sin(math.pi * v)
    inverse = special.rgamma(v + 1.0)
    derivative = -math.pi * cosine * inverse - sine * reciprocal_derivative(v + 1.0, inverse)
    value = derivative * d - sine * inverse * dv + math.pi * sine * w - cosine * wv
    rate = derivative * dx - sine * inverse * dvx + math.pi * sine * wx - cosine * wvx
    return where(left, value, wv), where(left, -rate, wvx)


several(special.pbdv, "v x", v=_order_of_d, x=lambda v, x, z: (z[1], (0.25 * x * x - v - 0.5) * z[0]))
several(special.pbvv, "v x", v=_order_of_v, x=lambda v, x, z: (z[1], (0.25 * x * x - v - 0.5) * z[0]))

ORDERS = 110  # of the power series, for |x| and |a| up to 5, where SciPy has W


def _power_series(a: Value, x: Value, first: int) -> tuple[Value, Value, Value, Value]:
    """y, y′ and their derivatives in a for the even (first = 0) or odd (1) solution of y″ = (a - x²/4) y.

    y = Σ cₙ xⁿ with (n+2)(n+1) cₙ₊₂ = a cₙ - cₙ₋₂/4.
    """
    square = x * x
    unit, unit_a, last, last_a = 1.0, 0.0, 0.0, 0.0  # cₙ and ∂cₙ/∂a, without the powers of x
    power = 1.0 if first == 0 else x
    y, y_a, derivative, derivative_a = power, 0.0, float(first), 0.0
    for n in range(first, ORDERS, 2):
        new = (a * unit - 0.25 * last) / ((n + 2) * (n + 1))
        new_a = (a * unit_a + unit - 0.25 * last_a) / ((n + 2) * (n + 1))
        last, last_a, unit, unit_a = unit, unit_a, new, new_a
        lower = power * x
        power = power * square
        y, y_a = y + unit * power, y_a + unit_a * power
        derivative, derivative_a = derivative + (n + 2) * unit * lower, derivative_a + (n + 2) * unit_a * lower
    return y, derivative, y_a, derivative_a


def _order_of_w(a: Value, x: Value) -> tuple[Value, Value]:
    """W = 2^(-3/4) (g y₁ - √2/g y₂), g = |Γ(¼ + ia/2)/Γ(¾ + ia/2)|^½; ∂ log g/∂a = ¼ Im(ψ(¾ + ia/2) - ψ(¼ + ia/2))."""
    low, high = 0.25 + 0.5j * a, 0.75 + 0.5j * a
    g = np.exp(0.5 * real(special.loggamma(low) - special.loggamma(high)))
    rate = 0.25 * np.imag(special.psi(high) - special.psi(low))
    y, yx, ya, yax = _power_series(a, x, 0)
    u, ux, ua, uax = _power_series(a, x, 1)
    even, odd = 2.0**-0.75 * g, -(2.0**-0.25) / g
    return even * (rate * y + ya) + odd * (ua - rate * u), even * (rate * yx + yax) + odd * (uax - rate * ux)


several(special.pbwa, "a x", a=_order_of_w, x=lambda a, x, z: (z[1], (a - 0.25 * x * x) * z[0]))
