"""One factorization for the equations with one matrix: how many are left, and that the solutions are the same."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.decompose import LU
from adjoint.ops.linalg.solve import Solve
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
