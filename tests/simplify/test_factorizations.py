"""One factorization for the equations with one matrix: how many are left, and that the solutions are the same."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.decompose import LU
from adjoint.ops.linalg.determinant import SignLogDeterminant
from adjoint.ops.linalg.solve import Inverse, Solve
from adjoint.program.subprograms import all_equations
from adjoint.simplify.passes import simplify
from tests.simplify.programs import loop_of, program_of, same_results

R = np.random.default_rng(2)
N = 12


def matrix(dtype: Any) -> Any:
    a = R.normal(size=(N, N)) + 4 * np.eye(N)
    return (a + 1j * R.normal(size=(N, N)) if dtype == np.complex128 else a).astype(dtype)


def count(program: Any, kind: type) -> int:
    return sum(type(eq.op) is kind for eq in all_equations(program))


def three(a: Any, b: Any) -> Any:
    x, y = np.linalg.solve(a, b), np.linalg.solve(a.T, b)
    return [x, y, np.linalg.solve(np.conj(a.T), x + y), np.linalg.solve(np.conj(a), b[:, 0])]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_a_matrix_its_transpose_and_its_adjoint(dtype: Any) -> None:
    a, b = matrix(dtype), R.normal(size=(N, 2)).astype(dtype)
    before, args = program_of(three, a, b)
    after = simplify(before)
    assert (count(after, LU), count(after, Solve)) == (1, 0)
    same_results(before, after, args, rounding=1e-11)
    for got, want in zip(ad.jit(three)(a, b), three(a, b), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def test_forwards_and_backwards() -> None:
    a, b = matrix(np.float64), R.normal(size=N)
    slope = ad.grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2))
    after = simplify(program_of(slope, a)[0])
    assert (count(after, LU), count(after, Solve)) == (1, 0)
    x = np.linalg.solve(a, b)
    np.testing.assert_allclose(ad.jit(slope)(a), -np.outer(np.linalg.solve(a.T, 2 * x), x), rtol=1e-10, atol=1e-12)


def test_before_a_loop() -> None:
    a, b = matrix(np.float64), R.normal(size=N)

    def f(a: Any) -> Any:
        return ad.scan(lambda c, t: (np.linalg.solve(a, c) + t, c), b, np.arange(3.0))[1]

    before, args = program_of(f, a)
    after = simplify(before)
    assert (count(after, LU), count(after, Solve)) == (1, 0)
    assert count(loop_of(after).op.body, LU) == 0
    same_results(before, after, args, rounding=1e-11)


def normal(a: Any, b: Any) -> Any:
    """The logarithm of the density of a normal distribution, but for a constant."""
    return -0.5 * b @ np.linalg.solve(a, b) - 0.5 * np.linalg.slogdet(a)[1]


def test_solutions_determinants_and_inverses() -> None:
    a, b = matrix(np.float64), R.normal(size=N)
    slopes = ad.value_and_grad(normal, (0, 1))
    after = simplify(program_of(lambda a, b: ad.tree.leaves(slopes(a, b)), a, b)[0])
    assert [count(after, kind) for kind in (LU, Solve, Inverse, SignLogDeterminant)] == [1, 0, 0, 0]
    for got, want in zip(*(ad.tree.leaves(f(a, b)) for f in (ad.jit(slopes), slopes)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("count_of", [0, 3])
def test_stacks_share_their_factors(count_of: int) -> None:
    a, b = np.stack([matrix(np.float64)] * 3)[:count_of], R.normal(size=(count_of, N))
    if count_of:
        a[1] = 0.5 * a[1] + np.eye(N)
    batch = ad.vmap(ad.value_and_grad(normal, (0, 1)))
    after = simplify(program_of(lambda a, b: ad.tree.leaves(batch(a, b)), a, b)[0])
    assert [count(after, kind) for kind in (LU, Solve, Inverse, SignLogDeterminant)] == [min(count_of, 1), 0, 0, 0]
    for got, want in zip(*(ad.tree.leaves(f(a, b)) for f in (ad.jit(batch), batch)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_logarithms_of_a_stack_with_a_singular_matrix() -> None:
    a = np.stack([matrix(np.float64), np.ones((N, N))])
    slope = ad.grad(lambda a: np.sum(np.linalg.slogdet(a)[1]) + np.sum(np.linalg.slogdet(a)[1][:1]))
    found, inverse = ad.jit(slope)(a), np.linalg.inv(a[0]).T
    np.testing.assert_allclose(found[0], 2 * inverse, rtol=1e-9)
    np.testing.assert_array_equal(found[1], slope(a)[1])


def test_a_singular_matrix_has_a_logarithm_and_no_derivative_of_it() -> None:
    f = lambda a: np.linalg.slogdet(a)[1] + np.linalg.det(a)
    assert ad.jit(f)(np.ones((N, N))) == -np.inf
    unknown = np.full((N, N), np.nan)
    with np.errstate(invalid="ignore"):
        assert ad.jit(lambda a: np.linalg.slogdet(a)[0])(unknown) == np.linalg.slogdet(unknown)[0]  # no NaN
    both = ad.jit(ad.vmap(ad.grad(lambda t: np.linalg.slogdet(np.ones((N, N)) + t * np.eye(N))[1])))
    np.testing.assert_allclose(both(np.array([0.0, 1.0])), [np.nan, N - 1 + 1 / (N + 1)])


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_of_transposes_and_conjugates(dtype: Any) -> None:
    a = matrix(dtype)
    f = lambda a: [
        np.linalg.det(a.T), np.linalg.det(np.conj(a)), *np.linalg.slogdet(np.conj(a.T)), np.linalg.inv(a),
        np.linalg.inv(np.conj(a)), np.linalg.inv(np.conj(a).T),
    ]  # fmt: skip
    after = simplify(program_of(f, a)[0])
    assert (count(after, LU), count(after, Inverse)) == (1, 0)
    for got, want in zip(ad.jit(f)(a), f(a), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == np.float32 else 1e-10, atol=1e-5)


def test_before_loops_that_read_the_matrix_and_its_transpose() -> None:
    a, b = matrix(np.float64), R.normal(size=N)

    def f(a: Any) -> Any:
        forth = ad.scan(lambda c, t: (np.linalg.solve(a, c) + t, None), b, np.arange(3.0))[0]
        return ad.scan(lambda c, t: (np.linalg.solve(a.T, c) + a.T @ c * t, None), forth, np.arange(3.0))[0]

    before, args = program_of(lambda a: [f(a)], a)
    after = simplify(before)
    assert (count(after, LU), count(after, Solve)) == (1, 0)
    same_results(before, after, args, rounding=1e-11)


def test_what_stays() -> None:
    """One equation with a matrix, small ones, and a matrix that changes in a loop."""
    b = R.normal(size=N)
    for f, x in (
        (lambda a: np.linalg.solve(a, b), matrix(np.float64)),
        (lambda a: np.linalg.solve(a, b[:3]) + np.linalg.solve(a.T, b[:3]), matrix(np.float64)[:3, :3]),
        (lambda a: ad.scan(lambda c, t: (c * t, np.linalg.solve(c, b)), a, np.ones(2))[1], matrix(np.float64)),
    ):
        after = simplify(program_of(f, x)[0])
        assert count(after, LU) == 0
        assert count(after, Solve) > 0


def test_singular_matrices_raise() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        ad.jit(lambda a: np.linalg.solve(a, a[0]) + np.linalg.solve(a, a[1]))(np.ones((N, N)))
