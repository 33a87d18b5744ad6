"""The rows of scipy.optimize are complete and true.

A solver stops early, so that derivatives are compared with differences of its solutions less sharply than elsewhere;
tests/optimize/scipy_names compares them with solutions of high precision.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import DtypeError, TraceError
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, REFUSED
from adjoint.scipy import optimize
from tests.coverage.agreement import (
    Example,
    at,
    difference,
    directions,
    each,
    fault,
    faults_of_names,
    moving,
    of,
    resolve,
    rows_of,
)
from tests.support.sweeps import sampled

A = 1.3
START = np.array([0.3, -0.2])
cubic = lambda x, a: x**3 + x - a
system = lambda x, a: np.stack([x[0] ** 3 + x[1] - a, x[1] + 0.2 * x[0] - 0.3 * a])
gentle = lambda a: lambda x: x - 0.3 * np.cos(x * a)
well = lambda x, a: np.cosh(x - a) + 0.3 * x * x
bowl = lambda x, a: np.cosh(x[0] - a) + 0.3 * x[0] ** 2 + (x[1] - 0.3 * x[0] * a) ** 2
slopes = lambda x, a: ad.grad(bowl)(x, a)
T = np.linspace(0.0, 2.0, 8)
Y = 2.0 * np.exp(-0.7 * T) + 0.05 * np.cos(7.0 * T)
decay = lambda p, y: p[0] * np.exp(-p[1] * T) - y
M = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]])
BOX = np.array([[-1.0, 0.4], [-1.0, 1.0]])  # the first upper bound holds
SEED = 3


def _limits(bounds):
    return np.asarray(bounds.lb) * 2.0 + np.asarray(bounds.ub) ** 2


def _product(constraint):
    return np.asarray(constraint.A) @ _limits(constraint)


def _on_circle(f, a, box, limit):
    rules = {"type": "eq", "fun": lambda x: x[1] - limit * x[0]}
    return f(bowl, START, (a,), bounds=[(box[0], 2.0), (-2.0, 2.0)], constraints=rules, tol=1e-14).x


EXAMPLES: dict[str, Example] = {
    **each("bisect brenth brentq ridder toms748", of(lambda f, a: f(cubic, 0.0, 2.0, args=(a,), xtol=1e-14), A)),
    "newton": of(lambda f, a: f(cubic, 0.5, args=(a,), tol=1e-14), A),
    "root_scalar": of(lambda f, a: f(cubic, args=(a,), bracket=(0.0, 2.0), xtol=1e-14).root, A),
    "root": of(lambda f, a: f(system, START, (a,), tol=1e-14).x, A),
    "fsolve": of(lambda f, a: f(system, START, (a,), xtol=1e-14), A),
    "fixed_point": of(lambda f, a: f(lambda x, a: np.cos(a * x) * 0.5, 0.4, (a,), xtol=1e-14), A),
    **each(
        "anderson broyden1 broyden2 diagbroyden newton_krylov",
        of(lambda f, a: f(gentle(a), np.array([0.2, 0.3]), f_tol=1e-12), A),
    ),
    **each(
        "excitingmixing linearmixing",
        of(lambda f, a: f(lambda x: -gentle(a)(x), np.array([0.2, 0.3]), alpha=0.5, f_tol=1e-12), A),
    ),
    "minimize": of(_on_circle, A, [0.1], 0.3),
    "Bounds": of(lambda f, l, u: _limits(f([l[0], 0.5], [u[0], u[1]])), [-1.0], [2.0, 3.0]),
    "LinearConstraint": of(
        lambda f, a, l, u: _product(f([[a[0], 1.0], [0.0, a[1]]], [l[0], 0.5], [u[0], u[1]])),
        [0.3, 2.0], [-1.0], [2.0, 3.0],
    ),
    "minimize_scalar": of(lambda f, a, b: f(well, args=(a,), bounds=b, options={"xatol": 1e-12}).x, A, [-1, 2]),
    **each("golden brent", of(lambda f, a: f(lambda x: (x - a) ** 2 * (1 + (x - a) ** 2), tol=1e-12), A)),
    "fminbound": of(lambda f, u, v, a: f(lambda x, a: (x - a) ** 2, u, v, (a,), xtol=1e-13), -1.0, 2.0, A),
    "fmin": of(lambda f, a: f(bowl, START, (a,), xtol=1e-12, ftol=1e-15, disp=0), A),
    "fmin_powell": of(lambda f, a: f(bowl, START, (a,), xtol=1e-12, ftol=1e-15, disp=0), A),
    **each("fmin_cg fmin_bfgs", of(lambda f, a: f(bowl, START, args=(a,), gtol=1e-11, disp=0), A)),
    "fmin_ncg": of(lambda f, a: f(bowl, START, slopes, args=(a,), avextol=1e-13, disp=0), A),
    "fmin_l_bfgs_b": of(
        lambda f, a, b: f(bowl, START, args=(a,), approx_grad=1, bounds=b, factr=0.1, pgtol=1e-12)[0], A, BOX
    ),
    "fmin_tnc": of(
        lambda f, a, b: f(bowl, START, args=(a,), approx_grad=1, bounds=b, pgtol=1e-13, ftol=1e-16, disp=0)[0], A, BOX
    ),
    "fmin_slsqp": of(lambda f, a, b: f(bowl, START, args=(a,), bounds=b, acc=1e-15, iprint=0), A, BOX),
    "fmin_cobyla": of(lambda f, a: f(bowl, START, [lambda x, a: 0.4 * a - x[0]], (a,), rhoend=1e-9, catol=0.0)[0], A),
    "brute": of(lambda f, a: f(bowl, [(-1, 1), (-1, 1)], (a,), Ns=4, full_output=True)[1], A),
    "basinhopping": of(
        lambda f, a: f(bowl, START, niter=2, rng=SEED, minimizer_kwargs={"args": (a,), "tol": 1e-10}).x, A
    ),
    **each("differential_evolution", of(lambda f, a, b: f(bowl, b, (a,), rng=SEED, tol=1e-14, maxiter=80).x, A, BOX)),
    **each("dual_annealing", of(lambda f, a, b: f(bowl, b, (a,), rng=SEED, maxiter=20).fun, A, BOX)),
    **each("shgo", of(lambda f, a, b: f(bowl, b, (a,), options={"ftol": 1e-14}).fun, A, BOX)),
    "direct": of(lambda f, a, b: f(bowl, list(map(tuple, b)), args=(a,), len_tol=1e-9, vol_tol=0.0).fun, A, BOX),
    "least_squares": of(
        lambda f, y, b: f(decay, [1.0, 0.5], args=(y,), bounds=(b[0], b[1]), method="dogbox", **_TIGHT).x,
        Y, [[0.0, 0.0], [3.0, 0.6]],
    ),
    "leastsq": of(lambda f, y: f(decay, [1.0, 0.5], (y,), ftol=1e-15, xtol=1e-15)[0], Y),
    "curve_fit": of(
        lambda f, t, y, s: f(lambda t, a, k: a * np.exp(-k * t), t, y, sigma=s, ftol=1e-15, xtol=1e-15)[0], T, Y, 1 + T
    ),
    "nnls": of(lambda f, A, b: f(A, b)[0], M, [1.0, -2.0, 3.0]),
    "lsq_linear": of(lambda f, A, b, u: f(A, b, (u[0], u[1]), "bvls").x, M, [1.0, -2.0, 3.0], [[-1, -1], [1, 0.2]]),
    "linprog": of(
        lambda f, c, A, b, E, e, u: f(c, A, b, E, e, u).x,
        [-1.0, -2.0, 0.3], [[1.0, 1.0, 0.2]], [4.0], [[1.0, -1.0, 1.0]], [0.7], [[0.1, 9.0]] * 3,
    ),
    **each("rosen rosen_der rosen_hess", at([0.3, 1.2, -0.5])),
    "rosen_hess_prod": at([0.3, 1.2, -0.5], [1.0, 2.0, 3.0]),
    "show_options": of(lambda f: f("root_scalar", "brentq", disp=False)),
    "linprog_verbose_callback": of(lambda f: None),
    "milp": of(lambda f, c: f(c, bounds=(0.0, 1.0)).x, [-1.0, 2.0]),
    "linear_sum_assignment": of(lambda f, c: f(c)[0], [[1.0, 2.0], [3.0, 1.0]]),
    "quadratic_assignment": of(lambda f, c: f(c, np.eye(2)).fun, [[1.0, 2.0], [3.0, 1.0]]),
    "isotonic_regression": of(lambda f, y: f(y).x, [1.0, 3.0, 2.0]),
    "bracket": of(lambda f, a: f(well, args=(a,))[0], A),
    "line_search": of(
        lambda f, x: f(lambda x: np.sum(x**2), lambda x: 2 * x, x, np.array([-1.0, -1.0]))[0], [1.0, 2.0]
    ),
    "approx_fprime": of(lambda f, x: f(x, lambda x: np.sum(x**2)), [1.0, 2.0]),
    "check_grad": of(lambda f, x: f(lambda x: np.sum(x**2), lambda x: 2 * x, x), [1.0, 2.0]),
}  # fmt: skip
_TIGHT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}


def test_every_function_has_a_row_and_every_row_a_function():
    assert not faults_of_names("scipy.optimize")


@pytest.mark.filterwarnings("ignore")  # of solvers that stop early
@pytest.mark.parametrize("row", sampled(rows_of("scipy.optimize", DIFFERENTIABLE), 3), ids=lambda row: row.name)
def test_differentiable(row):
    call, xs = EXAMPLES[row.name]
    assert not row.arguments or len(row.arguments) == len(xs)
    function, theirs = resolve(row.offered), resolve(row.title)
    g, vs = (lambda *xs: moving(call(function, *xs))), directions(xs)
    value, tangent = ad.jvp(g, xs, vs)
    plain = np.asarray(call(theirs, *[x[()] for x in xs]))
    np.testing.assert_allclose(value[0], plain, rtol=1e-5, atol=1e-7)
    solve = lambda *xs: [np.asarray(call(function, *xs))]
    np.testing.assert_allclose(tangent[0], difference(solve, xs, vs)[0], rtol=3e-4, atol=1e-5)
    _, pull = ad.vjp(g, *xs)
    ct = directions(value)
    right = sum(np.sum(b * v) for b, v in zip(pull(ct), vs, strict=True))
    assert np.sum(ct[0] * tangent[0]) == pytest.approx(right, rel=1e-8)
    assert np.any(tangent[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", sampled(rows_of("scipy.optimize", DIFFERENTIABLE), 3), ids=lambda row: row.name)
def test_scipys_own_refuses_traced_values_by_name(row):
    """Nothing is decided by a traced value in silence, whether it is an argument or in the closure of the function."""
    call, xs = EXAMPLES[row.name]
    theirs = resolve(row.title)
    with config.override(convert=False):
        for transform in (lambda g: ad.jvp(g, xs, directions(xs)), lambda g: ad.vjp(g, *xs), lambda g: ad.jit(g)(*xs)):
            with pytest.raises((TraceError, DtypeError)) as caught:
                transform(lambda *xs: moving(call(theirs, *xs)))
            nameless = row.arguments == ()  # SciPy makes these functions from text, which has no name
            assert f"adjoint.scipy.optimize{'' if nameless else f'.{row.name}'}" in str(caught.value)


@pytest.mark.parametrize("name", ["brentq", "minimize", "curve_fit", "linprog", "fixed_point"])
def test_compiled_and_batched(name):
    call, xs = EXAMPLES[name]
    function, vs = resolve(f"adjoint.scipy.optimize.{name}"), directions(xs)
    tangent = lambda *xs: ad.jvp(lambda *xs: moving(call(function, *xs)), xs, vs)[1][0]
    want = tangent(*xs)
    np.testing.assert_allclose(ad.jit(tangent)(*xs), want, rtol=1e-9, atol=1e-11)
    stacked = ad.vmap(tangent)(*[np.stack([x, 1.001 * x]) for x in xs])
    np.testing.assert_allclose(stacked, [want, tangent(*[1.001 * x for x in xs])], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "row", [*rows_of("scipy.optimize", CONSTANT), *rows_of("scipy.optimize", REFUSED)], ids=lambda row: row.name
)
def test_constant_and_refused(row):
    assert fault(row, EXAMPLES[row.name]) is None


def test_functions_of_ours_have_rows():
    assert set(optimize.__all__) == {row.name for row in rows_of("scipy.optimize", DIFFERENTIABLE)}
