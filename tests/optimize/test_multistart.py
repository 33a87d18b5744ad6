"""Many starts in one batch: each is what `minimize` finds alone, and the lowest one is picked."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

wavy = lambda x: np.cos(3 * x) + 0.1 * x**2


def test_all_minima_are_kept():
    starts = np.linspace(-4.0, 4.0, 5)
    found = optimize.multistart(wavy, starts)
    alone = [optimize.minimize(wavy, x) for x in starts]
    np.testing.assert_allclose(found.value, [a.value for a in alone], atol=1e-7)
    np.testing.assert_array_equal(found.iterations, [int(a.iterations) for a in alone])
    best = optimize.best_of(found)
    grid = np.linspace(-4, 4, 100001)
    np.testing.assert_allclose(best.fun, np.min(wavy(grid)), atol=1e-8)
    assert best.status == "converged"


def test_one_that_diverges_is_not_the_best():
    f = lambda x: np.where(x > 0, -x, (x + 1) ** 2)
    found = optimize.multistart(f, np.array([-2.0, 2.0]))
    assert list(found.status) == ["converged", "unbounded"]
    np.testing.assert_allclose(optimize.best_of(found).value, -1.0, atol=1e-7)


def test_trees_of_starts():
    f = lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"] - p["a"]) ** 2)
    found = optimize.multistart(f, {"a": np.zeros(3), "b": np.ones((3, 2))}, method="lbfgs")
    np.testing.assert_allclose(optimize.best_of(found).value["b"], np.ones(2), atol=1e-6)
    with pytest.raises(ad.ShapeError, match="first axis"):
        optimize.multistart(f, {"a": np.zeros(3), "b": np.ones((2, 2))})
    with pytest.raises(ad.ShapeError, match="first axis"):
        optimize.multistart(wavy, 1.0)
