"""Files that are read when one of their functions is first given a traced value.

Most programs call a few of NumPy's functions. Reading the files of all of them, with the primitives that they use,
would be half of the time of a first call.
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

from adjoint.base.garbage import loading
from adjoint.ops.operators import WAITING

PREFIX = "adjoint.numpy."
# Modules of NumPy's name, read when they are first named.
MODULES = ("fft", "linalg", "polynomial", "special")
# The functions of NumPy that each file answers for.
FILES = {
    "extended_domain": (
        "emath.sqrt emath.log emath.log2 emath.log10 emath.arccos emath.arcsin emath.arctanh emath.logn emath.power"
    ),
    "histograms": "histogram_bin_edges histogram histogramdd histogram2d",
    "joining": (
        "hstack vstack dstack column_stack block append array_split split hsplit vsplit dsplit tile repeat resize "
        "delete insert meshgrid ix_ apply_along_axis apply_over_axes"
    ),
    "linear_algebra": (
        "linalg.solve linalg.inv linalg.det linalg.slogdet linalg.cholesky linalg.eigh linalg.eigvalsh linalg.eig "
        "linalg.eigvals linalg.svd linalg.svdvals linalg.qr linalg.pinv linalg.matrix_rank linalg.lstsq "
        "linalg.matrix_power linalg.multi_dot linalg.tensorsolve linalg.tensorinv linalg.trace linalg.diagonal "
        "linalg.outer linalg.cross linalg.matmul linalg.tensordot linalg.vecdot linalg.matrix_transpose"
    ),
    "missing_values": (
        "nansum nanprod nancumsum nancumprod nanmean nanmax nanmin nanargmax nanargmin nanvar nanstd nanquantile "
        "nanpercentile nanmedian"
    ),
    "moving": ("flip fliplr flipud rot90 roll diagonal diag diagflat tril triu copy vander compress extract choose"),
    "norms": "linalg.norm linalg.vector_norm linalg.matrix_norm linalg.cond",
    "padding": "pad",
    "polynomials": "polyval polyder polyint polyadd polysub polymul polydiv poly roots polyfit",
    "products": "einsum dot vdot inner outer tensordot kron trace cross",
    "quantiles": "median quantile percentile",
    "sampling": ("diff ediff1d gradient trapezoid interp convolve correlate unwrap cumulative_sum cumulative_prod"),
    "searching": (
        "nonzero flatnonzero argwhere searchsorted digitize partition argpartition lexsort sort_complex bincount "
        "unravel_index ravel_multi_index packbits unpackbits trim_zeros"
    ),
    "selecting": "where clip select",
    "sets": (
        "unique unique_all unique_counts unique_inverse unique_values union1d intersect1d setxor1d isin setdiff1d"
    ),
    "statistics": "ptp average cov corrcoef",
    "windows": "lib.stride_tricks.sliding_window_view",
    "writing": "copyto put place putmask fill_diagonal put_along_axis nan_to_num",
}

# Those that answer for a module of NumPy, which NumPy itself has not read yet.
WHOLE = {"numpy.fft": "fourier"}


def _find(name: str) -> Any:
    """A function of NumPy; None where this version has none of that name."""
    try:
        return attrgetter(name)(np)
    except AttributeError:
        return None


def install() -> None:
    """Note which file answers for which function."""
    WAITING.update((module, f"{PREFIX}{file}") for module, file in WHOLE.items())
    for file, names in FILES.items():
        WAITING.update((found, f"{PREFIX}{file}") for name in names.split() if (found := _find(name)) is not None)


def load_all() -> None:
    """Read the files that still wait: they may have functions that this NumPy does not know."""
    with loading():
        for file in (*FILES, *WHOLE.values()):
            import_module(f"{PREFIX}{file}")
