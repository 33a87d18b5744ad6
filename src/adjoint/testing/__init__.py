"""Oracles for derivatives: checks of every mode and order, differences, complex steps, and counts of calls."""

from adjoint.testing.checks import MismatchError, check_grads, dot_test
from adjoint.testing.complex_step import complex_step, complex_step_gradient
from adjoint.testing.counting import Counted, count_calls
from adjoint.testing.differences import difference_gradient, difference_jacobian, finite_difference, optimal_step
from adjoint.testing.extrapolation import Extrapolated, richardson
from adjoint.testing.linearity import NotDifferentiable, check_frechet, check_linear
from adjoint.testing.precise import mp_difference
from adjoint.testing.stencils import Stencil, coefficients, stencil_on
from adjoint.testing.steps import Difference, difference

__all__ = [
    "Counted",
    "Difference",
    "Extrapolated",
    "MismatchError",
    "NotDifferentiable",
    "Stencil",
    "check_frechet",
    "check_grads",
    "check_linear",
    "coefficients",
    "complex_step",
    "complex_step_gradient",
    "count_calls",
    "difference",
    "difference_gradient",
    "difference_jacobian",
    "dot_test",
    "finite_difference",
    "mp_difference",
    "optimal_step",
    "richardson",
    "stencil_on",
]
