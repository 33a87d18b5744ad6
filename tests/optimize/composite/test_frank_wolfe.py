"""Frank and Wolfe's method: the gap, away steps, few atoms."""

import numpy as np
import pytest

from adjoint import optimize
from adjoint.optimize import sets


@pytest.mark.row("16.3.1b")
def test_the_gap_of_frank_and_wolfe_bounds_the_error():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(15, 8)), rng.normal(size=15)
    f = lambda x: 0.5 * np.sum((A @ x - b) ** 2)

    class OnlyVertices:
        """A set that cannot project."""

        def lmo(self, u):
            return sets.simplex().lmo(u)

    best = optimize.minimize(f, np.ones(8) / 8, method=optimize.FISTA(sets.simplex()), tol=1e-13).fun
    for method in (optimize.FrankWolfe(OnlyVertices()), optimize.FrankWolfe(OnlyVertices(), away=False),
                   optimize.FrankWolfe(OnlyVertices(), step_rule="open loop", away=False)):  # fmt: skip
        history = optimize.minimize(f, np.ones(8) / 8, method=method, history=True, max_iterations=300).history
        gap, error = history["residual"], history["fun"] - best
        assert np.all(gap >= error - 1e-12)
        t = np.arange(2, len(error))
        assert np.all(error[2:] <= 2 * np.linalg.norm(A, 2) ** 2 * 2 / (t + 2))


def test_away_steps_do_not_zigzag():
    # the minimizer lies inside a face: plain steps go to and fro between its vertices
    c = np.array([0.3, 0.3, 0.4, -1.0, -1.0])
    f = lambda x: 0.5 * np.sum(np.array([1.0, 3.0, 9.0, 1.0, 1.0]) * (x - c) ** 2)
    away = optimize.minimize(
        f, np.ones(5) / 5, method=optimize.FrankWolfe(sets.simplex()), tol=1e-10, max_iterations=2000
    )
    plain = optimize.minimize(f, np.ones(5) / 5, method=optimize.FrankWolfe(sets.simplex(), away=False), tol=1e-10,
                              max_iterations=2000)  # fmt: skip
    exact = optimize.minimize(f, np.ones(5) / 5, method=optimize.FISTA(sets.simplex()), tol=1e-13).value
    assert away.status == "converged"
    np.testing.assert_allclose(away.value, exact, atol=1e-5)
    assert away.iterations < 200
    assert plain.iterations > 3 * away.iterations


def test_frank_and_wolfe_with_little_room_for_atoms():
    rng = np.random.default_rng(4)
    c = rng.normal(size=(4, 4))
    f = lambda X: 0.5 * np.sum((X - c) ** 2)
    method = optimize.FrankWolfe(sets.birkhoff(), atoms=6)
    found = optimize.minimize(f, np.ones((4, 4)) / 4, method=method, max_iterations=3000, tol=1e-5)
    np.testing.assert_allclose(found.value, sets.birkhoff().project(c), atol=1e-2)
    assert sets.birkhoff().contains(found.value, 1e-9)
