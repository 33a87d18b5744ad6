"""scipy.integrate: rules for samples are differentiable; functions that call yours are refused."""

from adjoint.coverage.table import SIZES, Table

SCIPY_INTEGRATE = Table("scipy.integrate")

SCIPY_INTEGRATE.differentiable("trapezoid cumulative_trapezoid simpson cumulative_simpson", "y, x", own=True)
SCIPY_INTEGRATE.differentiable("romb", "y, dx", own=True)
SCIPY_INTEGRATE.differentiable("fixed_quad", "a, b", own=True)
SCIPY_INTEGRATE.constant("newton_cotes", SIZES)
SCIPY_INTEGRATE.constant("lebedev_rule", SIZES, since="1.15")

ADAPTS = "SciPy chooses its points by plain values"
SAMPLES = "Use adjoint.scipy.integrate.fixed_quad, or trapezoid or simpson of samples"
SCIPY_INTEGRATE.refused("quad quad_vec dblquad tplquad nquad qmc_quad", ADAPTS, SAMPLES)
SCIPY_INTEGRATE.refused("tanhsinh cubature", ADAPTS, SAMPLES, since="1.15")
SCIPY_INTEGRATE.refused("nsum", ADAPTS, "Use np.sum of as many terms as are needed", since="1.15")
STEPS = "Write the steps, in ad.scan when there are many"
SCIPY_INTEGRATE.refused("odeint solve_ivp", "SciPy chooses its steps by plain values", STEPS)
SCIPY_INTEGRATE.refused(
    "solve_bvp", "SciPy chooses its mesh by plain values", "Solve for values on a mesh of your own with Newton's method"
)
