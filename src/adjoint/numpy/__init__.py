"""NumPy's functions for traced values. Importing this package gives traced values their protocols."""

from adjoint.numpy import indexing, reducing, selecting, shaping
from adjoint.ops import operators

operators.install()
indexing.install()

__all__ = ["indexing", "reducing", "selecting", "shaping"]
