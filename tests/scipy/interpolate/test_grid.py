"""Values on grids: SciPy's for every method and dimension, derivatives in grid, values and points."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form
from tests.scipy.signal.agreement import CHECKS

METHODS = ("linear", "nearest", "slinear", "cubic", "quintic", "pchip")
GRID = [np.cumsum(array(n, seed=n)) for n in (6, 7, 6)]
A, B, V = GRID[0][:4], GRID[1][:5], signed(4, 5)
P = np.array([[1.31, 1.97], [2.03, 1.55]])
CASES = [
    *[
        Case(m, lambda a, b, v, p, m=m: interpolate.RegularGridInterpolator((a, b), v, m)(p), (A, B, V, P))
        for m in ("linear", "cubic", "pchip")
    ],
    Case("nearest", lambda v: interpolate.RegularGridInterpolator((A, B), v, "nearest")(P), (V,)),
    Case(
        "extrapolated",
        lambda v, p: interpolate.interpn((A, B), v, p, "linear", False, None),
        (V, P + np.array([9.0, 0.0])),
    ),
    Case(
        "filled",
        lambda v, f: interpolate.RegularGridInterpolator((A, B), v, "linear", False, f)(P + 2.0),
        (V, np.float64(1.5)),
    ),
]


def exact(method: str) -> str:
    """The method of SciPy that solves its equations directly, not by iterations that stop early."""
    return f"{method}_legacy" if method in ("cubic", "quintic") else method


def sample(ndim: int, beyond: float) -> np.ndarray:
    rng = np.random.default_rng(ndim)
    return np.stack([rng.uniform(g[0] - beyond, g[-1] + beyond, (3, 2)) for g in GRID[:ndim]], axis=-1)


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_values(method, ndim):
    grid = GRID[:ndim]
    for rest in ((), (2,)):
        v = signed(*[len(g) for g in grid], *rest)
        wanted = theirs.RegularGridInterpolator(grid, v, exact(method))
        points = sample(ndim, 0.0)
        equal(interpolate.RegularGridInterpolator(grid, v, method)(points), wanted(points))
        equal(interpolate.RegularGridInterpolator(grid, v)(points, method), wanted(points))
        points = sample(ndim, 0.4)
        for fill in (None, 3.0, np.nan):
            ours, wanted = (
                m.RegularGridInterpolator(grid, v, name, False, fill)
                for m, name in ((interpolate, method), (theirs, exact(method)))
            )
            equal(ours(points), wanted(points), f"fill {fill}", 1e-8)


def test_corners_of_the_grid_and_missing_points():
    f, g = (m.RegularGridInterpolator((A, B), V) for m in (interpolate, theirs))
    corners = np.array([[A[0], B[0]], [A[-1], B[-1]], [A[1], B[2]]])
    equal(f(corners), g(corners))
    f, g = (m.RegularGridInterpolator((A, B), V, bounds_error=False) for m in (interpolate, theirs))
    missing = np.array([[np.nan, B[1]], [A[1], B[1]]])
    equal(f(missing), g(missing))


def test_descending_grids_and_ways_to_give_points():
    f, g = (m.RegularGridInterpolator((A[::-1], B), V) for m in (interpolate, theirs))
    for points in (P, (P[:, 0], P[:, 1]), (P[0, 0], P[:, 1]), P[0], P.tolist()):
        equal(f(points), g(points))
    compiled = ad.jit(lambda a, p: interpolate.RegularGridInterpolator((a, B), V)(p))
    equal(compiled(A[::-1].copy(), P), g(P))
    f, g = (m.RegularGridInterpolator((A,), V) for m in (interpolate, theirs))
    for points in (P[:, :1], P[:, 0], (P[:, 0],)):
        equal(f(points), g(points))
    equal(interpolate.interpn((A, B), V, P, "splinef2d"), theirs.interpn((A, B), V, P, "splinef2d"))
    one, other = (m.RegularGridInterpolator((A, [2.0]), V[:, :1]) for m in (interpolate, theirs))
    equal(one([[1.3, 2.0]]), other([[1.3, 2.0]]))


def test_derivatives_of_splines():
    f = interpolate.RegularGridInterpolator((A, B), V, "cubic")
    equal(ad.jacobian(lambda p: f(p)[0])(P[0]), [f(P[0], nu=[1, 0])[0], f(P[0], nu=[0, 1])[0]])
    bivariate = theirs.RectBivariateSpline(A, B, V)
    equal(f(P, nu=[1, 2]), bivariate.ev(*P.T, dx=1, dy=2))


def test_complex_values():
    v = V + 1j * V[::-1]
    equal(interpolate.interpn((A, B), v, P), theirs.interpn((A, B), v, P))


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_compiled_and_batched(method):
    in_every_form(lambda a, v, p: interpolate.RegularGridInterpolator((a, B), v, method)(p), A, V, P)


def test_an_interpolant_is_a_container():
    f = interpolate.RegularGridInterpolator((A, B), V)
    gradient = ad.grad(lambda f: f(P)[0])(f)
    assert np.sum(gradient.values) == pytest.approx(1.0)
    equal(ad.jit(lambda f, p: f(p))(f, P), f(P))


def test_what_does_not_fit_is_refused():
    make = interpolate.RegularGridInterpolator
    for call, words in (
        (lambda: make((A, B), V, "wavy"), "not defined"),
        (lambda: make((A, B, A), V), "3 point arrays"),
        (lambda: make((A[:3], B), V), "3 points and 4 values"),
        (lambda: make((A[[1, 0, 2, 3]], B), V), "ascending or descending"),
        (lambda: make((A[:, None], B), V), "1-dimensional"),
        (lambda: make((A, B), V, "quintic"), "requires at least"),
        (lambda: make((A, B), V + 1j, "pchip"), "real values"),
        (lambda: make((A, B), V, fill_value=1j), "compatible"),
        (lambda: make((A, B), V, solver=1), "solver"),
        (lambda: make((A, B), V)(P, "wavy"), "not defined"),
        (lambda: make((A, B), V)(P, nu=[1, 0]), "derivatives"),
        (lambda: make((A, B), V)(np.ones((2, 3))), "dimension 3"),
        (lambda: make((A, B), V)(P + 90.0), "out of bounds in dimension 0"),
        (lambda: ad.grad(lambda p: make((A, B), V)(p)[0])(P + 90.0), "out of bounds in dimension 0"),
        (lambda: interpolate.interpn((A, B), V, P, "splinef2d", False, None), "extrapolation"),
        (lambda: interpolate.interpn((A,), V, P, "splinef2d"), "2-dimensional"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
