"""Newton's method: what stands for an indefinite Hessian, and where steps are shortened."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from tests.optimize.functions import STANDARD

saddle = lambda x: x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4


@pytest.mark.row("17.1.2a", "17.1.2c")
@pytest.mark.parametrize("curvature", ["regularize", "absolute", "floor"])
@pytest.mark.parametrize("name", ["rosenbrock", "wood", "powell singular"])
def test_standard_starts(curvature, name):
    f, x0, smallest = STANDARD[name]
    found = optimize.minimize(f, x0, method=optimize.Newton(curvature))
    assert found.status == "converged"
    assert abs(found.fun - smallest) < 1e-9


@pytest.mark.row("17.1.2c", "17.1.5a")
@pytest.mark.parametrize("curvature", ["regularize", "absolute", "floor"])
def test_directions_fall_where_newtons_own_climbs(curvature):
    x = np.array([0.5, 0.1])
    H, g = ad.hessian(saddle)(x), ad.grad(saddle)(x)
    assert np.linalg.eigvalsh(H)[0] < 0
    values, Q = np.linalg.eigh(H)
    d = -(Q @ ((Q.T @ g) / optimize.Newton(curvature).modify(values, 2e-16)))
    assert optimize.is_descent_direction(d, g)
    assert not optimize.is_descent_direction(-d, g)
    uphill = np.array([0.0, 1.0]) * -np.linalg.solve(H, g)
    assert not optimize.is_descent_direction(uphill, g)


@pytest.mark.row("17.1.1")
def test_an_indefinite_hessian_is_refused_where_that_is_asked():
    found = optimize.minimize(saddle, np.array([0.5, 0.1]), method=optimize.Newton("refuse"))
    assert found.status == "saddle point"
    assert "negative curvature" in found.advice
    assert optimize.minimize(saddle, np.zeros(2), method="newton").status == "saddle point"
    np.testing.assert_allclose(optimize.minimize(saddle, np.array([0.5, 0.1]), method="saddle-free").fun, -1.0)


@pytest.mark.row("17.1.5b")
def test_two_phases_of_a_damped_method():
    f = lambda x: np.sum(np.log(np.cosh(x)))  # whole steps diverge from beyond 1.09
    x = np.array([1.5])
    for _ in range(2):
        x = x - ad.grad(f)(x) / ad.hessian(f)(x)[0]
    assert abs(x[0]) > 10
    found = optimize.minimize(f, np.array([1.5]), method="newton", history=True)
    assert found.status == "converged"
    moved = found.history["step"][1:]
    assert found.iterations < 8
    assert moved[-1] < moved[0]
    with pytest.raises(ValueError, match="Did you mean absolute"):
        optimize.Newton("absolut")


@pytest.mark.parametrize("curvature", ["regularize", "absolute", "floor"])
def test_a_badly_conditioned_hessian_is_left_as_it_is(curvature):
    """With eigenvalues from 1 to 1e-11 of each other a ridge would make steps crawl along the flat directions."""
    A = np.vander(np.linspace(0, 1, 20), 8)
    f = lambda x: 0.5 * np.sum((A @ (x - 1)) ** 2)
    values = np.linalg.eigvalsh(A.T @ A)
    assert values[0] < 1e-10 * values[-1]
    found = optimize.minimize(f, np.zeros(8), method=optimize.Newton(curvature))
    assert found.iterations <= 3
    np.testing.assert_allclose(found.value, 1.0, atol=1e-3)


def soft_distance(x):
    """Huber's: planes, whose Hessian is zero, around a bowl."""
    r = np.abs(x - 3.0)
    return np.sum(np.where(r < 0.1, 0.5 * r * r, 0.1 * (r - 0.05)))


@pytest.mark.parametrize(
    "method", ["newton", "saddle-free", "newton-sparse", "cubic", "trust-exact", optimize.Newton("floor")]
)
def test_planes_are_crossed_in_steps_of_a_sensible_length(method):
    found = optimize.minimize(soft_distance, np.array([0.0, -5.0]), method=method)
    assert found.status == "converged"
    assert found.iterations < 40
    np.testing.assert_allclose(found.value, 3.0, atol=1e-6)
    if method != "cubic":  # whose steps on a plane grow no longer at some time
        assert optimize.minimize(lambda x: np.sum(x), np.zeros(2), method=method).status == "unbounded"
