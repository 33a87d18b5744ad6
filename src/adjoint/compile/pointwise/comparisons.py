"""Comparisons, extrema, logic, and tests of floats; complex numbers are ordered by their real parts first."""

from __future__ import annotations

from typing import Any

from adjoint.compile.ir import Function, Value
from adjoint.compile.pointwise.casts import nonzero
from adjoint.compile.pointwise.registers import Dtype, Element
from adjoint.compile.pointwise.table import writes

# name -> predicate of floats, of signed and of unsigned integers
PREDICATES = {
    "equal": ("oeq", "eq", "eq"),
    "not_equal": ("une", "ne", "ne"),
    "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"),
    "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
}


def _comparison(name: str, ordered: str, signed: str, unsigned: str) -> None:
    writes(name, "f")(lambda f, dtype, x, y: f.fcmp(ordered, x, y))
    writes(name, "i")(lambda f, dtype, x, y: f.icmp(signed, x, y))
    writes(name, "bu")(lambda f, dtype, x, y: f.icmp(unsigned, x, y))


for _name, _predicates in PREDICATES.items():
    _comparison(_name, *_predicates)


def compare_mixed(f: Function, name: str, x: Value, y: Value, signed_first: bool) -> Value:
    """Compare an int64 with an uint64 by value: a negative number is less than every unsigned one."""
    signed = x if signed_first else y
    negative = f.icmp("slt", signed, f.same(signed, 0))
    plain = f.icmp(PREDICATES[name][2], x, y)
    if compare_outside(name, signed_first):
        return f.binary("or", plain, negative)
    return f.binary("and", plain, negate(f, negative))


def compare_outside(name: str, above: bool) -> bool:
    """x ∘ n for a number n that is greater (or less) than every number of the dtype of x."""
    return name == "not_equal" or name in (("less", "less_equal") if above else ("greater", "greater_equal"))


MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def negate(f: Function, condition: Value) -> Value:
    """not c."""
    return f.binary("xor", condition, f.same(condition, 1))


def is_nan(f: Function, x: Value) -> Value:
    """Whether x is NaN."""
    return f.fcmp("uno", x, x)


# Complex numbers


@writes("equal", "c")
def equal(f: Function, dtype: Dtype, x: Any, y: Any) -> Value:
    return f.binary("and", f.fcmp("oeq", x[0], y[0]), f.fcmp("oeq", x[1], y[1]))


@writes("not_equal", "c")
def not_equal(f: Function, dtype: Dtype, x: Any, y: Any) -> Value:
    return f.binary("or", f.fcmp("une", x[0], y[0]), f.fcmp("une", x[1], y[1]))


def lexicographic(f: Function, name: str, x: Any, y: Any) -> Value:
    """x ∘ y by the real parts, where they are equal by the imaginary parts; false where these are NaN."""
    strict = name.removesuffix("_equal")
    first = f.fcmp(PREDICATES[strict][0], x[0], y[0])
    numbers = f.fcmp("ord", x[1], y[1])
    tie = f.binary("and", f.fcmp("oeq", x[0], y[0]), f.fcmp(PREDICATES[name][0], x[1], y[1]))
    return f.binary("or", f.binary("and", first, numbers), tie)


def _register_order(name: str) -> None:
    writes(name, "c")(lambda f, dtype, x, y: lexicographic(f, name, x, y))


for _name in ("less", "less_equal", "greater", "greater_equal"):
    _register_order(_name)


def choose(f: Function, condition: Value, x: Element, y: Element) -> Element:
    """x where the condition holds, else y; also of complex elements."""
    if isinstance(x, Value) and isinstance(y, Value):
        return f.select(condition, x, y)
    assert not isinstance(x, Value)
    assert not isinstance(y, Value)
    return f.select(condition, x[0], y[0]), f.select(condition, x[1], y[1])


def _nan(f: Function, x: Any) -> Value:
    return f.fcmp("uno", x[0], x[1])


def _complex_extremum(largest: bool, passes_over: bool) -> Any:
    name = "greater_equal" if largest else "less_equal"

    def write(f: Function, dtype: Dtype, x: Any, y: Any) -> Element:
        first = lexicographic(f, name, x, y)
        if passes_over:
            return choose(f, f.binary("or", first, _nan(f, y)), x, y)
        return choose(f, f.binary("or", first, _nan(f, x)), x, y)

    return write


