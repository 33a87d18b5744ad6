"""The step within a trust region is the model's minimizer, in the hard case too; saddle points are left."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.second_order.trust_region import follow_dogleg, solve_region
from tests.optimize.functions import rosenbrock


@pytest.mark.parametrize("case", ["inside", "edge", "indefinite", "hard", "zero gradient"])
def test_no_point_of_the_ball_is_lower(case):
    rng = np.random.default_rng(4)
    values = np.array([1.0, 2.0, 5.0]) if case in {"inside", "edge"} else np.array([-1.0, 2.0, 5.0])
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    H = Q @ np.diag(values) @ Q.T
    b = {"hard": np.array([0.0, 0.3, 0.2]), "zero gradient": np.zeros(3)}.get(case, np.array([0.5, 0.3, -0.2]))
    g, radius = Q @ b, 10.0 if case == "inside" else 0.3 if case == "edge" else 2.0
    model = lambda p: g @ p + 0.5 * p @ H @ p
    p = solve_region(*np.linalg.eigh(H), g, np.float64(radius))
    assert np.linalg.norm(p) <= radius * (1 + 1e-8)
    lowest = min(
        theirs.minimize(model, start, constraints={"type": "ineq", "fun": lambda p: radius**2 - p @ p},
                        method="SLSQP", options={"ftol": 1e-14}).fun
        for start in 0.5 * rng.normal(size=(6, 3))
    )  # fmt: skip
    assert model(p) <= lowest + 1e-7


def test_a_saddle_is_left_where_the_gradient_vanishes():
    f = lambda x: x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    assert optimize.minimize(f, np.zeros(2), method="bfgs").fun == 0.0
    found = optimize.minimize(f, np.zeros(2), method="trust-exact")
    np.testing.assert_allclose(found.fun, -1.0, atol=1e-10)
    compiled = ad.jit(lambda x: optimize.minimize(f, x, method="trust-exact"))(np.zeros(2))
    np.testing.assert_allclose(compiled.fun, -1.0, atol=1e-10)


def test_digits_double():
    f = lambda x: np.sum(np.exp(x) - x)
    found = optimize.minimize(f, np.array([1.0]), method="trust-exact", history=True, tol=1e-13)
    r = found.history["residual"]
    assert found.iterations <= 6
    assert r[4] / r[3] ** 2 < 1.0


@pytest.mark.parametrize("rule", ["exact", "dogleg"])
@pytest.mark.parametrize("bounds", [(None, 0.8), (-0.5, 0.5), (1.5, None)])
def test_boxes_agree_with_scipy(rule, bounds):
    low, high = (-np.inf if bounds[0] is None else bounds[0]), (np.inf if bounds[1] is None else bounds[1])
    x0 = np.clip(np.full(6, 0.1), low, high)
    method = optimize.TrustRegion(step_rule=rule)
    for found in (
        optimize.minimize(rosenbrock, x0, method=method, bounds=bounds),
        ad.jit(lambda x: optimize.minimize(rosenbrock, x, method=method, bounds=bounds))(x0),
    ):
        assert found.converged
        expected = theirs.minimize(rosenbrock, x0, jac=ad.grad(rosenbrock), method="L-BFGS-B", bounds=[bounds] * 6,
                                   options={"ftol": 1e-15, "gtol": 1e-10})  # fmt: skip
        np.testing.assert_allclose(found.value, expected.x, atol=1e-5)
        assert np.all((found.value >= low) & (found.value <= high))


def test_a_clipped_newton_step_would_stay_at_a_corner():
    """min ½ xᵀHx - bᵀx in a box, with H so skew that the projected Newton step is no descent."""
    H = np.array([[1.0, -0.99], [-0.99, 1.0]])
    b = np.array([1.0, -0.9])
    f = lambda x: 0.5 * x @ H @ x - b @ x
    found = optimize.minimize(f, np.array([0.5, 0.5]), method="trust-exact", bounds=(0.0, 1.0))
    grid = np.linspace(0.0, 1.0, 401)
    values = [f(np.array([u, v])) for u in grid[::8] for v in grid[::8]]
    assert found.converged
    assert found.fun <= min(values) + 1e-9


def test_dogleg_goes_over_the_cauchy_point():
    """At a radius between both points the step lies on the segment, at that distance."""
    H, g = np.diag([1.0, 10.0]), np.array([1.0, 3.0])
    values, vectors = np.linalg.eigh(H)
    cauchy, newton = -g * (g @ g) / (g @ H @ g), -np.linalg.solve(H, g)
    radius = 0.5 * (np.linalg.norm(cauchy) + np.linalg.norm(newton))
    p = follow_dogleg(values, vectors, g, radius)
    np.testing.assert_allclose(np.linalg.norm(p), radius)
    share = (p - cauchy) @ (newton - cauchy) / np.sum((newton - cauchy) ** 2)
    assert 0 < share < 1
    np.testing.assert_allclose(p, cauchy + share * (newton - cauchy))
    np.testing.assert_allclose(follow_dogleg(values, vectors, g, 10.0), newton)
    short = follow_dogleg(values, vectors, g, 0.01)
    np.testing.assert_allclose(short, -0.01 * g / np.linalg.norm(g))


def test_a_path_that_has_no_way_down_from_a_saddle_says_so():
    saddle = lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4
    assert optimize.minimize(saddle, np.array([1.0, 0.0]), method="dogleg").status == "saddle point"
    assert optimize.minimize(saddle, np.array([1.0, 0.0]), method="trust-exact").status == "converged"


@pytest.mark.parametrize("method", ["trust-exact", "dogleg", "newton-cg", "cubic"])
def test_functions_that_fall_without_end(method):
    for f in (lambda x: x[0] ** 2 - x[1] ** 2, lambda x: np.sum(x), lambda x: -np.sum(np.exp(x))):
        assert optimize.minimize(f, np.array([0.0, 0.1]), method=method).status == "unbounded"
