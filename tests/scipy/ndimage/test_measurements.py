"""Sums, means, extremes and centers by labels: SciPy's values, and derivatives."""

import numpy as np
import pytest
import scipy.ndimage

import adjoint as ad
from adjoint.scipy import ndimage
from tests.numpy.checking import Case, every_check, signed
from tests.scipy.signal.agreement import CHECKS

IMAGE = signed(4, 5)
LABELS = np.arange(20).reshape(4, 5) % 4
NAMES = ("sum", "sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "median")
WAYS = {
    "whole": (None, None),
    "labeled": (LABELS, None),
    "one": (LABELS, 2),
    "several": (LABELS, [3, 0, 1]),
    "by row": (np.array([1, 2, 2, 1, 5]), [2, 5]),
    "negative": (LABELS - 2, np.array([-1, 1])),
}
CASES = [
    Case(f"{name} {way}", lambda x, name=name, way=way: getattr(ndimage, name)(x, *WAYS[way]), (IMAGE,))
    for name in ("sum", "variance", "median", "maximum")
    for way in ("whole", "one", "several")
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_values(name, way):
    with np.errstate(invalid="ignore"):  # SciPy divides by the sizes of labels that are not asked for, too
        wanted = np.asarray(getattr(scipy.ndimage, name)(IMAGE, *WAYS[way]))
    value = ad.vjp(lambda x: getattr(ndimage, name)(x, *WAYS[way]), IMAGE)[0]
    assert np.shape(value) == wanted.shape
    np.testing.assert_allclose(value, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["sum", "minimum", "maximum"])
def test_labels_that_are_not_there(name):
    wanted = getattr(scipy.ndimage, name)(IMAGE, LABELS, [9, 1])
    np.testing.assert_allclose(ad.vjp(lambda x: getattr(ndimage, name)(x, LABELS, [9, 1]), IMAGE)[0], wanted)


@pytest.mark.parametrize("way", WAYS)
def test_positions(way):
    f = lambda x: (np.sum(x), ndimage.extrema(x, *WAYS[way])[2:])
    found = ad.value_and_grad(f, has_aux=True)(IMAGE)[0][1]
    wanted = scipy.ndimage.extrema(IMAGE, *WAYS[way])[2:]
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.array(one), np.array(two))
    compiled = ad.jit(lambda x: ndimage.maximum_position(x, *WAYS[way]))(IMAGE)
    np.testing.assert_array_equal(np.array(compiled), np.array(wanted[1]))


@pytest.mark.parametrize("way", WAYS)
def test_centers(way):
    x = IMAGE**2
    wanted = scipy.ndimage.center_of_mass(x, *WAYS[way])
    value = ad.vjp(lambda x: ndimage.center_of_mass(x, *WAYS[way]), x)[0]
    assert type(value) is type(wanted)
    np.testing.assert_allclose(np.array(value), np.array(wanted), rtol=1e-12)


def test_labels_from_a_closure_while_compiling():
    labels = LABELS.copy()
    gradient = ad.jit(ad.grad(lambda x: np.sum(ndimage.mean(x, labels, [1, 2]) ** 2)))(IMAGE)
    np.testing.assert_allclose(gradient, ad.grad(lambda x: np.sum(ndimage.mean(x, LABELS, [1, 2]) ** 2))(IMAGE))
