"""Vector spaces of arrays."""

from adjoint.compat.autograd.vspaces import ArrayVSpace, ComplexArrayVSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]
