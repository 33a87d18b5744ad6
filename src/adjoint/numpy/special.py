"""The ufuncs of scipy.special, where SciPy itself looks for them.

With SCIPY_ARRAY_API=1 in the environment, `scipy.special.erf` and others ask the namespace of their arguments for its
`special.erf`. This module answers: SciPy's own ufunc, which takes traced values.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own questions about a module need no SciPy
        raise AttributeError(name)
    import scipy.special

    found = getattr(scipy.special, name, None)
    ufunc = getattr(found, "__wrapped__", found)  # behind the function that asked
    if not isinstance(ufunc, _numpy.ufunc):
        raise AttributeError(f"adjoint.numpy.special has the ufuncs of scipy.special; {name!r} is none.")
    globals()[name] = ufunc
    return ufunc


def __dir__() -> list[str]:
    import scipy.special

    found = {name: getattr(scipy.special, name) for name in scipy.special.__all__}
    return sorted(name for name, f in found.items() if isinstance(getattr(f, "__wrapped__", f), _numpy.ufunc))
