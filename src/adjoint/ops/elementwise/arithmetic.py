"""Sums, products, quotients, powers, remainders, and the piecewise linear functions beside them."""

# Partials are written as bare expressions.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops import kinks
from adjoint.ops.calculus import Differential, total
from adjoint.ops.elementwise.pointwise import (
    Factor,
    LinearUfunc,
    ProductUfunc,
    SmoothUfunc,
    Ufunc,
    inverse,
    itself,
    minus_one,
    other,
    smooth,
    spread,
)
from adjoint.ops.elementwise.work import CHEAP, EXPONENTIAL, FREE, PRODUCT, QUOTIENT, REMAINDER
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

_TRACED: Any = Tracer  # as Any: a test against it leaves the value Any
ONE: Factor | None = None  # the partial 1: nothing to multiply with, nothing to keep


def _zero() -> float:
    return 0.0


def _power_base(x: Value, y: Value) -> Value:
    """∂/∂x xʸ = y xʸ⁻¹, and 0 for y = 0, also at x = 0."""
    if type(y) in (int, float):
        return y * x ** (y - 1) if y not in (0, 1) else float(y)
    safe = np.where(np.equal(y, 0), 1, y)
    return np.where(np.equal(y, 0), 0.0, y * np.power(x, safe - 1))


def _power_exponent(x: Value, z: Value) -> Value:
    """∂/∂y xʸ = xʸ log x, and 0 where xʸ = 0 (so at x = 0 for y > 0)."""
    return np.where(np.equal(z, 0), 0.0, z * np.log(np.where(np.equal(z, 0), 1.0, x)))


def _larger(x: Value, y: Value) -> Value:
    """1 where x > y, ½ at ties: what `maximum` passes to x."""
    return np.where(np.equal(x, y), 0.5, np.where(np.greater(x, y), 1.0, 0.0))


def _smaller(x: Value, y: Value) -> Value:
    return np.where(np.equal(x, y), 0.5, np.where(np.less(x, y), 1.0, 0.0))


def _chosen(x: Value, z: Value) -> Value:
    """1 where x alone is the result of fmax or fmin (which pass over NaN)."""
    return np.where(np.equal(x, z), 1.0, 0.0)


def _by_distance(x: Value, z: Value) -> Value:
    """x / z for a norm z, and 0 at the origin, where its own derivative is 0 too."""
    origin = np.equal(z, 0)
    return np.where(origin, 0.0, x) / np.where(origin, 1.0, z)


class AbsoluteUfunc(SmoothUfunc):
    """z = |x|, also of complex x: ż = Re(conj(s) ẋ) and x̄ = s z̄ with s = x/|x|, 0 at 0."""

    own_push = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (x,), (dx,) = xs, dxs
        if dx is None:
            return None
        return np.real(np.conjugate(unit(x)) * dx) if x.dtype.kind == "c" else np.sign(x) * dx

    def pull(
        self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool], masked: bool = False
    ) -> Sequence[Value]:
        (x,) = xs
        return [ct * (unit(x) if x.dtype.kind == "c" else np.sign(x))]


class SignUfunc(Ufunc, Differential):
    """z = sign x: flat on the real line.

    Of complex x it is x/|x|, which turns with x: ż = (ẋ - z Re(conj(z) ẋ)) / |x|, its own adjoint.
    """

    pointwise = False  # the fast paths are for factors, and this has none

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return self._turned(xs[0], dxs[0])

    def pull(
        self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool], masked: bool = False
    ) -> Sequence[Value]:
        return [self._turned(xs[0], ct)]

    def _turned(self, x: Value, v: Value) -> Value:
        if v is None or x.dtype.kind != "c":
            return None
        size = np.abs(x)
        z = unit(x)
        zero = np.equal(size, 0)
        return np.where(zero, 0, v - z * np.real(np.conjugate(z) * v)) / np.where(zero, 1, size)


def unit(x: Value) -> Value:
    """x / |x| of complex x, and 0 at 0, where its own derivative is 0 too."""
    size = np.abs(x)
    origin = np.equal(size, 0)
    return np.where(origin, 0.0, x) / np.where(origin, 1.0, size)


