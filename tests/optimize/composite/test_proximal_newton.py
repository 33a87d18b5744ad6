"""Proximal Newton methods."""

import numpy as np

from adjoint import optimize
from adjoint.optimize import proximal


def test_newton_steps_need_few_iterations():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 10)) * np.logspace(0, -2, 10)
    y = np.sign(X @ rng.normal(size=10) + 0.1 * rng.normal(size=60))
    f = lambda w: np.sum(np.log1p(np.exp(-y * (X @ w))))
    term = proximal.l1(0.05)
    counts = {}
    for method in (optimize.ProximalNewton(term), optimize.ProximalQuasiNewton(term), optimize.ProximalGradient(term)):
        found = optimize.minimize(f, np.zeros(10), method=method, max_iterations=5000)
        assert found.status == "converged"
        counts[type(method)] = int(found.iterations)
    assert counts[optimize.ProximalNewton] < 20
    assert counts[optimize.ProximalNewton] < counts[optimize.ProximalQuasiNewton] < counts[optimize.ProximalGradient]
