"""Values with operators, so that the mathematics reads as such; each operator writes one instruction.

`Lanes` is an `ir.Value` together with the function that it stands in. Plain numbers beside it become constants of its
type, in every lane. Nothing is contracted: a product and a sum round twice unless `fma` is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.base.records import record
from adjoint.compile.ir import Function, Value, shared_function


@record
class Format:
    """A floating-point format: value = ± 1.m · 2^(e - bias), `mantissa` bits m behind the point."""

    scalar: str
    integer: str  # of the same size
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 · 2^mantissa: added to a small number it leaves the nearest integer in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (31 if self.scalar == "float" else 63)

    @property
    def smallest(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    def pick(self, double: object, single: object) -> object:
        """What belongs to this format, of the two."""
        return double if self.scalar == "double" else single


DOUBLE = Format("double", "i64", 52, 1023)
FLOAT = Format("float", "i32", 23, 127)
FORMATS = {"double": DOUBLE, "float": FLOAT}

Number = float | int


class Lanes:
    """A value of the function being written, in arithmetic."""

    __slots__ = ("function", "value")

    def __init__(self, function: Function, value: Value) -> None:
        self.function, self.value = function, value

    @property
    def format(self) -> Format:
        """The format of a float."""
        return FORMATS[self.value.scalar]

    @property
    def is_float(self) -> bool:
        return self.value.scalar in FORMATS

    def of(self, number: Number) -> Lanes:
        """A constant of the same type."""
        return Lanes(self.function, self.function.same(self.value, number))

    def _operand(self, other: Lanes | Number) -> Value:
        return other.value if isinstance(other, Lanes) else self.function.same(self.value, other)

    def _binary(self, floating: str, integer: str, other: Lanes | Number) -> Lanes:
        op = floating if self.is_float else integer
        return Lanes(self.function, self.function.binary(op, self.value, self._operand(other)))

    # Arithmetic

    def __add__(self, other: Lanes | Number) -> Lanes:
        return self._binary("fadd", "add", other)

    def __radd__(self, other: Number) -> Lanes:
        return self.of(other) + self

    def __sub__(self, other: Lanes | Number) -> Lanes:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: Number) -> Lanes:
        return self.of(other) - self

    def __mul__(self, other: Lanes | Number) -> Lanes:
        return self._binary("fmul", "mul", other)

    def __rmul__(self, other: Number) -> Lanes:
        return self * other

    def __truediv__(self, other: Lanes | Number) -> Lanes:
        return self._binary("fdiv", "?", other)

    def __rtruediv__(self, other: Number) -> Lanes:
        return self.of(other) / self

    def __neg__(self) -> Lanes:
        if self.is_float:
            return Lanes(self.function, self.function.fneg(self.value))
        return 0 - self

    def __abs__(self) -> Lanes:
        return Lanes(self.function, self.function.intrinsic("fabs", self.value))

    # Bits; of masks as well

    def __and__(self, other: Lanes | Number) -> Lanes:
        return self._binary("?", "and", other)

    def __or__(self, other: Lanes | Number) -> Lanes:
        return self._binary("?", "or", other)

    def __xor__(self, other: Lanes | Number) -> Lanes:
        return self._binary("?", "xor", other)

    def __invert__(self) -> Lanes:
        return self ^ -1

    def __lshift__(self, count: int) -> Lanes:
        return self._binary("?", "shl", count)

    def __rshift__(self, count: int) -> Lanes:
        """Without the sign: zeros come in."""
        return self._binary("?", "lshr", count)

    def bits(self) -> Lanes:
        """A float as an integer."""
        return Lanes(self.function, self.function.cast("bitcast", self.value, self.format.integer))

    def float(self) -> Lanes:
        """An integer's bits as a float."""
        kind = "double" if self.value.scalar == "i64" else "float"
        return Lanes(self.function, self.function.cast("bitcast", self.value, kind))

    def cast(self, op: str, scalar: str) -> Lanes:
        """Another type: fpext, fptrunc …"""
        return Lanes(self.function, self.function.cast(op, self.value, scalar))

    # Comparisons: false where an operand is NaN

    def _compare(self, floating: str, integer: str, other: Lanes | Number) -> Lanes:
        compare = self.function.fcmp if self.is_float else self.function.icmp
        return Lanes(self.function, compare(floating if self.is_float else integer, self.value, self._operand(other)))

    def __lt__(self, other: Lanes | Number) -> Lanes:
        return self._compare("olt", "slt", other)

    def __le__(self, other: Lanes | Number) -> Lanes:
        return self._compare("ole", "sle", other)

    def __gt__(self, other: Lanes | Number) -> Lanes:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Lanes | Number) -> Lanes:
        return self._compare("oge", "sge", other)

    def equals(self, other: Lanes | Number) -> Lanes:
        return self._compare("oeq", "eq", other)

    def is_nan(self) -> Lanes:
        return Lanes(self.function, self.function.fcmp("uno", self.value, self.value))


