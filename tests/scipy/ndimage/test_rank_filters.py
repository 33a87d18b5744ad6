"""Filters that choose among neighbors: SciPy's values, and the derivative of what is chosen."""

import numpy as np
import pytest
import scipy.ndimage

import adjoint as ad
from adjoint.scipy import ndimage
from tests.numpy.checking import Case, every_check, signed
from tests.scipy.ndimage.agreement import IMAGE, LINE, MODES, VOLUME, same
from tests.scipy.signal.agreement import CHECKS

SMALL = signed(3, 4)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]])
CASES = [
    Case("median_filter", lambda x: ndimage.median_filter(x, 3), (SMALL,)),
    Case("maximum_filter", lambda x: ndimage.maximum_filter(x, footprint=CROSS), (SMALL,)),
    Case("minimum_filter1d", lambda x: ndimage.minimum_filter1d(x, 2), (SMALL,)),
    Case("percentile_filter", lambda x: ndimage.percentile_filter(x, 30, footprint=CROSS), (SMALL,)),
    Case("vectorized_filter", lambda x: ndimage.vectorized_filter(x, np.mean, size=(2, 3)), (SMALL,)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_values():
    modes = {"mode": MODES, "cval": [0.2]}
    for name in ("minimum_filter1d", "maximum_filter1d"):
        same(name, IMAGE, 3, axis=[0, 1], origin=[-1, 0, 1], **modes)
        same(name, LINE, 4, **modes)
    for name in ("minimum_filter", "maximum_filter", "median_filter"):
        same(name, IMAGE, size=[1, 3, (2, 4)], **modes)
        same(name, IMAGE, footprint=[CROSS, CROSS[:, :2]], **modes)
        same(name, VOLUME, size=[3], axes=[(0, 2), 1], **modes)
    same("minimum_filter", IMAGE, size=[3], mode=[("wrap", "nearest")], origin=[0, (1, -1)])
    same("rank_filter", IMAGE, 2, size=[3, (2, 3)], **modes)
    same("rank_filter", IMAGE, -1, footprint=[CROSS], **modes)
    same("percentile_filter", IMAGE, 30, size=[3], **modes)
    same("percentile_filter", IMAGE, -20, footprint=[CROSS], **modes)
    same("percentile_filter", IMAGE, 100, size=[3])


def test_values_of_a_function_of_neighbors():
    if not hasattr(scipy.ndimage, "vectorized_filter"):  # SciPy has it since 1.16; here it is all the same
        value = ad.vjp(lambda x: ndimage.vectorized_filter(x, np.mean, size=3), IMAGE)[0]
        np.testing.assert_allclose(value, scipy.ndimage.uniform_filter(IMAGE, 3))
        return
    for mode in (*MODES, "valid"):
        same("vectorized_filter", IMAGE, np.mean, size=[3, (2, 3)], mode=[mode])
        same("vectorized_filter", VOLUME, np.max, footprint=[CROSS], axes=[(0, 2)], mode=[mode])
    same("vectorized_filter", IMAGE, np.mean, size=[3], mode=["constant"], cval=[0.7], origin=[(0, 1)])


def test_arguments_that_are_refused():
    with pytest.raises(RuntimeError, match="rank"):
        ad.grad(lambda x: np.sum(ndimage.rank_filter(x, 9, 3)))(IMAGE)
    with pytest.raises(RuntimeError, match="footprint"):
        ad.grad(lambda x: np.sum(ndimage.median_filter(x)))(IMAGE)
    with pytest.raises(ValueError, match="All-zero"):
        ad.grad(lambda x: np.sum(ndimage.median_filter(x, footprint=np.zeros((3, 3)))))(IMAGE)
    with pytest.raises(ValueError, match="origin"):
        ad.grad(lambda x: np.sum(ndimage.maximum_filter(x, 3, origin=2)))(IMAGE)
    with pytest.raises(TypeError, match="Complex"):
        ad.grad(lambda x: np.sum(np.abs(ndimage.median_filter(x * 1j, 3))))(IMAGE)
    with pytest.warns(UserWarning, match="ignoring size"):
        ad.grad(lambda x: np.sum(ndimage.median_filter(x, 3, CROSS)))(IMAGE)
