"""Mirror descent and exponentiated gradients."""

import numpy as np
import pytest

from adjoint import optimize
from adjoint.optimize import sets


@pytest.mark.row("16.3.1c")
def test_mirror_descent_has_the_closed_form_of_exponentiated_gradients():
    rng = np.random.default_rng(5)
    A, b = rng.normal(size=(9, 5)), rng.normal(size=9)
    f = lambda x: 0.5 * np.sum((A @ x - b) ** 2)
    points = {}
    for name, method in (("mirror", optimize.MirrorDescent(sets.simplex(), step_size=0.05)),
                         ("exponentiated", optimize.ExponentiatedGradient(0.05))):  # fmt: skip
        points[name] = []
        optimize.minimize(
            f, np.ones(5) / 5, method=method, max_iterations=20, callback=lambda i, n=name: points[n].append(i.x)
        )
    x = np.ones(5) / 5
    for k in range(20):
        x = x * np.exp(-0.05 * (A.T @ (A @ x - b)))
        x = x / np.sum(x)
        for name in points:
            np.testing.assert_allclose(points[name][k], x, atol=1e-12)
    euclidean = optimize.MirrorDescent(sets.simplex(), "euclidean", step_size=0.05)
    projected = optimize.ProjectedGradient(sets.simplex(), step_size=0.05)
    found = [optimize.minimize(f, np.ones(5) / 5, method=m, max_iterations=20).value for m in (euclidean, projected)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    # steps that would overflow exp
    steep = lambda x: 1e6 * np.sum(x * np.arange(5.0))
    found = optimize.minimize(steep, np.ones(5) / 5, method=optimize.ExponentiatedGradient(1.0), max_iterations=5)
    np.testing.assert_allclose(found.value, [1, 0, 0, 0, 0], atol=1e-12)
