"""Boundary value problems: published examples, SciPy as judge, derivatives against differences and exact ones."""

import numpy as np
import pytest
import scipy.integrate

import adjoint as ad
from adjoint.integrate import solve_boundary

ENDS = lambda a, b, *rest: np.stack([a[0], b[0]])


def bratu(t, y, lam):
    return np.stack([y[1], -lam * np.exp(y[0])])


def _bratu_middle(lam):
    """y(½) = 2 ln cosh(θ/4 …): θ = √(2λ) cosh(θ/4), y(½) = 2 ln cosh(θ/4)."""
    from scipy.optimize import brentq

    theta = brentq(lambda x: x - np.sqrt(2 * lam) * np.cosh(x / 4), 0.0, 4.5, xtol=1e-15)
    return 2 * np.log(np.cosh(theta / 4))


@pytest.mark.parametrize("method, accuracy", [("collocation", 1e-8), ("shooting", 1e-6)])
def test_bratu_and_its_derivatives(method, accuracy):
    mesh = np.linspace(0.0, 1.0, 9)

    def middle(lam):
        found = solve_boundary(bratu, ENDS, mesh, np.zeros((9, 2)), args=(lam,), method=method, tol=1e-7)
        assert found.status == "converged"
        return found.values[found.mesh.shape[0] // 2, 0]

    assert abs(middle(1.0) - _bratu_middle(1.0)) < accuracy
    slope = (_bratu_middle(1.001) - _bratu_middle(0.999)) / 2e-3
    assert abs(ad.grad(middle)(1.0) - slope) < 1e-6
    assert abs(ad.jvp(middle, (1.0,), (1.0,))[1] - slope) < 1e-6
    if method == "collocation":
        bend = (_bratu_middle(1.01) - 2 * _bratu_middle(1.0) + _bratu_middle(0.99)) / 1e-4
        assert abs(ad.grad(ad.grad(middle))(1.0) - bend) < 1e-4


def test_second_solution_of_bratu_as_in_scipy():
    mesh = np.linspace(0.0, 1.0, 5)
    guess = np.zeros((5, 2))
    guess[:, 0] = 3.0
    found = solve_boundary(bratu, ENDS, mesh, guess, args=(1.0,), tol=1e-8)
    f, ends = lambda x, y: np.vstack((y[1], -np.exp(y[0]))), lambda a, b: np.array([a[0], b[0]])
    theirs = scipy.integrate.solve_bvp(f, ends, mesh, guess.T, tol=1e-8, max_nodes=5000)
    times = np.linspace(0.0, 1.0, 33)
    assert np.allclose(found.at(times)[:, 0], theirs.sol(times)[0], atol=1e-8)
    assert np.allclose(found.at(0.3), theirs.sol(0.3), atol=1e-7)


def test_unknown_parameter_is_an_eigenvalue():
    f = lambda t, y, p: {"u": y["v"], "v": -(p["k"] ** 2) * y["u"]}
    conditions = lambda a, b, p: [a["u"], b["u"], a["v"] - p["k"]]
    guess = {"u": np.array([0.0, 1.0, 0.0, -1.0, 0.0]), "v": np.zeros(5)}

    def eigenvalue(length):
        found = solve_boundary(f, conditions, np.linspace(0.0, 1.0, 5) * length, guess, parameters={"k": 6.0}, tol=1e-7)
        return found.raise_if_failed().parameters["k"]

    assert abs(eigenvalue(1.0) - 2 * np.pi) < 1e-8
    assert abs(ad.grad(eigenvalue)(1.0) + 2 * np.pi) < 1e-6  # the ends of the mesh move
    assert abs(ad.grad(ad.grad(eigenvalue))(1.0) - 4 * np.pi) < 1e-4


def test_layers_get_their_nodes():
    """SciPy's shock layer: ε y″ + x y′ + ε π² cos πx + πx sin πx = 0, y(-1) = -2, y(1) = 0."""
    from scipy.special import erf

    eps = 1e-3

    def f(x, y):
        source = np.pi * (np.pi * eps * np.cos(np.pi * x) + x * np.sin(np.pi * x))
        return np.stack([y[1], -(x * y[1] + source) / eps])

    found = solve_boundary(
        f, lambda a, b: np.stack([a[0] + 2, b[0]]), np.linspace(-1, 1, 5), np.zeros((5, 2)), tol=1e-5
    )
    exact = np.cos(np.pi * found.mesh) + erf(found.mesh / np.sqrt(2 * eps)) / erf(1 / np.sqrt(2 * eps))
    assert found.converged
    assert np.allclose(found.values[:, 0], exact, atol=1e-5)
    assert np.mean(np.abs(found.mesh) < 0.2) > 0.35


def test_failures_have_no_derivative():
    # beyond the turning point of Bratu's problem, λ = 3.51, there is no solution
    def middle(lam):
        f = lambda t, y: np.stack([y[1], -lam * np.exp(y[0])])
        mesh = np.linspace(0.0, 1.0, 9)
        return solve_boundary(f, lambda a, b: np.stack([a[0], b[0]]), mesh, np.zeros((9, 2))).values[4, 0]

    with np.errstate(all="ignore"):
        for derivative in (ad.grad(middle), ad.jacfwd(middle)):
            with pytest.raises(ValueError, match="solve_boundary: a solution that failed has no derivative"):
                derivative(10.0)


def test_order_four():
    mesh = lambda n: np.linspace(0.0, 1.0, n + 1)
    run = ad.jit(lambda x: solve_boundary(bratu, ENDS, x, np.zeros((x.shape[0], 2)), args=(2.0,), tol=1e-3).values)
    errors = [abs(run(mesh(n))[n // 2, 0] - _bratu_middle(2.0)) for n in (8, 16)]
    assert 14.0 < errors[0] / errors[1] < 18.0


def test_compiled_and_batched_on_the_given_mesh():
    mesh = np.linspace(0.0, 1.0, 33)
    middle = lambda lam: solve_boundary(bratu, ENDS, mesh, np.zeros((33, 2)), args=(lam,), tol=1e-6).at(0.5)[0]
    rates = np.array([0.5, 1.0])
    exact = [_bratu_middle(r) for r in rates]
    assert abs(ad.jit(middle)(1.0) - exact[1]) < 1e-7
    assert np.allclose(ad.vmap(middle)(rates), exact, atol=1e-7)
    assert np.allclose(ad.jit(ad.vmap(ad.grad(middle)))(rates), [ad.grad(middle)(r) for r in rates], rtol=1e-6)
    rough = lambda lam: solve_boundary(bratu, ENDS, mesh[::8], np.zeros((5, 2)), args=(lam,))
    with pytest.warns(RuntimeWarning, match="too coarse, with residuals of .*mesh=found.mesh"):
        coarse = ad.jit(rough)(1.0)
    with pytest.warns(RuntimeWarning, match="too coarse"):
        ad.vmap(ad.grad(lambda lam: rough(lam).at(0.5)[0]))(np.ones(1))
    assert coarse.status == "mesh too coarse"
    assert "mesh=found.mesh" in coarse.advice


def test_complex_states():
    f = lambda t, y: np.stack([y[1], y[0] * 1.0])
    conditions = lambda a, b: np.stack([a[0] - (1 + 2j), b[0]])
    found = solve_boundary(f, conditions, np.linspace(0.0, 1.0, 9), np.zeros((9, 2), complex), tol=1e-8)
    exact = (1 + 2j) * np.sinh(1 - found.mesh) / np.sinh(1)
    assert np.allclose(found.values[:, 0], exact, atol=1e-9)


def test_statuses():
    singular = solve_boundary(lambda t, y: np.stack([y[1], 0 * y[0]]), lambda a, b: np.stack([a[1], b[1] - 1.0]),
                              np.linspace(0.0, 1.0, 5), np.zeros((5, 2)))  # fmt: skip
    assert singular.status == "singular"
    with pytest.raises(ad.SolveError, match="conditions"):
        singular.raise_if_failed()
    few = solve_boundary(bratu, ENDS, np.linspace(0, 1, 5), np.zeros((5, 2)), args=(1.0,), tol=1e-9, max_nodes=20)
    assert few.status == "max nodes"


@pytest.mark.parametrize("change, words", [
    ({"mesh": np.array([0.0, 1.0, 0.5])}, "increase"),
    ({"mesh": np.array([0.0])}, "at least two"),
    ({"guess": np.zeros((2, 3))}, "first axis"),
    ({"conditions": lambda a, b: a[:1]}, "2 conditions"),
    ({"method": "finite"}, "collocation"),
    ({"tol": 0.0}, "positive"),
])  # fmt: skip
def test_refusals(change, words):
    given = {"f": lambda t, y: np.stack([y[1], -y[0]]), "conditions": ENDS, "mesh": np.linspace(0, 1, 3),
             "guess": np.zeros((3, 2)), **change}  # fmt: skip
    with pytest.raises(ValueError, match=words):
        solve_boundary(**given)
