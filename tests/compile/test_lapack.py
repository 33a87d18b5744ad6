"""Linear equations and Cholesky factors, compiled: NumPy's numbers and errors, without calling NumPy."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.decompose import Cholesky
from adjoint.scipy import linalg

DTYPES = [np.float64, np.float32, np.complex128, np.complex64]


def some(shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(len(shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def agree(f: Any, *args: Any) -> None:
    compiled = ad.jit(f)
    eps = np.finfo(args[0].dtype).eps
    for got, want in zip(ad.tree.leaves(compiled(*args)), ad.tree.leaves(f(*args)), strict=True):
        assert got.dtype == want.dtype
        scale = np.max(np.abs(want), where=np.isfinite(want), initial=0)
        np.testing.assert_allclose(got, want, rtol=0, atol=300 * eps * scale)
    (specialization,) = compiled.report().specializations
    assert specialization.how == "compiled"
    assert not specialization.callbacks


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 4, 33])
def test_equations(dtype: Any, n: int) -> None:
    a = some((3, n, n), dtype) + 3 * n**0.5 * np.eye(n, dtype=dtype)
    b = some((3, n, 2), dtype)

    def f(a: Any, b: Any) -> Any:
        first, turned = a[0], np.swapaxes(a, -1, -2)
        return [
            np.linalg.solve(first, b[0]),
            np.linalg.solve(first.T, b[0, :, 0]),
            np.linalg.solve(a, b),
            np.linalg.solve(turned[::-1], b[::-1]),
            np.linalg.solve(a, b[0]),
            np.linalg.solve(first, b[..., ::-1]),
            np.linalg.inv(a),
            np.linalg.inv(turned[1]),
        ]

    agree(f, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles(dtype: Any) -> None:
    a, b = some((5, 5), dtype) + 4 * np.eye(5, dtype=dtype), some((5, 3), dtype)

    def f(a: Any, b: Any) -> Any:
        return [
            linalg.solve_triangular(x, y, lower=lower, unit_diagonal=unit)
            for x in (a, a.T)
            for y in (b, b[:, 0])
            for lower in (False, True)
            for unit in (False, True)
        ]

    agree(f, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 5, 40])
def test_cholesky(dtype: Any, n: int) -> None:
    x = some((2, n, n), dtype)
    a = x @ np.conj(np.swapaxes(x, -1, -2)) + n * np.eye(n, dtype=dtype)
    agree(lambda a: [np.linalg.cholesky(a), np.linalg.cholesky(a[0].T), np.linalg.cholesky(np.triu(a[1]).T)], a)


@pytest.mark.parametrize("n", [3, 12])
def test_a_factor_of_what_is_not_positive_definite_is_nan(n: int) -> None:
    x = some((5, n, n), np.float64)
    a = x @ np.swapaxes(x, -1, -2) + n * np.eye(n)
    a[1], a[3] = 0.0, -a[3]
    factor = Cholesky(checked=False)
    for run in (factor, ad.jit(lambda a: factor(a)), ad.jit(ad.vmap(lambda a: factor(a)))):
        found = run(a)
        assert np.isnan(found[1][-1, -1])
        assert np.isnan(found[3][-1, -1])
        np.testing.assert_allclose(found[[0, 2, 4]], np.linalg.cholesky(a[[0, 2, 4]]), rtol=1e-12)


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("columns", [None, 4])
def test_triangles_in_any_layout(n: int, columns: int | None) -> None:
    a = some((2, n, n), np.float64) + n * np.eye(n)
    b = some((n,) if columns is None else (n, columns), np.float64)

    def f(a: Any, b: Any) -> Any:
        solve = linalg.solve_triangular
        whole = [solve(t, b, lower=lower, unit_diagonal=unit, trans=trans)
                 for t in (a[0], a[1].T, a[0, ::-1, ::-1]) for lower in (False, True) for unit in (False, True)
                 for trans in (0, 1)]  # fmt: skip
        return np.stack(whole)

    np.testing.assert_allclose(ad.jit(f)(a, b), f(a, b), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_and_determinants(dtype: Any) -> None:
    a = some((3, 5, 5), dtype)
    a[1, 2] = a[1, 0] * 2  # nearly singular
    a[2] = 0
    a[2, 1, 3] = 1

    def f(a: Any) -> Any:
        return [linalg.lu_factor(a[0]), linalg.lu_factor(a[0].T), linalg.lu(a[0, :3]), linalg.lu(a[0, :, 1:3])]

    def g(a: Any) -> Any:
        return [np.linalg.det(a[0]), np.linalg.det(a), np.linalg.slogdet(a[::2]), np.linalg.slogdet(a[0].T)]

    agree(f, a)
    with np.errstate(all="ignore"):
        agree(g, a)


def test_derivatives_and_lanes() -> None:
    x = some((4, 4), np.float64) + 4 * np.eye(4)

    def f(x: Any) -> Any:
        l = np.linalg.cholesky(x @ x.T)
        volume = np.linalg.slogdet(x)[1]
        return np.sum(np.linalg.solve(x, x[0]) ** 2) + np.sum(linalg.solve_triangular(l, x, lower=True)) + volume

    for g, argument in ((ad.grad(f), x), (ad.vmap(ad.grad(f)), np.stack([x, x.T])), (ad.hessian(f), x)):
        compiled = ad.jit(g)
        np.testing.assert_allclose(compiled(argument), g(argument), rtol=1e-9, atol=1e-11)
        assert not compiled.report().specializations[0].callbacks


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda a: np.linalg.solve(a, a[0]), "Singular"),
        (np.linalg.inv, "Singular"),
        (lambda a: linalg.solve_triangular(a, a[0]), "(?i)singular"),
        (lambda a: np.linalg.cholesky(a - 1), "positive definite"),
    ],
)
def test_errors_are_the_same(f: Any, message: str) -> None:
    compiled = ad.jit(f)
    good = np.diag([4.0, 5.0, 6.0]) + 1
    compiled(good)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            compiled(np.zeros((3, 3)))
        np.testing.assert_allclose(compiled(good), f(good), rtol=1e-13, atol=1e-13)
    with pytest.raises(np.linalg.LinAlgError, match=message):
        f(np.zeros((3, 3)))


def test_integers_and_nothing() -> None:
    a = np.array([[2, 1], [1, 3]])
    np.testing.assert_allclose(ad.jit(np.linalg.solve)(a, a[0]), np.linalg.solve(a, a[0]))
    empty = np.zeros((0, 0))
    assert ad.jit(np.linalg.inv)(empty).shape == (0, 0)
    assert ad.jit(np.linalg.solve)(np.eye(2), np.zeros((2, 0))).shape == (2, 0)
