"""numpy.fft with the promises of adjoint.numpy: traced values in every argument, and in lists."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from adjoint.numpy.array_api import check_device
from adjoint.numpy.dispatch import constant, is_traced
from adjoint.numpy.namespace import opened
from adjoint.program.types import Value


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Value:
    """The frequencies of fft's results, 0, 1, …, −2, −1 over n d; d, the distance between samples, may be traced."""
    return _frequencies("fftfreq", n, d, device, dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Value:
    """The frequencies of rfft's results, 0, 1, …, n//2 over n d; d, the distance between samples, may be traced."""
    return _frequencies("rfftfreq", n, d, device, dtype)


def _frequencies(name: str, n: int, d: Any, device: Any, dtype: Any) -> Value:
    check_device(f"adjoint.numpy.fft.{name}", device)
    if dtype is not None and not _numpy.isdtype(_numpy.dtype(dtype), "real floating"):
        raise TypeError(f"adjoint.numpy.fft.{name} was asked for {_numpy.dtype(dtype)}: frequencies are real floats.")
    plain = getattr(_numpy.fft, name)
    # for a traced distance: the integers 0, 1, … times 1 / (n d)
    found = _numpy.rint(plain(n) * n) * (1.0 / (n * d)) if is_traced(d) else constant(plain(n, d))
    return found if dtype is None else found.astype(dtype)


_lookup = opened(_numpy.fft)


def __getattr__(name: str) -> Any:
    try:
        value = globals()[name] = _lookup(name)
    except AttributeError:
        raise AttributeError(f"adjoint.numpy.fft has no {name!r}; neither has NumPy.") from None
    return value


def __dir__() -> list[str]:
    return sorted({*_numpy.fft.__all__, *globals()})
