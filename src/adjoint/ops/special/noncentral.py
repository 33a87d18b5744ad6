"""Noncentral distributions, in all arguments: χ², F and t, and the inverses of their distribution functions.

χ² and F are path integrals (see `laplace`); Student's t is a mixture of normal distributions over the scale s,
∫ Φ(t s - δ) h(s) ds.
"""

# The rules are a table of lambdas, whose letters have no types.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ops.special.declare import named, polynomial
from adjoint.ops.special.errors import normal_density
from adjoint.ops.special.laplace import chi_square_integral, log_quotient, ratio_first, ratio_integral, ratio_second
from adjoint.ops.special.library import special, where
from adjoint.ops.special.quadrature import line, placed, spread_out
from adjoint.program.types import Value


def chi_square_density(x: Value, df: Value, nc: Value) -> Value:
    """The density of the noncentral χ²."""
    return chi_square_integral(x, df, nc, lambda p, l, r: 1.0)


def chi_square_shape(x: Value, df: Value, nc: Value) -> Value:
    return chi_square_integral(x, df, nc, lambda p, l, r: -0.5 * log_quotient(p, l))


def chi_square_shift(x: Value, df: Value, nc: Value) -> Value:
    """-f(x; ν+2, δ)."""
    return -chi_square_density(x, df + 2.0, nc)


named(special.chndtr, "x df nc", x=chi_square_density, df=chi_square_shape, nc=chi_square_shift)
named(
    special.chndtrix,
    "p df nc",
    p=lambda df, nc, z: 1.0 / chi_square_density(z, df, nc),
    df=lambda df, nc, z: -chi_square_shape(z, df, nc) / chi_square_density(z, df, nc),
    nc=lambda df, nc, z: -chi_square_shift(z, df, nc) / chi_square_density(z, df, nc),
)
named(
    special.chndtridf,
    "x p nc",
    x=lambda x, nc, z: -chi_square_density(x, z, nc) / chi_square_shape(x, z, nc),
    p=lambda x, nc, z: 1.0 / chi_square_shape(x, z, nc),
    nc=lambda x, nc, z: -chi_square_shift(x, z, nc) / chi_square_shape(x, z, nc),
)
named(
    special.chndtrinc,
    "x df p",
    x=lambda x, df, z: -chi_square_density(x, df, z) / chi_square_shift(x, df, z),
    df=lambda x, df, z: -chi_square_shape(x, df, z) / chi_square_shift(x, df, z),
    p=lambda x, df, z: 1.0 / chi_square_shift(x, df, z),
)

# ---------------------------------------------------------------- F


