"""scipy.optimize for plain and traced values; names, arguments and results are SciPy's.

The solvers stand above, in `adjoint.optimize.scipy_names`, and wait until they are asked for.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    return getattr(importlib.import_module("adjoint.optimize.scipy_names"), name)


def __dir__() -> list[str]:
    return dir(importlib.import_module("adjoint.optimize.scipy_names"))
