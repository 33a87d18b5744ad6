"""Differentiate and compile the NumPy code you already have."""

from adjoint import debug, numpy, tree
from adjoint.api import grad, jet, jvp, linear_transpose, linearize, stop_gradient, value_and_grad, vjp, vmap
from adjoint.base.progress import progress
from adjoint.base.scopes import scope
from adjoint.debug import check
from adjoint.derivatives import hessian, hvp, jacfwd, jacobian, jacrev
from adjoint.extend import checkpoint, custom_rule
from adjoint.flow import associative_scan, cond, fori_loop, map, scan, switch, while_loop  # noqa: A004
from adjoint.program.types import ArrayType
from adjoint.tracing import load, trace

__version__ = "0.1.0"
