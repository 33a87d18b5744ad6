"""NumPy's functions for traced values. Importing this package gives traced values their protocols."""

import sys

from adjoint.numpy import accumulating, indexing, joining, methods, moving, padding, products, reducing, selecting, shaping, ufuncs
from adjoint.ops import operators

operators.install()
indexing.install()
methods.install(lambda: sys.modules[__name__])
