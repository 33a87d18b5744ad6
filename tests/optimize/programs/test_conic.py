"""Programs over cones: solutions that were built in, closed forms, and derivatives against differences."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

CONES = [("zero", 1), ("nonnegative", 3), ("second order", 3), ("second order", 3), "exponential", ("psd", 2)]
ROWS = 1 + 3 + 3 + 3 + 3 + 4


def built_in(seed: int, n: int = 7):
    """(P, q, A, b, x, y): a program whose solution and multipliers are known, by choosing s ⊥ y in the cones."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(ROWS, n))
    x = rng.normal(size=n)
    s, y = [0.0], [rng.normal()]
    s, y = [*s, 0.7, 0.0, 0.4], [*y, 0.0, 1.2, 0.0]
    for on_edge in (True, False):
        z = rng.normal(size=2)
        t = np.linalg.norm(z) if on_edge else 2.0 * np.linalg.norm(z)
        s, y = [*s, t, *z], [*y, *(1.5 * np.array([t, *-z]) if on_edge else np.zeros(3))]
    ratio = rng.normal()  # on the edge of the exponential cone, and the normal of it there
    s = [*s, 0.8 * ratio, 0.8, 0.8 * np.exp(ratio)]
    y = [*y, *(-0.9 * np.array([1.0, 1.0 - ratio, -np.exp(-ratio)]))]
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    s, y = [*s, *(turn @ np.diag([1.3, 0.0]) @ turn.T).ravel()], [*y, *(turn @ np.diag([0.0, 0.6]) @ turn.T).ravel()]
    M = rng.normal(size=(n, n))
    P = M @ M.T / n + 0.1 * np.eye(n)
    y = np.array(y)
    # the antisymmetric part of a matrix is free: rows of A that would move it get none of it
    A[-2] = A[-3]
    return P, -P @ x - A.T @ y, A, A @ x + np.array(s), x, y


@pytest.mark.parametrize("seed", range(4))
def test_solutions_that_were_built_in(seed: int) -> None:
    P, q, A, b, x, y = built_in(seed)
    found = optimize.conic(P, q, A, b, CONES)
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, x, atol=1e-9)
    np.testing.assert_allclose(P @ x + q + A.T @ found.multipliers, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.multipliers, y, atol=1e-7)
    np.testing.assert_allclose(found.fun, 0.5 * x @ P @ x + q @ x, rtol=1e-9)


@pytest.mark.parametrize("at", range(4))
def test_derivatives_against_differences(at: int) -> None:
    data = list(built_in(1)[:4])

    def f(*data):
        found = optimize.conic(*data, CONES)
        return np.sum(np.sin(found.value)) + np.sum(found.multipliers[:7] ** 2) + found.fun

    rng = np.random.default_rng(3)
    way = rng.normal(size=data[at].shape)
    if at == 2:
        way[-2] = way[-3]
    if at == 3:
        way[-2] = way[-3]
    step = 1e-5
    moved = [f(*[v + sign * step * way if k == at else v for k, v in enumerate(data)]) for sign in (1, -1)]
    difference = (moved[0] - moved[1]) / (2 * step)
    along = lambda v: f(*data[:at], v, *data[at + 1 :])
    np.testing.assert_allclose(np.sum(ad.grad(along)(data[at]) * way), difference, rtol=1e-6)
    np.testing.assert_allclose(ad.jvp(along, (data[at],), (way,))[1], difference, rtol=1e-6)


