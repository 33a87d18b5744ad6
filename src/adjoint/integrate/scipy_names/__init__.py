"""scipy.integrate for plain and traced values: SciPy's own on plain ones, `adjoint.integrate` on traced ones.

Names, arguments and results are SciPy's. Traced values may stand in arguments and in whatever the functions close over.
This is part of `adjoint.scipy.integrate`.
"""

from adjoint.integrate.scipy_names.boundary import solve_bvp
from adjoint.integrate.scipy_names.boxes import cubature, qmc_quad, tanhsinh
from adjoint.integrate.scipy_names.equations import odeint, solve_ivp
from adjoint.integrate.scipy_names.integrals import dblquad, nquad, quad, quad_vec, tplquad

__all__ = [
    "cubature", "dblquad", "nquad", "odeint", "qmc_quad", "quad", "quad_vec", "solve_bvp", "solve_ivp", "tanhsinh",
    "tplquad",
]  # fmt: skip
