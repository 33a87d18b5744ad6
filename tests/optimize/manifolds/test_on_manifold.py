"""Ordinary methods on manifolds: eigenvectors, subspaces, rotations and means that others know."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.base.errors import AdjointError
from adjoint.optimize import manifolds

RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 6))
A = A @ A.T + np.diag(np.arange(6.0))
METHODS = [
    optimize.GradientDescent(),
    optimize.ConjugateGradients(),
    optimize.BFGS(),
    optimize.LBFGS(),
    optimize.TrustRegion(),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_the_smallest_eigenvalue(method):
    on = optimize.OnManifold(manifolds.sphere(), method)
    found = optimize.minimize(lambda x: x @ A @ x, np.ones(6), method=on, tol=1e-6)
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, np.linalg.eigvalsh(A)[0], rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found.value), 1.0)


@pytest.mark.parametrize("method", METHODS[2:], ids=lambda m: type(m).__name__)
def test_invariant_subspaces(method):
    values = np.linalg.eigvalsh(A)
    weights = np.array([3.0, 2.0])
    brockett = lambda X: np.sum(weights * np.sum(X * (A @ X), 0))
    start = np.eye(6)[:, :2] + 0.1 * RNG.normal(size=(6, 2))
    found = optimize.minimize(brockett, start, method=optimize.OnManifold(manifolds.stiefel(), method))
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, weights @ values[:2], rtol=1e-9)
    np.testing.assert_allclose(found.value.T @ found.value, np.eye(2), atol=1e-12)
    trace = optimize.minimize(
        lambda X: np.trace(X.T @ A @ X), start, method=optimize.OnManifold(manifolds.grassmann(), method)
    )
    np.testing.assert_allclose(trace.fun, np.sum(values[:2]), rtol=1e-9)


def test_rotations_and_products():
    from scipy.spatial.transform import Rotation

    points = RNG.normal(size=(10, 3))
    R = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    moved = points @ R.T + np.array([1.0, 2.0, 3.0])
    f = lambda p: np.sum((points @ p["R"].T + p["t"] - moved) ** 2)
    on = optimize.OnManifold(manifolds.product({"R": manifolds.rotations(), "t": None}), optimize.LBFGS())
    found = optimize.minimize(f, {"R": np.eye(3), "t": np.zeros(3)}, method=on)
    np.testing.assert_allclose(found.value["R"], R, atol=1e-7)
    np.testing.assert_allclose(found.value["t"], [1, 2, 3], atol=1e-7)
    assert np.isclose(np.linalg.det(found.value["R"]), 1.0)


def test_the_mean_of_positive_definite_matrices():
    """Of two matrices it is known in closed form; a Euclidean method would leave the cone."""
    from scipy.linalg import sqrtm

    B = [np.diag([1.0, 1e3]) + 0.1, np.array([[5.0, 1.0], [1.0, 1.0]])]

    def distance(X, M):
        L = np.linalg.cholesky(X)
        return np.sum(np.log(np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, M).T))) ** 2)

    f = lambda X: distance(X, B[0]) + distance(X, B[1])
    found = optimize.minimize(f, np.eye(2), method=optimize.OnManifold(manifolds.spd(), optimize.BFGS()), tol=1e-7)
    root = np.real(sqrtm(B[0]))
    inverse = np.linalg.inv(root)
    expected = root @ np.real(sqrtm(inverse @ B[1] @ inverse)) @ root
    np.testing.assert_allclose(found.value, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["sphere", "stiefel", "grassmann", "rotations", "spd"])
def test_frames_are_orthonormal_and_retractions_are_of_first_order(name):
    the = getattr(manifolds, name)()
    x = {"sphere": np.array([0.0, 0.6, -0.8]), "rotations": np.linalg.qr(A[:3, :3])[0]}.get(
        name, np.linalg.qr(A[:4, :2])[0]
    )
    x = x * np.sign(np.linalg.det(x)) if name == "rotations" else A[:3, :3] if name == "spd" else x
    d = the.dimension(x)
    vectors = np.stack([the.embed(x, e) for e in np.eye(d)])
    inverse = np.linalg.inv(x) if name == "spd" else None
    inner = lambda u, v: np.sum(u * v) if inverse is None else np.trace(inverse @ u @ inverse @ v)
    np.testing.assert_allclose([[inner(u, v) for u in vectors] for v in vectors], np.eye(d), atol=1e-10)
    for v in vectors:
        np.testing.assert_allclose(the.tangent_part(x, v), v, atol=1e-12)
        np.testing.assert_allclose((the.retract(x, 1e-6 * v) - the.retract(x, -1e-6 * v)) / 2e-6, v, atol=1e-7)
        assert the.contains(the.retract(x, 0.7 * v))


def test_derivatives_of_an_eigenvector():
    def lowest(t):
        method = optimize.OnManifold(manifolds.sphere(), optimize.LBFGS())
        return optimize.minimize(
            lambda x, t: x @ (A + t * np.diag(np.arange(6.0))) @ x, np.ones(6), t, method=method, tol=1e-9
        )

    vector = lambda t: np.linalg.eigh(A + t * np.diag(np.arange(6.0)))[1][:, 0]
    x = lowest(0.3).value
    sign = np.sign(x @ vector(0.3))
    expected = sign * (vector(0.3 + 1e-6) * np.sign(vector(0.3 + 1e-6) @ vector(0.3))
                       - vector(0.3 - 1e-6) * np.sign(vector(0.3 - 1e-6) @ vector(0.3))) / 2e-6  # fmt: skip
    np.testing.assert_allclose(ad.jacobian(lambda t: lowest(t).value)(0.3), expected, atol=1e-6)
    np.testing.assert_allclose(ad.grad(lambda t: lowest(t).fun)(0.3), np.sum(np.arange(6) * x**2), atol=1e-8)
    batch = ad.jit(ad.vmap(lambda t: lowest(t).fun))(np.array([0.0, 0.3]))
    np.testing.assert_allclose(batch[1], lowest(0.3).fun)


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="no manifold"):
        optimize.OnManifold(3)
    with pytest.raises(TypeError, match="LBFGS"):
        optimize.OnManifold(manifolds.sphere(), "lbfgs")
    with pytest.raises(AdjointError, match="at least as many rows"):
        manifolds.stiefel().project(np.ones((2, 3)))
    with pytest.raises(AdjointError, match="manifolds for a"):
        manifolds.product({"a": manifolds.sphere()}).project({"b": np.ones(2)})


def test_directions_that_do_not_fall_in_the_next_frame_begin_anew():
    """Conjugate directions were searched although the value rose along them, and the method gave up far away."""
    for seed, the, width in ((7, manifolds.sphere(), 1), (9, manifolds.grassmann(), 2)):
        rng = np.random.default_rng(seed)
        B = rng.normal(size=(6, 6))
        B = B + B.T
        start = rng.normal(size=(6, width))
        trace = lambda X, B=B: np.sum(X * (B @ X))
        found = optimize.minimize(trace, start[:, 0] if width == 1 else start,
                                  method=optimize.OnManifold(the, optimize.ConjugateGradients()))  # fmt: skip
        np.testing.assert_allclose(found.fun, np.sum(np.linalg.eigvalsh(B)[:width]), atol=1e-12)
