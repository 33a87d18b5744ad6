"""log(e^x + e^y) and what is of that form: logaddexp2, softplus, log_expit."""

from __future__ import annotations

import math

from adjoint.compile.vector_math.exponential import EXP_RANGE, exp2, exp_polynomial, reduce_argument, scale
from adjoint.compile.vector_math.logarithm import log_of_sum
from adjoint.compile.vector_math.vectors import Lanes, at_least, where


def log1p_exp(d: Lanes) -> Lanes:
    """log(1 + e^d) for d <= 0."""
    r, bits = reduce_argument(at_least(d, EXP_RANGE[d.format.scalar][0]), 2 * d.format.bias)
    return log1p_unit(scale(exp_polynomial(r), bits))


def log1p_unit(e: Lanes) -> Lanes:
    """log(1 + e) for 0 <= e <= 1."""
    u = e + 1.0
    y = log_of_sum(u, e - (u - 1.0))
    return where(e < 2.0 ** -(e.format.mantissa + 2), e, y)


def greater(x: Lanes, y: Lanes) -> Lanes:
    """max(x, y); NaN if one is NaN."""
    return where((x > y) | x.is_nan(), x, y)


def logaddexp(x: Lanes, y: Lanes) -> Lanes:
    """max + log(1 + e^-|x - y|); x + log 2 for equal arguments, infinite ones as well."""
    equal = x.equals(y)
    d = where(equal, x.of(0.0), x - y)
    return greater(x, y) + log1p_exp(-abs(d))


def logaddexp2(x: Lanes, y: Lanes) -> Lanes:
    """log2(2^x + 2^y)."""
    equal = x.equals(y)
    d = where(equal, x.of(0.0), x - y)
    return greater(x, y) + log1p_unit(exp2(-abs(d))) * (1 / math.log(2))  # rounded twice: exactly x + 1 for x = y


def softplus(x: Lanes) -> Lanes:
    """log(1 + e^x)."""
    return at_least(x, 0.0) + log1p_exp(-abs(x))


def log_expit(x: Lanes) -> Lanes:
    """log(1 / (1 + e^-x)) = -log(1 + e^-x)."""
    return -softplus(-x)
