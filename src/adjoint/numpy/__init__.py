"""NumPy's functions for traced values, and NumPy's names as a namespace: `import adjoint.numpy as np` works where
NumPy does.

Importing this package gives traced values their protocols, so that NumPy's own functions take them.
"""

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as _numpy

from adjoint.numpy import (
    accumulating,
    array_api,
    creating,
    elementwise,
    indexing,
    methods,
    namespace,
    reducing,
    shaping,
    submodules,
    ufuncs,
    waiting,
)
from adjoint.numpy.dispatch import LATER
from adjoint.ops import operators

operators.install()
submodules.install()
indexing.install()
methods.install(lambda: sys.modules[__name__])
waiting.install()


def __getattr__(name: str) -> Any:
    if name in waiting.MODULES:
        return import_module(f"adjoint.numpy.{name}")
    value = _find(name)
    globals()[name] = value
    return value


def _find(name: str) -> Any:
    """What a name means here."""
    with suppress(AttributeError):
        return LATER[name] if name in LATER else namespace.lookup(name)
    if not name.startswith("_"):
        waiting.load_all()
        if name in LATER:
            return LATER[name]
    raise AttributeError(f"adjoint.numpy has no {name!r}; neither has NumPy.")


def __dir__() -> list[str]:
    return sorted({*_numpy.__all__, *namespace.OWN, *globals()})
