"""Radial basis functions: SciPy's values for every kernel, derivatives in points, values, width and smoothing."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.scipy import interpolate
from adjoint.scipy.interpolate.radial import KERNELS
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form
from tests.scipy.signal.agreement import CHECKS

CELLS = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0)), -1).reshape(-1, 2)
Y = CELLS + 0.3 * array(9, 2)
D = signed(9)
X = np.array([[0.4, 0.6], [1.3, 0.2]])
CASES = [
    *[
        Case(
            k,
            lambda y, d, x, e, k=k: interpolate.RBFInterpolator(y, d, kernel=k, epsilon=e)(x),
            (Y, D, X, np.float64(0.8)),
        )
        for k in ("thin_plate_spline", "gaussian")
    ],
    Case("smoothing", lambda d, s: interpolate.RBFInterpolator(Y, d, smoothing=s)(X), (D, np.float64(0.3))),
    Case("neighbors", lambda y, d, x: interpolate.RBFInterpolator(y, d, neighbors=6)(x), (Y, D, X)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("kernel", KERNELS)
def test_values(kernel):
    for d in (D, np.stack([D, D[::-1]], axis=1), D + 1j * D[::-1], signed(9, 2, 2)):
        for options in (
            {},
            {"smoothing": 0.3},
            {"smoothing": array(9)},
            {"degree": 2},
            {"degree": -1},
            {"neighbors": 7},
        ):
            ours, wanted = (
                m.RBFInterpolator(Y, d, kernel=kernel, epsilon=0.8, **options) for m in (interpolate, theirs)
            )
            equal(ours(X), wanted(X), f"{options}", 1e-7)
    line = np.linspace(0.0, 3.0, 6)[:, None]
    ours, wanted = (m.RBFInterpolator(line, D[:6], kernel=kernel, epsilon=2.0) for m in (interpolate, theirs))
    equal(ours(X[:, :1]), wanted(X[:, :1]), tolerance=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "cubic", "quintic", "multiquadric"])
def test_derivatives(kernel):
    f = lambda y, d, x: interpolate.RBFInterpolator(y, d, kernel=kernel, epsilon=0.8)(x)
    ad.check_grads(f, (Y, D, X), order=2)


def test_at_the_points_themselves():
    """The distance has a kink there that the smoother kernels do not have."""
    for kernel in ("thin_plate_spline", "cubic", "quintic"):
        f = interpolate.RBFInterpolator(Y, D, kernel=kernel)
        slope = ad.grad(lambda x, f=f: f(x)[0])(Y[4:5])
        h = 1e-5
        central = [(f(Y[4:5] + h * e)[0] - f(Y[4:5] - h * e)[0]) / (2 * h) for e in np.eye(2)]
        equal(slope[0], central, kernel, 1e-4)


def test_compiled_and_batched():
    in_every_form(lambda y, d, x: interpolate.RBFInterpolator(y, d)(x), Y, D, X)


def test_an_interpolant_is_a_container():
    f = interpolate.RBFInterpolator(Y, D)
    equal(ad.jit(lambda f, x: f(x))(f, X), f(X))


def test_what_does_not_fit_is_refused():
    make = interpolate.RBFInterpolator
    for call, words in (
        (lambda: make(Y[:, 0], D), "2-dimensional"),
        (lambda: make(Y, D[:3]), "length 9"),
        (lambda: make(Y, D, smoothing=np.ones(3)), "shape"),
        (lambda: make(Y, D, kernel="wavy"), "must be one of"),
        (lambda: make(Y, D, kernel="gaussian"), "`epsilon` must be specified"),
        (lambda: make(Y, D, degree=-2), "at least -1"),
        (lambda: make(Y, D, degree=5), "At least 21 data points"),
        (lambda: make(Y, D)(X[:, :1]), "2 columns"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.warns(UserWarning, match="should not be below 1"):
        make(Y, D, degree=0)
