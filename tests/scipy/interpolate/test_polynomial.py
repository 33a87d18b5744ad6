"""One polynomial through all points: SciPy's values, derivatives in nodes, values and points, at nodes too."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form, shapes
from tests.scipy.signal.agreement import CHECKS

X = np.array([0.0, 1.9, 0.4, 1.1, 2.3])
Y = np.array([0.3, 0.8, 1.2, -0.5, 1.5])
P = np.array([0.13, 0.77, 2.01])
NAMES = ("KroghInterpolator", "BarycentricInterpolator")
CASES = [
    *[Case(name, lambda x, y, p, name=name: getattr(interpolate, name)(x, y)(p), (X, Y, P)) for name in NAMES],
    *[
        Case(f"{name} derivative", lambda x, y, p, name=name: getattr(interpolate, name)(x, y).derivative(p), (X, Y, P))
        for name in NAMES
    ],
    # np.poly1d looks for leading zeros
    Case("lagrange", lambda x, y: interpolate.lagrange(x, y).c, (X, Y), symbolic=False),
    Case("pade", lambda a: [p.c for p in interpolate.pade(a, 2)], (array(6),), symbolic=False),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    function = {"KroghInterpolator": "krogh_interpolate", "BarycentricInterpolator": "barycentric_interpolate"}[name]
    for n in (3, 7):
        x = np.random.default_rng(n).permutation(np.cumsum(array(n)))
        for shape, axis in shapes(n):
            y = signed(*shape)
            ours, wanted = (getattr(m, name)(x, y, axis=axis) for m in (interpolate, theirs))
            for points in (np.linspace(x.min(), x.max(), 6).reshape(2, 3) + 0.01, x, x[1]):
                equal(ours(points), wanted(points))
                equal(ours.derivatives(points, 3), wanted.derivatives(points, 3), tolerance=1e-7)
                equal(ours.derivative(points, 2), wanted.derivative(points, 2), tolerance=1e-7)
                for der in (0, 1, [0, 2]):
                    found, expected = (
                        getattr(m, function)(x, y, points, der=der, axis=axis) for m in (interpolate, theirs)
                    )
                    equal(found, expected, tolerance=1e-7)
    assert ours.derivatives(0.3).shape == wanted.derivatives(0.3).shape


def test_nodes_that_repeat_give_derivatives():
    x, y = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 2.0]), signed(6)
    ours, wanted = interpolate.KroghInterpolator(x, y), theirs.KroghInterpolator(x, y)
    equal(ours(P), wanted(P))
    in_every_form(lambda y, p: interpolate.KroghInterpolator(x, y)(p), y, P)
    for distant in ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]):
        with pytest.raises(ValueError, match="can't be equal"):
            interpolate.KroghInterpolator(distant, np.arange(len(distant)))
    together = lambda h: interpolate.KroghInterpolator(x + h * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), y)(0.5)
    ad.check_grads(together, (0.0,))
    with pytest.warns(UserWarning, match="instability"):
        interpolate.KroghInterpolator(np.arange(31.0), np.zeros(31))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_at_a_node(name):
    """Where the barycentric formula is 0 / 0."""
    p = lambda x: getattr(interpolate, name)(X, Y)(x)
    wanted = theirs.KroghInterpolator(X, Y)
    for order in (1, 2, 3, 4):
        assert ad.derivative(p, order)(X[2]) == pytest.approx(wanted.derivative(X[2], order), rel=1e-10)
    assert ad.grad(ad.grad(p))(X[3]) == pytest.approx(wanted.derivative(X[3], 2), rel=1e-10)
    moved = ad.jacobian(lambda x: getattr(interpolate, name)(x, Y)(X[2]))(X)
    equal(moved, [0.0, 0.0, -wanted.derivative(X[2]), 0.0, 0.0], tolerance=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_and_batched(name):
    in_every_form(lambda x, y, p: getattr(interpolate, name)(x, y)(p), X, Y, P)


def test_many_nodes_of_chebyshev():
    x = np.cos(np.pi * np.arange(61) / 60)
    p = interpolate.BarycentricInterpolator(x, np.exp(x))
    equal(p(P - 1), np.exp(P - 1), tolerance=1e-12)
    equal(ad.vmap(ad.grad(p))(P - 1), np.exp(P - 1), tolerance=1e-9)


def test_nodes_and_values_that_come_later():
    ours, wanted = (m.BarycentricInterpolator(X[:3]) for m in (interpolate, theirs))
    for p in (ours, wanted):
        p.set_yi(Y[:3])
        p.add_xi(X[3:], Y[3:])
    equal(ours(P), wanted(P))
    weights = theirs.BarycentricInterpolator(X).wi
    equal(interpolate.BarycentricInterpolator(X, Y, wi=7 * weights)(P), wanted(P))
    with pytest.raises(ValueError, match="No update"):
        ours.add_xi([5.0])
    with pytest.raises(ValueError, match="No previous"):
        interpolate.BarycentricInterpolator(X).add_xi([5.0], [1.0])


def test_coefficients():
    equal(interpolate.lagrange(X, Y).c, theirs.lagrange(X, Y).c)
    a = 1.0 / np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0])
    for options in ((2,), (1, 2), (0, 3)):
        for found, wanted in zip(interpolate.pade(a, *options), theirs.pade(a, *options), strict=True):
            equal(found.c, wanted.c)
    found, wanted = (m.approximate_taylor_polynomial(np.sin, 0.3, 4, 1.0, 8) for m in (interpolate, theirs))
    equal(found.c, wanted.c)
    slope = ad.grad(lambda x: interpolate.approximate_taylor_polynomial(np.sin, x, 2, 0.5, 9).c[-1])(0.3)
    assert slope == pytest.approx(np.cos(0.3), abs=1e-9)
    for args, words in (((7,), "smaller than len"), ((1, -1), "greater than 0"), ((5, 5), "smaller than len")):
        with pytest.raises(ValueError, match=words):
            interpolate.pade(a, *args)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="equal in length"):
        interpolate.BarycentricInterpolator(X, Y[:3])
    with pytest.raises(ValueError, match="distinct"):
        interpolate.BarycentricInterpolator([0.0, 1.0, 0.0], Y[:3])
    with pytest.raises(ValueError, match="distinct"):
        ad.grad(lambda x: interpolate.BarycentricInterpolator(x, Y[:3])(0.5))(np.array([0.0, 1.0, 0.0]))
