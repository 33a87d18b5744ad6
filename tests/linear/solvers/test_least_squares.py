"""lsmr against the pseudo-inverse, SciPy, and derivatives of dense formulas."""

import numpy as np
import pytest
import scipy.sparse.linalg as peer

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import ShapeError
from tests.linear.equations import EXACT, close

RNG = np.random.default_rng(11)
SHAPES = {"tall": (14, 5), "square": (8, 8), "wide": (5, 14)}
CASES = [(name, damp) for name in SHAPES for damp in (0.0, 0.6)]
each = pytest.mark.parametrize("name, damp", CASES)


def equation(name):
    rng = np.random.default_rng(len(name))
    m, n = SHAPES[name]
    return rng.normal(size=(m, n)) + 3 * np.eye(m, n), rng.normal(size=m), rng.normal(size=(m, n)), rng.normal(size=m)


def dense(A, b, damp):
    n = A.shape[1]
    return np.linalg.pinv(A) @ b if isinstance(damp, float) and damp == 0 else np.linalg.solve(
        A.T @ A + damp**2 * np.eye(n), A.T @ b
    )  # fmt: skip


@each
def test_the_value_and_the_iterations(name, damp):
    A, b, _, _ = equation(name)
    found = linear.lsmr(A, b, damp=damp)
    theirs = peer.lsmr(A, b, damp=damp, atol=1e-10, btol=1e-10)
    assert found.converged
    close(found.value, dense(A, b, damp))
    assert abs(int(found.iterations) - theirs[2]) <= 3
    extended = np.linalg.norm(np.concatenate([b - A @ found.value, damp * found.value]))
    assert found.residual == pytest.approx(extended, abs=1e-9)


@each
def test_derivatives(name, damp):
    A, b, dA, db = equation(name)
    f = lambda A, b, d=damp: np.sum(np.sin(linear.lsmr(A, b, damp=d, **EXACT).value) * np.arange(1.0, A.shape[1] + 1))
    g = lambda A, b, d=damp: np.sum(np.sin(dense(A, b, d)) * np.arange(1.0, A.shape[1] + 1))
    for mine, theirs in zip(ad.grad(f, argnums=(0, 1))(A, b), ad.grad(g, argnums=(0, 1))(A, b), strict=True):
        close(mine, theirs)
    close(ad.jvp(f, (A, b), (dA, db))[1], ad.jvp(g, (A, b), (dA, db))[1])
    second = [ad.grad(lambda t: ad.grad(lambda s: h(A + s * dA, b + s * db))(t))(0.1) for h in (f, g)]  # noqa: B023
    close(*second, 1e-6)
    if damp:
        close(ad.grad(f, argnums=2)(A, b, damp), ad.grad(g, argnums=2)(A, b, damp))


@pytest.mark.parametrize("name", ["tall", "wide"])
def test_compiled_and_batched(name):
    A, b, _, db = equation(name)
    f = lambda b: np.sum(linear.lsmr(A, b).value ** 2)
    close(ad.jit(ad.grad(f))(b), 2 * np.linalg.pinv(A).T @ np.linalg.pinv(A) @ b)
    close(ad.vmap(lambda b: linear.lsmr(A, b, damp=0.5).value)(np.stack([b, db]))[1], dense(A, db, 0.5))


def test_a_start_is_kept_where_the_solution_is_free():
    A, b, _, _ = equation("wide")
    x0 = RNG.normal(size=A.shape[1])
    expected = x0 + np.linalg.pinv(A) @ (b - A @ x0)
    close(linear.lsmr(A, b, x0).value, expected)
    tall, right, _, _ = equation("tall")
    close(linear.lsmr(tall, right, np.ones(5), damp=0.5).value, dense(tall, right, 0.5))
    assert linear.lsmr(tall, right, dense(tall, right, 0.0)).iterations <= 1


def test_matrices_without_full_rank_give_the_shortest_solution():
    A = np.outer(np.arange(1.0, 7.0), np.ones(4))
    found = linear.lsmr(A, np.ones(6))
    assert found.converged
    close(found.value, np.linalg.pinv(A) @ np.ones(6))


def test_a_right_side_that_is_orthogonal_to_everything():
    A, b = np.eye(4, 2), np.array([0.0, 0.0, 1.0, 1.0])
    found = linear.lsmr(A, b)
    assert found.converged
    assert not np.any(found.value)
    assert found.residual == pytest.approx(np.sqrt(2))


def test_trees_and_complex_numbers():
    A, b, dA, _ = equation("tall")

    def product(x):
        return {"top": A[:, :2] @ x[0] + A[:, 2:] @ x[1], "bottom": np.sum(x[0]) * np.ones(2)}

    right = {"top": b, "bottom": np.ones(2)}
    whole = np.concatenate([A, np.concatenate([np.ones((2, 2)), np.zeros((2, 3))], axis=1)])
    found = linear.lsmr(product, right, (np.zeros(2), np.zeros(3)))
    close(np.concatenate(found.value), np.linalg.pinv(whole) @ np.concatenate([b, np.ones(2)]))
    C = A + 1j * dA
    close(linear.lsmr(C, b).value, np.linalg.pinv(C) @ b)
    f, g = (lambda C: np.sum(np.abs(linear.lsmr(C, b, **EXACT).value) ** 2)), (
        lambda C: np.sum(np.abs(np.linalg.pinv(C) @ b) ** 2))  # fmt: skip
    close(ad.grad(f)(C), ad.grad(g)(C))


def test_differences_in_a_closure():
    b = np.linspace(0, 1, 9)

    def f(theta):
        return np.sum(
            linear.lsmr(lambda x: x[0] * np.exp(theta * b) + x[1] * b, b**2, np.zeros(2), damp=theta, **EXACT).value
        )

    ad.check_grads(f, (0.7,), order=2)


def test_what_does_not_fit():
    A, b, _, _ = equation("wide")
    with pytest.raises(ShapeError, match="which solution is the shortest"):
        linear.lsmr(A, b, preconditioner=linear.identity(14))
    with pytest.raises(ShapeError, match="5 rows"):
        linear.lsmr(A, np.ones(14))


def test_complex_damping_is_refused():
    with pytest.raises(TypeError, match="lsmr: damp is complex"):
        linear.lsmr(np.eye(3), np.ones(3), damp=1j)
