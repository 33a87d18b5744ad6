"""The step within a trust region is the model's minimizer, in the hard case too; saddle points are left."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.second_order.trust_region import solve_region


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
