"""SciPy's names, as far as autograd has them."""

from adjoint.compat.autograd.scipy import integrate, linalg, misc, signal, special, stats

__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]
