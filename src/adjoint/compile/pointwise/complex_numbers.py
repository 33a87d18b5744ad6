"""Arithmetic of complex numbers: sums, products, quotients, absolute value and sign."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.base.records import record
from adjoint.compile import vector_math
from adjoint.compile.ir import Function
from adjoint.compile.pointwise.registers import Dtype, Element
from adjoint.compile.pointwise.table import writes
from adjoint.compile.vector_math.vectors import Lanes, where

F = TypeVar("F", bound=Callable[..., Any])


@record
class Complex:
    """A complex number as two real ones."""

    re: Lanes
    im: Lanes

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __truediv__(self, other: Complex) -> Complex:
        """Smith's algorithm: the quotient q of the smaller part of the divisor by the larger one keeps all in range."""
        c, d = other.re, other.im
        tall = abs(c) < abs(d)
        large, small = where(tall, d, c), where(tall, c, d)
        q = small / large
        scale = 1.0 / (large + small * q)
        # (a + b q, b - a q) scale, or (a q + b, b q - a) scale where d is the larger part
        a, b = self.re, self.im
        real = where(tall, a * q + b, a + b * q) * scale
        imag = where(tall, b * q - a, b - a * q) * scale
        size = abs(c)
        zero = size.equals(0.0) & abs(d).equals(0.0)
        return Complex(where(zero, a / size, real), where(zero, b / size, imag))

    def times(self, factor: Lanes | float) -> Complex:
        """The product with a real number."""
        return Complex(self.re * factor, self.im * factor)

    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    def times_i(self) -> Complex:
        """i z."""
        return Complex(-self.im, self.re)

    def divided_by_i(self) -> Complex:
        """-i z."""
        return Complex(self.im, -self.re)

    @property
    def element(self) -> Element:
        return self.re.value, self.im.value


def pick(condition: Lanes, x: Complex, y: Complex) -> Complex:
    """x where the condition holds, else y."""
    return Complex(where(condition, x.re, y.re), where(condition, x.im, y.im))


def complex_of(f: Function, z: Any) -> Complex:
    """The pair of values, in arithmetic."""
    return Complex(Lanes(f, z[0]), Lanes(f, z[1]))


def function_of(name: str, *xs: Lanes) -> Lanes:
    """A function of `vector_math`."""
    f = xs[0].function
    return Lanes(f, vector_math.call(f, name, *[x.value for x in xs]))


def copysign(x: Lanes, sign: Lanes) -> Lanes:
    """|x| with the sign of another."""
    return Lanes(x.function, x.function.intrinsic("copysign", x.value, sign.value))


def operation(names: str, needs: str = "") -> Callable[[F], F]:
    """Enter a function of complex numbers as a writer."""

    def register(function: F) -> F:
        @writes(names, "c", needs)
        def write(f: Function, dtype: Dtype, *zs: Any) -> Element:
            result = function(*[complex_of(f, z) for z in zs])
            return result.element if isinstance(result, Complex) else result.value

        return function

    return register


operation("add")(lambda x, y: x + y)
operation("subtract")(lambda x, y: x - y)
operation("multiply")(lambda x, y: x * y)
operation("divide")(lambda x, y: x / y)
operation("negative")(lambda x: -x)
operation("conjugate")(lambda x: x.conjugate())


@operation("square")
def square(z: Complex) -> Complex:
    cross = z.re * z.im
    return Complex(z.re * z.re - z.im * z.im, cross + cross)


@operation("reciprocal")
def reciprocal(z: Complex) -> Complex:
    """1/z by the quotient q of the smaller part by the larger one."""
    tall = ~(abs(z.im) <= abs(z.re))
    large, small = where(tall, z.im, z.re), where(tall, z.re, z.im)
    q = small / large
    d = large + small * q
    return Complex(where(tall, q, 1.0) / d, where(tall, q.of(-1.0), -q) / d)


@operation("absolute", "hypot")
def absolute(z: Complex) -> Lanes:
    """|z|, without overflow in between; infinite if a part is, even beside a NaN."""
    return function_of("hypot", z.re, z.im)


@operation("sign", "hypot")
def sign(z: Complex) -> Complex:
    """z / |z|; 0 at 0, a unit if one part is infinite, NaN if both are."""
    size = absolute(z)
    zero, far = size.equals(0.0), size.equals(math.inf)
    wide, tall = abs(z.re).equals(math.inf), abs(z.im).equals(math.inf)
    safe = where(zero, 1.0, size)
    one, none = z.re.of(1.0), z.re.of(0.0)
    unit = Complex(where(wide, copysign(one, z.re), none), where(tall, copysign(one, z.im), none))
    parts = pick(zero, Complex(none, none), pick(far, unit, Complex(z.re / safe, z.im / safe)))
    lost = size.is_nan() | (wide & tall)
    return Complex(where(lost, math.nan, parts.re), where(lost, math.nan, parts.im))
