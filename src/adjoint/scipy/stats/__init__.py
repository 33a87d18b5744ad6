"""scipy.stats for plain and traced values: descriptive statistics. Names and arguments are SciPy's; on plain values
every function is SciPy's.

A name that is not defined here is SciPy's own, and takes plain values only. NaN is propagated; where it would be
omitted, traced values are refused.
"""

import inspect
from typing import Any

import scipy.stats as _theirs

from adjoint.scipy.passing import passed
from adjoint.scipy.stats import densities  # pyright: ignore[reportUnusedImport]  (for converted code)
from adjoint.scipy.stats.means import (
    circmean,
    circstd,
    circvar,
    directional_stats,
    gmean,
    hmean,
    iqr,
    median_abs_deviation,
    obrientransform,
    pmean,
    scoreatpercentile,
    tmax,
    tmean,
    tmin,
    trim1,
    trim_mean,
    trimboth,
    tsem,
    tstd,
    tvar,
)
from adjoint.scipy.stats.moments import (
    describe,
    gstd,
    gzscore,
    kstat,
    kstatvar,
    kurtosis,
    moment,
    sem,
    skew,
    variation,
    zmap,
    zscore,
)
from adjoint.scipy.stats.relations import (
    energy_distance,
    entropy,
    linregress,
    pearsonr,
    pointbiserialr,
    rankdata,
    wasserstein_distance,
)

__all__ = [
    "circmean",
    "circstd",
    "circvar",
    "describe",
    "directional_stats",
    "energy_distance",
    "entropy",
    "gmean",
    "gstd",
    "gzscore",
    "hmean",
    "iqr",
    "kstat",
    "kstatvar",
    "kurtosis",
    "linregress",
    "median_abs_deviation",
    "moment",
    "obrientransform",
    "pearsonr",
    "pmean",
    "pointbiserialr",
    "rankdata",
    "scoreatpercentile",
    "sem",
    "skew",
    "tmax",
    "tmean",
    "tmin",
    "trim1",
    "trim_mean",
    "trimboth",
    "tsem",
    "tstd",
    "tvar",
    "variation",
    "wasserstein_distance",
    "zmap",
    "zscore",
]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.stats, for plain values; its distributions are objects, and stay what they are."""
    value = getattr(_theirs, name, None)
    return passed(_theirs, name) if value is None or inspect.isfunction(value) else value


def __dir__() -> list[str]:
    return sorted({*__all__, *_theirs.__all__})
