"""Cubic splines: SciPy's values for every condition and shape, derivatives in nodes, values, slopes and points."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import TraceError
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form, same_curve, shapes
from tests.scipy.signal.agreement import CHECKS

X = np.array([0.0, 0.4, 1.1, 1.9, 2.3])
Y = np.array([0.3, 1.2, -0.5, 0.8, 1.5])
CLOSED = np.array([0.3, 1.2, -0.5, 0.8, 0.3])
P = np.array([0.13, 0.77, 2.01])
ring = lambda y: np.concatenate([y[:-1], y[:1]])
CASES = [
    *[
        Case(bc, lambda x, y, p, bc=bc: interpolate.CubicSpline(x, y, bc_type=bc)(p), (X, Y, P))
        for bc in ("not-a-knot", "clamped", "natural")
    ],
    Case("periodic", lambda x, y, p: interpolate.CubicSpline(x, ring(y), bc_type="periodic")(p), (X, Y, P)),
    Case(
        "given slopes",
        lambda x, y, a, b: interpolate.CubicSpline(x, y, bc_type=((1, a), (2, b)))(P),
        (X, Y, np.float64(0.7), np.float64(-0.4)),
    ),
    Case("hermite", lambda x, y, s: interpolate.CubicHermiteSpline(x, y, s)(P), (X, Y, signed(5))),
    Case("pchip", lambda x, y, p: interpolate.PchipInterpolator(x, y)(p), (X, np.cumsum(array(5)), P)),
    Case("pchip peaks", lambda x, y, p: interpolate.PchipInterpolator(x, y)(p), (X, Y, P)),
    Case("akima", lambda x, y, p: interpolate.Akima1DInterpolator(x, y)(p), (X, Y, P)),
    Case("makima", lambda x, y, p: interpolate.Akima1DInterpolator(x, y, method="makima")(p), (X, Y, P)),
    Case("pchip_interpolate", lambda x, y, p: interpolate.pchip_interpolate(x, y, p, der=1), (X, Y, P)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_values(n):
    x = np.cumsum(array(n))
    limits = [(x[0], x[-1]), (x[0] + 0.1, x[0] + 0.15), (x[-1] + 1.0, x[0] - 0.3)]
    for shape, axis in shapes(n):
        y = signed(*shape)
        closed = np.moveaxis(y.copy(), axis, 0)
        closed[-1] = closed[0]
        closed = np.moveaxis(closed, 0, axis)
        rest = np.moveaxis(y, axis, 0).shape[1:]
        points = np.linspace(x[0] - 0.5, x[-1] + 0.5, 6).reshape(2, 3)
        pair = ((1, np.full(rest, 0.7)), (2, np.full(rest, -0.4)))
        for bc in ("not-a-knot", "periodic", "clamped", "natural", ("natural", "not-a-knot"), pair):
            values = closed if isinstance(bc, str) and bc == "periodic" else y
            ours = interpolate.CubicSpline(x, values, axis, bc)
            wanted = theirs.CubicSpline(x, values, axis, bc)
            assert ours.extrapolate == wanted.extrapolate
            same_curve(ours, wanted, points, limits)
        for name, options in (
            ("PchipInterpolator", {}),
            ("Akima1DInterpolator", {}),
            ("Akima1DInterpolator", {"method": "makima", "extrapolate": True}),
        ):
            ours, wanted = (getattr(module, name)(x, y, axis, **options) for module in (interpolate, theirs))
            assert ours.extrapolate == wanted.extrapolate
            same_curve(ours, wanted, points, limits[:2])
        slopes = signed(*shape, seed=3)
        ours, wanted = (module.CubicHermiteSpline(x, y, slopes, axis) for module in (interpolate, theirs))
        same_curve(ours, wanted, points, limits)


def test_complex_values():
    y = Y + 1j * Y[::-1]
    equal(interpolate.CubicSpline(X, y)(P), theirs.CubicSpline(X, y)(P))
    with pytest.raises(ValueError, match=r"np\.real"):
        interpolate.PchipInterpolator(X, y)
    with pytest.raises(ValueError, match=r"np\.real"):
        interpolate.Akima1DInterpolator(X, y)


def test_flat_places():
    """Where differences vanish PCHIP and Akima have choices: SciPy's, and no NaN in their derivatives."""
    for y in ([0.0, 0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0]):
        for name in ("PchipInterpolator", "Akima1DInterpolator"):
            ours, wanted = getattr(interpolate, name)(X, y), getattr(theirs, name)(X, y)
            equal(ours(P), wanted(P))
            slope = ad.grad(lambda y, name=name: np.sum(getattr(interpolate, name)(X, y)(P)))(np.array(y))
            assert np.all(np.isfinite(slope))
            equal(np.sum(slope), 3.0)  # a constant is reproduced


