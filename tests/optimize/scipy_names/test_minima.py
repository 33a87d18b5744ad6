"""Minima under SciPy's names: derivatives against solutions of their conditions in mpmath, and closed forms."""

import mpmath
import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import optimize

bowl = lambda x, a: np.sum(np.cosh(x - a) + 0.3 * x * x) + 0.1 * x[0] * x[1]
A = np.array([1.3, -0.4])
TIGHT = {"options": {"gtol": 1e-12}}


def solved(a, pull=0.1):
    """The minimum by Newton's method with forty digits."""
    conditions = [lambda x, y: mpmath.sinh(x - a[0]) + 0.6 * x + pull * y,
                  lambda x, y: mpmath.sinh(y - a[1]) + 0.6 * y + pull * x]  # fmt: skip
    return mpmath.findroot(lambda x, y: [c(x, y) for c in conditions], (0.5, -0.3))


def exact_jacobian():
    with mpmath.workdps(40):
        columns = []
        for j in range(2):
            h = mpmath.mpf(10) ** -15
            ends = [solved([mpmath.mpf(A[i]) + sign * h * (i == j) for i in range(2)]) for sign in (1, -1)]
            columns.append([float((ends[0][i] - ends[1][i]) / (2 * h)) for i in range(2)])
    return np.array(columns).T


@pytest.mark.parametrize(
    "method", ["BFGS", "trust-exact", "Newton-CG", "L-BFGS-B", "CG", "TNC", "Nelder-Mead", "SLSQP"]
)
def test_minimize(method):
    options = {
        "Nelder-Mead": {"xatol": 1e-9, "fatol": 1e-15},
        "SLSQP": {"ftol": 1e-15},
        "Newton-CG": {"xtol": 1e-9},
        "L-BFGS-B": {"gtol": 1e-11, "ftol": 1e-16},
        "TNC": {"gtol": 1e-11, "ftol": 1e-17, "xtol": 1e-13},
    }
    best = lambda a: optimize.minimize(bowl, [0.1, 0.2], a, method, options=options.get(method, {"gtol": 1e-11})).x
    np.testing.assert_allclose(ad.jacobian(best)(A), exact_jacobian(), rtol=2e-7)


def test_what_the_function_closes_over_in_every_transformation():
    best = lambda a: optimize.minimize(lambda x: bowl(x, a), np.zeros(2), **TIGHT).x
    want = exact_jacobian()
    for derivative in (ad.jacrev(best), ad.jacfwd(best), ad.jit(ad.jacrev(best))):
        np.testing.assert_allclose(derivative(A), want, rtol=1e-8)
    np.testing.assert_allclose(ad.vmap(ad.jacrev(best))(np.stack([A, A + 0.1]))[0], want, rtol=1e-8)


def test_the_value_by_the_envelope_theorem():
    """∇h = ∂f/∂a = -sinh(x - a), and its derivative with that of x."""
    h = lambda a: optimize.minimize(bowl, np.zeros(2), (a,), **TIGHT).fun
    x = scipy.optimize.minimize(bowl, np.zeros(2), (A,), jac=ad.grad(bowl), **TIGHT).x
    np.testing.assert_allclose(ad.grad(h)(A), -np.sinh(x - A), rtol=1e-8)
    want = np.diag(np.cosh(x - A)) @ (np.eye(2) - exact_jacobian())
    np.testing.assert_allclose(ad.hessian(h)(A), want, rtol=1e-7)


def test_bounds():
    """An unknown at its bound moves with the bound, and the others with it."""
    box = lambda a, top: optimize.minimize(bowl, np.zeros(2), (a,), bounds=[(None, top), (-1.0, 1.0)], tol=1e-12)
    x = box(A, 0.2).x
    slope = -0.1 / (np.cosh(x[1] - A[1]) + 0.6)  # of the second in the first
    np.testing.assert_allclose(ad.jacobian(lambda top: box(A, top).x)(0.2), [1.0, slope], rtol=1e-6)
    price = np.sinh(0.2 - A[0]) + 0.6 * 0.2 + 0.1 * x[1]
    assert ad.grad(lambda top: box(A, top).fun)(0.2) == pytest.approx(price, rel=1e-6)
    assert ad.jacobian(lambda a: box(a, 0.2).x)(A)[0] == pytest.approx([0.0, 0.0])


