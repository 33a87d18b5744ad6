"""Derivatives of high order: of functions of one number, Taylor polynomials, and all mixed partial derivatives."""

from adjoint.series.derivatives import derivative
from adjoint.series.laplacian import laplacian
from adjoint.series.multi_indices import multi_indices
from adjoint.series.partials import Partials, partials
from adjoint.series.polynomial import TaylorPolynomial, taylor

__all__ = ["Partials", "TaylorPolynomial", "derivative", "laplacian", "multi_indices", "partials", "taylor"]
