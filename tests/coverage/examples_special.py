"""Arguments for the functions of scipy.special: a number for each, those that a row names are varied."""

import inspect
from typing import Any

import numpy as np
import scipy.special

from adjoint.coverage import find
from adjoint.ops.elementwise.pointwise import UFUNCS
from tests.coverage.agreement import Example, at, each, of

X = np.array([0.3, 0.55])

# all arguments in order; a ufunc that is not here takes 0.4, (0.6, 0.4), (1.4, 0.6, 0.4) …
NUMBERS: dict[str, tuple[Any, ...]] = {
    **each("jv jve yv yve iv ive kv kve hankel1 hankel1e hankel2 hankel2e jn", (2.5, 1.3)),
    **each("kn yn expn", (2, 1.3)),
    **each("struve modstruve pbdv pbvv pbwa hyp0f1", (1.5, 0.8)),
    **each("wright_bessel log_wright_bessel hyp1f1 hyperu", (0.7, 1.4, 0.6)),
    "hyp2f1": (0.7, 1.2, 1.9, 0.4),
    **each("gammainc gammaincc poch binom beta betaln", (2.5, 1.3)),
    **each("gammaincinv gammainccinv", (2.5, 0.4)),
    **each("betainc betaincc betaincinv betainccinv", (2.5, 1.3, 0.4)),
    "ndtri_exp": (-0.7,),
    "log_expit": (0.4,),
    "zetac": (2.4,),
    "kolmogorov": (0.9,),
    "kolmogi": (0.4,),
    "smirnov": (5, 0.3),
    "smirnovi": (5, 0.3),
    "tklmbda": (0.3, 0.4),
    "voigt_profile": (0.4, 0.8, 0.6),
    "ellipkm1": (0.4,),
    "ellipj": (0.6, 0.4),
    **each("elliprd elliprf elliprg", (0.4, 1.2, 0.7)),
    "elliprj": (0.4, 1.2, 0.7, 0.9),
    "elliprc": (0.4, 1.2),
    "boxcox": (0.6, 0.7),
    "inv_boxcox": (0.6, 0.7),
    "chdtr": (2.5, 1.3),
    "chdtrc": (2.5, 1.3),
    "chdtri": (2.5, 0.4),
    "chdtriv": (0.4, 1.3),
    "pdtr": (2.5, 1.3),
    "pdtrc": (2.5, 1.3),
    "pdtri": (2, 0.4),
    "pdtrik": (0.4, 2.3),
    **each("bdtr bdtrc bdtri nbdtr nbdtrc nbdtri", (2.5, 5, 0.4)),
    **each("bdtrik nbdtrik", (0.4, 5.0, 0.3)),
    **each("bdtrin nbdtrin", (2.0, 0.4, 0.3)),
    **each("gdtr gdtrc", (1.4, 2.2, 0.8)),
    "gdtria": (0.4, 2.2, 0.8),
    "gdtrib": (1.4, 0.4, 0.8),
    "gdtrix": (1.4, 2.2, 0.4),
    **each("fdtr fdtrc", (3.5, 5.2, 0.8)),
    "fdtri": (3.5, 5.2, 0.4),
    "fdtridfd": (3.5, 0.6, 1.2),
    "btdtria": (0.4, 1.3, 0.6),
    "btdtrib": (2.5, 0.4, 0.6),
    "stdtr": (4.5, 0.8),
    "stdtrit": (4.5, 0.3),
    "stdtridf": (0.8, 1.3),
    "chndtr": (2.2, 3.5, 1.3),
    "chndtrix": (0.4, 3.5, 1.3),
    "chndtridf": (2.2, 0.4, 1.3),
    "chndtrinc": (2.2, 3.5, scipy.special.chndtr(2.2, 3.5, 1.3)),
    "nctdtr": (4.5, 0.6, 0.9),
    "nctdtrit": (4.5, 0.6, 0.4),
    "nctdtridf": (0.4, 0.6, 0.9),
    "nctdtrinc": (4.5, 0.4, 0.9),
    "ncfdtr": (3.5, 5.2, 0.7, 1.2),
    "ncfdtri": (3.5, 5.2, 0.7, 0.4),
    "ncfdtridfd": (3.5, 0.4, 0.7, 1.2),
    "ncfdtridfn": (scipy.special.ncfdtr(0.7, 5.2, 0.7, 0.2), 5.2, 0.7, 0.2),
    "ncfdtrinc": (3.5, 5.2, 0.3, 1.2),
    "nrdtrimn": (0.4, 1.2, 0.7),
    "nrdtrisd": (0.4, 0.7, 1.6),
    **each("eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_sh_chebyt eval_sh_chebyu", (2.5, 0.4)),
    **each("eval_legendre eval_sh_legendre eval_laguerre", (2.5, 0.4)),
    "eval_hermite": (3, 0.4),
    "eval_hermitenorm": (3, 0.4),
    "eval_genlaguerre": (2.5, 0.7, 0.4),
    "eval_gegenbauer": (2.5, 0.7, 0.4),
    "eval_jacobi": (2.5, 0.7, 0.3, 0.4),
    "eval_sh_jacobi": (2.5, 1.7, 1.3, 0.4),
    "lpmv": (1.0, 2.5, 0.4),
    "besselpoly": (0.5, 0.7, 1.3),
    **each("mathieu_cem mathieu_sem", (2, 0.7, 20.0)),
    **each("mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2", (2, 0.7, 0.4)),
    **each("mathieu_a mathieu_b", (2, 0.7)),
    **{f"{kind}_cv": (1, 2, 0.7) for kind in ("pro", "obl")},
    **{f"{kind}_ang1": (1, 2, 0.7, 0.4) for kind in ("pro", "obl")},
    "pro_ang1_cv": (1, 2, 0.7, scipy.special.pro_cv(1, 2, 0.7), 0.4),
    "obl_ang1_cv": (1, 2, 0.7, scipy.special.obl_cv(1, 2, 0.7), 0.4),
    # nearer to the centre SciPy's own functions of the second kind are inexact
    **{f"pro_rad{k}": (1, 2, 0.7, 8.0) for k in (1, 2)},
    **{f"pro_rad{k}_cv": (1, 2, 0.7, scipy.special.pro_cv(1, 2, 0.7), 8.0) for k in (1, 2)},
    **{f"obl_rad{k}": (1, 2, 0.7, 8.0) for k in (1, 2)},
    **{f"obl_rad{k}_cv": (1, 2, 0.7, scipy.special.obl_cv(1, 2, 0.7), 8.0) for k in (1, 2)},
    # Python functions
    "polygamma": (2, 1.3),
    "multigammaln": (2.7, 2),
    "comb": (5.3, 2.2),
    "perm": (5.3, 2.2),
    "zeta": (2.4, 1.3),
    "lambertw": (0.8,),
    "diric": (0.8, 3),
    "assoc_laguerre": (0.4, 2.5, 0.7),
    **each("jvp yvp ivp kvp h1vp h2vp", (2.5, 1.3, 1)),
    "lmbda": (2.5, 1.3),
    "riccati_jn": (2, 1.3),
    "riccati_yn": (2, 1.3),
    **each("pbdn_seq pbdv_seq pbvv_seq lqn legendre_p_all", (2, 0.7)),
    "lqmn": (1, 2, 0.4),
    "legendre_p": (2, 0.4),
    **each("assoc_legendre_p assoc_legendre_p_all sph_legendre_p sph_legendre_p_all", (2, 1, 0.4)),
    **each("sph_harm_y sph_harm_y_all", (2, 1, 0.4, 0.7)),
    "ellip_harm": (0.4, 1.2, 2, 1, 0.3),
    "ellip_harm_2": (0.4, 1.2, 2, 1, 2.3),
    "ellip_normal": (0.4, 1.2, 2, 1),
    **each("mathieu_even_coef mathieu_odd_coef", (2, 0.7)),
    **each("obl_cv_seq pro_cv_seq", (1, 3, 0.7)),
    **each("spherical_jn spherical_yn spherical_in spherical_kn", (2, 1.3)),
    **each("genlaguerre gegenbauer roots_genlaguerre roots_gegenbauer la_roots cg_roots", (3, 0.7)),
    **each("jacobi sh_jacobi roots_jacobi roots_sh_jacobi j_roots js_roots", (3, 1.7, 0.6)),
    "stirling2": (4, 2),
    # of older versions
    "lpn": (2, 0.4),
    **each("lpmn clpmn", (1, 2, 0.4)),
    "sph_harm": (1, 2, 0.4, 0.7),
    **each("btdtr btdtri", (2.5, 1.3, 0.4)),
    **each("jn_zeros jnp_zeros jnyn_zeros yn_zeros ynp_zeros", (1, 2)),
}
DEFAULTS = {1: (0.4,), 2: (0.6, 0.4), 3: (1.4, 0.6, 0.4), 4: (1.4, 1.9, 0.6, 0.4)}