def test_the_spline_reproduces_cubics():
    p = np.poly1d([0.3, -1.0, 0.5, 2.0])
    at = lambda x: interpolate.CubicSpline(X, p(X))(x)
    assert ad.derivative(at, 1)(0.9) == pytest.approx(p.deriv()(0.9))
    assert ad.derivative(at, 3)(0.9) == pytest.approx(p.deriv(3)(0.9))
    moved = ad.jacobian(lambda x: interpolate.CubicSpline(x, p(x))(0.9))(X)
    equal(moved, np.zeros(5), tolerance=1e-12)  # whatever the nodes


@pytest.mark.parametrize("bc", ["not-a-knot", "natural", "periodic"])
def test_compiled_and_batched(bc):
    value = ring if bc == "periodic" else lambda y: y
    in_every_form(lambda x, y, p: interpolate.CubicSpline(x, value(y), bc_type=bc)(p), X, Y, P)


def test_interpolants_go_through_transformations():
    spline = ad.jit(lambda y: interpolate.CubicSpline(X, y))(Y)
    assert isinstance(spline, interpolate.CubicSpline)
    equal(spline(P), theirs.CubicSpline(X, Y)(P))
    many = ad.vmap(lambda y: interpolate.PchipInterpolator(X, y))(np.stack([Y, 2 * Y]))
    equal(ad.vmap(lambda s: s(P))(many)[1], 2 * theirs.PchipInterpolator(X, Y)(P))


def test_what_does_not_fit_is_refused():
    for call, words in (
        (lambda: interpolate.CubicSpline(X[::-1], Y), "strictly increasing"),
        (lambda: interpolate.CubicSpline(X, Y[:3]), "doesn't match the length"),
        (lambda: interpolate.CubicSpline(X[:1], Y[:1]), "at least 2"),
        (lambda: interpolate.CubicSpline(X[:, None], Y), "1-dimensional"),
        (lambda: interpolate.CubicSpline(X, Y * np.nan), "finite"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type="periodic"), "must be identical"),
        (lambda: interpolate.CubicSpline(X, CLOSED, bc_type=("periodic", "natural")), "both curve ends"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type="loose"), "not allowed"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type=("natural",)), "2 elements"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type=((3, 0.0), "natural")), "1 or 2"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type=((1, Y), "natural")), "not the expected"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type=(1, "natural")), "(order, value)"),
        (lambda: interpolate.CubicHermiteSpline(X, Y, Y[:2]), "identical"),
    ):
        with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
            call()
    with pytest.raises(ValueError, match="strictly increasing"):
        ad.grad(lambda x: interpolate.CubicSpline(x, Y)(0.5))(X[::-1].copy())
    with pytest.raises(NotImplementedError, match="spline"):
        interpolate.Akima1DInterpolator(X, Y, method="spline")


def test_scipy_names_its_counterpart():
    for call in (lambda t: theirs.CubicSpline(X, Y)(t), lambda t: theirs.CubicSpline(X, t * Y)(0.3)):
        with (
            config.override(convert=False),
            pytest.raises(TraceError, match=r"Use adjoint\.scipy\.interpolate\.CubicSpline"),
        ):
            ad.grad(call)(0.7)
        np.testing.assert_allclose(ad.grad(call)(0.7), (call(0.7 + 1e-6) - call(0.7 - 1e-6)) / 2e-6, rtol=1e-7)
