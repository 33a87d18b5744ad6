"""Images between their points: SciPy's values in every mode and order, and derivatives in all that is traced."""

import numpy as np
import pytest
import scipy.ndimage

import adjoint as ad
from adjoint.base.errors import AdjointError
from adjoint.scipy import ndimage
from tests.numpy.checking import Case, array, complex_array, every_check, signed
from tests.scipy.ndimage.agreement import IMAGE, LINE, MODES, VOLUME, same
from tests.scipy.signal.agreement import CHECKS

SMALL = signed(4, 5)
FAR = np.random.default_rng(0).uniform(-9, 14, size=(2, 7))
WHOLE = np.stack([np.arange(-8.0, 12.0), np.arange(-8.0, 12.0)[::-1]])
INSIDE = np.random.default_rng(1).uniform(0.1, 2.9, size=(2, 3))
MATRIX, OFFSET = np.array([[0.91, 0.3], [-0.2, 1.13]]), np.array([0.31, -0.42])

CASES = [
    *[
        Case(
            f"map {mode} {order}", lambda x, p, m=mode, o=order: ndimage.map_coordinates(x, p, order=o, mode=m), inputs
        )
        for mode, order in (("mirror", 3), ("reflect", 4), ("grid-wrap", 2), ("nearest", 5), ("grid-constant", 3))
        for inputs in [(SMALL, INSIDE + 0.013)]
    ],
    Case("map complex", lambda x, p: ndimage.map_coordinates(x, p, mode="wrap"), (complex_array(4, 5), INSIDE)),
    Case("map cval", lambda p, c: ndimage.map_coordinates(SMALL, p, cval=c), (INSIDE + 1.5, np.float64(0.4))),
    Case("affine", lambda x, a, b: ndimage.affine_transform(x, a, b, mode="mirror"), (SMALL, MATRIX, OFFSET)),
    Case("affine diagonal", lambda x, a, b: ndimage.affine_transform(x, a, b, (3, 4)), (SMALL, array(2), OFFSET)),
    Case("affine together", lambda x, a: ndimage.affine_transform(x, a), (SMALL, np.column_stack([MATRIX, OFFSET]))),
    Case("shift", lambda x, s: ndimage.shift(x, s, mode="mirror"), (SMALL, OFFSET)),
    Case("zoom", lambda x: ndimage.zoom(x, (1.5, 0.7), mode="reflect", grid_mode=True), (SMALL,)),
    Case("rotate", lambda x, a: ndimage.rotate(x, a, reshape=False), (SMALL, np.float64(21.0))),
    Case("rotate planes", lambda x: ndimage.rotate(x, 33.0, (0, 2)), (signed(3, 2, 4),)),
    Case("spline_filter", lambda x: ndimage.spline_filter(x, 4, mode="grid-wrap"), (SMALL,)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("order", range(6))
def test_values(order):
    chosen = {"order": [order], "mode": MODES, "cval": [0.7]}
    for points in (FAR, WHOLE, INSIDE[:, None]):
        same("map_coordinates", IMAGE, points, **chosen)
    same("map_coordinates", IMAGE, FAR, prefilter=[False], **chosen)
    same("map_coordinates", LINE, np.linspace(-20, 30, 40)[None], **chosen)
    same("map_coordinates", VOLUME, np.random.default_rng(2).uniform(-2, 6, (3, 5)), **chosen)
    for by in (0.7, 2.0, (-2.3, 1.2)):
        same("shift", IMAGE, by, **chosen)
    for factor in (1, 1.7, 0.6, (2, 0.5), (1, 3)):
        same("zoom", IMAGE, factor, grid_mode=[False, True], **chosen)
    same("affine_transform", IMAGE, MATRIX, OFFSET, output_shape=[None, (4, 7)], **chosen)
    same("affine_transform", IMAGE, np.array([0.9, 1.2]), OFFSET, **chosen)
    for angle in (33.0, 90.0, 180.0, -250.0):
        same("rotate", IMAGE, angle, reshape=[True, False], **chosen)
    same("rotate", VOLUME, 20.0, axes=[(0, 2), (1, 0)], **chosen)


def test_values_on_lines_of_one_point():
    for order in (1, 3):
        same("map_coordinates", IMAGE[:1], FAR, order=[order], mode=["nearest", "constant", "reflect", "grid-wrap"])


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 3), (2, 1, 3)])
def test_values_of_small_and_complex_images(shape):
    for x in (signed(*shape), signed(*shape).astype(np.complex128) * (1 + 2j)):
        points = np.random.default_rng(3).uniform(-4, 5, size=(len(shape), 6))
        for order in (0, 1, 2, 5):
            same("map_coordinates", x, points, order=[order], mode=MODES)
            same("zoom", x, 1.5, order=[order], mode=MODES, grid_mode=[False, True])


