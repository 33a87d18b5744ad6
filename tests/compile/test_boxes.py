"""Nests of many parts: joins and stacks of more pieces than are cut without a thought."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile import boxes

RNG = np.random.default_rng(4)


def pieces(x: Any, count: int) -> list[Any]:
    """Different functions of different parts of x."""
    kinds = [np.sin, np.exp, np.tanh, lambda y: y * y, lambda y: 2.0 * y - 1.0]
    return [kinds[k % 5](x[k : k + x.shape[0] - count] + k) for k in range(count)]


@pytest.mark.parametrize("count", [3, 12, 40])
@pytest.mark.parametrize("n", [5, 300, 1003])
def test_joins_of_many_parts(count: int, n: int) -> None:
    x = RNG.normal(size=n + count)
    for join in (np.concatenate, lambda p: np.stack(p, axis=1), lambda p: np.stack(p, axis=0)):
        f = lambda x, join=join: join(pieces(x, count))
        np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-14, atol=1e-15)


def test_stacks_of_narrow_blocks() -> None:
    """Boxes side by side that write the same rows: with other axes behind, and a length that is no multiple."""
    x = RNG.normal(size=(777, 6))

    def f(x: Any) -> Any:
        columns = [np.sin(x[:, :2]), x[:, 1:4] ** 2, x[:, :1] * x[:, 5:], np.exp(x[:, 2:3])] * 4
        return np.concatenate(columns, axis=1)

    np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-14)
    three = RNG.normal(size=(259, 3, 4))
    g = lambda y: np.concatenate([np.cos(y[:, :1] * k) for k in range(12)], axis=1)
    np.testing.assert_allclose(ad.jit(g)(three), g(three), rtol=1e-14)
    h = lambda y: (np.stack([y[:, 0, 0] * k for k in range(12)], axis=1), np.sum(y, axis=1))
    for mine, theirs in zip(ad.jit(h)(three), h(three), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)


def test_the_gradient_of_a_join() -> None:
    x = RNG.normal(size=340)
    f = lambda x: np.sum(np.stack(pieces(x, 20), axis=1) ** 2)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), ad.grad(f)(x), rtol=1e-12)


def test_many_threads_and_one_agree() -> None:
    x = RNG.normal(size=50_028)
    f = lambda x: np.stack([np.sin(x[k : k + 50_000]) for k in range(28)], axis=1)
    expected = f(x)
    for threads in (1, 2):
        with ad.config.override(threads=threads):
            np.testing.assert_allclose(ad.jit(f)(x), expected, rtol=1e-14, atol=1e-16)


def test_boxes_that_repeat_work_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that all overlap: each box would compute nearly everything."""
    x = RNG.normal(size=100)

    def f(x: Any) -> Any:
        return sum(np.pad(np.sin(x[: 100 - k]), (k, 0)) for k in range(15))

    expected = f(x)
    np.testing.assert_allclose(ad.jit(f)(x), expected, rtol=1e-12)
    monkeypatch.setattr(boxes, "GROWTH", 1e9)
    np.testing.assert_allclose(ad.jit(lambda x: f(x) + 0.0)(x), expected, rtol=1e-12)
