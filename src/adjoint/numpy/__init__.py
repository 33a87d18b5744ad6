"""NumPy's functions for traced values, and NumPy's names as a namespace: `import adjoint.numpy as np` works where
NumPy does.

Importing this package gives traced values their protocols, so that NumPy's own functions take them.
"""

import sys
from typing import Any

import numpy as _numpy

from adjoint.numpy import (
    accumulating,
    array_api,
    creating,
    elementwise,
    extended_domain,
    fft,
    fourier,
    histograms,
    indexing,
    joining,
    linalg,
    linear_algebra,
    methods,
    missing_values,
    moving,
    namespace,
    norms,
    padding,
    polynomial,
    polynomials,
    products,
    quantiles,
    reducing,
    sampling,
    searching,
    selecting,
    sets,
    shaping,
    special,
    statistics,
    submodules,
    ufuncs,
    windows,
    writing,
)
from adjoint.numpy.dispatch import LATER
from adjoint.ops import operators

operators.install()
submodules.install()
indexing.install()
methods.install(lambda: sys.modules[__name__])


def __getattr__(name: str) -> Any:
    try:
        value = LATER[name] if name in LATER else namespace.lookup(name)
    except AttributeError:
        raise AttributeError(f"adjoint.numpy has no {name!r}; neither has NumPy.") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_numpy.__all__, *namespace.OWN, *globals()})
