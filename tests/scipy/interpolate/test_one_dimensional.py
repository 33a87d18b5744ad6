"""interp1d: SciPy's values for every kind and filling, derivatives in nodes, values, points and fillings."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form, shapes
from tests.scipy.signal.agreement import CHECKS

KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 4)
FILLINGS = (
    {"bounds_error": False},
    {"fill_value": "extrapolate"},
    {"fill_value": (1.0, -2.0), "bounds_error": False},
    {"fill_value": 3.0, "bounds_error": False},
)
X, Y = np.array([0.0, 1.9, 0.4, 1.1, 2.3]), np.array([0.3, 0.8, 1.2, -0.5, 1.5])
P = np.array([0.13, 0.77, 2.01])
CASES = [
    *[
        Case(kind, lambda x, y, p, kind=kind: interpolate.interp1d(x, y, kind)(p), (X, Y, P))
        for kind in ("linear", "quadratic", "cubic")
    ],
    Case("nearest", lambda y: interpolate.interp1d(X, y, "nearest")(P), (Y,)),
    Case("extrapolate", lambda x, y, p: interpolate.interp1d(x, y, fill_value="extrapolate")(p), (X, Y, P + 1.4)),
    Case(
        "fill",
        lambda y, a, b: interpolate.interp1d(X, y, bounds_error=False, fill_value=(a, b))(3 * P - 1),
        (Y, np.float64(0.7), np.float64(0.9)),
    ),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("kind", KINDS)
def test_values(kind):
    for n in (5, 8):
        x = np.random.default_rng(n).permutation(np.cumsum(array(n)))
        points = np.concatenate([np.linspace(x.min() - 0.5, x.max() + 0.5, 6), x[:2], [x.min(), x.max()]]).reshape(2, 5)
        for shape, axis in shapes(n):
            y = signed(*shape)
            for options in FILLINGS:
                ours, wanted = (m.interp1d(x, y, kind, axis=axis, **options) for m in (interpolate, theirs))
                equal(ours(points), wanted(points), f"{shape} {options}")
                equal(ours(x.min()), wanted(x.min()))


def test_fillings_of_several_functions():
    y, fill = np.stack([Y, 2 * Y]), np.array([7.0, 8.0])
    points = np.array([-1.0, 0.5, 9.0])
    ours, wanted = (m.interp1d(X, y, bounds_error=False, fill_value=(fill, 0.0)) for m in (interpolate, theirs))
    equal(ours(points), wanted(points))
    sorted_x = np.sort(X)
    ours, wanted = (m.interp1d(sorted_x, Y, assume_sorted=True) for m in (interpolate, theirs))
    equal(ours(P), wanted(P))
    one, other = (m.interp1d([1.0], [2.0]) for m in (interpolate, theirs))
    equal(one(1.0), other(1.0))


def test_points_that_are_no_numbers_are_not_outside():
    points = np.array([0.3, np.nan])
    for kind in ("linear", "cubic", "nearest"):
        ours, wanted = (m.interp1d(X, Y, kind) for m in (interpolate, theirs))
        equal(ours(points), wanted(points), kind)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_compiled_and_batched(kind):
    in_every_form(lambda x, y, p: interpolate.interp1d(x, y, kind)(p), X, Y, P)


def test_points_outside_are_refused():
    f = interpolate.interp1d(X, Y)
    for point, words in ((-0.1, "below"), (2.4, "above")):
        with pytest.raises(ValueError, match=words):
            f(point)
        with pytest.raises(ValueError, match=words):
            ad.grad(f)(point)
        with pytest.raises(ValueError, match=words):
            ad.jit(f)(point)
    with pytest.raises(ValueError, match="extrapolate and raise"):
        interpolate.interp1d(X, Y, bounds_error=True, fill_value="extrapolate")


def test_what_does_not_fit_is_refused():
    for args, error, words in (
        ((X, Y, "wavy"), NotImplementedError, "wavy is unsupported"),
        ((X[:, None], Y), ValueError, "exactly one dimension"),
        ((X, 1.0), ValueError, "at least one dimension"),
        ((X, Y[:3]), ValueError, "equal in length"),
        ((X[:3], Y[:3], "cubic"), ValueError, "at least 4"),
        ((X, Y, "linear", -1, True, False, np.zeros(3)), ValueError, "broadcast"),
    ):
        with pytest.raises(error, match=words):
            interpolate.interp1d(*args)