# beyond whole numbers, where SciPy can
EXTENDED = {"extend": "complex"} if "extend" in inspect.signature(scipy.special.factorial).parameters else {}

EXAMPLES: dict[str, Example] = {
    "logsumexp": of(lambda f, a, b: f(a, b=b), X, [1.2, 0.7]),
    "softmax": at(X),
    "log_softmax": at(X),
    "sinc": at(X),
    "softplus": at(X),
    "factorial": at([3.4, 2.2]),
    "factorial2": of(lambda f, n: f(n, **EXTENDED), [5.4, 3.2]),
    "factorialk": of(lambda f, n: f(n, 3, **EXTENDED), [5.4, 4.3]),
}


# functions that hide the names of their arguments
SIGNATURES = {
    **each("legendre_p legendre_p_all", ("n", "z")),
    **each("assoc_legendre_p assoc_legendre_p_all", ("n", "m", "z")),
    **each("sph_legendre_p sph_legendre_p_all", ("n", "m", "theta")),
    **each("sph_harm_y sph_harm_y_all", ("n", "m", "theta", "phi")),
}


def names(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments, as rules write them."""
    if function.__name__ in SIGNATURES:
        return SIGNATURES[function.__name__]
    if isinstance(function, np.ufunc):
        return getattr(UFUNCS.get(function), "arguments", ("x", "y")[: function.nin])
    return tuple(inspect.signature(function).parameters)


def example(name: str) -> Example:
    """Arguments for a function of scipy.special."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    row, function = find("scipy.special", name), getattr(scipy.special, name)
    assert row is not None
    if row.takes == "sizes":
        numbers = NUMBERS.get(name, (3,))
        return of(lambda f: f(*numbers))
    numbers = NUMBERS.get(name) or DEFAULTS[function.nin]
    varied = [
        k for k, label in enumerate(names(function)[: len(numbers)]) if not row.arguments or label in row.arguments
    ]
    if row.kind == "refused" or not varied:
        varied = [k for k, number in enumerate(numbers) if isinstance(number, float)]

    def call(f: Any, *xs: Any) -> Any:
        given = dict(zip(varied, xs, strict=True))
        return f(*[given.get(k, number) for k, number in enumerate(numbers)])

    return of(call, *[numbers[k] for k in varied])
