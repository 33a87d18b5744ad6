"""scipy.interpolate: `adjoint.scipy.interpolate` has interpolants whose nodes, values and points may be traced."""

from adjoint.coverage.table import Table

SCIPY_INTERPOLATE = Table("scipy.interpolate")

# piecewise polynomials
SCIPY_INTERPOLATE.differentiable("PPoly CubicHermiteSpline CubicSpline PchipInterpolator", own=True)
SCIPY_INTERPOLATE.differentiable("Akima1DInterpolator pchip_interpolate interp1d", own=True)
# splines
SCIPY_INTERPOLATE.differentiable("BSpline make_interp_spline make_lsq_spline", own=True)
SCIPY_INTERPOLATE.differentiable("splrep splev splint spalde splder splantider insert", own=True)
SCIPY_INTERPOLATE.differentiable("InterpolatedUnivariateSpline LSQUnivariateSpline UnivariateSpline", own=True)
# polynomials
SCIPY_INTERPOLATE.differentiable("KroghInterpolator krogh_interpolate BarycentricInterpolator", own=True)
SCIPY_INTERPOLATE.differentiable("barycentric_interpolate lagrange pade approximate_taylor_polynomial", own=True)
# several dimensions
SCIPY_INTERPOLATE.differentiable("RegularGridInterpolator interpn RectBivariateSpline RBFInterpolator", own=True)

CHOOSES = "SciPy chooses knots by plain values"
KNOTS = "Use adjoint.scipy.interpolate.make_lsq_spline with knots of your own, or make_interp_spline"
SCIPY_INTERPOLATE.refused("splprep make_smoothing_spline", CHOOSES, KNOTS)
SCIPY_INTERPOLATE.refused("make_splrep make_splprep generate_knots", CHOOSES, KNOTS, since="1.15")
GRID = "Use adjoint.scipy.interpolate.RegularGridInterpolator, or RBFInterpolator for scattered points"
SCIPY_INTERPOLATE.refused("bisplrep bisplev BivariateSpline SmoothBivariateSpline LSQBivariateSpline", CHOOSES, GRID)
SCIPY_INTERPOLATE.refused("RectSphereBivariateSpline", CHOOSES, GRID)
SCIPY_INTERPOLATE.refused("SmoothSphereBivariateSpline LSQSphereBivariateSpline", CHOOSES, GRID)
CELLS = "SciPy finds the cells of scattered points by plain values"
SCATTERED = "Use adjoint.scipy.interpolate.RBFInterpolator"
SCIPY_INTERPOLATE.refused("griddata LinearNDInterpolator NearestNDInterpolator", CELLS, SCATTERED)
SCIPY_INTERPOLATE.refused("CloughTocher2DInterpolator", CELLS, SCATTERED)
PLAIN = "SciPy computes it from plain arrays"
SCIPY_INTERPOLATE.refused("BPoly", PLAIN, "Use adjoint.scipy.interpolate.PPoly or BSpline")
SCIPY_INTERPOLATE.refused("NdPPoly NdBSpline", PLAIN, GRID)
SCIPY_INTERPOLATE.refused("Rbf", PLAIN, SCATTERED)
SCIPY_INTERPOLATE.refused("AAA FloaterHormannInterpolator", PLAIN, "Use BarycentricInterpolator", since="1.15")
SCIPY_INTERPOLATE.refused(
    "sproot",
    "how many roots there are depends on values",
    "Find them with plain values, and make one step of Newton's method with the traced spline",
)
SCIPY_INTERPOLATE.refused("interp2d", "it left SciPy in version 1.14", GRID)
