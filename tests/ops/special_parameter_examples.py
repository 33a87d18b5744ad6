"""Arguments for the rules of distributions, polynomials and wave functions, in their parameters too."""

from typing import Any

import numpy as np

A = np.array  # one number for each point

PARAMETERS: dict[str, list[tuple[Any, ...]]] = {
    # distributions in their parameters
    **{key: [(A([3.0, 40.0]), A([0.6, 50.0]))] for key in ["chdtr", "chdtrc"]},
    "chdtri": [(A([3.0, 8.0]), A([0.6, 0.2]))],
    "chdtriv": [(A([0.3, 0.7]), A([1.2, 5.0]))],
    **{key: [(0.6, A([1.4, 12.0]), 1.2)] for key in ["gdtr", "gdtrc"]},
    "gdtria": [(0.3, A([1.4, 3.0]), 0.7)],
    "gdtrib": [(A([0.6, 3.0]), A([0.2, 0.7]), A([1.2, 0.7]))],
    "gdtrix": [(0.6, A([1.4, 3.0]), 0.3)],
    "pdtrik": [(A([0.4, 0.8]), A([2.3, 6.0]))],
    "btdtria": [(A([0.3, 0.6]), A([1.4, 3.0]), A([0.4, 0.7]))],
    "btdtrib": [(A([1.4, 3.0]), A([0.3, 0.6]), A([0.4, 0.7]))],
    "bdtrik": [(A([0.4, 0.8]), A([6.5, 9.0]), A([0.4, 0.3]))],
    "bdtrin": [(A([2.5, 3.0]), A([0.6, 0.3]), A([0.4, 0.3]))],
    "nbdtrik": [(A([0.4, 0.8]), A([2.5, 6.0]), A([0.4, 0.6]))],
    "nbdtrin": [(A([2.5, 3.0]), A([0.6, 0.3]), A([0.4, 0.6]))],
    **{key: [(A([3.0, 6.5]), A([5.0, 12.0]), 1.4)] for key in ["fdtr", "fdtrc"]},
    "fdtri": [(A([3.0, 6.5]), A([5.0, 12.0]), 0.4)],
    "fdtridfd": [(A([3.0, 6.5]), A([0.6, 0.7]), A([1.4, 1.5]))],
    "stdtr": [(A([0.8, 3.0, 30.0]), A([-0.6, 2.0, 0.3]))],
    "stdtrit": [(A([3.0, 9.0]), A([0.6, 0.2]))],
    "stdtridf": [(A([0.85, 0.25]), A([1.3, -0.72]))],
    "nrdtrimn": [(A([0.3, 0.8]), A([1.2, 0.4]), A([0.3, -2.0]))],
    "nrdtrisd": [(A([0.3, -0.8]), A([0.7, 0.8]), A([1.3, 2.0]))],
    "tklmbda": [(A([0.3, -0.8, 0.2]), A([0.7, -0.3, 0.0]))],
    # noncentral
    "chndtr": [(A([1.3, 8.0]), A([2.5, 6.0]), A([0.7, 3.0]))],
    "chndtrix": [(A([0.3, 0.8]), A([2.5, 6.0]), A([0.7, 3.0]))],
    "chndtridf": [(A([4.3, 8.0]), A([0.6, 0.5]), A([0.7, 3.0]))],
    "chndtrinc": [(A([4.3, 8.0]), A([2.5, 6.0]), A([0.6, 0.4]))],
    "ncfdtr": [(A([2.5, 4.0]), A([5.0, 9.0]), A([0.7, 2.0]), A([0.8, 1.7]))],
    "ncfdtri": [(A([2.5, 4.0]), A([5.0, 9.0]), A([0.7, 2.0]), A([0.4, 0.7]))],
    "ncfdtridfn": [(A([0.45, 0.5]), A([5.0, 9.0]), A([0.7, 2.0]), A([0.8, 1.3]))],
    "ncfdtridfd": [(A([2.5, 4.0]), A([0.55, 0.6]), A([0.7, 2.0]), A([1.4, 1.9]))],
    "ncfdtrinc": [(A([2.5, 4.0]), A([5.0, 9.0]), A([0.4, 0.5]), A([0.9, 1.5]))],
    "nctdtr": [(A([2.5, 6.0]), A([0.7, -0.4]), A([0.8, 0.3]))],
    "nctdtrit": [(A([2.5, 6.0]), A([0.7, -0.4]), A([0.4, 0.7]))],
    "nctdtridf": [(A([0.52, 0.65]), A([0.7, 0.4]), A([0.8, 0.85]))],
    "nctdtrinc": [(A([2.5, 6.0]), A([0.4, 0.6]), A([0.8, 0.9]))],
    "kolmogorov": [(A([0.35, 0.88, 1.4]),)],
    "kolmogi": [(A([0.2, 0.8]),)],
    **{key: [(5, A([0.23, 0.47])), (12, A([0.11]))] for key in ["smirnov", "smirnovp"]},
    "smirnovi": [(5, A([0.3, 0.7]))],
    # zeta, elliptic integrals of the third kind
    "riemann_zeta": [(A([-2.7, 0.3, 1.6, 7.0]),)],
    "zetac": [(A([1.6, 7.0]),)],
    "zeta": [(A([1.6, 7.0]), A([0.4, 3.0]))],
    "elliprd": [(A([0.4, 1.0]), A([0.9, 1.0]), A([0.45, 1.0]))],
    "elliprj": [(A([0.4, 1.2, 1.0]), A([0.9, 0.3, 1.0]), A([2.0, 2.2, 1.0]), A([0.45, 9.0, 1.0]))],
    # polynomials
    **{key: [(3, A([0.7, 0.4]), A([-0.6, 0.5]))] for key in ["eval_gegenbauer", "eval_genlaguerre"]},
    "eval_jacobi": [(3, A([0.7, 0.2]), A([1.2, -0.4]), 0.3), (A([1.7]), A([0.7]), A([1.2]), 0.3)],
    "eval_sh_jacobi": [(3, A([1.7]), A([1.2]), 0.3), (A([1.7]), A([1.9]), A([1.2]), 0.6)],
    **{
        f"eval_{name}": [(A([0.6, 2.3]), 0.3)]
        for name in ("legendre", "chebyt", "chebyu", "chebyc", "chebys", "laguerre")
    },
    **{f"eval_{name}": [(A([0.6, 2.3]), 0.8)] for name in ("sh_legendre", "sh_chebyt", "sh_chebyu")},
    "lpmv": [(0, A([0.7, 3.0]), A([-0.6, 0.5])), (2, A([2.7]), A([0.3]))],
    # wave functions and cylinder functions
    **{key: [(2, A([0.7, -3.0])), (3, A([0.7, 20.0]))] for key in ["mathieu_a", "mathieu_b"]},
    **{key: [(1, A([0.7]), A([40.0])), (2, A([6.0]), A([10.0]))] for key in ["mathieu_cem", "mathieu_sem"]},
    **{
        key: [(2, A([0.9]), A([0.6])), (1, A([3.0]), A([0.2]))]
        for key in ["mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2"]
    },
    **{key: [(1, 2, A([0.7])), (0, 1, A([2.5]))] for key in ["pro_cv", "obl_cv"]},
    **{key: [(0, 1, A([1.7]), A([0.4])), (1, 3, A([0.8]), A([-0.3]))] for key in ["pro_ang1", "obl_ang1"]},
    **{key: [(0, 1, A([1.7]), A([1.6])), (1, 3, A([2.2]), A([2.3]))] for key in ["pro_rad1", "obl_rad1"]},
    "pro_rad2": [(0, 1, 1.7, A([1.6])), (0, 2, 2.2, A([2.3]))],
    "pro_ang1_cv": [(0, 1, 1.7, 3.675454324537804, A([0.4]))],
    "obl_ang1_cv": [(0, 1, 1.7, 0.21036206692051906, A([0.4]))],
    "pro_rad1_cv": [(0, 1, 1.7, 3.675454324537804, A([1.6]))],
    "pro_rad2_cv": [(0, 1, 1.7, 3.675454324537804, A([1.6]))],
    "obl_rad1_cv": [(0, 1, 1.7, 0.21036206692051906, A([1.6]))],
    **{key: [(A([0.7, -1.4]), A([0.6, -0.8]))] for key in ["pbdv", "pbvv"]},
    "pbwa": [(A([0.7, -1.4]), A([0.6, -0.8]))],
    **{key: [(A([0.7, 1.4]), A([0.6, 9.5]))] for key in ["struve", "modstruve"]},
    **{key: [(A([0.7, 0.1]), A([1.2, 2.5]), 3.0)] for key in ["wright_bessel", "log_wright_bessel"]},
    "besselpoly": [(A([0.7, 3.0]), A([0.4, 1.0]), A([1.3, 2.0]))],
}
