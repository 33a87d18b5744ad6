"""Functions of SciPy and scikit-learn that only know plain arrays: the error names them, the line, and what will serve.

The remedies that errors name are tried as well.
"""

import zlib

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.sparse.linalg
import scipy.spatial
import scipy.stats
from scipy import integrate, interpolate, optimize, sparse
from scipy.optimize import elementwise
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import StandardScaler

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import DtypeError, TraceError

X = np.linspace(0.1, 1.0, 6)
A = sparse.csr_array(np.eye(6) * 3.0 + np.diag(np.full(5, 0.5), 1))
PLANE = np.column_stack([X, np.cos(5.0 * X)])
square = lambda y: y**2
cubic = lambda a: lambda y: y**3 - a
well = lambda a: lambda y: np.cosh(y - a) + 0.3 * y**2

# name in the error -> a call with a traced vector
CALLS = {
    "scipy.optimize.minimize": [
        lambda v: optimize.minimize(lambda y: np.sum(y**2), v).fun,
        lambda v: optimize.minimize(lambda y, a: np.sum((y - a) ** 2), X, args=(v,)).x,
        lambda v: optimize.minimize(lambda y: np.sum((y - v) ** 2), X, method="Nelder-Mead").x,
    ],
    "scipy.optimize.minimize_scalar": [lambda v: optimize.minimize_scalar(lambda y: (y - v[0]) ** 2).x],
    "scipy.optimize.golden": [
        lambda v: optimize.golden(well(v[0])),
        lambda v: optimize.golden(lambda y, a: np.cosh(y - a), (v[0],)),
        lambda v: optimize.golden(well(0.3), brack=(0.0, v[0])),
    ],
    "scipy.optimize.brent": [
        lambda v: optimize.brent(well(v[0])),
        lambda v: optimize.brent(well(0.3), brack=(0, v[0])),
    ],
    "scipy.optimize.bracket": [
        lambda v: optimize.bracket(well(v[0]))[1],
        lambda v: optimize.bracket(well(0.3), v[0], 2.0)[1],
    ],
    "scipy.optimize.fminbound": [
        lambda v: optimize.fminbound(well(v[0]), -1, 2),
        lambda v: optimize.fminbound(well(0.3), -1, v[0]),
    ],
    "scipy.optimize.newton": [
        lambda v: optimize.newton(cubic(v[0]), 1.1),
        lambda v: optimize.newton(cubic(v[-1]), 1.0),  # it starts at the root
        lambda v: optimize.newton(cubic(v[0]), 1.1, fprime=lambda y: 3 * y * y),
        lambda v: optimize.newton(cubic(v[0]), 1.1, fprime=lambda y: 3 * y * y, fprime2=lambda y: 6 * y),
        lambda v: optimize.newton(cubic(0.3), v[0]),
        lambda v: optimize.newton(cubic(v[0]), np.ones(2)),
    ],
    "scipy.optimize.fixed_point": [
        lambda v: optimize.fixed_point(lambda y: np.cos(y) * v[0], 0.5),
        lambda v: optimize.fixed_point(lambda y: np.cos(y) * v[0], 0.5, method="iteration"),
    ],
    "scipy.optimize.toms748": [lambda v: optimize.toms748(cubic(v[0]), 0, 3)],
    "scipy.optimize.brute": [lambda v: optimize.brute(lambda y: well(v[0])(y[0]), ((0, 1),), Ns=4, finish=None)],
    "scipy.optimize.dual_annealing": [
        lambda v: (
            optimize.dual_annealing(lambda y: well(v[0])(y[0]), ((0, 1),), maxiter=2, rng=1, no_local_search=True).fun
        )
    ],
    "scipy.optimize.line_search": [
        lambda v: optimize.line_search(lambda y: (y[0] - v[0]) ** 2, lambda y: 2 * (y - v[0]), X[:1], X[-1:])[0]
    ],
    "scipy.optimize.elementwise.find_minimum": [lambda v: elementwise.find_minimum(well(v[0]), (-1.0, 0.2, 3.0)).x],
    "scipy.optimize.elementwise.find_root": [lambda v: elementwise.find_root(cubic(v[0]), (0, 3)).x],
    "scipy.optimize.root": [lambda v: optimize.root(lambda y: y - v, X).x],
    "scipy.optimize.fsolve": [lambda v: optimize.fsolve(lambda y: y - v, X)],
    "scipy.optimize.root_scalar": [
        lambda v: optimize.root_scalar(lambda y: y - v[0], bracket=(-3, 3)).root,
        lambda v: optimize.root_scalar(cubic(v[0]), x0=1.1, x1=1.2, method="secant").root,
        lambda v: optimize.root_scalar(cubic(v[-1]), x0=1.0, fprime=lambda y: 3 * y * y, method="newton").root,
    ],
    "scipy.optimize.brentq": [
        lambda v: optimize.brentq(lambda y: y - v[0], -3, 3),
        lambda v: optimize.brentq(lambda y: y - 0.3, -3, v[0]),
    ],
    "scipy.optimize.least_squares": [lambda v: optimize.least_squares(lambda y: y - v, X).x],
    "scipy.optimize.curve_fit": [lambda v: optimize.curve_fit(lambda t, a: a * t, X, v)[0]],
    "scipy.optimize.linprog": [lambda v: optimize.linprog(v).x],
    "scipy.optimize.differential_evolution": [
        lambda v: optimize.differential_evolution(lambda y: (y[0] - v[0]) ** 2, [(0, 1)], maxiter=1).x
    ],
    "scipy.integrate.quad": [
        lambda v: integrate.quad(lambda t: t * v[0], 0, 1)[0],
        lambda v: integrate.quad(square, 0, v[0])[0],
    ],
    "scipy.integrate.dblquad": [lambda v: integrate.dblquad(lambda t, s: t * s * v[0], 0, 1, 0, 1)[0]],
    "scipy.integrate.solve_ivp": [
        lambda v: integrate.solve_ivp(lambda t, y: -v[0] * y, (0, 1), [1.0]).y,
        lambda v: integrate.solve_ivp(lambda t, y: -y, (0, 1), v).y,
    ],
    "scipy.integrate.odeint": [lambda v: integrate.odeint(lambda y, t: -y * v[0], [1.0], [0, 1])],
    "scipy.integrate.simpson": [lambda v: integrate.simpson(v, x=X)],
    "scipy.interpolate.CubicSpline": [
        lambda v: interpolate.CubicSpline(X, v)(0.3),
        lambda v: interpolate.CubicSpline(X, X**2)(v),
    ],
    "scipy.interpolate.PchipInterpolator": [lambda v: interpolate.PchipInterpolator(X, X**2)(v)],
    "scipy.interpolate.interp1d": [
        lambda v: interpolate.interp1d(X, v)(0.3),
        lambda v: interpolate.interp1d(X, X**2, kind="cubic")(v),
    ],
    "scipy.interpolate.RBFInterpolator": [lambda v: interpolate.RBFInterpolator(PLANE, v)(PLANE)],
    "scipy.interpolate.RegularGridInterpolator": [
        lambda v: interpolate.RegularGridInterpolator((X,), X**2)(v[:, None])
    ],
    "scipy.sparse.linalg.spsolve": [lambda v: scipy.sparse.linalg.spsolve(A, v)],
    "scipy.sparse.linalg.cg": [lambda v: scipy.sparse.linalg.cg(A, v)[0]],
    "scipy.sparse.linalg.eigsh": [lambda v: scipy.sparse.linalg.eigsh(np.diag(v), k=2)[0]],
    "scipy.sparse.csr_array.multiply": [lambda v: A.multiply(v)],
    "scipy.sparse.coo_array.dot": [lambda v: A.tocoo().dot(v)],
    "scipy.sparse.csr_array": [lambda v: sparse.csr_array(np.diag(v)).toarray()],
    "scipy.stats.norm.logpdf": [lambda v: scipy.stats.norm.logpdf(X, loc=v)],
    "scipy.stats.norm.cdf": [lambda v: scipy.stats.norm(loc=v).cdf(X)],
    "scipy.stats.multivariate_normal.logpdf": [lambda v: scipy.stats.multivariate_normal.logpdf(v, np.zeros(6))],
    "scipy.stats.pearsonr": [lambda v: scipy.stats.pearsonr(v, X)[0]],
    "scipy.ndimage.gaussian_filter": [lambda v: scipy.ndimage.gaussian_filter(v, 1.0)],
    "scipy.ndimage.map_coordinates": [lambda v: scipy.ndimage.map_coordinates(v, [[0.5]])],
    "scipy.fft.dct": [lambda v: scipy.fft.dct(v)],
    "scipy.spatial.distance.cdist": [lambda v: scipy.spatial.distance.cdist(v[:, None], v[:, None])],
    "scipy.cluster.vq.kmeans": [lambda v: scipy.cluster.vq.kmeans(v[:, None], 2)[0]],
    "sklearn.linear_model.LinearRegression.fit": [lambda v: LinearRegression().fit(v[:, None], X).coef_],
    "sklearn.linear_model.Ridge.predict": [lambda v: Ridge().fit(PLANE, X).predict(PLANE * v[:, None])],
    "sklearn.preprocessing.StandardScaler.fit_transform": [lambda v: StandardScaler().fit_transform(v[:, None])],
    "sklearn.metrics.mean_squared_error": [lambda v: mean_squared_error(v, X)],
}


