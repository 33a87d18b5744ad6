"""Methods for f + Ω: scikit-learn's solutions, optimality, derivatives against solving anew, bad input."""

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.base.errors import RuleError
from adjoint.optimize import proximal, sets
from tests.support.sweeps import sampled


@pytest.fixture(scope="module")
def diabetes():
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return X, y - y.mean()


def squares(w, X, y):
    return 0.5 * np.sum((X @ w - y) ** 2)


ALL = {
    "proximal gradient": optimize.ProximalGradient,
    "fista": optimize.FISTA,
    "blocks": optimize.BlockCoordinateDescent,
    "newton": optimize.ProximalNewton,
    "quasi-newton": optimize.ProximalQuasiNewton,
    "admm": lambda term: optimize.ADMM(term, penalty=0.1),
}


@pytest.mark.row("16.4.1c")
@pytest.mark.parametrize("name", sampled(ALL, every=2))
def test_lasso_is_scikit_learns(name, diabetes):
    from sklearn.linear_model import Lasso

    X, y = diabetes
    lam = 150.0
    expected = Lasso(alpha=lam / len(y), fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y).coef_
    run = ad.jit(lambda lam: optimize.minimize(
        squares, np.zeros(10), X, y, method=ALL[name](proximal.l1(lam)), tol=1e-9, max_iterations=3000))  # fmt: skip
    found = run(lam)
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, expected, atol=1e-8 * np.max(np.abs(expected)) if name != "admm" else 1e-5)
    assert np.sum(found.value != 0) < 10 or name == "admm"


@pytest.mark.row("16.4.1c", "16.4.1a")
def test_lasso_of_the_identity_and_beyond_the_largest_factor():
    y = np.array([3.0, -0.5, 1.2])
    solve = lambda lam: optimize.minimize(
        squares, np.ones(3), np.eye(3), y, method=optimize.ProximalGradient(proximal.l1(lam))
    )
    np.testing.assert_allclose(solve(1.0).value, [2, 0, 0.2], atol=1e-9)
    np.testing.assert_allclose(solve(3.0).value, 0, atol=1e-9)
    np.testing.assert_array_equal(solve(3.1).value, 0)


def test_elastic_net_is_scikit_learns(diabetes):
    from sklearn.linear_model import ElasticNet

    X, y = diabetes
    n = len(y)
    expected = ElasticNet(alpha=0.3, l1_ratio=0.6, fit_intercept=False, tol=1e-15, max_iter=100_000).fit(X, y).coef_
    term = proximal.elastic_net(0.3 * 0.6 * n, 0.3 * 0.4 * n)
    found = optimize.minimize(squares, np.zeros(10), X, y, method=optimize.FISTA(term), tol=1e-10)
    np.testing.assert_allclose(found.value, expected, atol=1e-8 * np.max(np.abs(expected)))


def test_the_dual_of_a_support_vector_machine_is_scikit_learns():
    from sklearn.datasets import make_blobs
    from sklearn.svm import SVC

    X, labels = make_blobs(40, centers=2, random_state=3, cluster_std=2.5)
    y = 2.0 * labels - 1
    K = X @ X.T / 10
    expected = SVC(C=0.7, kernel="precomputed", tol=1e-13).fit(K, y)
    dual = np.zeros(40)
    dual[expected.support_] = np.abs(expected.dual_coef_[0])
    Q = K * np.outer(y, y)
    f = lambda a: 0.5 * a @ (Q @ a) - np.sum(a)
    section = sets.box_section(0.0, 0.7, y, 0.0)
    found = ad.jit(lambda start: optimize.minimize(
        f, start, method=optimize.FISTA(section), tol=1e-11, max_iterations=20_000))(np.zeros(40))  # fmt: skip
    # the dual variables need not be unique where K is singular, the weights are
    np.testing.assert_allclose(X.T @ (found.value * y), X.T @ (dual * y), atol=1e-6)
    np.testing.assert_allclose(found.fun, f(dual), rtol=1e-8)


@pytest.mark.row("16.4.2c")
@pytest.mark.parametrize("name", sampled(ALL, every=3))
def test_the_derivative_of_a_lasso(name, diabetes):
    X, y = diabetes
    method = ALL[name]
    solve = lambda lam: optimize.minimize(
        squares, np.zeros(10), X, y, method=method(proximal.l1(lam)), tol=1e-9, max_iterations=3000)  # fmt: skip
    factors = np.array([900.0, 300.0, 100.0])
    slopes = ad.jit(ad.vmap(ad.jacobian(lambda lam: solve(lam).value)))(factors)
    curves = ad.jit(ad.vmap(ad.grad(lambda lam: solve(lam).fun)))(factors)
    supports = set()
    for lam, slope, curve in zip(factors, slopes, curves, strict=True):
        w = optimize.minimize(squares, np.zeros(10), X, y, method=optimize.FISTA(proximal.l1(lam)), tol=1e-9).value
        S = w != 0
        supports.add(tuple(S))
        expected = np.zeros(10)
        expected[S] = -np.linalg.solve(X[:, S].T @ X[:, S], np.sign(w[S]))
        np.testing.assert_allclose(slope, expected, atol=1e-9 * np.max(np.abs(expected)))
        np.testing.assert_allclose(curve, np.sum(np.abs(w)), rtol=1e-6)
    assert len(supports) == 3  # each batch element has a support of its own