def _fisher_r(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    """∂/∂r: the factor ν₂/(1 - 2rp)."""
    return dfd * ratio_integral(dfn, dfd, nc, dfn * f / dfd, lambda p, a, b, c, r: 1.0 / (1.0 - 2.0 * r * p))


def _ncfdtr_f(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    return dfn / dfd * _fisher_r(dfn, dfd, nc, f)


def _ncfdtr_nc(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    return -ratio_integral(dfn, dfd, nc, dfn * f / dfd, lambda p, a, b, c, r: 1.0 / (1.0 + 2.0 * p))


_FISHER: dict[str, Any] = {"dfn": ratio_first, "dfd": ratio_second, "nc": _ncfdtr_nc, "f": _ncfdtr_f}


def _implicit(
    derivatives: dict[str, Callable[..., Value]], order: str, solved: str, argument: str
) -> Callable[[dict[str, Value]], Value]:
    """dz/dargument for the z = `solved` that gives F the value p: -F_argument/F_z, and 1/F_z for p."""

    def partial(values: dict[str, Value]) -> Value:
        point = [values[name] for name in order.split()]
        below = derivatives[solved](*point)
        return 1.0 / below if argument == "p" else -derivatives[argument](*point) / below

    return partial


def _inverses(inverse: Callable[[str, str], Any], solved: str, arguments: str) -> dict[str, Any]:
    """The partials of the z = `solved` that gives F the value p, in each argument."""
    return {argument: inverse(solved, argument) for argument in arguments.split()}


def _f_inverse(solved: str, argument: str) -> Callable[[Value, Value, Value, Value], Value]:
    partial = _implicit(_FISHER, "dfn dfd nc f", solved, argument)
    if solved == "f":
        return lambda dfn, dfd, nc, z: partial({"dfn": dfn, "dfd": dfd, "nc": nc, "f": z})
    if solved == "dfn":
        return lambda dfd, nc, f, z: partial({"dfn": z, "dfd": dfd, "nc": nc, "f": f})
    if solved == "dfd":
        return lambda dfn, nc, f, z: partial({"dfn": dfn, "dfd": z, "nc": nc, "f": f})
    return lambda dfn, dfd, f, z: partial({"dfn": dfn, "dfd": dfd, "nc": z, "f": f})


named(special.ncfdtr, "dfn dfd nc f", **_FISHER)
named(special.ncfdtri, "dfn dfd nc p", **_inverses(_f_inverse, "f", "dfn dfd nc p"))
named(special.ncfdtridfn, "p dfd nc f", **_inverses(_f_inverse, "dfn", "p dfd nc f"))
named(special.ncfdtridfd, "dfn p nc f", **_inverses(_f_inverse, "dfd", "dfn p nc f"))
named(special.ncfdtrinc, "dfn dfd p f", **_inverses(_f_inverse, "nc", "dfn dfd p f"))

# ---------------------------------------------------------------- Student's t

# (e^(2y) - 1 - 2y)/2 = y² Σ 2ⁿ⁺¹ yⁿ/(n+2)!
_SCALE = [2.0 ** (n + 1) / math.factorial(n + 2) for n in range(16)]
# log a - ψ(a) = 1/(2a) + Σ B₂ₖ/(2k a²ᵏ)
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
_DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760]


def digamma_gap(a: Value) -> Value:
    """log a - ψ(a), without cancellation for large a."""
    large = a > 12.0
    wide, narrow = where(large, a, 12.0), where(large, 1.0, a)
    r = 1.0 / (wide * wide)
    return where(large, 0.5 / wide + r * polynomial(_DIGAMMA, r), np.log(narrow) - special.psi(narrow))


def _peak_of(df: Value, nc: Value, t: Value, side: Value) -> Value:
    """Where ν y - ½ν e^(2y) - ½ q² is greatest, q the part of t e^y - δ of the sign -side, or all of it for side 0."""
    low, high = np.full_like(df, -60.0), np.full_like(df, 12.0)
    for _ in range(70):
        y = 0.5 * (low + high)
        s = np.exp(y)
        q = t * s - nc
        q = where((side == 0) | (q * side < 0), q, 0.0)
        rising = df * (1.0 - s * s) - q * t * s > 0
        low, high = where(rising, y, low), where(rising, high, y)
    return 0.5 * (low + high)


@placed
def _scale_peak(df: Value, nc: Value, t: Value) -> Value:
    return _peak_of(df, nc, t, np.zeros_like(df))


@placed
def _scale_width(df: Value, nc: Value, t: Value, y: Value) -> Value:
    s = np.exp(y)
    return np.minimum(1.5 / np.sqrt(np.maximum(2.0 * (df + t * t) * s * s - t * nc * s, df)), 1.0)


@placed
def _tail_peak(df: Value, nc: Value, t: Value, side: Value) -> Value:
    return _peak_of(df, nc, t, side)


@placed
def _tail_side(df: Value, nc: Value, t: Value) -> Value:
    return where(t < nc, 1.0, -1.0)


def _scale_nodes(df: Value, peak: Value, width: Value) -> tuple[Value, Value, Value]:
    """y, weights, and the density of s = e^y over y: 2 (ν/2)^(ν/2) / Γ(ν/2) exp(ν y - ½ν e^(2y))."""
    v, step = line(241, 6.6)
    y = np.minimum(peak + width * np.sinh(v), 100.0)  # beyond, the density is zero
    return y, width * np.cosh(v) * step, 2.0 * np.exp(_normalizer(0.5 * df) - df * _bowl(y))


def _bowl(y: Value) -> Value:
    """(e^(2y) - 1 - 2y)/2."""
    near = np.abs(y) < 0.5
    small, large = where(near, y, 0.0), where(near, 1.0, y)
    return where(near, small * small * polynomial(_SCALE, small), 0.5 * (np.expm1(2.0 * large) - 2.0 * large))


def _normalizer(a: Value) -> Value:
    """a log a - a - log Γ(a), without cancellation for large a."""
    large = a > 12.0
    wide, narrow = where(large, a, 12.0), where(large, 1.0, a)
    r = 1.0 / wide
    far = 0.5 * (np.log(wide) - math.log(2.0 * math.pi)) - r * polynomial(_STIRLING, r * r)
    return where(large, far, narrow * (np.log(narrow) - 1.0) - special.gammaln(narrow))


def _student_integral(df: Value, nc: Value, t: Value, power: int) -> Value:
    """∫ sᵏ φ(t s - δ) h(s) ds."""
    peak = _scale_peak(df, nc, t)
    df, nc, t, peak, width = spread_out(df, nc, t, peak, _scale_width(df, nc, t, peak))
    y, weights, density = _scale_nodes(df, peak, width)
    s = np.exp(y)
    return np.sum(normal_density(t * s - nc) * s**power * density * weights, axis=-1)


def student_shape(df: Value, nc: Value, t: Value) -> Value:
    """∫ Φ(t s - δ) h D ds with D = ∂ log h/∂ν = ½ (log(ν/2) - ψ(ν/2)) - (e^(2y) - 1 - 2y)/2, whose mean is 0."""
    side = _tail_side(df, nc, t)
    peak = _tail_peak(df, nc, t, side)
    df, nc, t, side, peak, width = spread_out(df, nc, t, side, peak, _scale_width(df, nc, t, peak))
    y, weights, density = _scale_nodes(df, peak, width)
    rate = 0.5 * digamma_gap(0.5 * df) - _bowl(y)
    return np.sum(side * special.ndtr(side * (t * np.exp(y) - nc)) * density * rate * weights, axis=-1)


def _nctdtr_nc(df: Value, nc: Value, t: Value) -> Value:
    return -_student_integral(df, nc, t, 0)


def _nctdtr_t(df: Value, nc: Value, t: Value) -> Value:
    return _student_integral(df, nc, t, 1)


_STUDENT: dict[str, Any] = {"df": student_shape, "nc": _nctdtr_nc, "t": _nctdtr_t}


def _t_inverse(solved: str, argument: str) -> Callable[[Value, Value, Value], Value]:
    partial = _implicit(_STUDENT, "df nc t", solved, argument)
    if solved == "t":
        return lambda df, nc, z: partial({"df": df, "nc": nc, "t": z})
    if solved == "df":
        return lambda nc, t, z: partial({"df": z, "nc": nc, "t": t})
    return lambda df, t, z: partial({"df": df, "nc": z, "t": t})


named(special.nctdtr, "df nc t", **_STUDENT)
named(special.nctdtrit, "df nc p", **_inverses(_t_inverse, "t", "df nc p"))
named(special.nctdtridf, "p nc t", **_inverses(_t_inverse, "df", "p nc t"))
named(special.nctdtrinc, "df p t", **_inverses(_t_inverse, "nc", "df p t"))
