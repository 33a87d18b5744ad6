"""Chapter 11, minimizers under constraints: projections, proximal operators, multipliers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import adjoint as ad
from adjoint import implicit


def onto_simplex(y):
    ordered = np.sort(y)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1.0, 1.0 + len(y))
    count = np.sum(ordered > excess)
    return np.maximum(y - np.take(excess, count - 1), 0.0)


@pytest.mark.row("11.3.2-c")
@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 3.0])
def test_a_projection_onto_the_simplex_whatever_the_step(step):
    lam = np.array([0.6, 0.5, -0.4])
    f = lambda w, lam: 0.5 * np.sum((w - lam) ** 2)
    x = implicit.argmin(f, lambda lam: onto_simplex(lam), subject_to=implicit.Projected(onto_simplex, step))
    assert_allclose(x(lam), [0.55, 0.45, 0.0], atol=1e-15)
    expected = 0.5 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert_allclose(ad.jacrev(x)(lam), expected, atol=2e-11)
    assert_allclose(ad.jacfwd(x)(lam), expected, atol=2e-11)


@pytest.mark.row("11.3.2-c")
def test_projected_gradients_stand_in_where_no_solver_is_given():
    lam = np.array([2.0, -1.0, 0.3])
    box = implicit.Projected(lambda y: np.clip(y, 0.0, 1.0), 0.3)
    x = implicit.argmin(lambda w, lam: 0.5 * np.sum((w - lam) ** 2), x0=np.zeros(3), subject_to=box)
    assert_allclose(x(lam), [1.0, 0.0, 0.3], atol=1e-12)
    assert_allclose(ad.jacrev(x)(lam), np.diag([0.0, 0.0, 1.0]), atol=1e-10)


X = np.array([[1.0, 0.5, -0.3], [0.2, 1.5, 0.4], [-0.7, 0.3, 1.1], [0.9, -0.2, 0.6]])
Y = np.array([1.0, -2.0, 0.1, 0.8])


def soft(y, step, lam):
    return np.sign(y) * np.maximum(np.abs(y) - step * lam, 0.0)


def lasso(lam):
    w = np.zeros(3)
    for _ in range(20_000):
        w = soft(w - 0.2 * X.T @ (X @ w - Y), 0.2, lam)
    return w


@pytest.mark.row("11.3.2-d")
@pytest.mark.parametrize("step", [0.05, 0.2, 0.7])
def test_the_lasso_by_its_proximal_fixed_point(step):
    lam = 0.6
    w = implicit.argmin(lambda w, lam: 0.5 * np.sum((X @ w - Y) ** 2), lasso, subject_to=implicit.Proximal(soft, step))
    found = lasso(lam)
    support = found != 0
    assert 0 < np.sum(support) < 3
    expected = np.zeros(3)
    expected[support] = -np.linalg.solve(X[:, support].T @ X[:, support], np.sign(found[support]))
    assert_allclose(ad.jacobian(w)(lam), expected, atol=1e-10)
    assert_allclose(expected, (lasso(lam + 1e-5) - lasso(lam - 1e-5)) / 2e-5, atol=1e-9)


P = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
Q = np.array([-1.0, -2.0, 0.5])


def qp_solver(f, equality, inequality):
    """SciPy's SLSQP, polished on the constraints that it found active."""

    def solver(*theta):
        rules = [{"type": "eq", "fun": lambda x: np.atleast_1d(equality(x, *theta))}]
        rules += [{"type": "ineq", "fun": lambda x: -np.atleast_1d(inequality(x, *theta))}]
        found = minimize(f, np.zeros(3), args=theta, jac=ad.grad(f), constraints=rules, method="SLSQP",
                         options={"ftol": 1e-16, "maxiter": 500})  # fmt: skip
        return found.x

    return solver


def reference(theta):
    """The quadratic program below by trying every active set."""
    best = None
    a = np.array([1.0, 1.0, 1.0])
    G, h = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]), np.array([theta[0], 0.8, 0.3])
    for code in range(8):
        rows = [i for i in range(3) if code >> i & 1]
        A = np.vstack([a, G[rows]])
        rhs = np.concatenate([[theta[1]], h[rows]])
        if len(A) > 3:
            continue
        K = np.block([[P, A.T], [A, np.zeros((len(A), len(A)))]])
        z = np.linalg.solve(K, np.concatenate([-Q, rhs]))
        x, m = z[:3], np.zeros(3)
        m[rows] = z[4:]
        if np.all(G @ x <= h + 1e-12) and np.all(m >= -1e-12):
            value = 0.5 * x @ P @ x + Q @ x
            if best is None or value < best[0]:
                best = (value, x, z[3], m)
    return best


