"""Small matrices in registers: NumPy's solutions and factors, alone, in stacks of any layout, and in loops."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.compile.small_matrices import is_small
from adjoint.ops.linalg.decompose import LU
from adjoint.ops.linalg.solve import TriangularSolve
from tests.support.sweeps import sampled

R = np.random.default_rng(9)
STACKS: list[tuple[int, ...]] = [(), (3,), (2, 5), (16,)]


def matrices(stack: tuple[int, ...], n: int, dtype: Any) -> Any:
    """Matrices whose largest elements are not on the diagonal."""
    return (R.normal(size=(*stack, n, n)) + 3 * np.eye(n)[::-1]).astype(dtype)


def in_registers(f: Any, *args: Any) -> Any:
    fast = ad.jit(f)
    result = fast(*args)
    assert any("in registers" in step for step in fast.report().specializations[0].kernels)
    return result


def close(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    tight = 1e-11 if got.dtype == np.float64 else 2e-3
    np.testing.assert_allclose(got, want, rtol=tight, atol=tight)


@pytest.mark.parametrize("n, dtype", sampled(product([1, 2, 3, 4, 6], [np.float64, np.float32]), every=3))
def test_equations_and_factors(n: int, dtype: Any) -> None:
    for stack in STACKS:
        a = matrices(stack, n, dtype)
        b = R.normal(size=(*stack, n, 3)).astype(dtype)
        close(in_registers(np.linalg.solve, a, b), np.linalg.solve(a, b))
        close(in_registers(np.linalg.inv, a), np.linalg.inv(a))
        s = a @ np.swapaxes(a, -1, -2) + np.eye(n, dtype=dtype)
        close(in_registers(np.linalg.cholesky, s), np.linalg.cholesky(s))
        close(in_registers(np.linalg.det, a), np.linalg.det(a))
        packed, pivots, order = in_registers(lambda a: LU()(a), a)
        for at in np.ndindex(*stack):
            lu, exchanges = scipy.linalg.lu_factor(a[at])
            close(packed[at], lu)
            np.testing.assert_array_equal(pivots[at], exchanges)
            low, up = np.tril(lu, -1) + np.eye(n, dtype=dtype), np.triu(lu)
            close(a[at][order[at]], low @ up)


SHAPES = [(1, 1), (2, 2), (4, 4), (7, 7), (5, 3), (3, 5), (6, 1), (1, 4)]


@pytest.mark.parametrize("shape, dtype", sampled(product(SHAPES, [np.float64, np.float32]), every=3))
def test_orthogonal_factors(shape: tuple[int, int], dtype: Any) -> None:
    """The signs are LAPACK's; numbers whose squares overflow or vanish, triangles and zeros too."""
    for stack in STACKS:
        a = R.normal(size=(*stack, *shape)).astype(dtype)
        turned = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)
        extreme = dtype(1e30 if dtype is np.float32 else 1e200)
        for b in (a, turned, np.triu(a), a * 0, a * extreme, a / extreme):
            scale = max(np.max(np.abs(b)), np.finfo(dtype).tiny)
            for mode in ("reduced", "complete"):
                q, r = in_registers(lambda a, mode=mode: tuple(np.linalg.qr(a, mode)), b)
                close(q, np.linalg.qr(b, mode)[0])
                close(r / scale, np.linalg.qr(b, mode)[1] / scale)
            close(in_registers(lambda a: np.linalg.qr(a, "r"), b) / scale, np.linalg.qr(b, "r") / scale)


def test_orthogonal_factors_of_dependent_columns_and_nan() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [3.0, 6.0, -1.0]])
    q, r = in_registers(lambda a: tuple(np.linalg.qr(a)), a)
    close(q @ r, a)
    close(q.T @ q, np.eye(3))
    a[1, 1] = np.nan
    q, r = in_registers(lambda a: tuple(np.linalg.qr(a)), a)
    assert np.isnan(r[1, 1])
    assert not np.isnan(r[0, 0])


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangles(lower: bool, unit: bool) -> None:
    a, b = matrices((4,), 4, np.float64) + 2 * np.eye(4), R.normal(size=(4, 4, 2))
    got = in_registers(lambda a, b: TriangularSolve(lower, unit)(a, b), a, b)
    for k in range(4):
        close(got[k], scipy.linalg.solve_triangular(a[k], b[k], lower=lower, unit_diagonal=unit))


def test_all_triangles_in_one_program() -> None:
    a, b = matrices((), 6, np.float64) + 2 * np.eye(6), R.normal(size=(6, 3))
    cases = [(lower, unit) for lower in (False, True) for unit in (False, True)]
    got = in_registers(lambda a, b: [TriangularSolve(*case)(a, b) for case in cases], a, b)
    for one, (lower, unit) in zip(got, cases, strict=True):
        close(one, scipy.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit))


def test_layouts() -> None:
    a, b = matrices((6,), 3, np.float64), R.normal(size=(6, 3, 2))
    close(in_registers(lambda a, b: np.linalg.solve(np.swapaxes(a, 1, 2), b[::-1]), a, b),
          np.linalg.solve(np.swapaxes(a, 1, 2), b[::-1]))  # fmt: skip
    close(in_registers(lambda a, b: np.linalg.solve(a[0], b), a, b), np.linalg.solve(a[0], b))
    close(in_registers(lambda a, b: np.linalg.solve(a, b[0]), a, b), np.linalg.solve(a, b[0]))
    close(in_registers(lambda a, b: np.linalg.solve(a[:, None], b), a[:2], b), np.linalg.solve(a[:2, None], b))
    wide = R.normal(size=(3, 5))
    close(in_registers(lambda a: LU()(a)[0], wide), LU().evaluate(wide)[0])
    close(in_registers(lambda a: LU()(a)[0], wide.T), LU().evaluate(wide.T)[0])


def test_failures_in_stacks_and_loops() -> None:
    good = np.stack([np.eye(3)] * 9)
    for place in (0, 5, 8):
        bad = good.copy()
        bad[place] = 1.0
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            ad.jit(np.linalg.inv)(bad)
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            ad.jit(np.linalg.cholesky)(good - 2 * (bad != good))
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            ad.jit(lambda a: ad.scan(lambda c, x: (c, np.linalg.solve(x, c)), np.ones(3), a)[1])(bad)
    broken = good[0].copy()
    broken[1, 1] = np.nan
    assert np.any(np.isnan(ad.jit(np.linalg.inv)(broken)))
    np.testing.assert_array_equal(ad.jit(np.linalg.cholesky)(broken), np.linalg.cholesky(broken))


def test_which_are_small() -> None:
    double = np.dtype(np.float64)
    assert is_small(double, 4, 4)
    assert is_small(double, 6, 6)
    assert not is_small(double, 16, 1)
    assert not is_small(np.dtype(np.complex128), 2, 1)


def test_gradients_in_a_loop() -> None:
    a, b = matrices((), 4, np.float64), R.normal(size=4)

    def f(a: Any) -> Any:
        step = lambda c, t: (np.linalg.solve(a + t * np.eye(4), c), np.linalg.slogdet(a * (1 + t))[1])
        last, logs = ad.scan(step, b, np.array([0.1, 0.2, 0.3]))
        return np.sum(last**2) + np.sum(logs)

    slope = in_registers(ad.grad(f), a)
    direction = R.normal(size=(4, 4))
    difference = (f(a + 1e-6 * direction) - f(a - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(slope * direction), difference, rtol=1e-6)