class ConjugateUfunc(LinearUfunc):
    """z = conj x: linear over the reals, its own adjoint."""

    own_push = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return None if dxs[0] is None else np.conjugate(dxs[0])

    def pull(
        self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool], masked: bool = False
    ) -> Sequence[Value]:
        return [np.conjugate(ct)]

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        term = xs[0].get(k)
        return None if term is None else np.conjugate(term)


add = LinearUfunc(np.add, [ONE, ONE], work=CHEAP, inverse=(lambda z, y: z - y, lambda z, x: z - x))
subtract = LinearUfunc(np.subtract, [ONE, minus_one], work=CHEAP, inverse=(lambda z, y: z + y, lambda z, x: x - z))
negative = LinearUfunc(np.negative, [minus_one], work=FREE, inverse=(lambda z: -z,))
positive = LinearUfunc(np.positive, [ONE], work=FREE, inverse=(lambda z: z,))
conjugate = ConjugateUfunc(np.conjugate, [ONE], work=FREE, inverse=(np.conjugate,))
degrees = smooth(np.degrees, lambda: 180.0 / np.pi, work=CHEAP)
radians = smooth(np.radians, lambda: np.pi / 180.0, work=CHEAP)
rad2deg = smooth(np.rad2deg, lambda: 180.0 / np.pi, work=CHEAP, inverse=(np.deg2rad,))
deg2rad = smooth(np.deg2rad, lambda: np.pi / 180.0, work=CHEAP, inverse=(np.rad2deg,))


class DivideUfunc(SmoothUfunc):
    """z = x / y. Its series comes from z y = x: zₖ = (xₖ - Σ yⱼ zₖ₋ⱼ) / y₀, over j = 1 … k."""

    linear_arguments = (0,)

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        x, y = xs
        terms = [
            -(yj * z.get(k - j)) for j in range(1, k + 1) if (yj := y.get(j)) is not None and z.get(k - j) is not None
        ]
        rest = total(x.get(k), *terms)
        return None if rest is None else spread(rest / y.get(0), z.get(0))


class PowerUfunc(SmoothUfunc):
    """z = xʸ.

    For series ż is written with z itself, ż = z (ẏ log x + y ẋ / x), so that the recurrence closes; whole powers are
    products.
    """

    def series_push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        """The rate of z along a curve."""
        (x, y), (dx, dy) = xs, dxs
        if type(y) is int and 0 <= y <= 64:  # exact at x = 0 too
            return None if dx is None or y == 0 else y * whole_power(x, y - 1) * dx
        zero: Any = np.equal(x, 0)
        some = isinstance(zero, _TRACED) or np.any(zero)
        base: Any = np.where(zero, 1.0, x) if some else x
        rate = total(None if dx is None else y * dx / base, None if dy is None else dy * np.log(base))
        if rate is None or not some:
            return None if rate is None else z * rate
        at_zero = self.push(xs, z, dxs)  # there the rate in terms of z has no meaning
        return np.where(zero, at_zero, z * rate)  # pyright: ignore[reportUnknownVariableType]

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        if np.ndim(xs[1]) == 0 and xs[1] in (2, 3, -1, 0.5, -0.5):
            each = 1 if xs[1] in (2, -1, 0.5) else 2
            return each * np.size(zs[0]) * (6 if any(np.iscomplexobj(x) for x in xs) else 1), 0
        return super().flops(xs, zs)

    def may_raise(self, *types: ArrayType) -> bool:
        return all(t.dtype.kind in "biu" for t in types)  # integers to negative integer powers


def whole_power(x: Value, n: int) -> Value:
    """xⁿ by products."""
    result, square = None, x
    while n:
        if n & 1:
            result = square if result is None else result * square
        n >>= 1
        square = square * square if n else square
    return np.ones_like(x) if result is None else result


