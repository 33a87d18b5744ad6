"""numpy.linalg with the promises of adjoint.numpy: traced values in every argument, and in lists."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from adjoint.numpy.namespace import opened

_lookup = opened(_numpy.linalg)


def __getattr__(name: str) -> Any:
    try:
        value = globals()[name] = _lookup(name)
    except AttributeError:
        raise AttributeError(f"adjoint.numpy.linalg has no {name!r}; neither has NumPy.") from None
    return value


def __dir__() -> list[str]:
    return sorted({*_numpy.linalg.__all__, *globals()})
