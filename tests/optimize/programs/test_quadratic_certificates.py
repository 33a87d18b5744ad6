"""Programs without a solution: their proofs, and that nothing is computed with them; warm starts."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

UNKNOWNS = 3


def empty_program(seed: int):
    """G x ≤ h that contradict each other by a known combination of rows, which nobody sees at once."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(4, UNKNOWNS))
    weights = rng.uniform(0.5, 2.0, size=4)
    last = -weights @ G
    h = rng.normal(size=4)
    return np.vstack([G, last]), np.append(h, -weights @ h - 1.0), rng.normal(size=UNKNOWNS)


METHODS = ("interior point", "highs")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS)
def test_a_contradiction_comes_with_multipliers_that_prove_it(method: str, seed: int) -> None:
    G, h, c = empty_program(seed)
    found = optimize.lp(c, G=G, h=h, method=method)
    if method == "highs":
        assert found.status == "infeasible"
    if found.status == "infeasible":
        z = found.certificate.multipliers.inequality
        assert np.all(z >= 0)
        np.testing.assert_allclose(G.T @ z, 0.0, atol=1e-7)
        np.testing.assert_allclose(h @ z, -1.0, atol=1e-9)
    else:  # both it and its dual contradict themselves
        assert found.status == "unbounded"
        assert c @ found.certificate.direction < 0
    assert np.all(np.isnan(found.value))
    assert np.isnan(found.fun)
    solid = optimize.qp(np.eye(UNKNOWNS), c, G=G, h=h)
    assert solid.status == "infeasible"
    np.testing.assert_allclose(G.T @ solid.certificate.multipliers.inequality, 0.0, atol=1e-7)
    with pytest.raises(ad.SolveError, match="The proof is in certificate"):
        solid.raise_if_failed()


@pytest.mark.parametrize("method", METHODS)
def test_an_endless_fall_comes_with_its_direction(method: str) -> None:
    c, G, h = np.array([-1.0, 0.5]), np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([2.0, 1.0])
    found = optimize.lp(c, G=G, h=h, method=method)
    assert found.status == "unbounded"
    d = found.certificate.direction
    np.testing.assert_allclose(c @ d, -1.0, atol=1e-9)
    assert np.all(G @ d <= 1e-7)
    assert np.all(np.isnan(found.certificate.multipliers.inequality))


def test_bounds_and_equations_are_part_of_the_proof() -> None:
    found = optimize.qp(np.eye(2), np.zeros(2), A=np.ones((1, 2)), b=np.array([3.0]), lower=0.0, upper=1.0)
    assert found.status == "infeasible"
    proof = found.certificate.multipliers
    np.testing.assert_allclose(proof.equality - proof.lower + proof.upper, 0.0, atol=1e-7)
    np.testing.assert_allclose(3.0 * proof.equality[0] + np.sum(proof.upper), -1.0, atol=1e-7)
    twice = optimize.qp(np.eye(2), np.zeros(2), A=np.ones((2, 2)), b=np.array([0.0, 1.0]))
    y = twice.certificate.multipliers.equality
    np.testing.assert_allclose(np.ones((2, 2)) @ y, 0.0, atol=1e-7)
    np.testing.assert_allclose(y[1], -1.0, atol=1e-7)


def test_nothing_is_computed_with_what_solves_nothing() -> None:
    G, h, q = empty_program(0)
    solve = lambda h: optimize.qp(np.eye(UNKNOWNS), q, G=G, h=h)
    better = np.append(h[:-1], h[-1] + 3.0)
    good = solve(better)
    assert good.status == "converged"
    assert good.certificate is None
    for run in (solve, ad.jit(solve)):
        assert np.all(np.isnan(run(h).value))
        assert np.all(np.isnan(run(h).multipliers.inequality))
    stacked = np.stack([h, better])
    for run in (ad.vmap(solve), ad.jit(ad.vmap(solve))):
        found = run(stacked)
        np.testing.assert_array_equal(found.status, ["infeasible", "converged"])
        np.testing.assert_allclose(found.value[1], good.value, atol=1e-9)
        assert np.all(np.isnan(found.value[0]))
        np.testing.assert_allclose(G.T @ found.certificate.multipliers.inequality[0], 0.0, atol=1e-7)
        assert np.all(np.isnan(found.certificate.multipliers.inequality[1]))
    derivative = ad.jacobian(lambda h: solve(h).value)
    for run in (ad.vmap(derivative), ad.jit(ad.vmap(derivative))):
        found = run(stacked)
        assert np.all(np.isnan(found[0]))
        np.testing.assert_allclose(found[1], derivative(better), atol=1e-9)
    assert np.all(np.isnan(ad.jvp(lambda h: solve(h).value, (h,), (np.ones(5),))[1]))


