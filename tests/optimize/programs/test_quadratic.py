"""Quadratic and linear programs: against SciPy, against enumeration of active sets, and their derivatives."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import adjoint as ad
from adjoint import optimize


def random_program(seed: int, n: int = 4, m: int = 1, p: int = 5):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, n))
    inside = rng.normal(size=n)
    A, G = rng.normal(size=(m, n)), rng.normal(size=(p, n))
    return {"P": M @ M.T + 0.2 * np.eye(n), "q": rng.normal(size=n), "A": A, "b": A @ inside, "G": G,
            "h": G @ inside + 0.3 * rng.random(p)}  # fmt: skip


def enumerate_solution(data):
    """The solution by trying every active set."""
    P, q, A, b, G, h = (data[k] for k in "PqAbGh")
    n, m = len(q), len(b)
    for size in range(n - m + 1):
        for active in map(list, itertools.combinations(range(len(h)), size)):
            rows = np.concatenate([A, G[active]])
            K = np.block([[P, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
            try:
                found = np.linalg.solve(K, np.concatenate([-q, b, h[active]]))
            except np.linalg.LinAlgError:
                continue
            x, prices = found[:n], found[n + m :]
            if np.all(G @ x <= h + 1e-9) and np.all(prices >= -1e-9):
                return x
    raise AssertionError("no active set fits")


@pytest.mark.parametrize("seed", range(8))
def test_against_enumeration(seed: int) -> None:
    data = random_program(seed)
    found = optimize.qp(**data)
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, enumerate_solution(data), atol=1e-9)
    P, q, A, G = (data[k] for k in "PqAG")
    prices = found.multipliers
    stationary = P @ found.value + q + A.T @ prices.equality + G.T @ prices.inequality
    np.testing.assert_allclose(stationary, 0.0, atol=1e-9)
    assert np.all(prices.inequality >= -1e-12)


@pytest.mark.parametrize("name", list("PqAbGh"))
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_against_differences(name: str, seed: int) -> None:
    data = random_program(seed)
    rng = np.random.default_rng(seed)

    def measured(value):
        found = optimize.qp(**{**data, name: value})
        prices = found.multipliers
        return np.sum(np.sin(found.value)) + np.sum(prices.inequality**2) + np.sum(prices.equality) + found.fun

    direction = rng.normal(size=data[name].shape)
    step = 1e-5
    difference = (measured(data[name] + step * direction) - measured(data[name] - step * direction)) / (2 * step)
    gradient = ad.grad(measured)(data[name])
    np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=1e-6, atol=1e-8)
    pushed = ad.jvp(measured, (data[name],), (direction,))[1]
    np.testing.assert_allclose(pushed, difference, rtol=1e-6, atol=1e-8)


def test_second_derivatives_against_differences_of_first() -> None:
    data = random_program(1)
    f = lambda h, q: np.sum(optimize.qp(**{**data, "h": h, "q": q}).multipliers.inequality ** 2)
    h, q = data["h"], data["q"]
    exact = ad.hessian(f)(h, q)
    step = 1e-5
    rough = [(ad.grad(f)(h + step * e, q) - ad.grad(f)(h - step * e, q)) / (2 * step) for e in np.eye(len(h))]
    np.testing.assert_allclose(exact, rough, atol=1e-5 * np.abs(exact).max())
    np.testing.assert_allclose(ad.jacfwd(ad.jacrev(f))(h, q), exact, atol=1e-8)
    np.testing.assert_allclose(ad.jit(ad.hessian(f))(h, q), exact, atol=1e-8)


def test_batches_with_different_active_sets() -> None:
    programs = [random_program(seed) for seed in range(6)]
    stacks = {k: np.stack([one[k] for one in programs]) for k in "PqAbGh"}
    f = lambda data: optimize.qp(**data).value
    expected = np.stack([f(one) for one in programs])
    for transformed in (ad.vmap(f), ad.jit(ad.vmap(f))):
        np.testing.assert_allclose(transformed(stacks), expected, atol=1e-9)
    gradients = ad.jit(ad.vmap(ad.grad(lambda data: np.sum(f(data) ** 3))))(stacks)
    for k, one in enumerate(programs):
        expected_one = ad.grad(lambda data: np.sum(f(data) ** 3))(one)
        for name in "PqAbGh":
            np.testing.assert_allclose(gradients[name][k], expected_one[name], atol=1e-8)


def test_bounds_and_their_prices() -> None:
    target = np.array([-1.0, 0.5, 3.0])
    solve = lambda low, high: optimize.qp(np.eye(3), -target, lower=low, upper=high)
    found = solve(np.zeros(3), np.ones(3))
    np.testing.assert_allclose(found.value, [0.0, 0.5, 1.0], atol=1e-10)
    np.testing.assert_allclose(found.multipliers.lower, [1.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(found.multipliers.upper, [0.0, 0.0, 2.0], atol=1e-9)
    jacobian = ad.jacobian(lambda high: solve(np.zeros(3), high).value)(np.ones(3))
    np.testing.assert_allclose(jacobian, np.diag([0.0, 0.0, 1.0]), atol=1e-10)
    np.testing.assert_allclose(solve(-np.inf, np.array([np.inf, np.inf, 1.0])).value, [-1.0, 0.5, 1.0], atol=1e-10)
    fixed = optimize.qp(np.eye(2), np.array([-1.0, -1.0]), lower=np.array([0.25, -5.0]), upper=np.array([0.25, 5.0]))
    np.testing.assert_allclose(fixed.value, [0.25, 1.0], atol=1e-7)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_linear_programs_against_highs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = rng.integers(1, 6), rng.integers(1, 9)
    c, G, h = rng.normal(size=n), rng.normal(size=(p, n)), rng.normal(size=p)
    theirs = linprog(c, G, h, bounds=(-5, 5))
    ours = optimize.lp(c, G=G, h=h, lower=-5.0, upper=5.0)
    if theirs.status == 2:
        assert ours.status == "infeasible"
    else:
        assert ours.status == "converged"
        np.testing.assert_allclose(ours.fun, theirs.fun, rtol=1e-7, atol=1e-7)


def test_vertices_move_with_the_right_side() -> None:
    c, G = np.array([-1.0, -2.0]), np.array([[1.0, 1.0], [1.0, 3.0]])
    solve = lambda h: optimize.lp(c, G=G, h=h, lower=0.0)
    h = np.array([4.0, 6.0])
    np.testing.assert_allclose(solve(h).value, [3.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(ad.jacobian(lambda h: solve(h).value)(h), np.linalg.inv(G), atol=1e-9)
    np.testing.assert_allclose(ad.grad(lambda h: solve(h).fun)(h), -solve(h).multipliers.inequality, atol=1e-9)
    for method in ("highs", "interior point"):
        assert optimize.lp(c, G=G, h=h, lower=0.0, method=method).status == "converged"


@pytest.mark.parametrize("seed", range(6))
def test_contradictions_are_told(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=3)
    G, h = np.stack([g, -g, rng.normal(size=3)]), np.array([-1.0, -1.0, 5.0])
    assert optimize.qp(np.eye(3), rng.normal(size=3), G=G, h=h).status == "infeasible"
    A = np.stack([g, g])
    assert optimize.qp(np.eye(3), rng.normal(size=3), A=A, b=np.array([0.0, 1.0])).status == "infeasible"
    assert optimize.lp(rng.normal(size=3), G=rng.normal(size=(1, 3)), h=np.ones(1)).status == "unbounded"
    flat = np.diag([1.0, 1.0, 0.0])
    assert optimize.qp(flat, np.array([0.0, 0.0, 1.0]), G=np.array([[1.0, 0, 0]]), h=np.ones(1)).status == "unbounded"
    with pytest.raises(ad.SolveError, match="infeasible"):
        optimize.qp(np.eye(3), np.zeros(3), G=G, h=h).raise_if_failed()


def test_weakly_active_constraints_have_one_sided_derivatives() -> None:
    solve = lambda a: optimize.qp(np.eye(1), -a, lower=np.zeros(1)).value
    at = np.zeros(1)
    for direction, expected in ((1.0, 1.0), (-1.0, 0.0)):
        pushed = ad.jvp(solve, (at,), (np.array([direction]),))[1]
        np.testing.assert_allclose(pushed, [expected * direction], atol=1e-12)
    with pytest.warns(ad.implicit.DerivativeWarning, match="weakly active"):
        ad.grad(lambda a: np.sum(solve(a)))(at)


def test_single_precision() -> None:
    data = {k: v.astype(np.float32) for k, v in random_program(0).items()}
    found = optimize.qp(**data)
    assert found.value.dtype == np.float32
    np.testing.assert_allclose(found.value, optimize.qp(**random_program(0)).value, atol=1e-3)


def test_only_equations() -> None:
    data = {k: v for k, v in random_program(0).items() if k not in "Gh"}
    found = optimize.qp(**data)
    assert found.status == "converged"
    np.testing.assert_allclose(data["A"] @ found.value, data["b"], atol=1e-10)
    ad.check_grads(lambda b: np.sum(optimize.qp(**{**data, "b": b}).value ** 2), (data["b"],))
    np.testing.assert_allclose(optimize.qp(np.eye(2), np.array([1.0, -1.0])).value, [-1.0, 1.0])


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="not positive semidefinite"):
        optimize.qp(-np.eye(2), np.zeros(2))
    with pytest.raises(ad.ShapeError, match=r"G has shape \(1, 3\); it must be \(any, 2\)"):
        optimize.qp(np.eye(2), np.zeros(2), G=np.ones((1, 3)), h=np.ones(1))
    with pytest.raises(TypeError, match="G and h are given together"):
        optimize.qp(np.eye(2), np.zeros(2), G=np.ones((1, 2)))
    with pytest.raises(ValueError, match="lower must not be above"):
        optimize.qp(np.eye(2), np.zeros(2), lower=1.0, upper=0.0)
    with pytest.raises(ValueError, match="method='simplex'"):
        optimize.lp(np.zeros(2), method="simplex")
    with pytest.raises(ad.ShapeError, match="q has shape"):
        optimize.qp(np.eye(2), np.zeros((2, 1)))
    with pytest.raises(ad.DtypeError, match="real numbers"):
        optimize.qp(np.eye(2) * 1j, np.zeros(2))
    with pytest.raises(ad.UnsupportedError, match="jumps from one integer"):
        ad.grad(lambda h: optimize.milp(-np.ones(2), G=np.ones((1, 2)), h=h, lower=0.0).fun)(np.ones(1))


def test_bad_input_of_mixed_integers() -> None:
    with pytest.raises(ad.ShapeError, match=r"G has shape \(1, 3\); it must be \(any, 2\)"):
        optimize.milp(np.ones(2), G=np.ones((1, 3)), h=np.ones(1))
    with pytest.raises(ad.ShapeError, match=r"h has shape \(2,\); it must be \(1,\)"):
        optimize.milp(np.ones(2), G=np.ones((1, 2)), h=np.ones(2))
    with pytest.raises(TypeError, match="A and b are given together"):
        optimize.milp(np.ones(2), A=np.ones((1, 2)))
    with pytest.raises(ValueError, match="vector of finite real numbers"):
        optimize.milp(np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match="h is -∞ somewhere"):
        optimize.qp(np.eye(2), np.zeros(2), G=np.eye(2), h=np.array([-np.inf, 1.0]))


def test_mixed_integers_against_enumeration() -> None:
    values, weights = np.array([5.0, 4.0, 3.0, 7.0]), np.array([2.0, 3.0, 1.0, 4.0])
    found = optimize.milp(-values, G=weights[None], h=np.array([6.0]), lower=0.0, upper=1.0)
    best = max(values @ x for x in map(np.array, itertools.product([0, 1], repeat=4)) if weights @ x <= 6)
    assert -found.fun == best
    assert optimize.milp(np.ones(1), G=np.ones((1, 1)), h=-np.ones(1), lower=0.0).status == "infeasible"