def fma(a: Lanes, b: Lanes | Number, c: Lanes | Number) -> Lanes:
    """a b + c, rounded once."""
    f = a.function
    return Lanes(f, f.fma(a.value, a._operand(b), a._operand(c)))  # pyright: ignore[reportPrivateUsage]


def where(condition: Lanes, a: Lanes | Number, b: Lanes | Number) -> Lanes:
    """a where the condition holds, else b; one of the two is not a plain number."""
    model = a if isinstance(a, Lanes) else b
    assert isinstance(model, Lanes)
    f = condition.function
    return Lanes(f, f.select(condition.value, model._operand(a), model._operand(b)))  # pyright: ignore[reportPrivateUsage]


def at_most(x: Lanes, bound: Lanes | Number) -> Lanes:
    """min(x, bound); NaN stays."""
    return where(x > bound, bound, x)


def at_least(x: Lanes, bound: Lanes | Number) -> Lanes:
    """max(x, bound); NaN stays."""
    return where(x < bound, bound, x)


def sign_bit(x: Lanes) -> Lanes:
    """The sign bit of a float, the others zero."""
    return x.bits() & x.format.sign


def with_sign(x: Lanes, sign: Lanes) -> Lanes:
    """x with its sign flipped where a sign bit is set."""
    return (x.bits() ^ sign).float()


def copy_sign(x: Lanes, sign: Lanes) -> Lanes:
    """|x| with the sign of another number."""
    return Lanes(x.function, x.function.intrinsic("copysign", x.value, sign.value))


def two_sum(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """a + b rounded, and what the rounding took away, exactly."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def square_root(x: Lanes) -> Lanes:
    return Lanes(x.function, x.function.intrinsic("sqrt", x.value))


def round_even(x: Lanes) -> Lanes:
    """The nearest integer, ties to even."""
    return Lanes(x.function, x.function.intrinsic("roundeven", x.value))


def floor(x: Lanes) -> Lanes:
    return Lanes(x.function, x.function.intrinsic("floor", x.value))


def polynomial(x: Lanes, coefficients: Sequence[Number], square: Lanes | None = None) -> Lanes:
    """Σ c_i x^i: blocks of two or four terms side by side, then from block to block.

    Nearly as few instructions as one term after another, in a much shorter chain. `square` is x², if it is known.
    """
    size = 2 if len(coefficients) <= 6 else 4
    if len(coefficients) < 3:
        return _block(x, coefficients, None)
    square = x * x if square is None else square
    step = square if size == 2 else square * square
    blocks = [_block(x, coefficients[k : k + size], square) for k in range(0, len(coefficients), size)]
    result = blocks[-1]
    for block in reversed(blocks[:-1]):
        result = fma(result, step, block)
    return result


def _block(x: Lanes, c: Sequence[Number], square: Lanes | None) -> Lanes:
    """c_0 + c_1 x + (c_2 + c_3 x) x², or fewer terms."""
    low = fma(x, c[1], c[0]) if len(c) > 1 else x.of(c[0])
    if len(c) <= 2 or square is None:
        return low
    return fma(square, fma(x, c[3], c[2]) if len(c) > 3 else x.of(c[2]), low)


def steady_polynomial(x: Lanes, coefficients: Sequence[Number], first: int) -> Lanes:
    """Σ c_i x^i, the `first` few terms one after another: slower than `polynomial`, and with less rounding."""
    result = polynomial(x, coefficients[first:])
    for c in reversed(coefficients[:first]):
        result = fma(result, x, c)
    return result


LaneFunction = Callable[..., Lanes]


def rarely(mask: Lanes, fast: Lanes, write: Callable[[], Lanes]) -> Lanes:
    """`fast`, and what `write` gives in the lanes of the mask; its instructions run only if there is such a lane."""
    f = mask.function
    slow, done = f.new_block("rare"), f.new_block("done")
    rare = f.intrinsic("expect", f.any_lane(mask.value), f.constant("i1", 0))
    before = f.block
    f.branch(rare, slow, done)
    f.begin(slow)
    patched = where(mask, write(), fast)
    after = f.block
    f.jump(done)
    f.begin(done)
    return Lanes(f, f.phi(fast.value.type, [(fast.value, before), (patched.value, after)]))


def through_double(write: LaneFunction) -> LaneFunction:
    """The same function for floats as well, computed with doubles and rounded once more."""

    def either(*args: Lanes) -> Lanes:
        if args[0].format.scalar == "double":
            return write(*args)
        return write(*(a.cast("fpext", "double") for a in args)).cast("fptrunc", "float")

    return either


def call_shared(function: Function, name: str, write: LaneFunction, *args: Value) -> Value:
    """Call a function of lanes; its text is written once for each type."""

    def body(inner: Function, *params: Value) -> Value:
        return write(*(Lanes(inner, p) for p in params)).value

    return shared_function(function, f"adjoint.{name}", body, *args)
