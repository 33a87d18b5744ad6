"""Conversions agree with `astype`, also of numbers that do not fit."""

from __future__ import annotations

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from tests.support.element_kernels import Kernels, check, native, special_values

DTYPES = "?bBhHiIlLefdFD"
BORDERS = [127.9, 128, 255.5, 256, 32768, 65535.5, 65536, 2.0**31 - 0.5, 2.0**31, 2.0**33 + 5, 1.5 * 2.0**63, 2.0**64]


def values(dtype: str) -> np.ndarray:
    if np.dtype(dtype).kind != "f":
        return special_values(dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([special_values(dtype), np.array([*BORDERS, *(-b for b in BORDERS)]).astype(dtype)])


def within(dtype: str, target: str) -> np.ndarray:
    """The values that have a place in uint32: for others NumPy's own loops differ from one another."""
    x = values(dtype)
    if target != "I" or x.dtype.kind not in "fc":
        return x
    whole = x.real.astype(float)
    return x[(whole > -1) & (whole < 2.0**32)]


def test_every_pair_of_dtypes() -> None:
    kernels = Kernels()
    for source in DTYPES:
        for target in DTYPES:
            x = within(source, target)
            assert native(Convert(np.dtype(target)), x)
            kernels.add(Convert(np.dtype(target)), x)
    check(kernels)


def test_doubles_are_rounded_to_half_once() -> None:
    """A double just beside the middle of two halves goes to the right one, which rounding over float would miss."""
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (halves + np.nextafter(halves.astype(np.float16), np.float16(np.inf)).astype(np.float64)) / 2
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, 0.0), [65519.99, 65520.0, 1e300]])
    kernels = Kernels()
    kernels.add(Convert(np.dtype(np.float16)), np.concatenate([x, -x]))
    check(kernels)
