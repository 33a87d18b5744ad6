"""The rules of scipy.special's ufuncs. Loaded when the first of them meets a traced value."""

from adjoint.ops.special import (
    bessel,
    beta,
    distributions,
    elliptic,
    errors,
    gamma,
    hypergeometric,
    incomplete,
    information,
    integrals,
    kolmogorov,
    mathieu,
    noncentral,
    parabolic,
    polynomials,
    spheroidal,
    struve,
    wright,
    zeta,
)
from adjoint.ops.special.declare import RULES, by_name

__all__ = [
    "RULES", "bessel", "beta", "by_name", "distributions", "elliptic", "errors", "gamma", "hypergeometric",
    "incomplete", "information", "integrals", "kolmogorov", "mathieu", "noncentral", "parabolic", "polynomials",
    "spheroidal", "struve", "wright", "zeta",
]  # fmt: skip