def test_all_transformations_agree() -> None:
    P, q, A, b, _, _ = built_in(2)
    f = lambda q: np.sum(optimize.conic(P, q, A, b, CONES).value ** 2)
    exact = ad.grad(f)(q)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(q), exact, rtol=1e-9, atol=1e-12)
    stacked = np.stack([q, q + 0.01])
    for run in (ad.vmap(ad.grad(f)), ad.jit(ad.vmap(ad.grad(f)))):
        np.testing.assert_allclose(run(stacked)[0], exact, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(run(stacked)[1], ad.grad(f)(q + 0.01), rtol=1e-9, atol=1e-12)
    bent = ad.hessian(f)(q)
    step = 1e-5 * np.random.default_rng(0).normal(size=len(q))
    rough = 0.5 * (ad.grad(f)(q + step) - ad.grad(f)(q - step))
    np.testing.assert_allclose(bent @ step, rough, atol=1e-4 * np.abs(rough).max())


def test_entropy_has_the_softmax_as_its_solution() -> None:
    """Largest entropy minus cost: (t, p, 1) in the exponential cone is t ≤ -p log p."""
    k = 3
    rows, right = [np.concatenate([np.ones(k), np.zeros(k)])], [1.0]
    for i in range(k):
        unit = np.eye(2 * k)
        rows, right = [*rows, -unit[k + i], -unit[i], 0 * unit[0]], [*right, 0.0, 0.0, 1.0]
    cones = [("zero", 1), *["exponential"] * k]
    solve = lambda c: optimize.conic(None, np.concatenate([c, -np.ones(k)]), np.array(rows), np.array(right), cones)
    c = np.array([0.1, 0.4, -0.2])
    p = np.exp(-c) / np.sum(np.exp(-c))
    np.testing.assert_allclose(solve(c).value[:k], p, atol=1e-10)
    np.testing.assert_allclose(ad.jacobian(lambda c: solve(c).value[:k])(c), np.outer(p, p) - np.diag(p), atol=1e-9)


def test_the_nearest_matrix_of_correlations() -> None:
    rng = np.random.default_rng(0)
    C = rng.normal(size=(3, 3))
    C = C + C.T
    diagonal = np.eye(9)[[0, 4, 8]]
    A, right = np.vstack([diagonal, -np.eye(9)]), np.concatenate([np.ones(3), np.zeros(9)])
    solve = lambda C: optimize.conic(np.eye(9), -np.ravel(C), A, right, [("zero", 3), ("psd", 3)]).value.reshape(3, 3)
    X = solve(C)
    np.testing.assert_allclose(np.diag(X), 1.0, atol=1e-10)
    # against alternating projections with Dykstra's corrections
    Y, correction = C.copy(), np.zeros((3, 3))
    for _ in range(3000):
        w, V = np.linalg.eigh(Y - correction)
        raised = (V * np.maximum(w, 0.0)) @ V.T
        correction = raised - (Y - correction)
        Y = raised - np.diag(np.diag(raised)) + np.eye(3)
    np.testing.assert_allclose(X, Y, atol=1e-7)
    D = rng.normal(size=(3, 3))
    pushed = ad.jvp(solve, (C,), (D,))[1]
    np.testing.assert_allclose(pushed, (solve(C + 1e-5 * D) - solve(C - 1e-5 * D)) / 2e-5, atol=1e-7)


def test_what_has_no_solution_has_a_proof() -> None:
    # ‖x‖ ≤ 1 and x₀ ≥ 2
    A = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]])
    b = np.array([1.0, 0.0, 0.0, -2.0])
    cones = [("second order", 3), ("nonnegative", 1)]
    solve = lambda b: optimize.conic(None, np.ones(2), A, b, cones)
    found = solve(b)
    assert found.status == "infeasible"
    y = found.certificate.multipliers
    np.testing.assert_allclose(A.T @ y, 0.0, atol=1e-7)
    np.testing.assert_allclose(b @ y, -1.0, atol=1e-9)
    assert y[0] >= np.linalg.norm(y[1:3]) - 1e-7
    assert y[3] >= 0
    assert np.all(np.isnan(found.value))
    with pytest.raises(ad.SolveError, match="infeasible"):
        found.raise_if_failed()
    with pytest.warns(ad.implicit.DerivativeWarning):
        assert np.all(np.isnan(ad.jacobian(lambda b: solve(b).value)(b)))
    endless = optimize.conic(None, np.array([-1.0, 0.0]), A[:3, :], np.array([1e30, 0.0, 0.0])[:3], [("zero", 3)])
    assert endless.status != "converged"
    falling = optimize.conic(None, np.ones(1), np.ones((1, 1)), np.ones(1), [("nonnegative", 1)])
    assert falling.status == "unbounded"
    np.testing.assert_allclose(falling.certificate.direction, [-1.0])


