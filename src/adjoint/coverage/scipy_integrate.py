"""scipy.integrate: rules for samples, integrals and initial value problems are differentiable."""

from adjoint.coverage.table import SIZES, Table

SCIPY_INTEGRATE = Table("scipy.integrate")

SCIPY_INTEGRATE.differentiable("trapezoid cumulative_trapezoid simpson cumulative_simpson", "y, x", own=True)
SCIPY_INTEGRATE.differentiable("romb", "y, dx", own=True)
SCIPY_INTEGRATE.differentiable("fixed_quad", "a, b", own=True)
SCIPY_INTEGRATE.differentiable("quad", "a, b, args, points", own=True)
SCIPY_INTEGRATE.differentiable("quad_vec", "a, b, args", own=True)
SCIPY_INTEGRATE.differentiable("dblquad tplquad", "a, b, args", own=True)
SCIPY_INTEGRATE.differentiable("nquad", "ranges, args", own=True)
SCIPY_INTEGRATE.differentiable("solve_ivp", "y0, args", own=True)
SCIPY_INTEGRATE.differentiable("odeint", "y0, args", own=True)
SCIPY_INTEGRATE.differentiable("solve_bvp", "x", own=True)
SCIPY_INTEGRATE.differentiable("tanhsinh", "a, b, args", own=True, since="1.15")
SCIPY_INTEGRATE.differentiable("cubature", "a, b, args", own=True, since="1.15")
SCIPY_INTEGRATE.differentiable("qmc_quad", "a, b", own=True)
SCIPY_INTEGRATE.constant("newton_cotes", SIZES)
SCIPY_INTEGRATE.constant("lebedev_rule", SIZES, since="1.15")

ADAPTS = "SciPy chooses its points by plain values"
SCIPY_INTEGRATE.refused("nsum", ADAPTS, "Use np.sum of as many terms as are needed", since="1.15")
