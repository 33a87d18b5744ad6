"""Sums, products, quotients, absolute values and signs of real numbers; integers wrap around."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.compile.ir import Function, Value
from adjoint.compile.pointwise.registers import Dtype, Element
from adjoint.compile.pointwise.table import writes


def _plain(names: str, kinds: str, instruction: str) -> None:
    """A primitive that is one instruction."""
    writes(names, kinds)(lambda f, dtype, x, y: f.binary(instruction, x, y))


_plain("add", "f", "fadd")
_plain("subtract", "f", "fsub")
_plain("multiply", "f", "fmul")
_plain("divide", "f", "fdiv")
_plain("add", "iu", "add")
_plain("subtract", "iu", "sub")
_plain("multiply", "iu", "mul")
_plain("add", "b", "or")
_plain("multiply", "b", "and")


@writes("positive", "iufc")
@writes("conjugate", "iuf")
@writes("absolute", "bu")
@writes("floor ceil trunc", "biu")
def same(f: Function, dtype: Dtype, x: Element) -> Element:
    return x


@writes("negative", "f")
def negative(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.fneg(x)


@writes("negative", "iu")
def negative_integer(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.binary("sub", f.same(x, 0), x)


@writes("absolute fabs", "f")
def absolute(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.intrinsic("fabs", x)


@writes("absolute", "i")
def absolute_integer(f: Function, dtype: Dtype, x: Value) -> Value:
    """|x|; the most negative integer is itself."""
    return magnitude(f, x)


def magnitude(f: Function, x: Value) -> Value:
    """|x| of a signed integer, as bits: right as an unsigned number also for the most negative one."""
    return f.intrinsic("abs", x, Value("false", "i1"))


@writes("square", "f")
def square(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.fmul(x, x)


@writes("square", "iu")
def square_integer(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.binary("mul", x, x)


@writes("reciprocal", "f")
def reciprocal(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.fdiv(f.same(x, 1.0), x)


@writes("reciprocal", "iu")
def reciprocal_integer(f: Function, dtype: Dtype, x: Value) -> Value:
    """1/x without fraction: itself for ±1, 0 beyond; at 0 what NumPy makes of 1/0."""
    with np.errstate(all="ignore"):
        at_zero: Any = np.reciprocal(dtype.type(0))
    unit = f.icmp("eq", x, f.same(x, 1))
    if dtype.kind == "i":
        unit = f.binary("or", unit, f.icmp("eq", x, f.same(x, -1)))
    away = f.select(unit, x, f.same(x, 0))
    return f.select(f.icmp("eq", x, f.same(x, 0)), f.same(x, at_zero), away)


@writes("sign", "f")
def sign(f: Function, dtype: Dtype, x: Value) -> Value:
    """1, -1, 0 (also for -0.0), or NaN."""
    zero = f.same(x, 0.0)
    below = f.select(f.fcmp("olt", x, zero), f.same(x, -1.0), f.select(f.fcmp("oeq", x, zero), zero, x))
    return f.select(f.fcmp("ogt", x, zero), f.same(x, 1.0), below)


@writes("sign", "iu")
def sign_integer(f: Function, dtype: Dtype, x: Value) -> Value:
    zero, one = f.same(x, 0), f.same(x, 1)
    if dtype.kind == "u":
        return f.select(f.icmp("ne", x, zero), one, zero)
    below = f.select(f.icmp("slt", x, zero), f.same(x, -1), zero)
    return f.select(f.icmp("sgt", x, zero), one, below)


@writes("degrees rad2deg", "f")
def degrees(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.fmul(x, f.same(x, _ratio(x, 180.0, math.pi)))


@writes("radians deg2rad", "f")
def radians(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.fmul(x, f.same(x, _ratio(x, math.pi, 180.0)))


def _ratio(x: Value, numerator: float, denominator: float) -> Any:
    """A quotient in the precision of x, as NumPy's constants are."""
    kind = np.float32 if x.scalar == "float" else np.float64
    return kind(numerator) / kind(denominator)


@writes("sqrt", "f")
def sqrt(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.intrinsic("sqrt", x)
