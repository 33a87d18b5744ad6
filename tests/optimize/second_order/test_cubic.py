"""The cubic model's minimizer, in the hard case too, and saddle points that are left."""

import numpy as np
import pytest
from scipy import optimize as theirs

from adjoint import optimize
from adjoint.optimize.second_order.cubic import minimize_cubic_model


@pytest.mark.row("17.1.2b")
@pytest.mark.parametrize("case", ["definite", "indefinite", "hard", "zero gradient"])
def test_no_point_is_lower(case):
    rng = np.random.default_rng(0)
    values = np.array([1.0, 2.0, 5.0]) if case == "definite" else np.array([-2.0, 2.0, 5.0])
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    H = Q @ np.diag(values) @ Q.T
    b = {"hard": np.array([0.0, 0.3, 0.2]), "zero gradient": np.zeros(3)}.get(case, np.array([0.5, 0.3, -0.2]))
    g, sigma = Q @ b, 1.5
    model = lambda s: g @ s + 0.5 * s @ H @ s + sigma / 3 * np.linalg.norm(s) ** 3
    s = minimize_cubic_model(*np.linalg.eigh(H), g, np.float64(sigma))
    lowest = min(theirs.minimize(model, start, method="BFGS", options={"gtol": 1e-10}).fun
                 for start in rng.normal(size=(8, 3)))  # fmt: skip
    assert model(s) <= lowest + 1e-9


@pytest.mark.row("17.1.2b")
def test_a_saddle_is_left():
    f = lambda x: x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    assert optimize.minimize(f, np.zeros(2), method="newton").status == "saddle point"
    found = optimize.minimize(f, np.zeros(2), method="cubic")
    assert found.status == "converged"
    np.testing.assert_allclose([found.fun, abs(found.value[1])], [-1.0, np.sqrt(2)], rtol=1e-8)
