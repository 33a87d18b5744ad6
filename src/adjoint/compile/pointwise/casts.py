"""Conversions between dtypes as `astype` does them, also where the number does not fit.

LLVM leaves the conversion of a float that is too large for the integer undefined; here it is what NumPy gives on the
same kind of machine. x86's instruction answers with the most negative integer of 32 or 64 bits, of which narrower
dtypes take the low bits; elsewhere the instructions saturate.
"""

from __future__ import annotations

import platform
from functools import cache

import numpy as np

from adjoint.compile.ir import BITS, Function, Value, like
from adjoint.compile.pointwise.registers import Dtype, Element, register_type
from adjoint.program.types import real_dtype


@cache
def is_saturating() -> bool:
    """Whether this machine's conversions saturate."""
    return platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686")


def convert(f: Function, value: Element, source: Dtype, target: Dtype) -> Element:
    """An element in another dtype; of a complex number the real part, if the target is real."""
    if source == target:
        return value
    if not isinstance(value, Value):
        part = real_dtype(source)
        if target.kind == "c":
            to = real_dtype(target)
            return _real(f, value[0], part, to), _real(f, value[1], part, to)
        if target.kind == "b":
            return f.binary("or", nonzero(f, value[0]), nonzero(f, value[1]))
        return _real(f, value[0], part, target)
    if target.kind == "c":
        real = _real(f, value, source, real_dtype(target))
        return real, f.same(real, 0.0)
    return _real(f, value, source, target)


def _real(f: Function, x: Value, source: Dtype, target: Dtype) -> Value:
    if source == target:
        return x
    if target.kind == "b":
        return nonzero(f, x)
    if source.kind == "f":
        return float_to_float(f, x, source, target) if target.kind == "f" else float_to_integer(f, x, target)
    return integer_to_float(f, x, source, target) if target.kind == "f" else integer_to_integer(f, x, source, target)


def nonzero(f: Function, x: Value) -> Value:
    """x ≠ 0, as a bool; NaN is not zero."""
    if x.scalar == "i1":
        return x
    return f.icmp("ne", x, f.same(x, 0)) if x.scalar[0] == "i" else f.fcmp("une", x, f.same(x, 0.0))


def integer_to_integer(f: Function, x: Value, source: Dtype, target: Dtype) -> Value:
    """Keeps the low bits; a wider target gets the sign."""
    to = register_type(target)
    if BITS[to] < BITS[x.scalar]:
        return f.cast("trunc", x, to)
    return f.cast("sext" if source.kind == "i" else "zext", x, to)


def integer_to_float(f: Function, x: Value, source: Dtype, target: Dtype) -> Value:
    """The nearest float; float16 by way of float."""
    y = f.cast("sitofp" if source.kind == "i" else "uitofp", x, register_type(target))
    return round_to_half(f, y) if target.itemsize == 2 else y


def round_to_half(f: Function, x: Value) -> Value:
    """A float rounded to half, in a float."""
    return f.cast("fpext", f.cast("fptrunc", x, "half"), "float")


def float_to_float(f: Function, x: Value, source: Dtype, target: Dtype) -> Value:
    """The nearest float of the other size."""
    if target.itemsize == 2:
        return round_to_half(f, x if x.scalar == "float" else _rounded_to_odd(f, x))
    to = register_type(target)
    return f.cast("fpext" if BITS[to] > BITS[x.scalar] else "fptrunc", x, to)


def _rounded_to_odd(f: Function, x: Value) -> Value:
    """A double as float, with the last bit set where digits were lost: rounding it again to half is then right."""
    y = f.cast("fptrunc", x, "float")
    back = f.cast("fpext", y, "double")
    bits = f.cast("bitcast", y, "i32")
    away = f.fcmp("ogt", f.intrinsic("fabs", back), f.intrinsic("fabs", x))
    cut = f.binary("or", f.select(away, f.sub(bits, f.same(bits, 1)), bits), f.same(bits, 1))
    inexact = f.fcmp("one", back, x)
    return f.cast("bitcast", f.select(inexact, cut, bits), "float")


def float_to_integer(f: Function, x: Value, target: Dtype) -> Value:
    """The whole part."""
    to = register_type(target)
    size = 32 if BITS[to] < 32 else BITS[to]
    if is_saturating():
        name = "fptosi.sat" if target.kind == "i" else "fptoui.sat"
        kind = like(f"i{size}", x)
        whole = f.intrinsic(name, x, returns=kind, over=(kind, x.type))
    elif target.kind == "u" and size == 64:  # the upper half of the range is moved down and back
        limit = f.same(x, 2.0**63)
        high = f.fcmp("oge", x, limit)
        low = _truncate(f, f.select(high, f.fsub(x, limit), x), 64)
        whole = f.binary("xor", low, f.select(high, f.same(low, 1 << 63), f.same(low, 0)))
    else:
        whole = _truncate(f, x, 64 if to == "i32" and target.kind == "u" else size)
    return f.cast("trunc", whole, to)


def _truncate(f: Function, x: Value, bits: int) -> Value:
    """The whole part as a signed integer; the most negative one where there is none."""
    low = f.same(x, -(2.0 ** (bits - 1)))
    inside = f.binary("and", f.fcmp("oge", x, low), f.fcmp("olt", x, f.same(x, 2.0 ** (bits - 1))))
    return f.cast("fptosi", f.select(inside, x, low), f"i{bits}")


def is_castable(dtype: Dtype) -> bool:
    """Whether elements of this dtype can be written: bool, integers, floats and complex numbers in native order."""
    return dtype.kind in "biufc" and dtype.char not in "gG" and dtype == np.dtype(dtype.char)
