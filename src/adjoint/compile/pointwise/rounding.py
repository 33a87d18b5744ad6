"""Whole parts, quotients and remainders of floats, by NumPy's rules for signs, zeros, infinities and NaN."""

from __future__ import annotations

import math
from typing import Any

from adjoint.compile.ir import Function, Value, shared_function
from adjoint.compile.pointwise.comparisons import negate
from adjoint.compile.pointwise.registers import Dtype
from adjoint.compile.pointwise.table import writes


def _whole(name: str) -> None:
    writes(name, "f")(lambda f, dtype, x: f.intrinsic(name, x))


for _name in ("floor", "ceil", "trunc", "rint"):  # rint: ties to even
    _whole(_name)


@writes("rint", "c")
def rint(f: Function, dtype: Dtype, x: Any) -> Any:
    return f.intrinsic("rint", x[0]), f.intrinsic("rint", x[1])


@writes("fmod", "f")
def fmod(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """The exact remainder of the division towards zero: has the sign of x."""
    return shared_function(f, "exact_remainder", _exact_remainder, x, y)


def _exact_remainder(f: Function, x: Value, y: Value) -> Value:
    """r = a - q b for a = |x|, b = |y|, with q the whole part of the rounded a/b.

    q is at most one too large, and r is a float either way: one fma gives it exactly. Quotients so large that they are
    whole already, and infinities, go through the library, all lanes together.
    """
    a, b = f.intrinsic("fabs", x), f.intrinsic("fabs", y)
    t = f.fdiv(a, b)
    small = f.fcmp("olt", t, f.same(t, 2.0**52 if t.scalar == "double" else 2.0**23))
    usual = f.binary("and", small, f.fcmp("olt", b, f.same(b, math.inf)))
    q = f.intrinsic("trunc", t)
    r = f.fma(f.fneg(q), b, a)
    r = f.select(f.fcmp("olt", r, f.same(r, 0.0)), f.fadd(r, b), r)
    r = f.intrinsic("copysign", r, x)
    before, rare, done = f.block, f.new_block("rare"), f.new_block("done")
    f.branch(f.any_lane(negate(f, usual)), rare, done)
    f.begin(rare)
    slow = shared_function(f, "library_remainder", _library_remainder, x, y, attributes="nounwind noinline cold")
    f.jump(done)
    f.begin(done)
    return f.phi(x.type, [(r, before), (slow, rare)])


def _library_remainder(f: Function, x: Value, y: Value) -> Value:
    return f.binary("frem", x, y)


def _has_other_sign(f: Function, rest: Value, y: Value) -> Value:
    """Whether a remainder is not zero and has the other sign than the divisor (NaN counts as positive)."""
    zero = f.same(y, 0.0)
    return f.binary(
        "and",
        f.fcmp("une", rest, zero),
        f.binary("xor", f.fcmp("olt", y, zero), f.fcmp("olt", rest, zero)),
    )


@writes("remainder", "f")
def remainder(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """x - y ⌊x / y⌋: has the sign of y, also when it is zero; NaN for y = 0."""
    zero = f.same(y, 0.0)
    rest = fmod(f, dtype, x, y)
    moved = f.select(_has_other_sign(f, rest, y), f.fadd(rest, y), rest)
    return f.select(f.fcmp("oeq", rest, zero), f.intrinsic("copysign", zero, y), moved)


@writes("floor_divide", "f")
def floor_divide(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """⌊x / y⌋ from the exact remainder r: (x - r)/y is whole but for rounding, taken to the nearest integer."""
    zero, one = f.same(y, 0.0), f.same(y, 1.0)
    rest = fmod(f, dtype, x, y)
    quotient = f.fdiv(f.fsub(x, rest), y)
    quotient = f.select(_has_other_sign(f, rest, y), f.fsub(quotient, one), quotient)
    whole = f.intrinsic("floor", quotient)
    nearer = f.fcmp("ogt", f.fsub(quotient, whole), f.same(y, 0.5))
    whole = f.select(nearer, f.fadd(whole, one), whole)
    direct = f.fdiv(x, y)
    whole = f.select(f.fcmp("oeq", quotient, zero), f.intrinsic("copysign", zero, direct), whole)
    return f.select(f.fcmp("oeq", y, zero), direct, whole)
