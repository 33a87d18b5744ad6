"""The rows of scipy.interpolate are complete and true."""

import inspect

import numpy as np
import pytest
import scipy.interpolate

from adjoint.coverage import DIFFERENTIABLE, REFUSED, TABLES
from adjoint.scipy import interpolate
from tests.coverage.agreement import Example, at, each, expected, fault, fault_of_compiled, faults_of_names, of, rows_of

X, Y = np.array([0.0, 0.7, 1.0, 2.2, 2.5, 3.1]), np.array([1.0, 0.3, 2.0, 1.4, -0.5, 0.8])
P = np.array([0.35, 1.67])
T, C, K = scipy.interpolate.splrep(X, Y)
GRID, VALUES = np.arange(4.0), np.cos(np.arange(16.0)).reshape(4, 4)
PLANE = np.array([[0.0, 0.1], [1.0, 0.0], [0.2, 1.0], [1.1, 1.3], [0.5, 0.6]])
through = of(lambda f, x, y, p: f(x, y)(p), X, Y, P)
EXAMPLES: dict[str, Example] = {
    **each("CubicSpline PchipInterpolator Akima1DInterpolator interp1d make_interp_spline", through),
    **each("KroghInterpolator BarycentricInterpolator", through),
    **each("InterpolatedUnivariateSpline", through),
    "UnivariateSpline": of(lambda f, x, y, p: f(x, y, s=0)(p), X, Y, P),
    "LSQUnivariateSpline": of(lambda f, y, t, p: f(X, y, t)(p), Y, [1.5], P),
    "RectBivariateSpline": of(lambda f, z, p: f(GRID, GRID, z).ev(p, p), VALUES, P),
    "PPoly": of(lambda f, c, x, p: f(c, x)(p), np.cos(np.arange(10.0)).reshape(2, 5), X, P),
    "CubicHermiteSpline": of(lambda f, x, y, s, p: f(x, y, s)(p), X, Y, Y, P),
    **each("pchip_interpolate krogh_interpolate barycentric_interpolate", at(X, Y, P)),
    "BSpline": of(lambda f, c, p: f(T, c, K)(p), C, P),
    "make_lsq_spline": of(lambda f, y: f(X, y, np.repeat([0.0, 3.1], 4))(P), Y),
    "splrep": of(lambda f, y: f(X, y)[1], Y),
    "splev": of(lambda f, p, c: f(p, (T, c, K)), P, C),
    "splint": of(lambda f, a, b, c: np.float64(0.0) + f(a, b, (T, c, K)), 0.3, 1.1, C),
    "spalde": of(lambda f, c: f(0.3, (T, c, K)), C),
    **each("splder splantider", of(lambda f, c: f((T, c, K))[1], C)),
    "insert": of(lambda f, c: f(0.9, (T, c, K))[1], C),
    "lagrange": of(lambda f, x, y: f(x, y).c, X, Y),
    "pade": of(lambda f, a: f(a, 2)[0].c, Y),
    "approximate_taylor_polynomial": of(lambda f, x: f(np.exp, x, 2, 1.0).c, 0.3),
    "RegularGridInterpolator": of(lambda f, v, p: f((GRID, GRID), v)(p), VALUES, [[0.3, 1.2]]),
    "interpn": of(lambda f, v, p: f((GRID, GRID), v, p), VALUES, [[0.3, 1.2]]),
    "RBFInterpolator": of(lambda f, y, d, x: f(y, d)(x), PLANE, Y[:5], [[0.3, 0.4]]),
    "splprep": of(lambda f, y: f([X, y])[0][1], Y),
    "make_smoothing_spline": of(lambda f, y: f(X, y, lam=0.1)(P), Y),
    "make_splrep": of(lambda f, y: f(X, y)(P), Y),
    "make_splprep": of(lambda f, y: f([X, y])[0](P), Y),
    "generate_knots": of(lambda f, y: next(iter(f(X, y, s=0.1))), Y),
    "bisplrep": of(lambda f, z: f(*np.meshgrid(GRID, GRID), z)[2], VALUES),
    "bisplev": of(lambda f, x: f(x, x, scipy.interpolate.bisplrep(*np.meshgrid(GRID, GRID), VALUES)), 0.3),
    "griddata": of(lambda f, y: f(PLANE, y, [[0.5, 0.5]]), Y[:5]),
    "sproot": of(lambda f, c: f((T, c, K)), C),
}


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.interpolate")


def test_every_class_has_a_row():
    rows = {row.name for row in TABLES["scipy.interpolate"].rows.values() if expected(row)}
    public = {name: getattr(scipy.interpolate, name) for name in scipy.interpolate.__all__}
    assert not {name for name, value in public.items() if not inspect.ismodule(value)} - rows


@pytest.mark.parametrize("row", rows_of("scipy.interpolate", DIFFERENTIABLE), ids=lambda row: row.name)
def test_differentiable(row):
    assert fault(row, EXAMPLES[row.name]) is None


@pytest.mark.parametrize("row", rows_of("scipy.interpolate", DIFFERENTIABLE)[::5], ids=lambda row: row.name)
def test_compiled(row):
    """A sample: compiling takes longer than the function."""
    assert fault_of_compiled(row, EXAMPLES[row.name]) is None


@pytest.mark.parametrize(
    "row", [r for r in rows_of("scipy.interpolate", REFUSED) if r.name in EXAMPLES], ids=lambda row: row.name
)
def test_refused(row):
    assert fault(row, EXAMPLES[row.name]) is None


def test_functions_of_ours_have_rows():
    assert set(interpolate.__all__) == {row.name for row in rows_of("scipy.interpolate", DIFFERENTIABLE)}
