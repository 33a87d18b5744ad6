"""scipy.optimize for plain and traced values: SciPy's own code solves, and the solution has its derivative.

Names, arguments and results are SciPy's. Traced values may stand in arguments and in whatever the functions close over;
where nothing is traced every function is SciPy's. This is `adjoint.scipy.optimize`.
"""

from __future__ import annotations

from typing import Any

import scipy.optimize as _theirs

from adjoint.optimize.scipy_names.bounds import Bounds, LinearConstraint
from adjoint.optimize.scipy_names.fits import (
    curve_fit,
    least_squares,
    leastsq,
    lsq_linear,
    nnls,
)
from adjoint.optimize.scipy_names.linear_programs import (
    linprog,
)
from adjoint.optimize.scipy_names.minima import (
    basinhopping,
    differential_evolution,
    direct,
    dual_annealing,
    minimize,
    minimize_scalar,
    shgo,
)
from adjoint.optimize.scipy_names.older_minimizers import (
    brent,
    brute,
    fmin,
    fmin_bfgs,
    fmin_cg,
    fmin_cobyla,
    fmin_l_bfgs_b,
    fmin_ncg,
    fmin_powell,
    fmin_slsqp,
    fmin_tnc,
    fminbound,
    golden,
)
from adjoint.optimize.scipy_names.roots import (
    anderson,
    bisect,
    brenth,
    brentq,
    broyden1,
    broyden2,
    diagbroyden,
    excitingmixing,
    fixed_point,
    fsolve,
    linearmixing,
    newton,
    newton_krylov,
    ridder,
    root,
    root_scalar,
    toms748,
)
from adjoint.optimize.scipy_names.rosenbrock import rosen, rosen_der, rosen_hess, rosen_hess_prod
from adjoint.scipy.passing import passed

__all__ = [
    "Bounds",
    "LinearConstraint",
    "anderson",
    "basinhopping",
    "bisect",
    "brent",
    "brenth",
    "brentq",
    "broyden1",
    "broyden2",
    "brute",
    "curve_fit",
    "diagbroyden",
    "differential_evolution",
    "direct",
    "dual_annealing",
    "excitingmixing",
    "fixed_point",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_cobyla",
    "fmin_l_bfgs_b",
    "fmin_ncg",
    "fmin_powell",
    "fmin_slsqp",
    "fmin_tnc",
    "fminbound",
    "fsolve",
    "golden",
    "least_squares",
    "leastsq",
    "linearmixing",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "newton_krylov",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "rosen",
    "rosen_der",
    "rosen_hess",
    "rosen_hess_prod",
    "shgo",
    "toms748",
]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.optimize, for plain values."""
    return passed(_theirs, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_theirs.__all__})