CIRCLE = scipy.optimize.NonlinearConstraint
RULES = {
    "equality": lambda r: {"type": "eq", "fun": lambda x: r * r - x[0] ** 2 - x[1] ** 2},
    "inequality": lambda r: [{"type": "ineq", "fun": lambda x, s: s * s - x[0] ** 2 - x[1] ** 2, "args": (r,)}],
    "nonlinear": lambda r: CIRCLE(lambda x: x[0] ** 2 + x[1] ** 2 - r * r, -np.inf, 0.0),
    "limits": lambda r: CIRCLE(lambda x: x[0] ** 2 + x[1] ** 2, 0.0, r * r),
}


@pytest.mark.parametrize("name", RULES)
def test_constraints(name):
    """The point of a disc that lies farthest in one direction: x = r c / ‖c‖, value -r ‖c‖."""
    c = np.array([3.0, 4.0])
    found = lambda c, r: optimize.minimize(lambda x: -np.sum(c * x), [0.1, 0.1], constraints=RULES[name](r), tol=1e-12)
    np.testing.assert_allclose(found(c, 2.0).x, [1.2, 1.6], rtol=1e-6)
    np.testing.assert_allclose(ad.jacobian(lambda r: found(c, r).x)(2.0), [0.6, 0.8], rtol=1e-6)
    want = 2.0 / 125 * np.array([[16.0, -12.0], [-12.0, 9.0]])
    np.testing.assert_allclose(ad.jacobian(lambda c: found(c, 2.0).x)(c), want, rtol=1e-5)
    assert ad.grad(lambda r: found(c, r).fun)(2.0) == pytest.approx(-5.0, rel=1e-6)


def test_no_constraints_for_a_method_that_is_named_after_them():
    for name in ("fmin_cobyla", "fmin_slsqp"):
        options = {"rhoend": 1e-10} if name == "fmin_cobyla" else {"acc": 1e-14, "iprint": 0}
        best = lambda a, name=name, options=options: getattr(optimize, name)(
            lambda x: bowl(x, a), np.zeros(2), [], **options
        )
        np.testing.assert_allclose(ad.jacobian(best)(A), exact_jacobian(), rtol=1e-5)


def test_constraints_compiled_and_with_other_active_sets_per_batch_element():
    rules = {"type": "ineq", "fun": lambda x: 1.0 - x[0] - x[1]}
    best = lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), constraints=rules, tol=1e-12).x
    points = np.array([[0.2, 0.3], [2.0, 1.0]])
    want = [np.eye(2), np.array([[0.5, -0.5], [-0.5, 0.5]])]
    np.testing.assert_allclose(ad.vmap(ad.jacrev(best))(points), want, atol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.jacrev(best))(points[1]), want[1], atol=1e-7)


def test_one_unknown():
    well = lambda x, a: np.cosh(x - a) + 0.3 * x * x
    with mpmath.workdps(40):
        lowest = lambda a: mpmath.findroot(lambda x: mpmath.sinh(x - a) + mpmath.mpf("0.6") * x, 0.7)
        want = float(mpmath.diff(lowest, mpmath.mpf("1.3")))
    for best in (
        lambda a: optimize.minimize_scalar(well, args=(a,)).x,
        lambda a: optimize.minimize_scalar(well, bounds=(0, 3), args=a, method="bounded", options={"xatol": 1e-9}).x,
        lambda a: optimize.golden(lambda x: well(x, a)),
        lambda a: optimize.brent(well, (a,)),
        lambda a: optimize.fminbound(well, -1.0, 2.0, (a,), xtol=1e-9),
    ):
        assert ad.grad(best)(1.3) == pytest.approx(want, rel=1e-7)


def test_fields_without_a_derivative_are_not_there():
    def inverse(a):
        return optimize.minimize(bowl, np.zeros(2), (a,)).hess_inv[0, 0]

    with pytest.raises(AttributeError, match=r"no 'hess_inv' where values are traced: it has x, fun"):
        ad.grad(inverse)(A)
    with pytest.raises(UnsupportedError, match="minimize_scalar"):
        ad.jit(lambda a: optimize.golden(lambda x: (x - a) ** 2, full_output=True)[1])(1.0)
    with pytest.raises(UnsupportedError, match="finish=None"):
        ad.grad(lambda a: optimize.brute(lambda x: (x[0] - a) ** 2, [(0, 1)], finish=None))(0.3)


def test_plain_calls_get_exact_gradients():
    calls = []
    found = optimize.minimize(lambda x: calls.append(0) or np.sum(np.cosh(x - A)), np.zeros(2))
    np.testing.assert_allclose(found.x, A, atol=1e-4)
    assert len(calls) <= found.nfev + 1  # written down once; differences would call it three times as often
    assert optimize.minimize(lambda x: float(x[0]) ** 2, [1.0]).x == pytest.approx(0.0, abs=1e-5)
