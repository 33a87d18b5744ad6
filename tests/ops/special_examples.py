"""Arguments for every rule of scipy.special: regular points, where differences of SciPy's function have many digits."""

from typing import Any

import numpy as np

from tests.ops.special_parameter_examples import PARAMETERS

A = np.array  # one number for each point

UNARY: dict[str, Any] = {
    **dict.fromkeys(
        ["erf", "erfc", "erfi", "dawsn", "ndtr", "log_ndtr", "expit", "log_expit", "exprel"],
        A([-2.3, -0.4, 0.0, 0.9, 2.6]),
    ),
    "erfcx": A([-1.5, -0.2, 0.0, 1.3, 4.5]),
    "erfinv": A([-0.9, -0.2, 0.1, 0.8]),
    **dict.fromkeys(["erfcinv", "logit", "ndtri"], A([0.1, 0.4, 0.7, 0.9])),
    "ndtri_exp": A([-6.0, -1.4, -0.3]),
    **dict.fromkeys(["gamma", "gammaln", "psi", "loggamma", "rgamma"], A([0.4, 1.3, 2.0, 5.6])),
    "special.exp2": A([-1.2, 0.7]),
    "exp10": A([-1.2, 0.7]),
    "special.expm1": A([-1.2, 1e-3, 0.7]),
    "special.log1p": A([-0.7, 1e-3, 0.7]),
    "special.cbrt": A([-1.9, 0.7]),
    "cosm1": A([-1.9, 0.7]),
    **dict.fromkeys(["sindg", "cosdg", "tandg", "cotdg"], A([-35.0, 20.0, 70.0])),
    "entr": A([0.2, 0.9, 3.0]),
    **dict.fromkeys(
        ["j0", "j1", "i0", "i1", "i0e", "i1e", "ber", "bei", "berp", "beip"], A([-2.4, -0.6, 0.4, 1.3, 5.2])
    ),
    **dict.fromkeys(["y0", "y1", "k0", "k1", "k0e", "k1e", "ker", "kei", "kerp", "keip"], A([0.4, 1.3, 5.2])),
    **dict.fromkeys(["itstruve0", "itmodstruve0"], A([0.4, 1.3, 5.2])),
    "it2struve0": A([0.6, 1.3, 5.2]),
    **dict.fromkeys(["ellipk", "ellipe"], A([-3.0, -0.05, 0.0, 0.1, 0.6, 0.95])),
    "ellipkm1": A([0.05, 0.4, 0.95, 1.0, 1.3]),
    **dict.fromkeys(["expi", "exp1"], A([0.4, 1.3, 5.2])),
    "spence": A([0.2, 0.9, 1.0, 1.05, 3.0]),
    "wrightomega": A([-3.0, 0.4, 2.5]),
    "wofz": A([0.4 + 0.3j, -1.2 + 2.0j, 5.0 - 0.2j]),
}

