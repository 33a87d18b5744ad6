"""Linear filters: SciPy's values in every mode, and derivatives in image, weights and width."""

import numpy as np
import pytest
import scipy.ndimage

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import AdjointError
from adjoint.scipy import ndimage
from tests.numpy.checking import Case, complex_array, every_check, signed
from tests.scipy.ndimage.agreement import IMAGE, LINE, MODES, VOLUME, same
from tests.scipy.signal.agreement import CHECKS

SMALL, W = signed(3, 4), signed(3, 2, seed=5)
HALF = np.float64(0.55)

CASES = [
    Case("correlate1d", lambda x, w: ndimage.correlate1d(x, w, mode="mirror"), (SMALL, W[:, 0])),
    Case("convolve1d", lambda x, w: ndimage.convolve1d(x, w, 0, mode="constant", cval=0.3), (SMALL, signed(2))),
    Case("correlate", lambda x, w: ndimage.correlate(x, w, mode="nearest"), (SMALL, W)),
    Case("convolve", lambda x, w: ndimage.convolve(x, w, mode="wrap", origin=(0, -1)), (SMALL, W)),
    Case("convolve complex", ndimage.convolve, (complex_array(3, 4), complex_array(2, 3))),
    Case("correlate complex", ndimage.correlate, (SMALL, complex_array(2, 3))),
    Case("cval", lambda x, c: ndimage.correlate1d(x, [1, 2, 3], mode="constant", cval=c), (SMALL, HALF)),
    Case("gaussian_filter1d", lambda x, s: ndimage.gaussian_filter1d(x, s, order=2), (SMALL, HALF), symbolic=False),
    Case("gaussian_filter", lambda x, s: ndimage.gaussian_filter(x, s), (SMALL, HALF), symbolic=False),
    Case("widths", lambda x, s: ndimage.gaussian_filter(x, s, radius=2), (SMALL, signed(2) ** 2), symbolic=False),
    Case("uniform_filter", lambda x: ndimage.uniform_filter(x, (2, 3)), (SMALL,)),
    Case("sobel", ndimage.sobel, (SMALL,)),
    Case("prewitt", lambda x: ndimage.prewitt(x, 0, mode="wrap"), (SMALL,)),
    Case("laplace", ndimage.laplace, (SMALL,)),
    Case("gaussian_laplace", lambda x: ndimage.gaussian_laplace(x, 0.7), (SMALL,)),
    Case("gaussian_gradient_magnitude", lambda x: ndimage.gaussian_gradient_magnitude(x, 0.7), (SMALL,)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_values_of_correlations():
    modes = {"mode": MODES, "cval": [0.3]}
    for size in (1, 3, 4, 11):
        origins = [o for o in (-1, 0, 1) if -(size // 2) < o <= (size - 1) // 2] or [0]
        same("correlate1d", IMAGE, signed(size), axis=[0, -1], origin=origins, **modes)
        same("convolve1d", IMAGE, signed(size), axis=[0, -1], origin=origins, **modes)
    for shape in ((3, 4), (2, 3)):
        same("correlate", IMAGE, signed(*shape), origin=[0, (-1, 1)], **modes)
        same("convolve", IMAGE, signed(*shape), origin=[0, (-1, 1)], **modes)
    same("correlate", VOLUME, signed(2, 3), axes=[(0, 2), (2, 0)], **modes)
    same("convolve", VOLUME, signed(2, 3), axes=[(1, 2)], **modes)


def test_values_of_smoothing_filters():
    modes = {"mode": MODES, "cval": [0.3]}
    same("gaussian_filter1d", LINE, 1.3, order=[0, 1, 2, 3], truncate=[4.0, 2.0], **modes)
    same("gaussian_filter", IMAGE, [1.1, 0.7], order=[0, (1, 2)], radius=[None, 2, (1, 3)], **modes)
    same("gaussian_filter", VOLUME, 0.8, axes=[None, (0, 2), 1], **modes)
    same("gaussian_filter", IMAGE, (0.0, 1.0), mode=[("wrap", "nearest")])
    same("uniform_filter1d", IMAGE, 4, axis=[0, 1], origin=[-2, 0, 1], **modes)
    same("uniform_filter", IMAGE, size=[1, 3, (2, 4)], **modes)
    same("uniform_filter", VOLUME, size=[3], axes=[1, (0, 2)], **modes)


def test_values_of_derivatives():
    for name in ("sobel", "prewitt"):
        same(name, VOLUME, axis=[0, 1, -1], mode=MODES, cval=[0.5])
    same("laplace", VOLUME, mode=MODES, axes=[None, (0, 2)])
    same("gaussian_laplace", VOLUME, 0.9, mode=MODES, axes=[None, (0, 2)])
    same("gaussian_gradient_magnitude", IMAGE, (0.9, 1.1), mode=MODES)


def test_generic_ones_call_a_function():
    second = lambda x, axis, output, mode, cval, scale: (
        scale * ndimage.correlate1d(x, [1, -2, 1], axis, None, mode, cval)
    )
    value = ad.vjp(lambda x: ndimage.generic_laplace(x, second, extra_arguments=(2.0,)), IMAGE)[0]
    np.testing.assert_allclose(value, 2 * scipy.ndimage.laplace(IMAGE))
    first = lambda x, axis, output, mode, cval: ndimage.sobel(x, axis, None, mode, cval)
    value = ad.vjp(lambda x: ndimage.generic_gradient_magnitude(x, first), IMAGE)[0]
    np.testing.assert_allclose(value, np.hypot(scipy.ndimage.sobel(IMAGE, 0), scipy.ndimage.sobel(IMAGE, 1)))


def test_element_types():
    x = IMAGE.astype(np.float32)
    value = ad.vjp(lambda x: ndimage.gaussian_filter(x, 1.0), x)[0]
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, scipy.ndimage.gaussian_filter(x, 1.0), rtol=1e-5)
    assert ad.vjp(lambda x: ndimage.laplace(x, output=np.float64), x)[0].dtype == np.float64
    with pytest.raises(AdjointError, match="astype"):
        ad.grad(lambda s: np.sum(ndimage.gaussian_filter(np.arange(5), s)))(1.0)
    with pytest.raises(AdjointError, match="output="):
        ad.grad(lambda x: np.sum(ndimage.laplace(x, output=np.zeros((5, 6)))))(IMAGE)


def test_arguments_that_are_refused():
    with pytest.raises(ValueError, match="origin"):
        ad.grad(lambda x: np.sum(ndimage.correlate1d(x, [1, 2, 3], origin=2)))(IMAGE)
    with pytest.raises(RuntimeError, match="mode"):
        ad.grad(lambda x: np.sum(ndimage.correlate1d(x, [1, 2, 3], mode="odd")))(IMAGE)
    with pytest.raises(RuntimeError, match="must match"):
        ad.grad(lambda x: np.sum(ndimage.correlate(x, [1, 2, 3])))(IMAGE)
    f = lambda x: np.sum(scipy.ndimage.gaussian_filter(x, 1.0) ** 2)
    with config.override(convert=False), pytest.raises(AdjointError, match=r"adjoint\.scipy\.ndimage\.gaussian_filter"):
        ad.grad(f)(IMAGE)
    step = np.zeros_like(IMAGE)
    step[1, 1] = 1e-6
    np.testing.assert_allclose(ad.grad(f)(IMAGE)[1, 1], (f(IMAGE + step) - f(IMAGE - step)) / 2e-6, rtol=1e-7)


def test_compiled():
    f = lambda x, s: np.sum(ndimage.gaussian_filter(x, s) ** 2)
    for one, two in zip(ad.jit(ad.grad(f, (0, 1)))(IMAGE, 0.9), ad.grad(f, (0, 1))(IMAGE, 0.9), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11)
