"""Piecewise polynomials: SciPy's values in every form, derivatives in coefficients, breaks and points, containers."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form, same_curve
from tests.scipy.signal.agreement import CHECKS

X = np.array([0.0, 0.7, 1.1, 2.0])
C = signed(3, 3)
POINTS = np.array([[-0.4, 0.0, 0.3], [0.7, 1.9, 2.6]])
LIMITS = [(0.0, 2.0), (0.2, 0.5), (2.5, -0.7), (0.1, 7.3)]
CASES = [
    Case("value", lambda c, x, p: interpolate.PPoly(c, x)(p), (C, X, np.array([0.3, 0.9, 2.4]))),
    Case("derivative", lambda c, x, p: interpolate.PPoly(c, x)(p, 1), (C, X, np.array([0.3, 0.9, 2.4]))),
    Case("periodic", lambda c, x, p: interpolate.PPoly(c, x, "periodic")(p), (C, X, np.array([-0.3, 0.9, 2.4]))),
    Case("antiderivative", lambda c, x, p: interpolate.PPoly(c, x).antiderivative(2)(p), (C, X, np.array([0.3, 1.9]))),
    Case("integral", lambda c, x, b: interpolate.PPoly(c, x).integrate(0.1, b), (C, X, np.float64(1.7))),
    Case("periods", lambda c, x, b: interpolate.PPoly(c, x, "periodic").integrate(0.1, b), (C, X, np.float64(5.3))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 2), (1, 3), (4, 3, 2, 2)])
def test_values(shape):
    c = signed(*shape)
    same_curve(interpolate.PPoly(c, X), theirs.PPoly(c, X), POINTS, LIMITS)
    same_curve(interpolate.PPoly(c[:, ::-1], X[::-1]), theirs.PPoly(c[:, ::-1], X[::-1]), POINTS, [], orders=(0, 1))
    equal(interpolate.PPoly(c, X).roots(), theirs.PPoly(c, X).roots()) if len(shape) == 2 else None


def test_values_along_another_axis():
    c = signed(2, 3, 3)
    equal(interpolate.PPoly(c, X, axis=1)(POINTS), theirs.PPoly(c, X, axis=1)(POINTS))


def test_complex_coefficients_and_points_that_are_no_numbers():
    c = signed(2, 3) + 1j * signed(2, 3, seed=4)
    equal(interpolate.PPoly(c, X)(POINTS, 1), theirs.PPoly(c, X)(POINTS, 1))
    points = np.array([0.1, np.nan])
    equal(interpolate.PPoly(np.ones((1, 3)), X)(points), theirs.PPoly(np.ones((1, 3)), X)(points))


def test_a_spline_by_powers():
    spline = theirs.make_interp_spline(np.linspace(0, 3, 7), np.sin(np.linspace(0, 3, 7)))
    wanted = theirs.PPoly.from_spline(spline)
    for tck in (spline.tck, interpolate.BSpline(*spline.tck)):
        found = interpolate.PPoly.from_spline(tck)
        equal(found.c, wanted.c)
        equal(found(POINTS), wanted(POINTS))


def test_an_interpolant_is_a_container():
    p = interpolate.PPoly(C, X)
    assert [leaf.shape for leaf in ad.tree.leaves(p)] == [C.shape, X.shape]
    gradient = ad.grad(lambda p: p(0.9))(p)
    assert isinstance(gradient, interpolate.PPoly)
    equal(gradient.c[:, 1], [0.2**2, 0.2, 1.0])  # powers of 0.9 - 0.7
    equal(gradient.x, [0.0, -ad.grad(p)(0.9), 0.0, 0.0])
    equal(ad.jit(lambda p, x: p(x))(p, POINTS), p(POINTS))
    many = ad.vmap(lambda c: interpolate.PPoly(c, X))(np.stack([C, 2 * C]))
    equal(ad.vmap(lambda p: p(POINTS))(many)[1], 2 * p(POINTS))


def test_a_root_by_a_step_of_newton():
    p = interpolate.PPoly(C, X)
    (root,) = p.solve(0.5, extrapolate=False)[:1]
    of = lambda p, y: root - (p(root) - y) / p(root, 1)
    assert ad.grad(of, argnums=1)(p, 0.5) == pytest.approx(1 / p(root, 1))
    with pytest.raises(UnsupportedError, match="Newton's method"):
        ad.grad(lambda y: p.solve(y)[0])(0.5)


def test_what_does_not_fit_is_refused():
    for c, x, words in (
        (C[0], X, "at least 2-dim"),
        (C, X[:3], "number of coefficients"),
        (C, X[:, None], "1-dimensional"),
        (C[:0], X, "order 0"),
        (C, np.array([0.0, 2.0, 1.0, 3.0]), "increasing or decreasing"),
    ):
        with pytest.raises(ValueError, match=words):
            interpolate.PPoly(c, x)
    with pytest.raises(ValueError, match="increasing or decreasing"):
        ad.jit(lambda x: interpolate.PPoly(C, x)(0.5))(X[[0, 2, 1, 3]])
    with pytest.raises(ValueError, match="axis=2"):
        interpolate.PPoly(C, X, axis=2)
    with pytest.raises(ValueError, match="real values"):
        interpolate.PPoly(C, X)(1j)


def test_descending_breaks_that_are_traced():
    p = lambda x: interpolate.PPoly(C, x)(POINTS)
    equal(ad.jit(p)(X[::-1].copy()), theirs.PPoly(C, X[::-1])(POINTS))
    equal(ad.jit(p)(X), theirs.PPoly(C, X)(POINTS))


def test_compiled_and_batched():
    in_every_form(lambda c, x, p: interpolate.PPoly(c, x)(p), C, X, np.array([0.3, 0.9, 2.4]))
