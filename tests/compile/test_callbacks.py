"""What machine code leaves to NumPy: operands that stand in memory at any strides."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.random_programs.running import agrees


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool, np.float16])
def test_products_of_views(dtype: Any) -> None:
    x = np.arange(48).reshape(4, 4, 3).astype(dtype)

    def f(x: Any) -> Any:
        row = np.broadcast_to(x[1, :, 2], (4, 4))
        return [a @ b for a in (x[..., 0], x[..., 1].T, x[::-1, ::-1, 2], row) for b in (x[..., 0].T, x[..., 1], row)]

    for got, want in zip(ad.jit(f)(x), f(x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_other_operations_of_views() -> None:
    x = np.random.default_rng(0).normal(size=(5, 5)) + 3 * np.eye(5)

    def f(x: Any) -> Any:
        return [
            np.argsort(x[::2, ::-1].T, axis=0),
            np.linalg.solve(x.T, np.broadcast_to(x[0], (5, 5))),
            np.fft.fft(x[:, ::-1].T),
            np.linalg.eigh(x[::-1].T @ x[::-1])[0],
            np.maximum.accumulate(np.broadcast_to(x[0], (5, 5)) * 1j),
            np.cumprod(x.T[::-1] * 1j, axis=1),
        ]

    for got, want in zip(ad.jit(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_exceptions_of_numpy_reach_the_caller() -> None:
    compiled = ad.jit(lambda x: np.linalg.cholesky(x) * 2.0)
    np.testing.assert_allclose(compiled(np.eye(3)), 2.0 * np.eye(3))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(-np.eye(3))
    np.testing.assert_allclose(compiled(4.0 * np.eye(3)), 4.0 * np.eye(3))  # and nothing of it is left


def test_operations_of_nothing_of_numbers_and_with_several_results() -> None:
    agrees(
        lambda x: [np.sort(x[:0], axis=1), np.linalg.det(x), *np.linalg.qr(x), np.argsort(x[0, :1])], X + 3 * np.eye(5)
    )


X = np.random.default_rng(4).normal(size=(5, 5))


def _watched(act: Any) -> Any:
    """A loop in which something is done where the state is large."""

    def f(x: Any) -> Any:
        def body(carry: Any, row: Any) -> Any:
            carry = np.tanh(carry) + row
            ad.cond(carry > 1.5, lambda c: act(c), lambda c: np.float64(0.0), carry)
            return carry, carry

        return ad.scan(body, x[0], x)[1]

    return f


@pytest.mark.parametrize("shape", [(40,), (6, 40), (2, 3, 40)])
def test_python_is_called_only_where_a_batch_element_asks_for_it(shape: tuple[int, ...]) -> None:
    seen: list[float] = []

    def act(c: Any) -> Any:
        ad.debug.callback(lambda c: seen.append(float(c)), c)
        return np.float64(0.0)

    f: Any = _watched(act)
    plain: Any = f
    for _ in shape[1:]:
        f = ad.vmap(f)
    fast: Any = ad.jit(f)
    x = np.random.default_rng(1).normal(size=shape)
    states: Any = fast(x)
    expected = [plain(row) for row in x.reshape(-1, 40)]
    np.testing.assert_allclose(states.reshape(-1, 40), expected, rtol=1e-12)
    assert sorted(seen[: len(seen) // 2]) == sorted(c for c in states.ravel() if c > 1.5)  # the rest: `expected`
    assert len(seen) > 4
    assert "every iteration" not in str(fast.report()) or len(shape) == 1


@pytest.mark.parametrize("wide", [False, True])
def test_a_check_of_a_batch_in_a_loop(wide: bool) -> None:
    """Whether a branch that a batch element does not take would fail is nothing to it."""

    def inner(c: Any) -> Any:
        ad.debug.check(np.array([c, 0.0]) < 2.5 if wide else c < 2.5, "too large: {}", c)
        return np.float64(0.0)

    fast = ad.jit(ad.vmap(_watched(inner)))
    x = np.clip(np.random.default_rng(1).normal(size=(5, 40)), -1.2, 1.2)
    np.testing.assert_allclose(fast(x), [_watched(inner)(row) for row in x], rtol=1e-12)
    assert "every iteration" not in str(fast.report())
    x[3, 7] = 4.0
    with pytest.raises(ad.CheckError, match="too large") as problem:
        fast(x)
    assert "3" in str(problem.value)
    np.testing.assert_allclose(fast(-x)[3], _watched(inner)(-x[3]), rtol=1e-12)
