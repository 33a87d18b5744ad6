"""The nan-functions: NumPy's values, and nothing leaks out of a NaN."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import array

HOLES = array(4, 5)
HOLES[0, 1] = HOLES[2, 0] = HOLES[2, 4] = np.nan
FUNCTIONS = [
    *[
        (f.__name__, lambda x, f=f, axis=axis: f(x, axis=axis))
        for f in (np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin, np.nanstd, np.nanvar, np.nanmedian)
        for axis in (None, 0, 1)
    ],
    ("nanmean keepdims", lambda x: np.nanmean(x, axis=0, keepdims=True, where=np.arange(4)[:, None] != 1)),
    ("nanvar ddof", lambda x: np.nanvar(x, axis=1, ddof=1)),
    ("nanmax initial", lambda x: np.nanmax(x, axis=1, initial=1.1)),
    ("nancumsum", lambda x: np.nancumsum(x, axis=1)),
    ("nancumprod", np.nancumprod),
    ("nanquantile", lambda x: np.nanquantile(x, [0.2, 0.9], axis=1)),
    ("nanquantile all", lambda x: np.nanquantile(x, 0.4, keepdims=True)),
    ("nanpercentile", lambda x: np.nanpercentile(x, 35, axis=0)),
]


@pytest.mark.parametrize("f", [f for _, f in FUNCTIONS], ids=[name for name, _ in FUNCTIONS])
def test_nan_functions(f) -> None:
    present = ~np.isnan(HOLES)
    v = np.where(present, np.cos(np.arange(20.0)).reshape(4, 5), 0.0)
    y, slope = ad.jvp(f, (HOLES,), (v,))
    np.testing.assert_allclose(y, f(HOLES), rtol=1e-13)
    step = 1e-5
    np.testing.assert_allclose(slope, (f(HOLES + step * v) - f(HOLES - step * v)) / (2 * step), atol=1e-8)
    gradient = ad.grad(lambda x: np.sum(f(x) * np.sin(1.0 + np.arange(np.size(y))).reshape(np.shape(y))))(HOLES)
    assert np.all(np.isfinite(gradient))
    np.testing.assert_array_equal(gradient[~present], 0.0)
    np.testing.assert_allclose(
        np.sum(gradient * v), np.sum(slope * np.sin(1.0 + np.arange(np.size(y))).reshape(np.shape(y)))
    )
    lanes = np.stack([HOLES, HOLES[::-1]])
    np.testing.assert_allclose(ad.vmap(f)(lanes), np.stack([f(lanes[0]), f(lanes[1])]))
    curve = ad.jet(f, (HOLES,), [[v, 0 * v]])[1]
    np.testing.assert_allclose(
        curve[1], ad.jvp(lambda t: ad.jvp(lambda s: f(HOLES + s * v), (t,), (1.0,))[1], (0.0,), (1.0,))[1], atol=1e-9
    )


def test_places_of_extrema() -> None:
    found = []
    ad.grad(lambda x: found.extend([np.nanargmax(x, axis=1), np.nanargmin(x)]) or np.nansum(x))(HOLES)
    np.testing.assert_array_equal(found[0], np.nanargmax(HOLES, axis=1))
    assert found[1] == np.nanargmin(HOLES)


def test_slices_of_nothing_but_nan() -> None:
    x = np.array([[np.nan, np.nan], [1.0, 2.0]])
    for f in (np.nanmean, np.nanmax, np.nanvar):
        with pytest.warns(RuntimeWarning):
            y = ad.jvp(lambda x, f=f: f(x, axis=1), (x,), (np.ones((2, 2)),))[0]
        with pytest.warns(RuntimeWarning):
            np.testing.assert_array_equal(y, f(x, axis=1))
    with pytest.raises(ValueError, match="All-NaN"):
        ad.grad(lambda x: np.nanargmax(x, axis=1)[0] + np.nansum(x))(x)