def test_a_mapping_in_python():
    mapping = lambda i, factor: (i[0] * factor, i[1] - 0.5)
    f = lambda x, factor: ndimage.geometric_transform(x, mapping, extra_arguments=(factor,), mode="nearest")
    wanted = scipy.ndimage.geometric_transform(IMAGE, mapping, extra_arguments=(0.7,), mode="nearest")
    value, slope = ad.jvp(f, (IMAGE, 0.7), (np.zeros_like(IMAGE), 1.0))
    np.testing.assert_allclose(value, wanted, rtol=1e-11)
    other = [
        scipy.ndimage.geometric_transform(IMAGE, mapping, extra_arguments=(0.7 + h,), mode="nearest")
        for h in (1e-5, -1e-5)
    ]
    np.testing.assert_allclose(slope, (other[0] - other[1]) / 2e-5, rtol=1e-5, atol=1e-7)


def test_the_slope_of_a_linear_image_is_exact():
    """A plane is its own spline of every order, far from its edges."""
    plane = np.add.outer(2.0 * np.arange(60), -3.0 * np.arange(60))
    for order in range(1, 6):
        f = lambda p, order=order: ndimage.map_coordinates(plane, p[:, None], order=order)[0]
        np.testing.assert_allclose(ad.grad(f)(np.array([29.3, 31.6])), [2.0, -3.0], rtol=1e-8)


def test_compiled():
    f = lambda x, a, b: np.sum(ndimage.affine_transform(x, a, b, mode="mirror") ** 2)
    ours, wanted = ad.jit(ad.grad(f, (0, 1, 2))), ad.grad(f, (0, 1, 2))
    for one, two in zip(ours(SMALL, MATRIX, OFFSET), wanted(SMALL, MATRIX, OFFSET), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10)
    turned = ad.jit(ad.grad(lambda a: np.sum(ndimage.rotate(SMALL, a) ** 2)))
    for angle in (20.0, 50.0):  # of other shapes
        np.testing.assert_allclose(turned(angle), ad.grad(lambda a: np.sum(ndimage.rotate(SMALL, a) ** 2))(angle))


def test_arguments_that_are_refused():
    with pytest.raises(RuntimeError, match="order"):
        ad.grad(lambda x: np.sum(ndimage.shift(x, 0.5, order=6)))(SMALL)
    with pytest.raises(RuntimeError, match="coordinate array"):
        ad.grad(lambda x: np.sum(ndimage.map_coordinates(x, np.zeros((3, 2)))))(SMALL)
    with pytest.raises(AdjointError, match="astype"):
        ad.grad(lambda s: np.sum(ndimage.shift(np.arange(5), s)))(0.5)
    with pytest.raises(AdjointError, match="zoom is traced"):
        ad.grad(lambda z: np.sum(ndimage.zoom(SMALL, z)))(1.5)
    with pytest.raises(RuntimeError, match="rows"):
        ad.grad(lambda x: np.sum(ndimage.affine_transform(x, np.eye(3)[:, :2])))(SMALL)