# name -> one argument list or several; only float arrays are differentiated, integers and Python numbers are fixed
NAMED: dict[str, list[tuple[Any, ...]]] = {
    "owens_t": [(A([-0.7, 0.4, 1.3]), A([0.5, -1.2, 2.0]))],
    "voigt_profile": [(A([-0.7, 0.4, 1.3]), A([0.5, 1.2, 2.0]), A([0.3, 0.6, 0.1]))],
    "zeta": [(3, A([0.4, 1.7, 6.0])), (2.5, A([0.4, 1.7, 6.0]))],
    **{key: [(A([0.4, 1.7, 6.0]), A([2.2, 0.6, 3.0]))] for key in ["beta", "betaln"]},
    "poch": [(A([0.4, 1.7, 6.0]), A([2.2, 0.6, 3.0]))],
    "binom": [(A([4.4, 5.7, 6.0]), A([2.2, 0.6, 3.0]))],
    **{
        key: [(0.7, A([0.2, 1.4, 4.0])), (3, A([0.2, 1.4, 4.0])), (20.0, A([15.0, 24.0]))]
        for key in ["gammainc", "gammaincc"]
    },
    **{
        key: [(0.7, A([0.2, 0.6])), (3.0, A([0.2, 0.6])), (20.0, A([0.1, 0.7]))]
        for key in ["gammaincinv", "gammainccinv"]
    },
    **{
        key: [(0.7, 2.4, A([0.2, 0.6])), (30.0, 22.0, A([0.45, 0.6]))]
        for key in ["betainc", "betaincc", "betaincinv", "betainccinv"]
    },
    "radian": [(A([10.0, -3.0]), A([12.0, 40.0]), A([1.0, 50.0]))],
    "powm1": [(A([0.7, 1.3, 4.0]), A([-1.4, 0.3, 2.0]))],
    "xlogy": [(A([-0.7, 0.0, 4.0]), A([1.4, 0.3, 2.0]))],
    "xlog1py": [(A([-0.7, 0.0, 4.0]), A([1.4, -0.3, 2.0]))],
    **{key: [(A([0.7, 1.3, 4.0]), A([1.4, 0.3, 4.0]))] for key in ["rel_entr", "kl_div"]},
    **{key: [(A([0.7, 1.3, 4.0, 0.2]), A([-0.7, 0.0, 0.001, 2.0]))] for key in ["boxcox", "boxcox1p"]},
    **{key: [(A([0.7, 1.3, 0.4, 0.2]), A([-0.7, 0.01, 0.3, 2.0]))] for key in ["inv_boxcox", "inv_boxcox1p"]},
    "huber": [(A([0.7, 1.3, 0.4]), A([0.3, -2.0, 1.1]))],
    "pseudo_huber": [(A([0.7, 1.3, 0.4]), A([0.3, -2.0, 1.1]))],
    **{
        key: [(0, A([0.6, 3.0])), (1.7, A([0.6, 3.0, 9.0]))]
        for key in ["jv", "jve", "yv", "yve", "kv", "kve", "struve", "modstruve"]
    },
    **{key: [(0, A([-0.6, 3.0])), (1.7, A([0.6, 3.0, 9.0]))] for key in ["iv", "ive"]},
    **{
        key: [(0, A([0.6, 3.0]) + 0j), (1.7, A([0.6, 3.0 + 1j, 9.0 - 0.4j]))]
        for key in ["hankel1", "hankel2", "hankel1e", "hankel2e"]
    },
    **{key: [(0, A([0.6, 3.0])), (1, A([0.6, 3.0])), (3, A([0.6, 3.0, 9.0]))] for key in ["yn", "kn"]},
    **{
        key: [(0, A([0.6, 3.0])), (1, A([0.6, 3.0])), (3, A([0.6, 9.0]))]
        for key in ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"]
    },
    "wright_bessel": [(0.7, 1.2, A([0.6, 3.0]))],
    "log_wright_bessel": [(0.7, 1.2, A([0.6, 3.0]))],
    **{key: [(A([0.4, 1.2, 2.5, -4.0]), A([0.3, -0.6, 0.1, 0.8]))] for key in ["ellipkinc", "ellipeinc"]},
    "agm": [(A([0.4, 1.2, 2.5]), A([0.3, 7.6, 2.4]))],
    **{key: [(A([0.4, 1.2]), A([0.9, 0.3]), A([2.0, 2.2]))] for key in ["elliprf", "elliprg", "elliprd"]},
    "elliprc": [(A([0.4, 1.2]), A([0.9, 0.3]))],
    "expn": [(0, A([0.6, 3.0])), (1, A([0.6, 3.0])), (4, A([0.6, 3.0]))],
    "lambertw": [(A([0.6, 3.0 + 1j]), 0, 1e-15), (A([-0.1 + 0j, 3.0 + 1j]), -1, 1e-15)],
    "hyp0f1": [(1.3, A([-0.6, 3.0]))],
    "hyp1f1": [(0.4, 1.3, A([-0.6, 3.0]))],
    "hyp2f1": [(0.4, 1.3, 2.2, A([-0.6, 0.5]))],
    "hyperu": [(0.4, 1.3, A([0.6, 2.5]))],
    **{
        key: [(0, 0.7, A([-0.6, 0.5])), (1, 0.7, A([-0.6, 0.5])), (4, 0.7, A([-0.6, 0.5]))]
        for key in ["eval_gegenbauer", "eval_genlaguerre"]
    },
    "eval_jacobi": [(0, 0.7, 1.2, A([-0.6, 0.5])), (3, 0.7, 1.2, A([-0.6, 0.5]))],
    "eval_sh_jacobi": [(0, 1.7, 1.2, A([0.6, 0.5])), (3, 1.7, 1.2, A([0.6, 0.5]))],
    **{
        f"eval_{name}": [(0, A([0.6, 0.3])), (1, A([0.6, 0.3])), (4, A([0.6, 0.3]))]
        for name in (
            *("legendre", "sh_legendre", "chebyt", "chebyu", "chebyc", "chebys", "sh_chebyt", "sh_chebyu", "laguerre"),
            *("hermite", "hermitenorm"),
        )
    },
    **{key: [(3.0, A([0.6, 3.0])), (40.0, A([30.0, 50.0]))] for key in ["chdtr", "chdtrc"]},
    "chdtri": [(3.0, A([0.6, 0.2]))],
    **{key: [(2.0, A([0.6, 3.0])), (2.5, A([0.6, 3.0]))] for key in ["pdtr", "pdtrc"]},
    "pdtri": [(2, A([0.6, 0.3]))],
    **{key: [(A([0.6, 3.0]), 1.4, A([1.2, 0.7]))] for key in ["gdtr", "gdtrc"]},
    "gdtria": [(A([0.6, 0.3]), 1.4, A([1.2, 0.7]))],
    "gdtrix": [(A([0.6, 3.0]), 1.4, A([0.2, 0.7]))],
    **{key: [(2.0, np.int64(6), A([0.2, 0.6]))] for key in ["bdtr", "bdtrc"]},
    "bdtri": [(2.0, np.int64(6), A([0.2, 0.6]))],
    **{key: [(2, 6, A([0.2, 0.6]))] for key in ["nbdtr", "nbdtrc"]},
    "nbdtri": [(2, 6, A([0.2, 0.6]))],
    **{key: [(3.0, 5.0, A([0.6, 2.0]))] for key in ["fdtr", "fdtrc"]},
    "fdtri": [(3.0, 5.0, A([0.6, 0.2]))],
    "stdtr": [(3.0, A([-0.6, 2.0]))],
    "stdtrit": [(3.0, A([0.6, 0.2]))],
    "airy": [(A([-2.0, 0.0, 1.4]),)],
    "airye": [(A([0.7, 1.4]),)],
    "kelvin": [(A([0.6, 1.4, 5.0]),)],
    **{key: [(0.7, A([0.6, 1.4]))] for key in ["pbdv", "pbvv"]},
    "pbwa": [(0.7, A([0.6, 1.4]))],
    "ellipj": [(A([0.4, 1.2, 2.5]), A([0.3, 0.6, 0.8]))],
    **{key: [(A([0.3, 1.4, 5.0]),)] for key in ["sici", "shichi"]},
    "fresnel": [(A([-0.6, 0.0, 1.4]),)],
    **{key: [(A([0.6, 1.4]),)] for key in ["modfresnelp", "modfresnelm"]},
    **{key: [(A([0.6, 1.4, 3.0]),)] for key in ["itj0y0", "iti0k0", "it2j0y0", "it2i0k0"]},
    "itairy": [(A([0.6, 1.4]),)],
}
FLAT: dict[str, Any] = {"gammasgn": A([0.4, -0.4]), "round": A([0.4, -0.4])}
UNRELIABLE = {"obl_rad2", "obl_rad2_cv"}  # SciPy has no correct values
EXAMPLES: dict[str, list[tuple[Any, ...]]] = {name: [(x,)] for name, x in UNARY.items()} | NAMED
for _name, _lists in PARAMETERS.items():
    EXAMPLES[_name] = EXAMPLES.get(_name, []) + _lists
