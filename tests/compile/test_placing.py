"""Parts of outputs that are computed where they belong: the numbers of NumPy, and no memory for what is not copied."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.random_programs.running import agrees

RNG = np.random.default_rng(0)
X, Y, V = RNG.normal(size=(60, 30)), RNG.normal(size=(30, 40)), RNG.normal(size=500)
PRODUCT = 8 * 60 * 40  # bytes of X @ Y


def test_a_product_is_computed_in_its_part_of_the_output() -> None:
    kernel = agrees(lambda x, y, v: np.concatenate([v[:3], (x @ y).ravel(), np.sin(v)]), X, Y, V)
    assert kernel.workspace < PRODUCT


def test_what_is_joined_across_rows_is_copied() -> None:
    kernel = agrees(lambda x, y: np.concatenate([x @ y, np.ones((60, 2))], axis=1), X, Y)
    assert kernel.workspace > PRODUCT


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y, v: np.concatenate([(x @ y).ravel(), (x @ y).ravel()]),
        lambda x, y, v: np.concatenate([x @ y, 2 * (x @ y)[:7], (x @ y)[::-1]]),
        lambda x, y, v: (np.concatenate([(x @ y).ravel(), v]), x @ y),
        lambda x, y, v: (lambda p: (np.concatenate([p.ravel(), v]), np.cumsum(p, axis=0) @ y.T))(x @ y),
        lambda x, y, v: np.concatenate([(x @ y).T.ravel(), v]),
        lambda x, y, v: np.concatenate([(x @ y).ravel()[5:], v]),
        lambda x, y, v: np.concatenate([np.cumsum(v), np.sort(v), v[:0], np.cumsum(v)[::-1]]),
        lambda x, y, v: np.concatenate([np.cumsum(v).astype(np.float32), np.float32([1.0])]),
        lambda x, y, v: np.concatenate([np.cumsum(v), 1j * v]),
        lambda x, y, v: np.stack([np.cumsum(v), np.cumsum(v * v), v]),
        lambda x, y, v: np.pad(np.cumsum(v), (3, 9)),
        lambda x, y, v: np.concatenate([np.concatenate([np.cumsum(v), v]), x.ravel()]) * 2,
    ],
)
def test_joins_of_all_kinds(f: Any) -> None:
    agrees(f, X, Y, V)


def test_an_array_that_a_loop_adds_to_is_carried_in_its_part() -> None:
    def f(v: Any, rows: Any) -> Any:
        total = ad.fori_loop(0, 8, lambda i, s: s + rows[i] * v, np.zeros(500))
        return np.concatenate([v * 2, total, np.cumsum(total)])

    agrees(f, V, RNG.normal(size=8))


def test_in_the_body_of_a_loop() -> None:
    def f(x: Any, y: Any, v: Any) -> Any:
        step = lambda s, _: (np.concatenate([(x @ y).ravel()[:500] * 0.01 + np.cumsum(s[:500]) * 0.1, s[:100]]), s[0])
        return ad.scan(step, np.concatenate([v, v[:100]]), None, length=4)

    agrees(f, X, Y, V)


def test_a_carry_that_is_written_over_is_read_before() -> None:
    """Its second half by element, its first half by a sum, of which something is read before and after."""

    def step(s: Any, _: Any) -> Any:
        total = np.cumsum(s[499::-1]) / 500
        return np.concatenate([np.sort(total * s[:500])[::-1] + np.flip(s[:500]), s[500:] * 0.5]), None

    agrees(lambda v: ad.scan(step, np.concatenate([v, v]), None, length=4), V)
    parts = lambda s, _: (np.concatenate([np.sort(s[499::-1]) * 1.0, s[500:] * 0.5]), None)
    agrees(lambda v: ad.scan(parts, np.concatenate([v, v]), None, length=4), V)
    sums = lambda s, _: (np.concatenate([np.cumsum(s[499::-1]), s[500:] * np.sum(s[:500])]), None)
    agrees(lambda v: ad.scan(sums, np.concatenate([v, v]) * 0.01, None, length=2), V)


def test_the_gradient_of_parameters_in_one_array() -> None:
    def loss(p: Any, x: Any) -> Any:
        w, u = p[:1200].reshape(30, 40), p[1200:].reshape(40, 5)
        return np.sum(np.tanh(np.tanh(x @ w) @ u) ** 2)

    p = 0.1 * RNG.normal(size=1400)
    value, slope = ad.jit(ad.value_and_grad(loss))(p, X)
    expected = ad.value_and_grad(loss)(p, X)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-10, atol=1e-12)
