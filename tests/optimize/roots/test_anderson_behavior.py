"""What users ask of fixed points: slow maps, scalars, trees, rotations, derivatives, side results, mixtures by hand."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize


def make_contraction(n, seed=4):
    """x ↦ M x + b with the largest eigenvalue of M at ½ in size."""
    rng = np.random.default_rng(seed)
    M = rng.uniform(-1.0, 1.0, (n, n))
    M = M + M.T
    return M / (2.0 * np.max(np.abs(np.linalg.eigvalsh(M)))), rng.uniform(size=n)


def test_slow_decay_is_extrapolated():
    rates = np.array([0.8, 0.98, 0.998])
    found = optimize.fixed_point(lambda x: rates * x, np.array([1.0, 0.5, -0.3]), tol=1e-8)
    assert found.converged
    assert found.iterations <= 10
    np.testing.assert_allclose(found.value, np.zeros(3), atol=1e-5)


@pytest.mark.parametrize("kind", [float, np.float32, np.float64, np.array])
def test_single_numbers(kind):
    found = optimize.fixed_point(lambda x: 0.25 * x + 1.5, kind(0.0))
    assert np.shape(found.value) == ()
    assert found.value == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_trees_of_maps_with_their_own_rates(compiled):
    T = lambda x: (np.sin(x[0]) * x[0] ** 2, {"cube": x[1]["cube"] ** 3, "turned": -x[1]["turned"]})
    x0 = (np.array([0.5, 0.0, -0.2]), {"cube": np.array([[0.6], [0.4]]), "turned": np.array([[-0.3, 0.0, 0.7]])})
    solve = lambda x0: optimize.fixed_point(T, x0, method=optimize.Anderson(memory=3), tol=1e-10)
    found = (ad.jit(solve) if compiled else solve)(x0)
    assert found.converged
    for leaf, start in zip(ad.tree.leaves(found.value), ad.tree.leaves(x0), strict=True):
        assert leaf.shape == start.shape
        np.testing.assert_allclose(leaf, 0.0, atol=1e-4)


def test_further_arguments_and_a_fixed_point_that_is_not_zero():
    found = optimize.fixed_point(lambda x, t: np.cos(x) + t, np.array([0.25, 0.5]), np.array([0.0, np.pi / 2]))
    np.testing.assert_allclose(found.value, [0.7390851332151607, np.pi / 2], rtol=1e-8)


def test_rotations_are_no_contractions_and_yet_end():
    angles = np.pi / np.array([2, 3, 4, 5, 6, 1.3, 1.7])
    center = np.arange(1.0, 15.0)

    def turn(x, angles, center):
        z = np.reshape(x - center, (-1, 2))
        c, s = np.cos(angles), np.sin(angles)
        return np.ravel(np.stack([c * z[:, 0] - s * z[:, 1], s * z[:, 0] + c * z[:, 1]], axis=1)) + center

    start = np.random.default_rng(0).uniform(size=14)
    found = optimize.fixed_point(turn, start, angles, center, method=optimize.Anderson(memory=14), max_iterations=400)
    assert found.converged
    np.testing.assert_allclose(found.value, center, rtol=1e-6)
    assert not optimize.fixed_point(turn, start, angles, center, method="picard", max_iterations=400).converged


@pytest.mark.parametrize("differentiate", ["equation", ad.implicit.Unrolled(60)], ids=["equation", "unrolled"])
def test_gradients_of_the_fixed_point(differentiate):
    solve = lambda t: optimize.fixed_point(lambda x, t: np.cos(x) + t, np.array([0.0, 1.5]), t, tol=1e-12,
                                           differentiate=differentiate).value  # fmt: skip
    t = np.array([0.0, np.pi / 2])
    exact = 1.0 / (1.0 + np.sin(np.array([0.7390851332151607, np.pi / 2])))
    np.testing.assert_allclose(ad.jacrev(solve)(t), np.diag(exact), rtol=1e-6, atol=1e-9)


def test_gradients_where_the_solution_does_not_move():
    solve = lambda t: optimize.fixed_point(lambda x, t: t * x, np.array([1.0, -0.5]), t).value
    np.testing.assert_allclose(ad.jacrev(solve)(np.array([0.05, 0.2])), np.zeros((2, 2)), atol=1e-6)


def test_a_large_affine_map_and_the_gradients_in_all_its_numbers():
    M, b = make_contraction(200)
    weights = np.linspace(-1.0, 1.0, 200)
    solve = lambda M, b: optimize.fixed_point(lambda x, M, b: M @ x + b, np.zeros(200), M, b, tol=1e-12)
    found = solve(M, b)
    exact = np.linalg.solve(np.eye(200) - M, b)
    np.testing.assert_allclose(found.value, exact, rtol=1e-9, atol=1e-10)
    by_M, by_b = ad.grad(lambda M, b: np.vdot(weights, solve(M, b).value), argnums=(0, 1))(M, b)
    pulled = np.linalg.solve(np.eye(200) - M.T, weights)
    np.testing.assert_allclose(by_b, pulled, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(by_M, np.outer(pulled, exact), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("compiled", [False, True])
def test_side_results_are_those_of_the_solution(compiled):
    solve = lambda x: optimize.fixed_point(lambda x: (0.5 * x + 0.5, {"ten": 10 * x}), x, has_aux=True)
    found = (ad.jit(solve) if compiled else solve)(np.array([1.0, -0.5]))
    np.testing.assert_allclose(found.aux["ten"], [10.0, 10.0], rtol=1e-6)


@pytest.mark.parametrize("memory, damping", [(1, 1.0), (5, 1.0), (5, 0.5), (10, 0.2)])
def test_less_memory_and_damped_mixtures_find_the_same(memory, damping):
    M, b = make_contraction(10)
    method = optimize.Anderson(memory=memory, damping=damping)
    found = optimize.fixed_point(lambda x: M @ x + b, np.zeros(10), method=method, tol=1e-10)
    np.testing.assert_allclose(found.value, np.linalg.solve(np.eye(10) - M, b), atol=1e-8)


def test_a_mixture_has_the_smallest_residual_of_all_whose_weights_sum_to_one():
    """Stepped by hand through `callback`: the linear residual of the next point, against least squares."""
    M, b = make_contraction(12)
    seen = [np.zeros(12)]
    optimize.fixed_point(lambda x: M @ x + b, seen[0], method=optimize.Anderson(memory=4), max_iterations=4, tol=1e-14,
                         callback=lambda it: seen.append(np.array(it.x)))  # fmt: skip
    X = np.stack(seen[:-1])
    G = X @ M.T + b - X
    least = np.linalg.lstsq((G[1:] - G[:1]).T, -G[0], rcond=None)[0]
    weights = np.concatenate([[1.0 - np.sum(least)], least])
    np.testing.assert_allclose(seen[-1], weights @ (X + G), rtol=1e-5, atol=1e-7)
