"""Division, shifts, bits, powers and common divisors of integers.

What LLVM leaves undefined is defined here as in NumPy: a division by zero gives 0, the most negative integer divided by
-1 is itself, a shift by the width or more leaves 0 or the sign.
"""

from __future__ import annotations

from adjoint.compile.ir import BITS, Function, Value, shared_function
from adjoint.compile.pointwise.arithmetic import magnitude
from adjoint.compile.pointwise.registers import Dtype
from adjoint.compile.pointwise.table import writes


def _divisor(f: Function, dtype: Dtype, x: Value, y: Value) -> tuple[Value, Value]:
    """Whether y is zero, and a divisor that never traps: 1 instead of 0, and for the least integer instead of -1."""
    zero = f.icmp("eq", y, f.same(y, 0))
    bad = zero
    if dtype.kind == "i":
        least = f.icmp("eq", x, f.same(x, 1 << (BITS[x.scalar] - 1)))
        bad = f.binary("or", zero, f.binary("and", least, f.icmp("eq", y, f.same(y, -1))))
    return zero, f.select(bad, f.same(y, 1), y)


def _differs(f: Function, rest: Value, y: Value) -> Value:
    """Whether a remainder is not zero and has the other sign than the divisor."""
    apart = f.icmp("slt", f.binary("xor", rest, y), f.same(y, 0))
    return f.binary("and", f.icmp("ne", rest, f.same(rest, 0)), apart)


@writes("floor_divide", "iu")
def floor_divide(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """⌊x / y⌋."""
    zero, divisor = _divisor(f, dtype, x, y)
    if dtype.kind == "u":
        quotient = f.binary("udiv", x, divisor)
    else:
        quotient = f.binary("sdiv", x, divisor)
        rest = f.binary("sub", x, f.binary("mul", quotient, divisor))
        lower = f.binary("sub", quotient, f.same(x, 1))
        quotient = f.select(_differs(f, rest, divisor), lower, quotient)
    return f.select(zero, f.same(x, 0), quotient)


@writes("remainder", "iu")
def remainder(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """x - y ⌊x / y⌋: has the sign of y."""
    zero, divisor = _divisor(f, dtype, x, y)
    if dtype.kind == "u":
        rest = f.binary("urem", x, divisor)
    else:
        rest = f.binary("srem", x, divisor)
        rest = f.select(_differs(f, rest, divisor), f.binary("add", rest, divisor), rest)
    return f.select(zero, f.same(x, 0), rest)


@writes("fmod", "iu")
def fmod(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """The remainder of the division towards zero: has the sign of x."""
    zero, divisor = _divisor(f, dtype, x, y)
    return f.select(zero, f.same(x, 0), f.binary("srem" if dtype.kind == "i" else "urem", x, divisor))


def _bitwise(name: str, instruction: str) -> None:
    writes(name, "biu")(lambda f, dtype, x, y: f.binary(instruction, x, y))


_bitwise("bitwise_and", "and")
_bitwise("bitwise_or", "or")
_bitwise("bitwise_xor", "xor")


@writes("invert", "biu")
@writes("logical_not", "b")
def invert(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.binary("xor", x, f.same(x, -1))


def _narrow(f: Function, x: Value, count: Value) -> tuple[Value, Value]:
    """Whether a shift count is less than the width (negative ones are not), and a count that is."""
    inside = f.icmp("ult", count, f.same(x, BITS[x.scalar]))
    return inside, f.select(inside, count, f.same(x, 0))


@writes("left_shift", "iu")
def left_shift(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    inside, count = _narrow(f, x, y)
    return f.select(inside, f.binary("shl", x, count), f.same(x, 0))


@writes("right_shift", "iu")
def right_shift(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    inside, count = _narrow(f, x, y)
    if dtype.kind == "u":
        return f.select(inside, f.binary("lshr", x, count), f.same(x, 0))
    return f.binary("ashr", x, f.select(inside, count, f.same(x, BITS[x.scalar] - 1)))


@writes("bitwise_count", "iu")
def bitwise_count(f: Function, dtype: Dtype, x: Value) -> Value:
    """How many bits of |x| are set, as uint8."""
    bits = f.intrinsic("ctpop", magnitude(f, x) if dtype.kind == "i" else x)
    return f.cast("trunc", bits, "i8")


@writes("gcd", "iu")
def gcd(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    if dtype.kind == "i":
        x, y = magnitude(f, x), magnitude(f, y)
    return shared_function(f, "greatest_common_divisor", _euclid, x, y, attributes="nounwind")


def _euclid(f: Function, x: Value, y: Value) -> Value:
    """(x, y) ← (y, x mod y) until y = 0 in every lane."""
    start, head, body, done = f.block, f.new_block("head"), f.new_block("body"), f.new_block("done")
    f.jump(head)
    f.begin(head)
    a = f.phi(x.type, [(x, start), (Value("%a_next", x.type), body)])
    b = f.phi(y.type, [(y, start), (Value("%b_next", y.type), body)])
    open_lanes = f.icmp("ne", b, f.same(b, 0))
    f.branch(f.any_lane(open_lanes), body, done)
    f.begin(body)
    rest = f.binary("urem", a, f.select(open_lanes, b, f.same(b, 1)))
    f.line(f"%a_next = select {open_lanes.type} {open_lanes.text}, {b.type} {b.text}, {a.type} {a.text}")
    zero = f.same(b, 0)
    f.line(f"%b_next = select {open_lanes.type} {open_lanes.text}, {b.type} {rest.text}, {b.type} {zero.text}")
    f.jump(head)
    f.begin(done)
    return a


@writes("lcm", "iu")
def lcm(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """|x| / gcd · |y|, and 0 if both are 0."""
    if dtype.kind == "i":
        x, y = magnitude(f, x), magnitude(f, y)
    common = gcd(f, dtype, x, y)  # of numbers that are positive, or the least integer
    zero = f.icmp("eq", common, f.same(common, 0))
    quotient = f.binary("udiv", x, f.select(zero, f.same(x, 1), common))
    return f.select(zero, f.same(x, 0), f.binary("mul", quotient, y))


@writes("power", "u")
def power(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
    """xʸ by squaring, wrapping around; a negative exponent, which NumPy refuses, must not arrive here."""
    return shared_function(f, "integer_power", _squarings, x, y, attributes="nounwind")


def _squarings(f: Function, x: Value, y: Value) -> Value:
    """z x^y stays the same while y is halved: z ← z x for odd y, x ← x², until y = 0 in every lane."""
    start, head, body, done = f.block, f.new_block("head"), f.new_block("body"), f.new_block("done")
    f.jump(head)
    f.begin(head)
    z = f.phi(x.type, [(f.same(x, 1), start), (Value("%z_next", x.type), body)])
    base = f.phi(x.type, [(x, start), (Value("%x_next", x.type), body)])
    left = f.phi(x.type, [(y, start), (Value("%y_next", x.type), body)])
    f.branch(f.any_lane(f.icmp("ne", left, f.same(y, 0))), body, done)
    f.begin(body)
    odd = f.icmp("ne", f.binary("and", left, f.same(y, 1)), f.same(y, 0))
    product = f.binary("mul", z, base)
    f.line(f"%z_next = select {odd.type} {odd.text}, {z.type} {product.text}, {z.type} {z.text}")
    f.line(f"%x_next = mul {x.type} {base.text}, {base.text}")
    f.line(f"%y_next = lshr {x.type} {left.text}, {f.same(y, 1).text}")
    f.jump(head)
    f.begin(done)
    return z