def test_bad_input() -> None:
    eye, one = np.eye(2), np.ones(2)
    solve = lambda cones, A=eye, b=one, P=None: optimize.conic(P, one, A, b, cones)
    with pytest.raises(ValueError, match="'cube' is no cone"):
        solve([("cube", 2)])
    with pytest.raises(TypeError, match="a cone is a pair"):
        solve([3])
    with pytest.raises(ValueError, match="'zero' has size 0; it has one row or more"):
        solve([("zero", 0)])
    with pytest.raises(ValueError, match="'exponential' has size 2; it has 3 rows"):
        solve([("exponential", 2)])
    with pytest.raises(ad.ShapeError, match="cones have 3 rows together, and b has 2"):
        solve([("zero", 3)])
    with pytest.raises(ad.ShapeError, match="cones have 0 rows together"):
        solve([])
    with pytest.raises(ad.ShapeError, match=r"A has shape \(2, 3\); it must be \(2, 2\)"):
        solve([("zero", 2)], A=np.ones((2, 3)))
    with pytest.raises(ValueError, match="b has entries that are not finite"):
        solve([("nonnegative", 2)], b=np.array([np.inf, 1.0]))
    with pytest.raises(ad.DtypeError, match="real numbers"):
        solve([("zero", 2)], P=1j * eye)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        solve([("zero", 2)], P=-eye)
    with pytest.raises(ValueError, match="tol is -1"):
        optimize.conic(None, one, eye, one, [("zero", 2)], tol=-1)


def test_the_value_has_its_derivative_where_the_solution_is_not_unique() -> None:
    """Every x ≥ 0 with x₁ + x₂ = b costs b c."""
    A, cones = np.array([[-1.0, -1.0], [-1.0, 0.0], [0.0, -1.0]]), [("nonnegative", 3)]
    value = lambda c, b: optimize.conic(None, c * np.ones(2), A, np.stack([-b, 0.0, 0.0]), cones).fun
    np.testing.assert_allclose(value(2.0, 3.0), 6.0, atol=1e-8)
    np.testing.assert_allclose(ad.grad(value, argnums=(0, 1))(2.0, 3.0), (3.0, 2.0), atol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(value)))(np.array([2.0, 1.0]), np.array([3.0, 4.0])), [3.0, 4.0],
                               atol=1e-7)  # fmt: skip


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_the_units_of_the_unknowns_do_not_matter(size):
    """‖(x - 1, y + 2)‖ ≤ r with x ≥ 2 in units of `size`: in small ones x was 1e-4 of its size off."""
    A = np.concatenate([-np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), [[-1.0, 0.0, 0.0]]])
    right, cones = np.array([0.0, -1.0, 2.0, -2.0]), [("second order", 3), ("nonnegative", 1)]
    solve = lambda size: optimize.conic(np.diag([1.0, 1.0, 0.0]) / size, np.eye(3)[2], A, size * right, cones).value
    np.testing.assert_allclose(solve(size) / size, solve(1.0), rtol=1e-9)


def test_single_precision_stays():
    data = [np.eye(2), np.array([1.0, -1.0]), -np.eye(2), np.zeros(2)]
    single = [v.astype(np.float32) for v in data]
    found = optimize.conic(*single, [("nonnegative", 2)])
    assert found.value.dtype == found.fun.dtype == np.float32
    np.testing.assert_allclose(found.value, optimize.conic(*data, [("nonnegative", 2)]).value, atol=1e-6)
    assert (
        ad.jacobian(lambda q: optimize.conic(single[0], q, *single[2:], [("nonnegative", 2)]).value)(single[1]).dtype
        == np.float32
    )
