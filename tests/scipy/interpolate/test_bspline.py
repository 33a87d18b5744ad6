"""B-splines: SciPy's values in every form, derivatives in knots, coefficients and points."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form
from tests.scipy.signal.agreement import CHECKS

T = np.array([0.0, 0.1, 0.4, 0.9, 1.3, 2.0, 2.2, 2.9, 3.1])
C = signed(5)
P = np.array([0.95, 1.4, 1.99])
CASES = [
    Case("value", lambda t, c, p: interpolate.BSpline(t, c, 3)(p), (T, C, P)),
    Case("derivative", lambda t, c, p: interpolate.BSpline(t, c, 3)(p, 2), (T, C, P)),
    Case("antiderivative", lambda t, c, p: interpolate.BSpline(t, c, 3).antiderivative()(p), (T, C, P)),
    Case("derived", lambda t, c, p: interpolate.BSpline(t, c, 3).derivative()(p), (T, C, P)),
    Case("integral", lambda t, c, b: interpolate.BSpline(t, c, 3).integrate(0.95, b), (T, C, np.float64(1.8))),
    Case("periodic", lambda t, c, p: interpolate.BSpline(t, c, 3, "periodic")(p + 2), (T, C, P)),
    Case("knot", lambda t, c, x: interpolate.BSpline(t, c, 3).insert_knot(x, 2).tck[:2], (T, C, np.float64(1.5))),
    Case("element", lambda t: interpolate.BSpline.basis_element(t)(P), (np.array([0.5, 1.0, 1.7, 2.5]),)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_values(k):
    t = np.sort(np.concatenate([np.zeros(k + 1), array(4, seed=k), np.full(k + 1, 2.0)]))
    limits = [(0.0, 2.0), (0.3, 0.7), (2.5, -0.2), (0.4, 5.1)]
    points = np.linspace(-0.5, 2.5, 12).reshape(3, 4)
    for shape in ((k + 5,), (k + 5, 2)):
        c = signed(*shape)
        ours, wanted = interpolate.BSpline(t, c, k), theirs.BSpline(t, c, k)
        equal(ours(points), wanted(points))
        for extrapolate in (True, False, "periodic"):
            for nu in range(k + 2):
                equal(ours(points, nu, extrapolate), wanted(points, nu, extrapolate), f"{nu} {extrapolate}")
            for a, b in limits:
                equal(ours.integrate(a, b, extrapolate), wanted.integrate(a, b, extrapolate), f"{a} {b} {extrapolate}")
        for nu in range(-2, k):
            found, expected = ours.derivative(nu), wanted.derivative(nu)
            assert found.k == expected.k
            equal(found.t, expected.t)
            equal(found.c, expected.c, f"derivative {nu}")


def test_several_functions_along_another_axis():
    c = signed(2, 5, 3)
    ours, wanted = interpolate.BSpline(T, c, 3, axis=1), theirs.BSpline(T, c, 3, axis=1)
    equal(ours(P.reshape(3, 1)), wanted(P.reshape(3, 1)))
    equal(
        interpolate.BSpline(T, c[0, :, 0] + 1j * c[1, :, 0], 3)(P),
        theirs.BSpline(T, c[0, :, 0] + 1j * c[1, :, 0], 3)(P),
    )


def test_elements_and_knots():
    t = [0.0, 1.0, 1.5, 3.0]
    points = np.linspace(-0.5, 3.5, 9)
    for extrapolate in (True, False):
        ours, wanted = (m.BSpline.basis_element(t, extrapolate) for m in (interpolate, theirs))
        equal(ours(points), wanted(points))
    spline, reference = interpolate.BSpline(T, C, 3), theirs.BSpline(T, C, 3)
    for x, m in ((1.5, 1), (1.3, 2), (0.9, 1), (2.0, 1)):
        found, wanted = spline.insert_knot(x, m), reference.insert_knot(x, m)
        equal(found.t, wanted.t)
        equal(found.c, wanted.c[: len(found.c)])
    equal(interpolate.BSpline.design_matrix(P, T, 3).toarray(), theirs.BSpline.design_matrix(P, T, 3).toarray())


def test_the_dense_design_matrix_is_differentiable():
    matrix = lambda x: interpolate.BSpline(T, np.eye(5), 3)(x)
    equal(matrix(P), theirs.BSpline.design_matrix(P, T, 3).toarray())
    equal(np.einsum("iji->ij", ad.jacobian(matrix)(P)), theirs.BSpline(T, np.eye(5), 3)(P, 1))
    with pytest.raises(UnsupportedError, match="dense matrix"):
        ad.grad(lambda x: interpolate.BSpline.design_matrix(x, T, 3).sum())(P)


def test_an_interpolant_is_a_container():
    spline = interpolate.BSpline(T, C, 3)
    gradient = ad.grad(lambda s: s(1.4))(spline)
    equal(gradient.c, theirs.BSpline.design_matrix([1.4], T, 3).toarray()[0])
    equal(ad.jit(lambda s, x: s(x, 1))(spline, P), theirs.BSpline(T, C, 3)(P, 1))


def test_compiled_and_batched():
    in_every_form(lambda t, c, p: interpolate.BSpline(t, c, 3)(p), T, C, P)


def test_what_does_not_fit_is_refused():
    for call, words in (
        (lambda: interpolate.BSpline(T, C, -1), "cannot be negative"),
        (lambda: interpolate.BSpline(T[:6], C, 3), "at least 8 knots"),
        (lambda: interpolate.BSpline(T, C[:4], 3), "inconsistent"),
        (lambda: interpolate.BSpline(T[::-1], C, 3), "non-decreasing"),
        (lambda: interpolate.BSpline(np.zeros(9), C, 3), "two internal knots"),
        (lambda: interpolate.BSpline(T[:, None], C, 3), "one-dimensional"),
        (lambda: interpolate.BSpline(T * np.inf, C, 3), "nans or infs"),
        (lambda: interpolate.BSpline(T, C, 3).derivative(4), "must be <= order"),
        (lambda: interpolate.BSpline(T, C, 3).insert_knot(9.0), "Cannot insert"),
        (lambda: interpolate.BSpline(T, C, 3).insert_knot(1.0, 0), "must be positive"),
        (lambda: interpolate.BSpline(np.repeat([0.0, 1.0, 2.0], 2), signed(4), 1).derivative(), "repeated knots"),
    ):
        with pytest.raises(ValueError, match=words), np.errstate(invalid="ignore"):
            call()
    with pytest.raises(UnsupportedError, match="periodic spline"):
        interpolate.BSpline(T, C, 3, "periodic").insert_knot(1.5)