writes("maximum", "c")(_complex_extremum(True, False))
writes("minimum", "c")(_complex_extremum(False, False))
writes("fmax", "c")(_complex_extremum(True, True))
writes("fmin", "c")(_complex_extremum(False, True))

# Extrema of real numbers


def _extremum(predicate: str, passes_over: bool) -> Any:
    """The larger or smaller of two floats; NaN wins, or loses where NaN is passed over."""

    def write(f: Function, dtype: Dtype, x: Value, y: Value) -> Value:
        # y where one is NaN, and for equal numbers (zeros), as in the machine's own instruction; NumPy's loop for
        # float16 takes x
        ties = predicate.replace("t", "e") if dtype.itemsize == 2 else predicate
        best = f.select(f.fcmp(ties, x, y), x, y)
        return f.select(is_nan(f, y), x, best) if passes_over else f.select(is_nan(f, x), x, best)

    return write


writes("maximum", "f")(_extremum("ogt", False))
writes("minimum", "f")(_extremum("olt", False))
writes("fmax", "f")(_extremum("ogt", True))
writes("fmin", "f")(_extremum("olt", True))
writes("maximum fmax", "i")(lambda f, dtype, x, y: f.intrinsic("smax", x, y))
writes("minimum fmin", "i")(lambda f, dtype, x, y: f.intrinsic("smin", x, y))
writes("maximum fmax", "u")(lambda f, dtype, x, y: f.intrinsic("umax", x, y))
writes("minimum fmin", "u")(lambda f, dtype, x, y: f.intrinsic("umin", x, y))
writes("maximum fmax", "b")(lambda f, dtype, x, y: f.binary("or", x, y))
writes("minimum fmin", "b")(lambda f, dtype, x, y: f.binary("and", x, y))

# Logic


def truth(f: Function, x: Element) -> Value:
    """Whether an element is not zero."""
    return nonzero(f, x) if isinstance(x, Value) else f.binary("or", nonzero(f, x[0]), nonzero(f, x[1]))


def _logical(name: str, instruction: str) -> None:
    writes(name, "biufc")(lambda f, dtype, x, y: f.binary(instruction, truth(f, x), truth(f, y)))


_logical("logical_and", "and")
_logical("logical_or", "or")
_logical("logical_xor", "xor")


@writes("logical_not", "iufc")
def logical_not(f: Function, dtype: Dtype, x: Element) -> Value:
    return negate(f, truth(f, x))


# Tests of floats


def is_infinite(f: Function, x: Value) -> Value:
    """Whether x is infinite."""
    return f.fcmp("oeq", f.intrinsic("fabs", x), f.same(x, float("inf")))


def is_finite(f: Function, x: Value) -> Value:
    """Whether x is neither infinite nor NaN."""
    return f.fcmp("olt", f.intrinsic("fabs", x), f.same(x, float("inf")))


def _both(instruction: str, test: Any) -> Any:
    return lambda f, dtype, x: f.binary(instruction, test(f, x[0]), test(f, x[1]))


for _name, _test, _joined in (("isnan", is_nan, "or"), ("isinf", is_infinite, "or"), ("isfinite", is_finite, "and")):
    writes(_name, "f")(lambda f, dtype, x, test=_test: test(f, x))
    writes(_name, "c")(_both(_joined, _test))


@writes("isnan isinf", "biu")
def never(f: Function, dtype: Dtype, x: Value) -> Value:
    """An integer is neither."""
    return f.icmp("ne", x, x)


@writes("isfinite", "biu")
def always(f: Function, dtype: Dtype, x: Value) -> Value:
    return f.icmp("eq", x, x)


@writes("signbit", "f")
def signbit(f: Function, dtype: Dtype, x: Value) -> Value:
    """Whether the sign is set, also of -0.0 and NaN."""
    bits = f.cast("bitcast", x, "i64" if x.scalar == "double" else "i32")
    return f.icmp("slt", bits, f.same(bits, 0))
