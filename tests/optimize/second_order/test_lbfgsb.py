"""L-BFGS-B: Cauchy points against enumeration, answers against SciPy, and problems on which clipping stalls."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.problem import Problem, read_unknowns
from adjoint.optimize.second_order.bfgs import update_inverse
from adjoint.optimize.second_order.lbfgsb import Compact, find_cauchy_point, minimize_subspace
from tests.optimize.functions import STANDARD, rosenbrock
from tests.support.sweeps import sampled


def compact(rng, n, count, m=5):
    A = np.diag(np.logspace(0, 2, n))
    s, y = np.zeros((m, n)), np.zeros((m, n))
    B = np.eye(n)
    for row in rng.normal(size=(count, n)):
        s, y = np.concatenate([s[1:], row[None]]), np.concatenate([y[1:], (A @ row)[None]])
    theta = (y[-1] @ y[-1]) / (s[-1] @ y[-1]) if count else 1.0
    inverse = np.eye(n) / theta
    for a, b in zip(s[m - count :], y[m - count :], strict=True):
        inverse = update_inverse(inverse, a, b, a @ b)
    B = np.linalg.inv(inverse)
    return Compact.of(s, y, np.float64(theta)), B


@pytest.mark.parametrize("count", [0, 1, 4])
def test_the_compact_form_is_the_inverse_of_the_two_loops(count):
    rng = np.random.default_rng(0)
    small, B = compact(rng, 6, count)
    v = rng.normal(size=6)
    np.testing.assert_allclose(small.times(v), B @ v, rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_the_cauchy_point_is_the_first_minimizer_along_the_path(seed):
    rng = np.random.default_rng(seed)
    small, B = compact(rng, 5, 3)
    x = rng.uniform(-1, 1, 5)
    lower, upper = np.where(rng.random(5) < 0.3, x, -1.5), np.where(rng.random(5) < 0.3, np.inf, 1.2)
    g = 30 * rng.normal(size=5)
    problem = Problem("test", rosenbrock, read_unknowns("test", x)[1], 1e-8)
    found = find_cauchy_point(problem, small, x, g, lower, upper)
    path = lambda t: np.clip(x - t * g, lower, upper)
    model = lambda z: g @ (z - x) + 0.5 * (z - x) @ B @ (z - x)
    ts = np.linspace(0, 0.3, 30001)
    values = np.array([model(path(t)) for t in ts])
    first = next(i for i in range(1, len(ts)) if values[i] >= values[i - 1] - 1e-15)
    np.testing.assert_allclose(found, path(ts[first - 1]), atol=2e-3)
    assert model(found) <= values[first - 1] + 1e-6
    after = minimize_subspace(small, x, g, found, lower, upper)
    assert np.all((after >= lower) & (after <= upper))
    assert g @ (after - x) < 0


def test_without_active_bounds_the_subspace_step_is_newtons():
    rng = np.random.default_rng(7)
    small, B = compact(rng, 5, 3)
    x, g, far = rng.normal(size=5), rng.normal(size=5), np.full(5, 1e6)
    problem = Problem("test", rosenbrock, read_unknowns("test", x)[1], 1e-8)
    found = minimize_subspace(small, x, g, find_cauchy_point(problem, small, x, g, -far, far), -far, far)
    np.testing.assert_allclose(found, x - np.linalg.solve(B, g), rtol=1e-7)


BOXES = {"right": (1.1, None), "left": (None, 0.5), "both": (-2.0, 0.7), "one point": (0.9, 0.9)}


@pytest.mark.parametrize("name, box", sampled([(n, b) for n in STANDARD for b in BOXES], 3))
def test_scipys_answers(name, box):
    f, x0, _ = STANDARD[name]
    lower, upper = BOXES[box]
    start = np.clip(x0, lower, upper)
    found = optimize.minimize(f, start, bounds=(lower, upper))
    known = theirs.minimize(f, start, jac=ad.grad(f), method="L-BFGS-B", bounds=[(lower, upper)] * len(start),
                            options={"ftol": 1e-15, "gtol": 1e-8})  # fmt: skip
    assert found.status == "converged"
    if (name, box) != ("wood", "both"):  # it has two minima in this box
        assert found.fun <= known.fun + 1e-7 * (1 + abs(known.fun))
    np.testing.assert_allclose(found.fun, f(found.value), rtol=1e-13)
    low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
    assert np.all((found.value >= low) & (found.value <= high))


def test_clipping_a_quasi_newton_step_stalls_where_this_does_not():
    """The unbounded minimizer pulls the coupled unknown the wrong way once the other one is at its bound."""
    H = np.array([[1.0, -0.99], [-0.99, 1.0]])
    b = np.array([-1.0, 0.5])
    f = lambda x: 0.5 * x @ H @ x - b @ x
    start, newton = np.array([2.0, 2.0]), np.linalg.solve(H, b)
    clipped = start
    for _ in range(50):
        clipped = np.clip(clipped + (newton - clipped), 0.0, None)
    assert np.all(clipped == 0.0)
    found = optimize.minimize(f, start, bounds=(0.0, None))
    np.testing.assert_allclose(found.value, [0.0, 0.5], atol=1e-8)
    np.testing.assert_array_equal(found.active, [-1, 0])


def test_derivatives_with_bounds_know_the_active_set_of_each_batch_element():
    f = lambda x, p: 0.5 * np.sum((x - p) ** 2) + 0.25 * x[0] * x[1]
    solve = lambda p: optimize.minimize(f, np.full(2, 0.5), p, bounds=(0.0, 1.0), tol=1e-11).value
    ps = np.array([[0.5, 0.4], [3.0, 0.6], [-1.0, 0.3]])
    inside = np.linalg.inv(np.array([[1.0, 0.25], [0.25, 1.0]]))
    expected = [inside, [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]]
    for run in (ad.vmap(ad.jacobian(solve)), ad.jit(ad.vmap(ad.jacfwd(solve)))):
        np.testing.assert_allclose(run(ps), expected, atol=1e-9)
    np.testing.assert_allclose([ad.jacobian(solve)(p) for p in ps], expected, atol=1e-9)


def test_bounds_are_read_from_any_form():
    f = lambda p: np.sum((p["w"] + 3) ** 2) + (p["b"] - 5) ** 2
    start = {"w": np.zeros(2), "b": 0.0}
    for bounds in ({"w": (-1.0, None)}, ({"w": -1.0, "b": -np.inf}, None), {"w": ([-1.0, -1.0], None), "b": None}):
        found = optimize.minimize(f, start, bounds=bounds)
        np.testing.assert_allclose(found.value["w"], -1.0)
        np.testing.assert_allclose(found.value["b"], 5.0, atol=1e-7)
    vector = lambda x: np.sum((x + 3) ** 2)
    for bounds in ([(-1, None), (-2, 2)], theirs.Bounds([-1, -2], [np.inf, 2])):
        np.testing.assert_allclose(optimize.minimize(vector, np.zeros(2), bounds=bounds).value, [-1.0, -2.0])


def test_a_direction_that_does_not_fall_is_no_end():
    """CUTEst's YFIT, three parameters of sizes from 0.1 to 100: with ten pairs the compact form loses its digits."""
    y = np.array([21.158931, 17.591719, 14.046854, 10.519732, 7.0058392, 3.5007293, 0.0, -3.5007293, -7.0058392,
                  -10.519732, -14.046854, -17.591719, -21.158931, -24.753206, -28.379405, -32.042552,
                  -35.747869])  # fmt: skip

    def cost(p):
        i = np.arange(17)
        angle = p[0] * (1 - i / 16) + p[1] * i / 16
        return np.sum((p[2] * np.tan(angle) - y) ** 2)

    start = np.array([0.6, -0.6, 20.0])
    box, options = [(None, None), (None, None), (0, None)], {"gtol": 1e-9, "ftol": 1e-16, "maxiter": 5000}
    best = theirs.minimize(cost, start, jac=ad.grad(cost), method="L-BFGS-B", bounds=box, options=options).fun
    found = optimize.minimize(cost, start, bounds=(np.array([-np.inf, -np.inf, 0.0]), None), tol=1e-6)
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, best, atol=1e-6)
