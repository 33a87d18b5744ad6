"""Gradient descent with fixed steps and with searches."""

import numpy as np

import adjoint as ad
from adjoint import optimize

bowl = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2


def test_too_long_steps_diverge_and_the_best_point_is_returned():
    method = optimize.GradientDescent(step_size=2.1)
    found = optimize.minimize(bowl, np.ones(2), method=method, max_iterations=50)
    assert found.status == "max iterations"
    assert found.fun == bowl(found.value) <= bowl(np.ones(2))
    values = [bowl(np.array([(1 - 0.21) ** t, (1 - 2.1) ** t])) for t in range(51)]
    np.testing.assert_allclose(found.fun, min(values), rtol=1e-9)


def test_searches_find_their_own_steps():
    found = optimize.minimize(bowl, np.ones(2), method="gradient descent", tol=1e-6)
    assert found.status == "converged"
    compiled = ad.jit(lambda w: optimize.minimize(bowl, w, method="gradient descent", tol=1e-6))(np.ones(2))
    assert compiled.iterations == found.iterations
    assert compiled.evaluations["value"] == found.evaluations["value"]
