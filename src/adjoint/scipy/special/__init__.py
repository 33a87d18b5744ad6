"""scipy.special for plain and traced values: SciPy's ufuncs take both, its Python functions are written anew here.

On plain values every function is SciPy's own; a name that is not defined here is passed through.
"""

from typing import Any

import scipy.special

from adjoint.scipy.passing import passed
from adjoint.scipy.special.bessel import (
    h1vp,
    h2vp,
    ivp,
    jvp,
    kvp,
    lmbda,
    riccati_jn,
    riccati_yn,
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
    yvp,
)
from adjoint.scipy.special.gamma_functions import (
    comb,
    factorial,
    factorial2,
    factorialk,
    lambertw,
    multigammaln,
    perm,
    polygamma,
    zeta,
)
from adjoint.scipy.special.polynomials import (
    assoc_laguerre,
    assoc_legendre_p,
    assoc_legendre_p_all,
    diric,
    legendre_p,
    legendre_p_all,
    sph_harm_y,
    sph_harm_y_all,
    sph_legendre_p,
    sph_legendre_p_all,
)
from adjoint.scipy.special.reductions import log_softmax, logsumexp, softmax, softplus
from adjoint.scipy.special.sequences import lqmn, lqn, obl_cv_seq, pbdv_seq, pbvv_seq, pro_cv_seq

__all__ = [
    "assoc_laguerre", "assoc_legendre_p", "assoc_legendre_p_all", "comb", "diric", "factorial", "factorial2",
    "factorialk", "h1vp", "h2vp", "ivp", "jvp", "kvp", "lambertw", "legendre_p", "legendre_p_all", "lmbda",
    "log_softmax", "logsumexp", "lqmn", "lqn", "multigammaln", "obl_cv_seq", "pbdv_seq", "pbvv_seq", "perm",
    "polygamma", "pro_cv_seq", "riccati_jn", "riccati_yn", "softmax", "softplus", "sph_harm_y", "sph_harm_y_all",
    "sph_legendre_p", "sph_legendre_p_all", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "yvp",
    "zeta",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Everything else of scipy.special."""
    return passed(scipy.special, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *scipy.special.__all__})