multiply = ProductUfunc(np.multiply, [other, itself], work=PRODUCT, inverse=(lambda z, y: z / y, lambda z, x: z / x))
divide = DivideUfunc(
    np.divide,
    [inverse, lambda y, z: -z / y],
    singular=True,
    work=QUOTIENT,
    inverse=(lambda z, y: z * y, lambda z, x: x / z),
)
power = PowerUfunc(np.power, [_power_base, _power_exponent], singular=True, kinks=kinks.BASE)
float_power = PowerUfunc(np.float_power, [_power_base, _power_exponent], singular=True, kinks=kinks.BASE)
square = smooth(np.square, lambda x: 2.0 * x, work=PRODUCT)
reciprocal = smooth(np.reciprocal, lambda z: -z * z, singular=True, work=QUOTIENT, inverse=(lambda z: 1 / z,))
sqrt = smooth(np.sqrt, lambda z: 0.5 / z, singular=True, work=REMAINDER, kinks=kinks.ROOT, inverse=(np.square,))
cbrt = smooth(
    np.cbrt,
    lambda z: 1.0 / (3.0 * z * z),
    singular=True,
    work=EXPONENTIAL,
    kinks=kinks.ROOT,
    inverse=(lambda z: z * z * z,),
)
hypot = smooth(np.hypot, _by_distance, lambda y, z: _by_distance(y, z), kinks=kinks.LENGTH)
ldexp = smooth(np.ldexp, lambda y: 2.0**y, _zero)

absolute = AbsoluteUfunc(np.absolute, [lambda x: np.sign(x)], work=CHEAP, kinks=kinks.CORNER)
sign = SignUfunc(np.sign, [lambda x: 0.0 * x], work=CHEAP, kinks=kinks.SIGN)
fabs = smooth(np.fabs, lambda x: np.sign(x), work=CHEAP, kinks=kinks.CORNER)
maximum = smooth(np.maximum, _larger, lambda x, y: _larger(y, x), work=CHEAP, kinks=kinks.SHARE)
minimum = smooth(np.minimum, _smaller, lambda x, y: _smaller(y, x), work=CHEAP, kinks=kinks.SHARE)
# a tie splits equally; where one side is NaN the other is chosen
fmax = smooth(
    np.fmax,
    lambda x, y, z: np.where(np.equal(x, y), 0.5, _chosen(x, z)),
    lambda x, y, z: np.where(np.equal(x, y), 0.5, _chosen(y, z)),
    work=CHEAP,
    kinks=kinks.SHARE,
)
fmin = smooth(
    np.fmin,
    lambda x, y, z: np.where(np.equal(x, y), 0.5, _chosen(x, z)),
    lambda x, y, z: np.where(np.equal(x, y), 0.5, _chosen(y, z)),
    work=CHEAP,
    kinks=kinks.SHARE,
)
remainder = smooth(np.remainder, ONE, lambda x, y: -np.floor(x / y), work=REMAINDER, kinks=kinks.REMAINDER)
fmod = smooth(np.fmod, ONE, lambda x, y: -np.trunc(x / y), work=REMAINDER)
copysign = smooth(np.copysign, lambda x, z: np.where(np.signbit(x) == np.signbit(z), 1.0, -1.0), _zero, work=CHEAP)
nextafter = smooth(np.nextafter, ONE, _zero)
heaviside = smooth(np.heaviside, _zero, lambda x: np.where(np.equal(x, 0), 1.0, 0.0), work=CHEAP, kinks=kinks.SIGN)
logaddexp = smooth(np.logaddexp, lambda x, z: _weight(x, z), lambda y, z: _weight(y, z))
logaddexp2 = smooth(np.logaddexp2, lambda x, z: _weight(x, z, 2.0), lambda y, z: _weight(y, z, 2.0))


def _weight(x: Value, z: Value, base: float | None = None) -> Value:
    """exp(x - z): the share of x in a logarithm of a sum; 0 when nothing was added (x = -inf), 1 when x = z = inf."""
    gap = np.where(np.equal(x, z), 0.0, x - z)
    return np.where(np.equal(x, -np.inf), 0.0, np.exp(gap) if base is None else np.exp2(gap))


INTERNED: tuple[Ufunc, ...] = (add, subtract, multiply, divide)
