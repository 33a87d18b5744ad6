"""Where SciPy once kept logsumexp; the module bears the name of autograd's."""

from adjoint.scipy.special import logsumexp

__all__ = ["logsumexp"]
