"""Statistics of ours on traced samples against SciPy's on plain ones."""

import dataclasses
from typing import Any

import numpy as np
import scipy.stats as theirs

import adjoint as ad
from adjoint.scipy import stats
from tests.numpy.checking import array

A = array(6, 5)
CUBE = array(3, 4, 5)
X, Y, W = array(7, seed=1), array(7, seed=5), array(7, seed=9)


def parts(result: Any) -> list[Any]:
    """The arrays in a result."""
    if hasattr(result, "mean_direction"):  # of SciPy's or ours
        return [result.mean_direction, result.mean_resultant_length]
    if isinstance(result, float):
        return [np.float64(result)]
    if dataclasses.is_dataclass(result):
        return [part for field in dataclasses.fields(result) for part in parts(getattr(result, field.name))]
    if isinstance(result, tuple | list):
        extra = [result.intercept_stderr] if hasattr(result, "intercept_stderr") else []
        return [part for entry in [*result, *extra] for part in parts(entry)]
    return [result] if hasattr(result, "shape") else []


def floats_of(result: Any) -> list[Any]:
    return [part for part in parts(result) if part.dtype.kind == "f"]


def same(name: str, *args: Any, **options: Any) -> None:
    """The values and shapes of SciPy."""
    count = sum(isinstance(a, np.ndarray) for a in args)
    ours = lambda *xs: floats_of(getattr(stats, name)(*xs, *args[count:], **options))
    found, wanted = ad.vjp(ours, *args[:count])[0], floats_of(getattr(theirs, name)(*args, **options))
    assert len(found) == len(wanted)
    for part, expected in zip(found, wanted, strict=True):
        assert part.shape == expected.shape, f"{name} {options}: shape {part.shape}, not {expected.shape}"
        np.testing.assert_allclose(part, expected, rtol=1e-10, atol=1e-12, err_msg=f"{name} {options}")
