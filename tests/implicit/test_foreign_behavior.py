"""What users ask of solutions that others found: both modes, side results, arguments by name in any order."""

import numpy as np
import pytest
from scipy import linalg

import adjoint as ad
from adjoint import implicit

RNG = np.random.default_rng(7)
X, Y, LAM = RNG.normal(size=(10, 3)), RNG.normal(size=10), 5.0


def loss(w, lam, X, y):
    return 0.5 * np.mean((X @ w - y) ** 2) + 0.5 * lam * np.sum(w**2)


def solve(lam, X, y):
    """By SciPy, which takes plain arrays alone."""
    return linalg.solve(X.T @ X + lam * len(y) * np.eye(3), X.T @ y, assume_a="pos")


def solve_anew(h=1e-5):
    """∂w/∂λ from two more solves."""
    return (solve(LAM + h, X, Y) - solve(LAM - h, X, Y)) / (2 * h)


gradient = ad.grad(loss)


def test_pulls_and_pushes_of_a_root():
    w = implicit.root(gradient, solve)
    _, pull = ad.vjp(w, LAM, X, Y)
    np.testing.assert_allclose([pull(e)[0] for e in np.eye(3)], solve_anew(), rtol=1e-7)
    pushed = ad.jvp(w, (LAM, X, Y), (1.0, np.zeros_like(X), np.zeros_like(Y)))[1]
    np.testing.assert_allclose(pushed, solve_anew(), rtol=1e-7)


@pytest.mark.parametrize("condition", ["root", "fixed point"])
def test_a_decorated_solver(condition):
    if condition == "root":
        w = implicit.solution(gradient)(solve)
    else:
        w = implicit.fixed_point(lambda w, *theta: w - gradient(w, *theta), solve)
    np.testing.assert_allclose(w(LAM, X, Y), solve(LAM, X, Y), rtol=1e-14)
    np.testing.assert_allclose(ad.jacrev(w)(LAM, X, Y), solve_anew(), rtol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.jacfwd(w))(LAM, X, Y), solve_anew(), rtol=1e-7)


def test_side_results():
    w = implicit.solution(gradient, has_aux=True)(lambda lam, X, y: (solve(lam, X, y), {"rows": len(y)}))
    found, aux = w(LAM, X, Y)
    np.testing.assert_allclose(found, solve(LAM, X, Y))
    assert aux["rows"] == 10
    np.testing.assert_allclose(ad.jacrev(lambda lam: w(lam, X, Y)[0])(LAM), solve_anew(), rtol=1e-7)


@pytest.mark.parametrize("order", ["as defined", "another"])
@pytest.mark.parametrize("solver", ["by name", "any keywords"])
def test_arguments_by_name_in_any_order(order, solver):
    by_any = lambda **given: solve(given["lam"], given["X"], given["y"])
    w = implicit.solution(gradient)(solve if solver == "by name" else by_any)
    given = {"lam": LAM, "X": X, "y": Y} if order == "as defined" else {"X": X, "y": Y, "lam": LAM}
    np.testing.assert_allclose(w(**given), solve(LAM, X, Y))
    np.testing.assert_allclose(ad.jit(w)(**given), solve(LAM, X, Y))
    rest = {name: value for name, value in given.items() if name != "lam"}
    for derive in (ad.grad, lambda f: ad.jit(ad.grad(f))):
        np.testing.assert_allclose(derive(lambda lam: w(**rest, lam=lam)[0])(LAM), solve_anew()[0], rtol=1e-7)
    _, pull = ad.vjp(lambda X: w(**{**given, "X": X}), X)
    E = np.zeros_like(X)
    E[2, 1] = 1e-5
    moved = (solve(LAM, X + E, Y) - solve(LAM, X - E, Y)) / 2e-5
    np.testing.assert_allclose([pull(e)[0][2, 1] for e in np.eye(3)], moved, rtol=1e-6)
