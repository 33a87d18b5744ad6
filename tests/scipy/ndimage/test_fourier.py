"""Filters of Fourier transforms: SciPy's values, and derivatives in transform and parameter."""

import numpy as np
import pytest

from adjoint.scipy import ndimage
from tests.numpy.checking import Case, complex_array, every_check, signed
from tests.scipy.ndimage.agreement import same
from tests.scipy.signal.agreement import CHECKS

TRANSFORM = complex_array(4, 5)
CASES = [
    Case("gaussian", ndimage.fourier_gaussian, (TRANSFORM, np.float64(0.7))),
    Case("gaussian real", lambda x, s: ndimage.fourier_gaussian(x, s, n=8, axis=1), (TRANSFORM, signed(2))),
    Case("shift", ndimage.fourier_shift, (TRANSFORM, signed(2))),
    Case("shift real", lambda x, s: ndimage.fourier_shift(x, s, n=6, axis=0), (TRANSFORM, np.float64(0.4))),
    Case("uniform", lambda x: ndimage.fourier_uniform(x, 2.5), (TRANSFORM,)),
    Case("ellipsoid", lambda x: ndimage.fourier_ellipsoid(x, (2.5, 1.5)), (TRANSFORM,)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("name", ["fourier_gaussian", "fourier_uniform", "fourier_ellipsoid", "fourier_shift"])
def test_values(name):
    for x in (TRANSFORM, TRANSFORM.real.copy()):
        same(name, x, 1.3, n=[-1, 8], axis=[0, 1])
        same(name, x, (1.3, 0.7))
