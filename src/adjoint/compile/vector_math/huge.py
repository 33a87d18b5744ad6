"""sin, cos and tan of huge numbers, exactly reduced, one lane after another (Payne and Hanek).

|x| = M 2^e with an integer M < 2^53. Modulo 4,  x · 2/π = M · (2^e · 2/π mod 4), and the 192 bits of 2/π from weight
2^(1-e) on leave an error below 2^-137, while r is never smaller than about 2^-62.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from adjoint.compile.ir import Function, Value, shared_function
from adjoint.compile.vector_math.vectors import Lanes, fma, where

HALF_PI = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54"))
LEADING = 128  # zero bits before the point of the table, so that every offset is positive


@cache
def two_over_pi_words(count: int = 22) -> Sequence[int]:
    """2/π, behind LEADING zero bits, as words of 64 bits, by Machin's formula in integers."""
    bits = 64 * count
    one = 1 << (bits + 64)

    def arctan_inverse(n: int) -> int:
        total = term = one // n
        k, sign = 1, 1
        while term:
            term //= n * n
            k, sign = k + 2, -sign
            total += sign * (term // k)
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    value = (2 * one * one // pi) >> 64  # 2/π · 2^bits
    value >>= LEADING
    return [(value >> (bits - 64 * (k + 1))) & ((1 << 64) - 1) for k in range(count)]


Kernel = Callable[[Lanes, Lanes, Lanes], Lanes]  # (r, n, low) -> f(n π/2 + r + low)


def exactly(kernel: Kernel, x: Lanes) -> Lanes:
    """f(x) of one finite double, x >= 1; NaN if x is infinite."""
    f = x.function

    def wide(a: Value) -> Value:
        return f.cast("zext", a, "i128")

    def number(kind: str, n: int) -> Value:
        return f.constant(kind, n)

    magnitude = x.bits().value
    mantissa = f.binary("or", f.binary("and", magnitude, number("i64", (1 << 52) - 1)), number("i64", 1 << 52))
    exponent = f.binary("lshr", magnitude, number("i64", 52))  # e + 1075
    # weight 2^(1-e) stands at place LEADING + e - 2 of the table, counted from 0
    offset = f.intrinsic("umin", f.sub(exponent, number("i64", 1075 + 2 - LEADING)), number("i64", 64 * 18))
    table = f.module.constant_array("adjoint.two_over_pi", "i64", two_over_pi_words())
    first = f.element(table, f.binary("lshr", offset, number("i64", 6)), "i64")
    words = [f.load("i64", f.element(first, f.index(k), "i64")) for k in range(4)]
    shift = f.binary("and", offset, number("i64", 63))
    high, middle, low = (f.intrinsic("fshl", words[k], words[k + 1], shift) for k in range(3))

    big = number("i128", 64)
    carry = f.binary("lshr", f.mul(wide(low), wide(mantissa)), big)
    second = f.add(f.mul(wide(middle), wide(mantissa)), carry)
    top = f.add(f.mul(high, mantissa), f.cast("trunc", f.binary("lshr", second, big), "i64"))
    below = f.cast("trunc", second, "i64")
    # x · 2/π mod 4, in units of 2^-126
    quadrants = f.binary("or", f.binary("shl", wide(top), big), wide(below))
    fraction = f.binary("shl", quadrants, number("i128", 2))  # as a signed number: in [-1/2, 1/2) · 2^128
    upper = f.cast("trunc", f.binary("lshr", fraction, number("i128", 127)), "i64")
    n = Lanes(f, f.add(f.binary("lshr", top, number("i64", 62)), upper))

    negative = f.icmp("slt", fraction, number("i128", 0))
    size = f.select(negative, f.binary("sub", number("i128", 0), fraction), fraction)
    zeros = f.intrinsic("ctlz", size, number("i1", 1))
    leading = f.binary("shl", size, zeros)
    head = f.cast("trunc", f.binary("lshr", leading, number("i128", 75)), "i64")  # 53 bits
    tail = f.cast("trunc", f.binary("lshr", leading, number("i128", 12)), "i64")  # the next 63, after the mask
    tail = f.binary("and", tail, number("i64", (1 << 63) - 1))
    scale = f.binary("shl", f.sub(number("i64", 1023 - 128), f.cast("trunc", zeros, "i64")), number("i64", 52))
    unit = Lanes(f, scale).float()  # 2^(-128-zeros)
    hi = Lanes(f, f.cast("sitofp", head, "double")) * 2.0**75 * unit
    lo = Lanes(f, f.cast("sitofp", tail, "double")) * 2.0**12 * unit
    p = hi * HALF_PI[0]
    rest = fma(hi, HALF_PI[0], -p) + fma(hi, HALF_PI[1], lo * HALF_PI[0])
    r = p + rest
    low = rest - (r - p)
    minus = Lanes(f, negative)
    return kernel(where(minus, -r, r), n, where(minus, -low, low)) + (x - x)  # NaN for infinities


def exact_where(limit: float, name: str, kernel: Kernel, x: Lanes, fast: Lanes) -> Lanes:
    """f(x), x >= 0, exactly reduced where x is beyond the limit, else `fast`; without such lanes only the test costs.

    The rare lanes go through memory to a function of their own: the same for every width, and out of the way.
    """
    f = x.function
    kind = x.value.scalar

    def each(inner: Function, arguments: Value, results: Value, width: Value) -> Value:
        with inner.loop(inner.index(0), width) as i:
            one = inner.load(kind, inner.element(arguments, i, kind))
            with inner.when(inner.fcmp("ogt", one, inner.same(one, limit))):
                wide = inner.cast("fpext", one, "double") if kind == "float" else one
                result = exactly(kernel, Lanes(inner, wide)).value
                narrow = inner.cast("fptrunc", result, "float") if kind == "float" else result
                inner.store(narrow, inner.element(results, i, kind))
        return inner.index(0)

    slow, done = f.new_block("huge"), f.new_block("done")
    beyond = (x > limit).value
    rare = f.intrinsic("expect", f.any_lane(beyond), f.constant("i1", 0))
    before = f.block
    f.branch(rare, slow, done)
    f.begin(slow)
    arguments, results = f.allocate(x.value.type), f.allocate(x.value.type)
    f.store(x.value, arguments)
    f.store(fast.value, results)
    full_name = f"adjoint.{name}.huge.{kind}"
    shared_function(
        f, full_name, each, arguments, results, f.index(x.value.width), attributes="noinline optnone cold nounwind"
    )
    patched = f.load(x.value.type, results)
    f.jump(done)
    f.begin(done)
    return Lanes(f, f.phi(x.value.type, [(fast.value, before), (patched, slow)]))
