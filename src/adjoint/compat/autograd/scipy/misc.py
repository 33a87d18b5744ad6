"""Where SciPy once kept logsumexp."""

from adjoint.scipy.special import logsumexp

__all__ = ["logsumexp"]
