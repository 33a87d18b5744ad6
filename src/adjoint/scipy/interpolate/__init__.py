"""scipy.interpolate for plain and traced values, differentiable in nodes, values and points.

Names and arguments are SciPy's, and so are the values. Interpolants are containers: they go into and out of `grad`,
`vmap` and `jit`. A name that is not defined here is SciPy's own, and takes plain values only. Values that are not
finite give NaN when they are traced; nodes that are traced are checked when the program runs.
"""

from typing import Any

import scipy.interpolate as _theirs

from adjoint.scipy.interpolate.bivariate import RectBivariateSpline
from adjoint.scipy.interpolate.bspline import BSpline
from adjoint.scipy.interpolate.cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    pchip_interpolate,
)
from adjoint.scipy.interpolate.fitting import make_interp_spline, make_lsq_spline
from adjoint.scipy.interpolate.grid import RegularGridInterpolator, interpn
from adjoint.scipy.interpolate.one_dimensional import interp1d
from adjoint.scipy.interpolate.piecewise import PPoly
from adjoint.scipy.interpolate.polynomial import (
    BarycentricInterpolator,
    KroghInterpolator,
    approximate_taylor_polynomial,
    barycentric_interpolate,
    krogh_interpolate,
    lagrange,
    pade,
)
from adjoint.scipy.interpolate.radial import RBFInterpolator
from adjoint.scipy.interpolate.tck import insert, spalde, splantider, splder, splev, splint, splrep
from adjoint.scipy.interpolate.univariate import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    UnivariateSpline,
)
from adjoint.scipy.passing import passed

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "KroghInterpolator",
    "LSQUnivariateSpline",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RectBivariateSpline",
    "RegularGridInterpolator",
    "UnivariateSpline",
    "approximate_taylor_polynomial",
    "barycentric_interpolate",
    "insert",
    "interp1d",
    "interpn",
    "krogh_interpolate",
    "lagrange",
    "make_interp_spline",
    "make_lsq_spline",
    "pade",
    "pchip_interpolate",
    "spalde",
    "splantider",
    "splder",
    "splev",
    "splint",
    "splrep",
]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.interpolate, for plain values."""
    return passed(_theirs, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_theirs.__all__})
