"""Functions of scipy.special that are composed of others: entropies, losses, Box-Cox, and a few that test and round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from adjoint.compile.ir import Function, Value
from adjoint.compile.pointwise.complex_functions import log as complex_log
from adjoint.compile.pointwise.complex_functions import log1p as complex_log1p
from adjoint.compile.pointwise.complex_numbers import Complex, function_of, operation, pick
from adjoint.compile.pointwise.registers import Dtype
from adjoint.compile.pointwise.table import writes
from adjoint.compile.vector_math.vectors import Lanes, floor, where

F = TypeVar("F", bound=Callable[..., Lanes])


def real(name: str, needs: str = "", *, doubles: bool = False) -> Callable[[F], F]:
    """Enter a function of real numbers as a writer; `doubles`: floats are computed as doubles, as SciPy does."""

    def register(function: F) -> F:
        @writes(name, "f", needs)
        def write(f: Function, dtype: Dtype, *xs: Value) -> Value:
            if not doubles or xs[0].scalar == "double":
                return function(*[Lanes(f, x) for x in xs]).value
            wide = function(*[Lanes(f, f.cast("fpext", x, "double")) for x in xs])
            return f.cast("fptrunc", wide.value, "float")

        return function

    return register


def _log(x: Lanes) -> Lanes:
    return function_of("log", x)


# Logarithms times a number, entropies


@real("xlogy", "log")
def xlogy(x: Lanes, y: Lanes) -> Lanes:
    """x log y, and 0 for x = 0 unless y is NaN."""
    return where(x.equals(0.0) & ~y.is_nan(), 0.0, x * _log(y))


@real("xlog1py", "log1p")
def xlog1py(x: Lanes, y: Lanes) -> Lanes:
    """x log(1 + y), and 0 for x = 0 unless y is NaN."""
    return where(x.equals(0.0) & ~y.is_nan(), 0.0, x * function_of("log1p", y))


def _times_log(x: Complex, y: Complex, logarithm: Complex) -> Complex:
    zero = x.re.equals(0.0) & x.im.equals(0.0) & ~(y.re.is_nan() | y.im.is_nan())
    none = x.re.of(0.0)
    return pick(zero, Complex(none, none), x * logarithm)


operation("xlogy", "log log1p hypot arctan2")(lambda x, y: _times_log(x, y, complex_log(y)))
operation("xlog1py", "log log1p hypot arctan2")(lambda x, y: _times_log(x, y, complex_log1p(y)))


@real("entr", "log")
def entr(x: Lanes) -> Lanes:
    """-x log x, 0 at 0, -inf left of it."""
    inside = -x * _log(x)
    return where(x.equals(0.0), 0.0, where(x < 0.0, -math.inf, inside))


def _log_ratio(x: Lanes, y: Lanes) -> Lanes:
    """x log(x/y) of positive numbers: near 1 by log1p, and by two logarithms where the quotient leaves the range."""
    ratio = x / y
    near = (ratio > 0.5) & (ratio < 2.0)
    regular = (ratio >= x.format.smallest) & (ratio < math.inf)
    direct = where(near, function_of("log1p", (x - y) / y), _log(ratio))
    return x * where(regular, direct, _log(x) - _log(y))


@real("rel_entr", "log log1p")
def rel_entr(x: Lanes, y: Lanes) -> Lanes:
    """x log(x/y) for positive x and y, 0 for x = 0 ≤ y, inf elsewhere."""
    inside = (x > 0.0) & (y > 0.0)
    edge = x.equals(0.0) & (y >= 0.0)
    outside = where(edge, x.of(0.0), math.inf)
    return where(x.is_nan() | y.is_nan(), math.nan, where(inside, _log_ratio(x, y), outside))


@real("kl_div", "log", doubles=True)
def kl_div(x: Lanes, y: Lanes) -> Lanes:
    """x log(x/y) - x + y for positive x and y, y for x = 0 ≤ y, inf elsewhere."""
    inside = (x > 0.0) & (y > 0.0)
    edge = x.equals(0.0) & (y >= 0.0)
    outside = where(edge, y, math.inf)
    return where(x.is_nan() | y.is_nan(), math.nan, where(inside, x * _log(x / y) - x + y, outside))


# Losses


@real("huber")
def huber(delta: Lanes, r: Lanes) -> Lanes:
    """½ r² for |r| ≤ δ, δ (|r| - ½ δ) beyond; inf for δ < 0."""
    size = abs(r)
    loss = where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return where(delta < 0.0, math.inf, loss)


@real("pseudo_huber", "expm1 log1p", doubles=True)
def pseudo_huber(delta: Lanes, r: Lanes) -> Lanes:
    """δ² (√(1 + (r/δ)²) - 1), the root less one without cancellation; inf for δ < 0, 0 where δ or r is."""
    v = r / delta
    loss = delta * delta * function_of("expm1", 0.5 * function_of("log1p", v * v))
    return where(delta < 0.0, math.inf, where(delta.equals(0.0) | r.equals(0.0), 0.0, loss))


# Exponentials and Box-Cox


@real("exprel", "expm1")
def exprel(x: Lanes) -> Lanes:
    """(eˣ - 1)/x, 1 near 0."""
    small = abs(x) < (1e-16 if x.format.scalar == "double" else 1e-8)
    return where(small, 1.0, where(x > 717.0, math.inf, function_of("expm1", x) / x))


@real("cosm1", "sin")
def cosm1(x: Lanes) -> Lanes:
    """cos x - 1 = -2 sin²(x/2)."""
    half = function_of("sin", 0.5 * x)
    return 0.0 - 2.0 * half * half  # 0 at 0, not -0


@real("inv_boxcox", "exp log1p", doubles=True)
def inv_boxcox(y: Lanes, lam: Lanes) -> Lanes:
    """(1 + λ y)^(1/λ), eʸ for λ = 0."""
    return where(lam.equals(0.0), function_of("exp", y), function_of("exp", function_of("log1p", lam * y) / lam))


@real("inv_boxcox1p", "expm1 log1p", doubles=True)
def inv_boxcox1p(y: Lanes, lam: Lanes) -> Lanes:
    """(1 + λ y)^(1/λ) - 1, eʸ - 1 for λ = 0, y where λ y is tiny."""
    u = lam * y
    regular = function_of("expm1", function_of("log1p", u) / lam)
    tiny = abs(u) < 1e-154
    return where(lam.equals(0.0), function_of("expm1", y), where(tiny, y, regular))


def _box_cox(logarithm: Lanes, lam: Lanes) -> Lanes:
    """(e^(λ l) - 1)/λ, l for λ = 0; a power that overflows before it is divided goes through its logarithm."""
    u = lam * logarithm
    flat = abs(lam) < 1e-19
    sign = Lanes(lam.function, lam.function.intrinsic("copysign", lam.of(1.0).value, lam.value))
    large = sign * function_of("exp", u - _log(abs(lam))) - 1.0 / lam
    high = u > 709.78
    return where(flat, logarithm, where(high, large, function_of("expm1", u) / lam))


@real("boxcox", "log exp expm1", doubles=True)
def boxcox(x: Lanes, lam: Lanes) -> Lanes:
    """(x^λ - 1)/λ, log x for λ = 0."""
    return _box_cox(_log(x), lam)


@real("boxcox1p", "log log1p exp expm1", doubles=True)
def boxcox1p(x: Lanes, lam: Lanes) -> Lanes:
    """((1 + x)^λ - 1)/λ, log(1 + x) for λ = 0."""
    return _box_cox(function_of("log1p", x), lam)


# Tests and rounding


@real("round")
def round_to_even(x: Lanes) -> Lanes:
    """The nearest integer, ties to even; of a small negative number 0, not -0, as SciPy has it."""
    return where(x.equals(0.0), x, Lanes(x.function, x.function.intrinsic("rint", x.value)) + 0.0)


@real("gammasgn")
def gammasgn(x: Lanes) -> Lanes:
    """The sign of Γ(x); NaN at its poles left of 0 and at -inf."""
    whole = floor(x)
    odd = ~(whole * 0.5).equals(floor(whole * 0.5))
    left = where(whole.equals(x), math.nan, where(odd, x.of(-1.0), 1.0))
    at_zero = Lanes(x.function, x.function.intrinsic("copysign", x.of(1.0).value, x.value))
    return where(x.is_nan(), x, where(x > 0.0, 1.0, where(x.equals(0.0), at_zero, left)))


@real("loggamma", "gammaln")
def loggamma(x: Lanes) -> Lanes:
    """log Γ(x), NaN left of 0, where Γ may be negative."""
    return where(x < 0.0, math.nan, function_of("gammaln", x))
