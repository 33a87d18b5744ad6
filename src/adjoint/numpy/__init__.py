"""NumPy's functions for traced values. Importing this package gives traced values their protocols."""

import sys

from adjoint.numpy import (
    accumulating,
    creating,
    elementwise,
    indexing,
    joining,
    linear_algebra,
    methods,
    missing_values,
    moving,
    norms,
    padding,
    products,
    reducing,
    sampling,
    searching,
    selecting,
    shaping,
    statistics,
    ufuncs,
    writing,
)
from adjoint.ops import operators

operators.install()
indexing.install()
methods.install(lambda: sys.modules[__name__])