@pytest.mark.row("16.4.2c", "16.3.2")
def test_derivatives_against_solving_anew_with_forty_digits():
    """min Σ exp(xᵢ) + ½ ‖x - a‖² over the simplex: the support by hand, its equations with mpmath."""
    a = np.array([0.9, 0.2, 0.7, -1.5])
    f = lambda x, a: np.sum(np.exp(x)) + 0.5 * np.sum((x - a) ** 2)
    solve = lambda a: optimize.minimize(f, np.ones(4) / 4, a, method=optimize.FISTA(sets.simplex()), tol=1e-12).value
    S = np.flatnonzero(solve(a))
    assert 0 < len(S) < 4

    def exact(a):
        with mpmath.workdps(40):
            equations = lambda *z: [
                *(mpmath.exp(z[k]) + z[k] - mpmath.mpf(a[i]) - z[-1] for k, i in enumerate(S)),
                sum(z[:-1]) - 1,
            ]
            z = mpmath.findroot(equations, [*solve(np.array(a, float))[S], 0.0])
            return [z[k] for k in range(len(S))]

    J = ad.jacobian(solve)(a)
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -15
        for j in range(4):
            moved = [mpmath.mpf(v) + (h if i == j else 0) for i, v in enumerate(a)]
            back = [mpmath.mpf(v) - (h if i == j else 0) for i, v in enumerate(a)]
            slope = [(u - v) / (2 * h) for u, v in zip(exact(moved), exact(back), strict=True)]
            np.testing.assert_allclose(J[S, j], [float(s) for s in slope], atol=1e-9)
    off = np.setdiff1d(np.arange(4), S)
    np.testing.assert_array_equal(J[off], 0)
    second = ad.jacobian(ad.jacobian(solve))(a)
    e = np.eye(4)[S[0]]
    difference = (ad.jacobian(solve)(a + 1e-5 * e) - ad.jacobian(solve)(a - 1e-5 * e)) / 2e-5
    np.testing.assert_allclose(second[..., S[0]], difference, atol=1e-6)


def test_values_and_points_follow_a_set_that_moves():
    f = lambda x: 0.5 * np.sum((x - np.array([2.0, 1.0])) ** 2)
    solve = lambda r: optimize.minimize(f, np.zeros(2), method=optimize.ProjectedGradient(sets.l2_ball(r)), tol=1e-12)
    size = np.sqrt(5.0)
    # x = r c / ‖c‖ and f = ½ (‖c‖ - r)²: with the set held fixed the second slope would be 0
    np.testing.assert_allclose(ad.jacobian(lambda r: solve(r).value)(1.0), np.array([2.0, 1.0]) / size, atol=1e-9)
    np.testing.assert_allclose(ad.grad(lambda r: solve(r).fun)(1.0), -(size - 1.0), atol=1e-9)
    np.testing.assert_allclose(ad.grad(ad.grad(lambda r: solve(r).fun))(1.0), 1.0, atol=1e-8)


def test_trees_and_parts_of_them():
    X = np.array([[1.0, 0.5], [0.3, 2.0], [1.0, 1.0]])
    y = np.array([3.0, -1.0, 2.0])
    f = lambda p: 0.5 * np.sum((X @ p["w"] + p["b"] - y) ** 2)
    term = proximal.separable({"w": proximal.l1(0.5), "b": None})
    flat = lambda v: f({"w": v[:2], "b": v[2]})
    expected = optimize.minimize(
        flat, np.zeros(3), method=optimize.FISTA(proximal.l1(np.array([0.5, 0.5, 0.0]))), tol=1e-11
    )
    for method in (optimize.FISTA(term), optimize.BlockCoordinateDescent(term), optimize.ProximalNewton(term)):
        found = optimize.minimize(f, {"w": np.zeros(2), "b": 0.0}, method=method, tol=1e-9, max_iterations=5000)
        np.testing.assert_allclose([*found.value["w"], found.value["b"]], expected.value, atol=1e-7)
    whole = optimize.minimize(f, {"w": np.zeros(2), "b": 0.0}, method=optimize.ProjectedGradient(sets.l2_ball(0.5)))
    np.testing.assert_allclose(np.sum(whole.value["w"] ** 2) + whole.value["b"] ** 2, 0.25)


def test_bad_input_is_refused():
    f = lambda x: np.sum(x**2)
    x = np.ones(3)
    simplex = optimize.ProjectedGradient(sets.simplex())
    run = lambda **options: optimize.minimize(f, x, **options)
    refused = [
        (lambda: run(method=optimize.ProximalGradient(3.0)), TypeError, "no term and no set"),
        (lambda: run(method=simplex, bounds=(0, 1)), ValueError, "sets.box"),
        (lambda: run(method=simplex, scale=2.0), ValueError, "scale"),
        (lambda: optimize.minimize(lambda p: f(p[0]), (x, 1.0), method=simplex, frozen=["1"]), ValueError, "frozen"),
        (lambda: optimize.FrankWolfe(lambda u: u), TypeError, "no lmo"),
        (lambda: optimize.FrankWolfe(sets.psd()), RuleError, "no lmo"),
        (lambda: optimize.FrankWolfe(sets.simplex(), step_rule="long"), ValueError, "open loop"),
        (lambda: optimize.MirrorDescent(proximal.l1()), TypeError, "no set"),
        (lambda: optimize.MirrorDescent(sets.simplex(), "burg"), ValueError, "potential"),
        (lambda: run(method=optimize.BlockCoordinateDescent(proximal.l1(), blocks=7)), ValueError, "7 blocks"),
        (lambda: run(method=optimize.ADMM(proximal.l1(), A=np.ones((2, 2)))), ValueError, "A has shape"),
        (lambda: optimize.minimize(np.sum, -x, method=optimize.FrankWolfe(sets.box(-np.inf, 0))), RuleError, "no end"),
    ]  # fmt: skip
    for attempt, kind, words in refused:
        with pytest.raises(kind, match=words):
            attempt()
    assert (
        optimize.minimize(lambda x: np.sum(np.log(x)), -x, method=optimize.FISTA(sets.box(-2, -1))).status
        == "not finite"
    )
