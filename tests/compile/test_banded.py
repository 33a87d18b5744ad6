"""Banded equations and recursive filters in compiled programs, against dense equations and SciPy's filter."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import adjoint as ad
from adjoint.ops.linalg.banded import BandedSolve
from adjoint.ops.signal.recursive_filter import AllPole
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(6)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
@pytest.mark.parametrize("low, up", [(0, 0), (1, 1), (2, 1), (0, 3)])
def test_banded_equations(low: int, up: int, dtype: Any) -> None:
    n = 6
    band = R.normal(size=(2, low + up + 1, n)).astype(dtype)
    band *= dtype(1 + 0.5j) if dtype == np.complex128 else dtype(1)
    band[:, up] += 4
    b = R.normal(size=(2, n, 3)).astype(dtype)
    got = compiled_without_callbacks(lambda a, b: BandedSolve(low, up)(a, b), band, b)
    tight = 1e-12 if np.finfo(dtype).bits == 64 else 1e-4
    for k in range(2):
        dense = sum(np.diag(band[k, up - d, max(d, 0) : n + min(d, 0)], d) for d in range(-low, up + 1))
        np.testing.assert_allclose(dense @ got[k], b[k], rtol=tight, atol=tight)


def test_positive_definite_ones_and_failures() -> None:
    band = np.array([[0.0, -1, -1, -1], [2.5, 2.5, 2.5, 2.5], [-1, -1, -1, 0.0]])
    b = R.normal(size=(4, 1))
    solve = ad.jit(lambda a, b: BandedSolve(1, 1, positive=True)(a, b))
    want: Any = scipy.linalg.solveh_banded(band[:2], b)
    np.testing.assert_allclose(solve(band, b), want, rtol=1e-13)
    with pytest.raises(np.linalg.LinAlgError):
        solve(-band, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        ad.jit(lambda a, b: BandedSolve(1, 1)(a, b))(np.zeros((3, 4)), b)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_recursive_filters(reverse: bool, dtype: Any) -> None:
    a = np.array([[2.0, 0.3, -0.2], [1.0, -0.5, 0.1]]).astype(dtype)
    v = R.normal(size=(3, 2, 9)).astype(dtype)
    got = compiled_without_callbacks(lambda a, v: AllPole(reverse)(a, v), a, v)
    for line in range(2):
        drive = v[:, line, ::-1] if reverse else v[:, line]
        want: Any = scipy.signal.lfilter([1.0], a[line], drive)
        np.testing.assert_allclose(got[:, line], want[:, ::-1] if reverse else want, rtol=1e-12)
