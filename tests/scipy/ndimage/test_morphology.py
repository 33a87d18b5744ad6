"""Morphology with gray values: SciPy's values, and derivatives in image and structure."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import ndimage
from tests.numpy.checking import Case, every_check, signed
from tests.scipy.ndimage.agreement import IMAGE, MODES, VOLUME, same
from tests.scipy.signal.agreement import CHECKS

NAMES = (
    *("grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "morphological_gradient"),
    *("morphological_laplace", "white_tophat", "black_tophat"),
)
SMALL, STRUCTURE = 5 * signed(3, 4), signed(2, 3, seed=7)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]])
CASES = [
    Case(name, lambda x, s, name=name: getattr(ndimage, name)(x, structure=s), (SMALL, STRUCTURE)) for name in NAMES
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    modes = {"mode": MODES, "cval": [0.2]}
    same(name, IMAGE, size=[3, (2, 4)], **modes)
    same(name, IMAGE, footprint=[CROSS], **modes)
    same(name, IMAGE, structure=[STRUCTURE], **modes)
    same(name, IMAGE, size=[3], origin=[1, (0, -1)], **modes)
    same(name, VOLUME, size=[(2, 3)], axes=[(0, 2)])


def test_something_must_be_given():
    with pytest.raises(ValueError, match="structure must be specified"):
        ad.grad(lambda x: np.sum(ndimage.grey_dilation(x)))(IMAGE)
