"""Axes, keepdims and policies about NaN, as SciPy has them."""

import numpy as np
import pytest
import scipy.stats as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import stats
from adjoint.scipy.stats.reductions import gathered, kept
from tests.scipy.stats.agreement import CUBE, A, same

NAMES = """
    gmean hmean gstd skew kurtosis sem variation iqr median_abs_deviation tmean tvar tstd tsem tmin tmax kstat kstatvar
    circmean circvar circstd entropy moment
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_axes(name):
    for axis in (0, 1, -1, None):
        for keepdims in (False, True):
            same(name, A, axis=axis, keepdims=keepdims)
    same(name, CUBE, axis=1)
    same(name, CUBE)
    if name != "moment":
        for keepdims in (False, True):
            same(name, CUBE, axis=(0, 2), keepdims=keepdims)


@pytest.mark.parametrize("name", ["gmean", "skew", "tmean", "tvar", "tmin", "trim_mean", "iqr", "median_abs_deviation"])
def test_policies(name):
    x = A.copy()
    x[2, 3] = np.nan
    arguments = (0.2,) if name == "trim_mean" else ()
    same(name, x, *arguments, axis=0)
    f = lambda policy: lambda x: np.sum(getattr(stats, name)(x, *arguments, axis=0, nan_policy=policy))
    with pytest.raises(ValueError, match="contains nan"):
        ad.grad(f("raise"))(x)
    assert np.all(np.isfinite(ad.grad(f("raise"))(A)))
    with pytest.raises(UnsupportedError, match="nan_policy='omit'"):
        ad.grad(f("omit"))(x)
    with pytest.raises(ValueError, match="must be one of"):
        ad.grad(f("forget"))(x)


def test_axes_are_gathered_and_kept():
    assert gathered(CUBE, (0, 2)).shape == (4, 15)
    np.testing.assert_array_equal(gathered(CUBE, (0, 2))[1], np.moveaxis(CUBE, 1, 0)[1].ravel())
    assert gathered(CUBE, None).shape == (60,)
    assert kept(np.zeros(4), 3, (0, 2)).shape == (1, 4, 1)
    assert kept(np.float64(1.0), 3, None).shape == (1, 1, 1)


def test_positional_arguments_are_those_of_scipy():
    np.testing.assert_allclose(ad.vjp(lambda a: stats.skew(a, 1, False), A)[0], theirs.skew(A, 1, False))
    np.testing.assert_allclose(
        ad.vjp(lambda a: stats.kurtosis(a, 1, False, False), A)[0], theirs.kurtosis(A, 1, False, False)
    )
    with pytest.raises(TypeError, match="unexpected keyword"):
        ad.grad(lambda a: np.sum(stats.skew(a, weights=1.0)))(A)