def pushed(function):
    return lambda x: ad.jvp(function, (x,), (x,))


def mapped(function):
    return lambda x: ad.vmap(function)(np.stack([x, x]))


def test_solvers_decide_by_what_has_no_derivative_and_quadrature_sums_what_has_one() -> None:
    still = ad.grad(lambda a: a * optimize.golden(well(ad.stop_gradient(a))))(1.3)
    assert still == pytest.approx(optimize.golden(well(1.3)))
    for f in (
        lambda a: integrate.fixed_quad(well(a), 0.0, 1.0)[0],
        lambda a: integrate.fixed_quad(well(1.0), 0.0, a)[0],
        lambda a: integrate.cubature(lambda x: well(a)(x[:, 0]), [0.0], [1.0]).estimate,
    ):
        assert ad.grad(f)(1.3) == pytest.approx((f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("title", CALLS)
@pytest.mark.filterwarnings("ignore")  # of the libraries, about what they were given
def test_the_error_names_the_function_the_line_and_a_remedy(title) -> None:
    """In code that is not converted: where it is, many of these are served by their counterparts."""
    for call in CALLS[title]:
        for transform in (ad.grad, ad.jit, pushed, mapped):
            with config.override(convert=False), pytest.raises(TraceError) as caught:
                transform(lambda v, call=call: np.sum(call(v)))(X)
            message = str(caught.value)
            assert message.startswith(f"{title} was "), message
            assert "test_refusals.py:" in message
            assert any(way in message for way in ("ad.", "adjoint.", "np.")), message
            assert len(message) < 900


COUNTERPARTS = [
    "scipy.integrate.quad",
    "scipy.integrate.dblquad",
    "scipy.integrate.odeint",
    "scipy.integrate.simpson",
    "scipy.interpolate.CubicSpline",
    "scipy.interpolate.interp1d",
    "scipy.interpolate.RBFInterpolator",
    "scipy.sparse.linalg.spsolve",
    "scipy.sparse.csr_array",
    "scipy.stats.pearsonr",
    "scipy.ndimage.gaussian_filter",
    "scipy.ndimage.map_coordinates",
    "scipy.spatial.distance.cdist",
]


@pytest.mark.parametrize(
    "title",
    [pytest.param(t, marks=pytest.mark.sweep if t in ("scipy.integrate.dblquad", "scipy.integrate.odeint") else ())
     for t in COUNTERPARTS],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_converted_functions_call_the_counterpart(title) -> None:
    inside = np.linspace(0.15, 0.93, 6)  # no point is at an end
    for call in CALLS[title][:1]:
        f = lambda v, call=call: np.sum(call(v) ** 2)
        step = 1e-6 * np.cos(np.arange(6.0))
        slope = (f(inside + step) - f(inside - step)) / 2
        np.testing.assert_allclose(ad.grad(f)(inside) @ step, slope, rtol=1e-4)
        np.testing.assert_allclose(ad.jvp(f, (inside,), (step,))[1], slope, rtol=1e-4)
        np.testing.assert_allclose(ad.jit(f)(inside), f(inside), rtol=1e-4)
        np.testing.assert_allclose(ad.vmap(f)(np.stack([X, inside]))[1], f(inside), rtol=1e-4)


def test_errors_of_ours_that_name_a_traced_value_speak_for_themselves() -> None:
    for transform in (ad.grad, ad.jit):
        with pytest.raises(TypeError, match=r"^jvp: primals must be a tuple"):
            transform(lambda x: ad.jvp(np.sin, x, (1.0,))[1])(1.0)


def test_compiled_functions_and_operands() -> None:
    """Factors of sparse matrices are served; what only C code has is not."""
    solved = ad.grad(lambda v: np.sum(scipy.sparse.linalg.splu(sparse.csc_array(A)).solve(v)))(X)
    np.testing.assert_allclose(solved, np.linalg.solve(A.toarray().T, np.ones(len(X))), rtol=1e-12)
    with pytest.raises(TraceError, match=r"not written in Python was given a traced value, at test_refusals\.py"):
        ad.grad(lambda v: float(zlib.crc32(v)))(X)
    with pytest.raises(TraceError, match=r"plain value of a traced float64\[6\], at test_refusals\.py"):
        ad.grad(lambda v: scipy.linalg.blas.ddot(v, v))(X)
    with pytest.raises(DtypeError, match=r"toarray\(\)"):
        ad.grad(lambda v: np.sum(np.matmul(v, A)))(X)


def test_other_errors_of_a_library_stay_what_they_are() -> None:
    """They get a note where a traced value is near."""
    with pytest.raises(ValueError, match="Different number of diagonals") as caught:
        ad.grad(lambda v: np.sum(sparse.diags(v) @ X))(X)
    assert "scipy.sparse.diags was given a traced value" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="different signs") as caught:
        ad.grad(lambda v: optimize.brentq(square, 1, 2) * v)(1.0)
    assert not getattr(caught.value, "__notes__", [])

    def careful(v):
        try:
            return scipy.fft.dct(v)
        except TypeError:
            raise KeyError("no transform") from None

    with config.override(convert=False), pytest.raises(KeyError, match="no transform"):
        ad.grad(lambda v: np.sum(careful(v)))(X)
    differences = [np.sum(scipy.fft.dct(e)) for e in np.eye(X.size)]  # it is linear
    np.testing.assert_allclose(ad.grad(lambda v: np.sum(careful(v)))(X), differences, rtol=1e-12)


# ---- remedies ----


def test_what_works_through_a_library() -> None:
    """Python code of SciPy that converts nothing is differentiated as it runs."""
    assert ad.grad(lambda a: integrate.fixed_quad(lambda t: a * t**2, 0, 1)[0])(2.0) == pytest.approx(1 / 3)


def test_curves() -> None:
    s = interpolate.CubicSpline(X, np.sin(3.0 * X))

    def curve(order):
        """The derivative of this order of the spline, whose derivative is the next one."""

        @ad.custom_rule(jvp=lambda xs, dxs: (value(xs[0]), curve(order + 1)(xs[0]) * dxs[0]))
        def value(x):
            return s(x, order)

        return value

    points = np.array([0.2, 0.55, 0.8])
    f = lambda x: np.sum(curve(0)(x))
    for slope in (ad.grad(f), ad.jit(ad.grad(f)), ad.vmap(ad.grad(f))):
        np.testing.assert_allclose(slope(points), s(points, 1))
    np.testing.assert_allclose(np.diag(ad.hessian(f)(points)), s(points, 2))
    matrix = interpolate.CubicSpline(X, np.eye(6))(points)
    np.testing.assert_allclose(matrix @ np.sin(3.0 * X), s(points))


def test_sparse_products_and_solutions() -> None:
    product = ad.custom_rule(lambda x: A @ x, vjp=lambda x: (A @ x, lambda ct: (A.T @ ct,)))
    solve = lambda a, b: scipy.sparse.linalg.spsolve(a.tocsc(), b)
    solved = ad.custom_rule(lambda b: solve(A, b), vjp=lambda b: (solve(A, b), lambda ct: (solve(A.T, ct),)))
    f = lambda x: np.sum(np.sin(solved(product(x) + 1.0)))
    g = lambda x: np.sum(np.sin(np.linalg.solve(A.toarray(), A.toarray() @ x + 1.0)))
    np.testing.assert_allclose(ad.grad(f)(X), ad.grad(g)(X))


def test_solutions_of_equations() -> None:
    """The recipe of the page on other libraries: the derivative of the solution, not of the steps."""
    system = lambda x, p: np.stack([x[0] ** 2 + x[1] - p[0], x[0] - x[1] ** 3 * p[1]])

    def run(p):
        return optimize.root(lambda x: system(x, p), np.ones(2), jac=lambda x: ad.jacobian(system)(x, p), tol=1e-13).x

    def rule(p):
        x = solution(p)
        _, pull = ad.vjp(system, x, p)
        return x, lambda ct: (-pull(np.linalg.solve(ad.jacobian(system)(x, p).T, ct))[1],)

    solution = ad.custom_rule(run, vjp=rule)
    point = np.array([2.0, 1.3])
    ad.check_grads(solution, (point,), order=1)
    ad.check_grads(solution, (point,), order=2, modes=["reverse"])
    total = lambda p: np.sum(solution(p) ** 2)
    np.testing.assert_allclose(ad.jit(ad.grad(total))(point), ad.grad(total)(point))


def test_transformed_functions_are_derivatives_for_solvers() -> None:
    """ad.grad, ad.jit and both together, where SciPy asks for a derivative."""
    valley = lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    start = np.array([0.7, 1.3, 0.5])
    for slope in (ad.grad(valley), ad.jit(ad.grad(valley))):
        found = optimize.minimize(ad.jit(valley), start, jac=slope, method="BFGS")
        np.testing.assert_allclose(found.x, 1.0, atol=1e-3)
    found = optimize.minimize(ad.jit(ad.value_and_grad(valley)), start, jac=True, hess=ad.jit(ad.hessian(valley)),
                              method="trust-exact")  # fmt: skip
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
    residual = lambda p: p[0] * np.exp(-p[1] * X) - 2.0 * np.exp(-X)
    found = optimize.least_squares(ad.jit(residual), np.ones(2), jac=ad.jit(ad.jacobian(residual)))
    np.testing.assert_allclose(found.x, [2.0, 1.0], atol=1e-6)
    root = optimize.root(ad.jit(residual), np.ones(2), jac=ad.jit(ad.jacobian(residual)), method="lm")
    np.testing.assert_allclose(root.x, [2.0, 1.0], atol=1e-6)
    assert optimize.newton(np.cos, 1.0, fprime=ad.jit(ad.grad(np.cos))) == pytest.approx(np.pi / 2)
    decay = lambda t, y: -y * (1.0 + t)
    for jac in (ad.jacobian(decay, argnums=1), ad.jit(ad.jacobian(decay, argnums=1))):
        ends = integrate.solve_ivp(ad.jit(decay), (0.0, 1.0), X, method="Radau", jac=jac, rtol=1e-8, atol=1e-10).y
        np.testing.assert_allclose(ends[:, -1], X * np.exp(-1.5), rtol=1e-6)
