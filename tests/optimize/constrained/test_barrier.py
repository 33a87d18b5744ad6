"""The log-barrier method: published problems, the duality gap on the central path, derivatives, statuses."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import LogBarrier, equality, inequality
from tests.optimize.constrained.test_solving import PROBLEMS
from tests.support.sweeps import sampled


@pytest.mark.parametrize("name", sampled(PROBLEMS, every=3))
def test_published_problems(name: str) -> None:
    f, start, constraints, bounds, best = PROBLEMS[name]
    found = optimize.minimize(f, np.array(start), subject_to=constraints, bounds=bounds, method="interior point")
    assert found.status == "converged"
    assert found.feasible
    np.testing.assert_allclose(found.fun, best, rtol=2e-6, atol=2e-6)


@pytest.mark.row("17.1.4b")
@pytest.mark.parametrize("weight", [20.0, 1e3])
@pytest.mark.parametrize("curved", [0.0, 1.0])
def test_the_duality_gap_on_the_central_path_is_m_over_t(weight: float, curved: float) -> None:
    """Linear and quadratic programs with m = 7 inequalities: the dual value is computed from the multipliers alone."""
    rng = np.random.default_rng(0)
    n, m = 3, 7
    G = np.vstack([rng.normal(size=(m - 4, n)), np.eye(n), -np.ones((1, n))])
    h = np.ones(m)
    M = rng.normal(size=(n, n))
    P, q = curved * (M @ M.T + np.eye(n)), -G.T @ rng.uniform(0.2, 1.0, size=m)
    f = lambda x: 0.5 * x @ P @ x + q @ x
    method = LogBarrier(last=weight)
    found = optimize.minimize(f, np.zeros(n), subject_to=inequality(lambda x: G @ x - h), method=method)
    assert found.status == "converged"
    z = found.multipliers.inequality
    # where P x + q + Gᵀz = 0 the dual value is -½ xᵀP x - hᵀz
    dual = -0.5 * found.value @ P @ found.value - h @ z
    np.testing.assert_allclose(P @ found.value + q + G.T @ z, 0.0, atol=1e-2 / weight)
    np.testing.assert_allclose(found.fun - dual, m / weight, rtol=0.05)
    np.testing.assert_allclose(found.certificate["duality gap"], m / weight, rtol=0.01)
    best = optimize.qp(P, q, G=G, h=h).fun
    assert 0 < found.fun - best <= m / weight * 1.01
    # the same minimum of t f - Σ log(h - G x) by a method that knows nothing of it
    center = optimize.minimize(lambda x: weight * f(x) - np.sum(np.log(h - G @ x)), np.zeros(n), method="newton")
    np.testing.assert_allclose(found.value, center.value, atol=1e-3 / weight)


def test_derivatives_compiled_and_in_batches() -> None:
    P, q, G = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([-1.0, -1.0]), np.ones((1, 2))

    def solve(h):
        rule = inequality(lambda x, h: G @ x - h)
        f = lambda x, h: 0.5 * x @ P @ x + q @ x
        return optimize.minimize(f, np.full(2, 3.0), h, subject_to=rule, bounds=(0.0, None), method="interior point")

    exact = lambda h: optimize.qp(P, q, G=G, h=h, lower=0.0)
    stacked = np.array([[1.0], [0.4], [5.0]])
    parts = lambda found: np.concatenate([found.value, found.multipliers.inequality, np.reshape(found.fun, (1,))])
    ours, theirs = lambda h: parts(solve(h)), lambda h: parts(exact(h))
    np.testing.assert_allclose(ad.vmap(ours)(stacked), ad.vmap(theirs)(stacked), atol=1e-6)
    derivative = ad.jit(ad.vmap(ad.jacobian(ours)))(stacked)
    np.testing.assert_allclose(derivative, ad.vmap(ad.jacobian(theirs))(stacked), atol=1e-6)


def test_statuses() -> None:
    solve = lambda f, rules, **more: optimize.minimize(f, np.zeros(1), subject_to=rules, method="barrier", **more)
    twice = [inequality(lambda x: x - 1.0), inequality(lambda x: 2.0 - x)]
    found = solve(lambda x: x[0], twice)
    assert found.status == "infeasible"
    assert not found.feasible
    assert solve(lambda x: -x[0], inequality(lambda x: 1.0 - x)).status == "unbounded"
    assert solve(lambda x: np.sqrt(x[0] - 1.0), inequality(lambda x: x - 3.0)).status == "not finite"
    assert (
        solve(lambda x: (x[0] - 2.0) ** 2, equality(lambda x: x**2 - 1.0), max_iterations=1).status == "max iterations"
    )
    with pytest.raises(ValueError, match="growth above 1"):
        LogBarrier(growth=0.5)
    with pytest.raises(ValueError, match="it is not below weight"):
        LogBarrier(last=1.0)


@pytest.mark.parametrize("bounds", [None, (-1.0, None), (-1.0, 2.0)])
def test_points_of_the_central_path_have_derivatives_of_their_own(bounds):
    """Each constraint presses by 1 / t there; as those of the end of the path they were off by about that."""

    def point(a):
        rule = optimize.inequality(lambda x: np.sum(x) - a)
        found = optimize.minimize(lambda x: np.sum((x - a) ** 2) + x[0], np.zeros(2), subject_to=rule, bounds=bounds,
                                  method=optimize.LogBarrier(last=50.0))  # fmt: skip
        return np.concatenate([found.value, np.stack([found.fun]), found.multipliers.inequality])

    difference = (point(1.3 + 1e-5) - point(1.3 - 1e-5)) / 2e-5
    for derivative in (ad.jacobian(point), ad.jit(ad.jacobian(point)), lambda a: ad.jvp(point, (a,), (1.0,))[1]):
        np.testing.assert_allclose(derivative(1.3), difference, atol=1e-7)
