"""`root` and `fixed_point`: systems against SciPy, statuses, derivatives, and what plain iterations miss."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from tests.support.sweeps import sampled


def powell(x):
    return np.stack([1e4 * x[0] * x[1] - 1, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001])


def broyden_tridiagonal(x):
    left, right = np.concatenate([np.zeros(1), x[:-1]]), np.concatenate([x[1:], np.zeros(1)])
    return (3 - 2 * x) * x - left - 2 * right + 1


SYSTEMS = {
    "powell": (powell, np.array([0.0, 1.0])),
    "broyden": (broyden_tridiagonal, -np.ones(10)),
    "circle": (lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - 2, x[0] - x[1] ** 3]), np.array([3.0, 0.5])),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("method", ["newton", "krylov", "broyden", "lm"])
def test_scipys_roots(name, method):
    F, x0 = SYSTEMS[name]
    found = optimize.root(F, x0, method=method, max_iterations=2000)
    assert found.status == "converged"
    assert np.max(np.abs(F(found.value))) < 1e-9
    known = theirs.root(F, found.value, jac=ad.jacobian(F), tol=1e-13)
    np.testing.assert_allclose(found.value, known.x, rtol=1e-5)


@pytest.mark.parametrize(
    "name, method", sampled([(n, m) for n in SYSTEMS for m in ("newton", "krylov", "broyden", "lm")], 5)
)
def test_compiled_systems(name, method):
    F, x0 = SYSTEMS[name]
    compiled = ad.jit(lambda x: optimize.root(F, x, method=method, max_iterations=2000))(x0)
    assert compiled.status == "converged"
    assert np.max(np.abs(F(compiled.value))) < 1e-9


def test_whole_steps_diverge_where_the_search_does_not():
    F = lambda x: np.arctan(x)
    x = 2.0
    for _ in range(5):
        x = x - F(x) * (1 + x * x)
    assert abs(x) > 1e3
    assert abs(optimize.root(F, 2.0).value) < 1e-11


def test_counts_of_broyden():
    found = optimize.root(broyden_tridiagonal, -np.ones(10), method="broyden")
    assert found.evaluations["jacobian"] == 1
    calls = []

    def counted(x):
        calls.append(1)
        return broyden_tridiagonal(x)

    found = optimize.root(counted, -np.ones(10), method="newton")
    assert len(calls) == found.evaluations["residual"] + found.evaluations["jacobian"]


def test_no_root_is_not_called_one():
    for method in ("newton", "lm", "broyden"):
        found = optimize.root(lambda x: x**2 + 1, 1.0, method=method)
        assert found.status == "singular"
        assert not found.converged
    assert (
        optimize.root(lambda x: np.stack([x[0] + x[1] - 1, 2 * x[0] + 2 * x[1] - 3]), np.zeros(2)).status == "singular"
    )


def test_many_unknowns_without_a_matrix():
    n = 2000
    found = optimize.root(broyden_tridiagonal, -np.ones(n))
    assert found.status == "converged"
    assert np.max(np.abs(broyden_tridiagonal(found.value))) < 1e-10


def test_derivatives_and_batches():
    F = lambda x, a: {"u": x["p"] ** 2 + x["q"] ** 2 - a, "v": x["p"] - x["q"] ** 3}
    start = {"p": 1.0, "q": 0.5}
    solve = lambda a: optimize.root(F, start, a).value["p"]
    h = 1e-4
    np.testing.assert_allclose(ad.grad(solve)(2.0), (solve(2 + h) - solve(2 - h)) / (2 * h), rtol=1e-7)
    np.testing.assert_allclose(
        ad.grad(ad.grad(solve))(2.0), (solve(2 + h) - 2 * solve(2.0) + solve(2 - h)) / h**2, rtol=1e-4
    )
    for run in (ad.vmap, lambda f: ad.jit(ad.vmap(f))):
        batch = run(lambda a: optimize.root(F, start, a))(np.array([1.0, 2.0]))
        np.testing.assert_allclose(batch.value["p"], [solve(1.0), solve(2.0)], rtol=1e-9)
        assert list(batch.status) == ["converged"] * 2


def test_bounds_keep_a_root_in_its_domain():
    F = lambda x: np.log(x) + 1.0
    found = optimize.root(F, 3.0, bounds=(1e-3, None))
    np.testing.assert_allclose(found.value, np.exp(-1.0), rtol=1e-10)


@pytest.mark.row("16.4.2b")
def test_anderson_needs_fewer_steps_and_ends_on_linear_maps_like_gmres():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = 0.97 * (A + A.T) / np.max(np.abs(np.linalg.eigvalsh(A + A.T)))
    T = lambda x: A @ x + 1.0
    exact = np.linalg.solve(np.eye(6) - A, np.ones(6))
    plain = optimize.fixed_point(T, np.zeros(6), method="picard")
    mixed = optimize.fixed_point(T, np.zeros(6), method=optimize.Anderson(memory=6))
    for found in (plain, mixed):
        np.testing.assert_allclose(found.value, exact, rtol=1e-8)
    assert mixed.iterations <= 9 < plain.iterations / 10


@pytest.mark.row("16.4.2b")
def test_anderson_wraps_the_steps_of_another_method():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 10)) * np.logspace(0, 1.5, 10)
    y = X @ np.r_[np.ones(3), np.zeros(7)] + 0.1 * rng.normal(size=40)
    step = 1 / np.linalg.norm(X, 2) ** 2
    soft = lambda z, t: np.sign(z) * np.maximum(np.abs(z) - t, 0.0)
    ista = lambda w: soft(w - step * (X.T @ (X @ w - y)), 0.5 * step)
    plain = optimize.fixed_point(ista, np.zeros(10), method="picard", tol=1e-9, max_iterations=20000)
    mixed = optimize.fixed_point(ista, np.zeros(10), tol=1e-9, max_iterations=20000)
    assert mixed.converged
    np.testing.assert_allclose(mixed.value, plain.value, atol=1e-4)
    assert mixed.iterations < plain.iterations / 3


def test_without_the_safeguard_mixtures_blow_up():
    """Far out this map is nearly flat, and a mixture is an extrapolation to nowhere."""
    T = lambda x: x - np.arctan(5 * (x - 1)) * 0.3
    safe = optimize.fixed_point(T, np.array([40.0, -3.0]))
    assert safe.converged
    np.testing.assert_allclose(safe.value, 1.0, atol=1e-9)


def test_maps_that_move_points_apart():
    away = lambda x: 3 * x + np.array([1.0, 2.0])
    assert optimize.fixed_point(away, np.zeros(2), method="picard").status == "not a contraction"
    np.testing.assert_allclose(optimize.fixed_point(away, np.zeros(2)).value, [-0.5, -1.0], atol=1e-9)
    none = optimize.fixed_point(lambda x: np.exp(x), 1.0)
    assert none.status == "not a contraction"
    assert np.isfinite(none.value)


def test_derivatives_of_a_fixed_point():
    solve = lambda a: optimize.fixed_point(lambda x: np.cos(a * x), 0.5, tol=1e-14).value
    h = 1e-4
    np.testing.assert_allclose(ad.grad(solve)(1.0), (solve(1 + h) - solve(1 - h)) / (2 * h), rtol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(solve)))(np.array([0.5, 1.0]))[1], ad.grad(solve)(1.0), rtol=1e-9)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: optimize.root(lambda x: np.stack([x, x]), 1.0), ad.ShapeError, "Use least_squares"),
        (lambda: optimize.root(lambda x: np.sum(x), np.ones(2)), ad.ShapeError, "freeze"),
        (lambda: optimize.root(lambda x: x, 1.0, method="newtn"), ValueError, "Did you mean newton"),
        (lambda: optimize.fixed_point(lambda x: x, 1.0, method="anderso"), ValueError, "Did you mean anderson"),
        (lambda: optimize.root(lambda x: x, np.array([1, 2])), ad.DtypeError, "astype"),
        (lambda: optimize.root(lambda x: x, 1.0, method=optimize.Broyden), TypeError, r"write Broyden\(\)"),
        (lambda: optimize.fixed_point(lambda x: np.ones(3), np.ones(2)), ad.ShapeError, r"T\(x\) has \(3,\)"),
        (lambda: optimize.Anderson(memry=3), TypeError, "Did you mean memory"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("method", ["anderson", "picard"])
def test_a_map_that_is_not_defined_where_it_leads_is_told_from_one_that_grows(method):
    assert optimize.fixed_point(lambda x: np.log(x), 0.5, method=method).status == "not finite"
    assert optimize.fixed_point(lambda x: np.exp(x) + 1.0, 0.5, method=method).status == "not a contraction"
