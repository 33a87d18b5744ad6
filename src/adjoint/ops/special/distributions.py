"""Distribution functions in their variable (slope: the density), quantiles in the probability (its reciprocal)."""

# The rules are a table of lambdas, whose letters have no types.
# pyright: basic

from __future__ import annotations

import numpy as np
from scipy import special

from adjoint.ops.special.declare import named
from adjoint.ops.special.gamma import beta_density, gamma_density
from adjoint.program.types import Value


def _chi_square(v: Value, x: Value) -> Value:
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


named(special.chdtr, "v x", x=_chi_square)
named(special.chdtrc, "v x", x=lambda v, x: -_chi_square(v, x))
named(special.chdtri, "v p", p=lambda v, z: -1.0 / _chi_square(v, z))


def _poisson(k: Value, m: Value) -> Value:
    """P(count ≤ k) falls by the probability of the count ⌊k⌋."""
    return -gamma_density(np.floor(k) + 1.0, m)


named(special.pdtr, "k m", m=_poisson)
named(special.pdtrc, "k m", m=lambda k, m: -_poisson(k, m))
named(special.pdtri, "k y", y=lambda k, z: 1.0 / _poisson(k, z))

named(
    special.gdtr, "a b x", a=lambda a, b, x: x * gamma_density(b, a * x), x=lambda a, b, x: a * gamma_density(b, a * x)
)
named(
    special.gdtrc,
    "a b x",
    a=lambda a, b, x: -x * gamma_density(b, a * x),
    x=lambda a, b, x: -a * gamma_density(b, a * x),
)
named(special.gdtria, "p b x", p=lambda b, x, z: 1.0 / (x * gamma_density(b, z * x)), x=lambda x, z: -z / x)
named(special.gdtrix, "a b p", a=lambda a, z: -z / a, p=lambda a, b, z: 1.0 / (a * gamma_density(b, a * z)))


def _binomial(k: Value, n: Value, p: Value) -> Value:
    """P(count ≤ k) = I_{1-p}(n-k, k+1)."""
    whole = np.floor(k)
    return -beta_density(n - whole, whole + 1.0, 1.0 - p)


named(special.bdtr, "k n p", p=_binomial)
named(special.bdtrc, "k n p", p=lambda k, n, p: -_binomial(k, n, p))
named(special.bdtri, "k n y", y=lambda k, n, z: 1.0 / _binomial(k, n, z))


def _negative_binomial(k: Value, n: Value, p: Value) -> Value:
    """P(count ≤ k) = I_p(n, k+1)."""
    return beta_density(n, np.floor(k) + 1.0, p)


named(special.nbdtr, "k n p", p=_negative_binomial)
named(special.nbdtrc, "k n p", p=lambda k, n, p: -_negative_binomial(k, n, p))
named(special.nbdtri, "k n y", y=lambda k, n, z: 1.0 / _negative_binomial(k, n, z))


def _fisher(d: Value, e: Value, x: Value) -> Value:
    """I_w(d/2, e/2) with w = d x/(e + d x)."""
    s = e + d * x
    return beta_density(0.5 * d, 0.5 * e, d * x / s) * d * e / (s * s)


named(special.fdtr, "dfn dfd x", x=lambda dfn, dfd, x: _fisher(dfn, dfd, x))
named(special.fdtrc, "dfn dfd x", x=lambda dfn, dfd, x: -_fisher(dfn, dfd, x))
named(special.fdtri, "dfn dfd p", p=lambda dfn, dfd, z: 1.0 / _fisher(dfn, dfd, z))


def _student(df: Value, t: Value) -> Value:
    """(1 + t²/df)^(-(df+1)/2) / (√df B(df/2, ½))."""
    return np.exp(-0.5 * (df + 1.0) * np.log1p(t * t / df)) / (np.sqrt(df) * special.beta(0.5 * df, 0.5))


named(special.stdtr, "df t", t=_student)
named(special.stdtrit, "df p", p=lambda df, z: 1.0 / _student(df, z))
