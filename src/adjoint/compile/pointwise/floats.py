"""Floats by their parts: sign, neighbors, exponent, steps."""

from __future__ import annotations

import math

import numpy as np

from adjoint.compile.ir import BITS, Function, Value
from adjoint.compile.pointwise.comparisons import is_finite
from adjoint.compile.pointwise.registers import Dtype
from adjoint.compile.pointwise.table import writes


@writes("copysign", "f")
def copysign(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    return f.intrinsic("copysign", x, y)


@writes("heaviside", "f")
def heaviside(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """0 left of 0, 1 right of it, y at it."""
    zero = f.same(x, 0.0)
    step = f.select(f.fcmp("ogt", x, zero), f.same(x, 1.0), f.select(f.fcmp("olt", x, zero), zero, x))
    return f.select(f.fcmp("oeq", x, zero), y, step)


def as_bits(f: Function, x: Value, dtype: Dtype) -> Value:
    """The bits of a float in its own size: a float16 stands in a float."""
    if dtype.itemsize == 2:
        return f.cast("bitcast", f.cast("fptrunc", x, "half"), "i16")
    return f.cast("bitcast", x, f"i{8 * dtype.itemsize}")


def as_float(f: Function, bits: Value, dtype: Dtype) -> Value:
    """The float with these bits."""
    if dtype.itemsize == 2:
        return f.cast("fpext", f.cast("bitcast", bits, "half"), "float")
    return f.cast("bitcast", bits, "float" if dtype.itemsize == 4 else "double")


@writes("nextafter", "f")
def nextafter(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """The float next to x on the way to y: its bits, one more or less; y itself where they are equal."""
    bits = as_bits(f, x, dtype)
    sign = f.same(bits, 1 << (BITS[bits.scalar] - 1))
    zero = f.same(x, 0.0)
    up = f.fcmp("olt", x, y)
    outwards = f.binary("xor", up, f.fcmp("olt", x, zero))  # away from zero
    moved = f.select(outwards, f.add(bits, f.same(bits, 1)), f.sub(bits, f.same(bits, 1)))
    smallest = f.select(up, f.same(bits, 1), f.binary("or", sign, f.same(bits, 1)))
    moved = f.select(f.fcmp("oeq", x, zero), smallest, moved)
    still = x if dtype.itemsize == 2 else y  # tells apart the zeros
    near = f.select(f.fcmp("oeq", x, y), still, as_float(f, moved, dtype))
    return f.select(f.fcmp("uno", x, y), f.fadd(x, y), near)


@writes("spacing", "f")
def spacing(f: Function, dtype: Dtype, x: Value) -> Value:
    """The distance to the next float away from zero, with the sign of x; of a float16 to the next larger one, positive.

    NaN for infinities, the smallest float for zeros.
    """
    bits = as_bits(f, x, dtype)
    one = f.same(bits, 1)
    following = f.add(bits, one)
    if dtype.itemsize == 2:
        following = f.select(f.icmp("slt", bits, f.same(bits, 0)), f.sub(bits, one), following)
    following = f.select(f.fcmp("oeq", x, f.same(x, 0.0)), one, following)
    return f.select(is_finite(f, x), f.fsub(as_float(f, following, dtype), x), f.same(x, math.nan))


def power_of_two(f: Function, exponent: Value, kind: str) -> Value:
    """2ⁿ by its bits, for n within the exponents of normal floats; n in integers as wide as the float."""
    bias, digits = (1023, 52) if kind == "double" else (127, 23)
    bits = f.binary("shl", f.add(exponent, f.same(exponent, bias)), f.same(exponent, digits))
    return f.cast("bitcast", bits, kind)


@writes("ldexp", "f")
def ldexp(f: Function, dtype: Dtype, x: Value, n: Value) -> Value:
    """x 2ⁿ, rounded once: three factors that are powers of two, so chosen that at most the last product rounds."""
    kind = x.scalar
    size = "i64" if kind == "double" else "i32"
    top, low = (1023, -1022) if kind == "double" else (127, -126)
    digits = 53 if kind == "double" else 24
    n = f.intrinsic("smax", f.intrinsic("smin", n, f.same(n, 5000)), f.same(n, -5000))
    n = f.cast("sext" if BITS[n.scalar] < BITS[size] else "trunc", n, size)
    step = low + digits  # downwards in steps that leave room for all digits until the last
    y = x
    for _ in range(2):
        above = f.icmp("sgt", n, f.same(n, top))
        below = f.icmp("slt", n, f.same(n, low))
        factor = f.select(above, f.same(y, 2.0**top), f.select(below, f.same(y, 2.0**step), f.same(y, 1.0)))
        taken = f.select(above, f.same(n, top), f.select(below, f.same(n, step), f.same(n, 0)))
        y, n = f.fmul(y, factor), f.binary("sub", n, taken)
    n = f.intrinsic("smax", f.intrinsic("smin", n, f.same(n, top)), f.same(n, low))
    return f.fmul(y, power_of_two(f, n, kind))


def exponent_of(f: Function, dtype: Dtype, x: Value) -> Value:
    """The e of x = m 2ᵉ with ½ ≤ |m| < 1, as i32; 0 for 0, infinities and NaN."""
    kind = x.scalar
    size, bias, digits = ("i64", 1023, 52) if kind == "double" else ("i32", 127, 23)
    smallest = np.finfo(np.float64 if kind == "double" else np.float32).smallest_normal
    tiny = f.fcmp("olt", f.intrinsic("fabs", x), f.same(x, smallest))
    scaled = f.select(tiny, f.fmul(x, f.same(x, 2.0**64)), x)
    bits = f.cast("bitcast", scaled, size)
    raw = f.binary("and", f.binary("lshr", bits, f.same(bits, digits)), f.same(bits, 2 * bias + 1))
    e = f.sub(raw, f.select(tiny, f.same(bits, bias - 1 + 64), f.same(bits, bias - 1)))
    regular = f.binary("and", is_finite(f, x), f.fcmp("une", x, f.same(x, 0.0)))
    return f.cast("trunc", f.select(regular, e, f.same(e, 0)), "i32")
