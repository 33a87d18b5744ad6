"""scipy.optimize: solvers have the derivative of what they solve; searches on plain values alone are refused."""

from adjoint.coverage.table import SIZES, Table

SCIPY_OPTIMIZE = Table("scipy.optimize")

ROOTS = "bisect brenth brentq ridder toms748 newton root_scalar root fsolve fixed_point"
SCIPY_OPTIMIZE.differentiable(ROOTS, "args", own=True)
SCIPY_OPTIMIZE.differentiable("anderson broyden1 broyden2 diagbroyden excitingmixing linearmixing", own=True)
SCIPY_OPTIMIZE.differentiable("newton_krylov", own=True)
SCIPY_OPTIMIZE.differentiable("minimize", "args, bounds, constraints", own=True)
SCIPY_OPTIMIZE.differentiable("minimize_scalar differential_evolution dual_annealing", "args, bounds", own=True)
SCIPY_OPTIMIZE.differentiable("shgo direct fmin_l_bfgs_b fmin_tnc fmin_slsqp", "args, bounds", own=True)
SCIPY_OPTIMIZE.differentiable("fminbound", "x1, x2, args", own=True)
SCIPY_OPTIMIZE.differentiable("golden brent fmin fmin_powell fmin_cg fmin_bfgs fmin_ncg fmin_cobyla", "args", own=True)
SCIPY_OPTIMIZE.differentiable("brute", "args", own=True)
SCIPY_OPTIMIZE.differentiable("basinhopping", own=True)
SCIPY_OPTIMIZE.differentiable("least_squares", "args, bounds", own=True)
SCIPY_OPTIMIZE.differentiable("leastsq", "args", own=True)
SCIPY_OPTIMIZE.differentiable("curve_fit", "xdata, ydata, sigma", own=True)
SCIPY_OPTIMIZE.differentiable("nnls", "A, b", own=True)
SCIPY_OPTIMIZE.differentiable("lsq_linear", "A, b, bounds", own=True)
SCIPY_OPTIMIZE.differentiable("linprog", "c, A_ub, b_ub, A_eq, b_eq, bounds", own=True)
SCIPY_OPTIMIZE.differentiable("Bounds", "lb, ub", own=True)
SCIPY_OPTIMIZE.differentiable("LinearConstraint", "A, lb, ub", own=True)
SCIPY_OPTIMIZE.differentiable("rosen rosen_der rosen_hess", "x", own=True)
SCIPY_OPTIMIZE.differentiable("rosen_hess_prod", "x, p", own=True)
SCIPY_OPTIMIZE.constant("show_options linprog_verbose_callback", SIZES)

CHOICES = "its answer is a choice among finitely many, which has no derivative"
OUTSIDE = "Call it with plain numbers, outside of the transformation, and use what it chose"
SCIPY_OPTIMIZE.refused("milp linear_sum_assignment quadratic_assignment", CHOICES, OUTSIDE)
SCIPY_OPTIMIZE.refused(
    "isotonic_regression", "SciPy finds its blocks by plain values", "Use implicit.argmin with implicit.Constraints"
)
STEPS = "its points are those of a search, which decides by comparisons"
SCIPY_OPTIMIZE.refused("bracket", STEPS, "Use adjoint.scipy.optimize.minimize_scalar, which has the minimum itself")
SCIPY_OPTIMIZE.refused("line_search", STEPS, "Use adjoint.scipy.optimize.minimize, which has the minimum itself")
DIFFERENCES = "it takes differences of plain values"
SCIPY_OPTIMIZE.refused("approx_fprime", DIFFERENCES, "Use ad.grad or ad.jacobian, which are exact")
SCIPY_OPTIMIZE.refused("check_grad", DIFFERENCES, "Use ad.check_grads outside of the transformation")