@pytest.mark.parametrize("compiled", [False, True])
def test_infinite_bounds_are_none_also_where_they_are_traced(compiled: bool) -> None:
    q = np.array([-2.0, 1.0, 0.5])
    solve = lambda low, high: optimize.qp(np.eye(3), q, lower=low, upper=high).value
    run = ad.jit if compiled else lambda f: f
    low, high = np.array([-np.inf, 0.0, -1.0]), np.array([1.0, np.inf, np.inf])
    np.testing.assert_allclose(run(solve)(low, high), [1.0, 0.0, -0.5], atol=1e-9)
    by_low, by_high = run(ad.jacobian(solve, (0, 1)))(low, high)
    np.testing.assert_allclose(by_low, np.diag([0.0, 1.0, 0.0]), atol=1e-9)
    np.testing.assert_allclose(by_high, np.diag([1.0, 0.0, 0.0]), atol=1e-9)
    stacks = np.stack([low, np.full(3, -np.inf)]), np.stack([high, np.full(3, np.inf)])
    np.testing.assert_allclose(run(ad.vmap(solve))(*stacks), [[1.0, 0.0, -0.5], -q], atol=1e-9)


def test_bounds_that_cross_by_rounding_are_one_number() -> None:
    solve = lambda low, high: optimize.qp(np.eye(1), np.ones(1), lower=low, upper=high)
    for run in (solve, ad.jit(solve)):
        found = run(np.array([0.1 + 0.2]), np.array([0.3]))
        assert found.status == "converged"
        np.testing.assert_allclose(found.value, [0.3], atol=1e-12)
    assert ad.jit(solve)(np.array([0.4]), np.array([0.3])).status == "infeasible"
    with pytest.raises(ValueError, match=r"lower is 0\.4 and upper 0\.3 at unknown 0"):
        solve(0.4, 0.3)


def test_a_warm_start_takes_one_factorization_where_the_same_constraints_are_active() -> None:
    rng = np.random.default_rng(0)
    P, q, G, h = np.eye(10), 3.0 * rng.normal(size=10), rng.normal(size=(15, 10)), np.ones(15)
    first = optimize.qp(P, q, G=G, h=h)
    again = lambda q, state: optimize.qp(P, q, G=G, h=h, warm=state)
    for run in (again, ad.jit(again)):
        near, far = run(q + 0.01, first.state), run(-q, first.state)
        assert near.iterations == 1
        assert first.iterations > 3
        np.testing.assert_allclose(near.value, optimize.qp(P, q + 0.01, G=G, h=h).value, atol=1e-9)
        np.testing.assert_allclose(far.value, optimize.qp(P, -q, G=G, h=h).value, atol=1e-9)
    derivative = lambda **more: ad.jacobian(lambda q: optimize.qp(P, q, G=G, h=h, **more).value)(q)
    np.testing.assert_allclose(derivative(warm=first), derivative(), atol=1e-12)

    def follow(q):
        def step(carry, _):
            q, state = carry
            found = optimize.qp(P, q, G=G, h=h, warm=state)
            return (0.99 * q + 0.01 * found.value, found.state), found.value

        return np.sum(ad.scan(step, (q, first.state), np.zeros(3))[1] ** 2)

    exact, step = ad.jit(ad.grad(follow))(q), 1e-6 * rng.normal(size=10)
    np.testing.assert_allclose(exact @ step, 0.5 * (follow(q + step) - follow(q - step)), rtol=1e-5)
    G2, h2, _ = empty_program(0)
    empty = optimize.qp(np.eye(3), np.zeros(3), G=G2, h=h2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert optimize.qp(np.eye(3), np.zeros(3), G=G2, h=h2 + 5.0, warm=empty).status == "converged"
    with pytest.raises(ad.ShapeError, match="other sizes"):
        optimize.qp(np.eye(3), np.zeros(3), G=G2, h=h2, warm=first)
    with pytest.raises(TypeError, match="earlier answer"):
        optimize.qp(np.eye(3), np.zeros(3), G=G2, h=h2, warm=np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(3))
def test_equations_that_contradict_each_other(seed: int, dtype: type) -> None:
    """Among inequalities: the multipliers of the equations alone are the proof."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(5, 4)).astype(dtype), rng.normal(size=5).astype(dtype)
    found = optimize.qp(np.eye(4, dtype=dtype), np.ones(4, dtype), A=A, b=b, lower=-100.0)
    assert found.status == "infeasible"
    assert np.isnan(found.value).all()
    y, z = found.certificate.multipliers.equality, found.certificate.multipliers.lower
    np.testing.assert_allclose(A.T @ y, z, atol=1e-6 if dtype == np.float64 else 1e-3)
    np.testing.assert_allclose(b @ y + 100.0 * np.sum(z), -1.0, rtol=1e-5)


def test_traced_matrices_that_are_not_semidefinite_solve_nothing() -> None:
    solve = ad.jit(lambda P: optimize.qp(P, -np.ones(2), lower=0.0, upper=2.0))
    assert solve(np.diag([1.0, -1.0])).status == "not finite"
    assert np.isnan(solve(np.diag([1.0, -1.0])).value).all()
    np.testing.assert_allclose(solve(np.diag([1.0, 0.0])).value, [1.0, 2.0], atol=1e-8)
    batch = ad.jit(ad.vmap(lambda P: optimize.qp(P, -np.ones(2), lower=0.0, upper=2.0).value))
    found = batch(np.stack([np.diag([1.0, -1.0]), np.eye(2)]))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], [1.0, 1.0], atol=1e-8)


def test_integer_programs_without_end() -> None:
    assert optimize.milp(np.array([-1.0, -2.0]), lower=0.0).status == "unbounded"
    assert optimize.milp(-np.ones(1), G=np.ones((1, 1)), h=-np.ones(1), lower=0.0).status == "infeasible"