@pytest.mark.row("11.3.2-e")
def test_a_quadratic_program_with_two_active_constraints():
    f = lambda x, theta: 0.5 * x @ (P @ x) + Q @ x
    equality = lambda x, theta: np.sum(x) - theta[1]
    inequality = lambda x, theta: np.stack([x[0] - theta[0], x[1] - 0.8, -x[2] - 0.3])
    rules = implicit.Constraints(equality=equality, inequality=inequality)
    x = implicit.argmin(f, lambda theta: reference(theta)[1], subject_to=rules)
    theta, h = np.array([0.1, 0.7]), 1e-5
    assert x.active_set(theta)["active"] == [0, 1]
    jacobian = ad.jacrev(x)(theta)
    assert_allclose(ad.jacfwd(x)(theta), jacobian, atol=1e-12)
    prices = ad.jacrev(x.multipliers)(theta)
    value = implicit.value(f, lambda theta: reference(theta)[1], subject_to=rules)
    for i, e in enumerate(np.eye(2)):
        above, below = reference(theta + h * e), reference(theta - h * e)
        assert_allclose(jacobian[:, i], (above[1] - below[1]) / (2 * h), atol=1e-9)
        assert_allclose(prices["equality"][i], (above[2] - below[2]) / (2 * h), atol=1e-8)
        assert_allclose(prices["inequality"]["given"][:, i], (above[3] - below[3]) / (2 * h), atol=1e-8)
    found, multipliers = reference(theta), x.multipliers(theta)
    assert_allclose(multipliers["equality"], found[2], rtol=1e-10)
    assert_allclose(multipliers["inequality"]["given"], found[3], atol=1e-10)
    # shadow prices: the value changes by minus the multiplier for each unit that a constraint is relaxed
    slope = np.array([reference(theta + h * e)[0] - reference(theta - h * e)[0] for e in np.eye(2)]) / (2 * h)
    assert_allclose(slope, [-found[3][0], -found[2]], rtol=1e-7)
    assert value(theta) == pytest.approx(found[0])


@pytest.mark.row("11.3.2-e")
def test_the_same_program_solved_by_scipy():
    f = lambda x, theta: 0.5 * x @ (P @ x) + Q @ x
    equality = lambda x, theta: np.sum(x) - theta[1]
    inequality = lambda x, theta: np.stack([x[0] - theta[0], x[1] - 0.8, -x[2] - 0.3])
    rules = implicit.Constraints(equality=equality, inequality=inequality)
    x = implicit.argmin(f, qp_solver(f, equality, inequality), subject_to=rules)
    theta, h = np.array([0.1, 0.7]), 1e-5
    for i, e in enumerate(np.eye(2)):
        expected = (reference(theta + h * e)[1] - reference(theta - h * e)[1]) / (2 * h)
        assert_allclose(ad.jacrev(x)(theta)[:, i], expected, atol=1e-8)


@pytest.mark.row("11.3.2-e")
def test_a_second_order_cone():
    """min ½‖x - p‖² with ‖(x₁, x₂)‖ ≤ x₀: the projection onto the cone, which is differentiated by differences."""

    def project(y):
        t, v = y[0], y[1:]
        size = np.sqrt(np.sum(v**2))
        inside, below = size <= t, size <= -t
        middle = 0.5 * (t + size) * np.concatenate([np.ones(1), v / size])
        return np.where(inside, y, np.where(below, 0.0 * y, middle))

    rules = implicit.Constraints(cone=(lambda x, p: x, project))
    x = implicit.argmin(lambda x, p: 0.5 * np.sum((x - p) ** 2), lambda p: project(p), subject_to=rules)
    p, h = np.array([0.2, 1.0, -0.5]), 1e-6
    expected = np.stack([(project(p + h * e) - project(p - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    assert_allclose(ad.jacrev(x)(p), expected, atol=1e-9)
