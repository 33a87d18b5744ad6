"""Regions of compiled programs: the same numbers, to the bit, on any number of threads, and those of NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config

THREADS = (1, 2, 4, 7)
RNG = np.random.default_rng(0)
LONG = RNG.normal(size=300_007)  # a prime: the last vector of the last chunk is not whole
WIDE = RNG.normal(size=(1003, 257))
STACK = RNG.normal(size=(503, 12, 12)) + 8 * np.eye(12)
DEFINITE = STACK @ np.swapaxes(STACK, 1, 2)
RIGHT = RNG.normal(size=(503, 12, 2))
SMALL = RNG.normal(size=(20_011, 3, 3)) + 4 * np.eye(3)
TALL = RNG.normal(size=(60_007, 12))
IMAGES = RNG.normal(size=(24, 3, 40, 40))
KERNELS = RNG.normal(size=(8, 3, 3, 3))


def ode(p: Any) -> Any:
    """Fixed steps of Euler's method, from the same start for all parameters."""
    return ad.scan(lambda u, _: (u + 0.01 * np.array([u[1], -p * u[0]]), None), np.array([1.0, 0.0]), None, length=50)[
        0
    ]


def root(a: Any) -> Any:
    """Newton's method for a square root: how often it goes round depends on the number."""
    return ad.while_loop(lambda x: np.abs(x * x - a) > 1e-12 * a, lambda x: 0.5 * (x + a / x), 1.0 + a)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x: np.exp(-x * x) * np.sin(x) + x, (LONG,)),
    "float32": (lambda x: np.tanh(x) * 2, (LONG.astype(np.float32),)),
    "complex": (lambda x: np.sum(np.exp(1j * x)), (LONG,)),
    "integers": (lambda x: np.sum(x // 3) + np.max(x), (np.arange(300_000),)),
    "sum": (lambda x: np.sum(np.tanh(x)), (LONG,)),
    "several reductions": (lambda x: (np.sum(x), np.max(x), np.min(x), np.any(x > 4), np.prod(1 + x * 1e-6)), (LONG,)),
    "sum of rows": (lambda x: np.sum(np.tanh(x), axis=1), (WIDE,)),
    "sum of columns": (lambda x: np.sum(np.tanh(x), axis=0), (WIDE,)),
    "sum of all": (lambda x: np.sum(x * x), (WIDE,)),
    "of transposed": (lambda x: np.sum(x.T * 2, axis=0) + x[:, 0], (WIDE,)),
    "sums of a join": (lambda x: np.sum(np.concatenate([np.tanh(x), np.cos(x)], axis=1), axis=0), (TALL,)),
    "largest of a join": (lambda x: np.max(np.concatenate([np.tanh(x), x - 9], axis=1), axis=0), (TALL,)),
    "windows": (lambda x: np.sum(x[1:] * x[:-1]) + np.sum(np.pad(x, 3)[2:] ** 2), (LONG,)),
    "gather": (lambda x: np.sum(x[np.arange(200_000) * 7 % 300_007] ** 2), (LONG,)),
    "softmax": (lambda x: np.exp(x - np.max(x, axis=1, keepdims=True)), (WIDE,)),
    "gradient": (ad.value_and_grad(lambda x: np.sum(np.log1p(np.exp(x)) * np.cos(x[::-1]))), (LONG,)),
    "product": (lambda a, b: a @ b, (WIDE, WIDE.T[:, :333])),
    "product of transposed": (lambda a: a.T @ a, (WIDE,)),
    "product of tall": (lambda a: a.T @ a, (TALL,)),
    "wide product": (lambda a, b: a.T[:40] @ b, (WIDE, np.tile(WIDE, (1, 4)))),
    "matrix and vector": (lambda a, x: a @ x, (TALL, TALL[0])),
    "vector and matrix": (lambda a, x: x @ a, (TALL, TALL[:, 0])),
    "dot": (lambda x: x @ x, (LONG,)),
    "complex product": (lambda a: a @ a.T, (WIDE[:300] + 1j * WIDE[:300],)),
    "stack of products": (lambda a: a @ a, (STACK,)),
    "solve": (np.linalg.solve, (STACK, RIGHT)),
    "one matrix": (lambda a, b: np.linalg.solve(a, b), (STACK[0], np.tile(RIGHT, (8, 1, 1)))),
    "small solve": (np.linalg.solve, (SMALL, SMALL[:, :, :1])),
    "inverse": (np.linalg.inv, (STACK,)),
    "cholesky": (np.linalg.cholesky, (DEFINITE,)),
    "eigenvalues": (np.linalg.eigvalsh, (DEFINITE[:61],)),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), (STACK[:50],)),
    "gradient of solve": (ad.grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2)), (STACK, RIGHT)),
    "sort": (lambda x: np.sort(x, axis=1), (WIDE[:200],)),
    "fourier": (lambda x: np.abs(np.fft.fft(x, axis=1)), (WIDE[:300],)),
    "map": (lambda x: ad.map(lambda row: np.sum(np.sin(row)) * row[::-1], x), (WIDE,)),
    "batch of loops": (ad.vmap(root), (np.abs(LONG[:20_000]) + 0.1,)),
    "batch of scans": (ad.vmap(ode), (np.abs(LONG[:4000]),)),
    "gradient of a batch": (ad.vmap(ad.grad(lambda p: np.sum(ode(p) ** 2))), (np.abs(LONG[:4000]),)),
    "in a loop": (
        lambda x: ad.fori_loop(0, 3, lambda _, c: (np.sin(c[0]) + x, c[1] + np.sum(c[0])), (x, 0.0)), (LONG,)
    ),
    "in a branch": (lambda x: ad.cond(x[0] > 0, lambda x: np.exp(x), lambda x: np.cos(x), x), (LONG,)),
    "convolution": (lambda x, w: ad.signal.conv(x, w), (IMAGES, KERNELS)),
}  # fmt: skip


def on_threads(function: Any, *args: Any) -> list[list[Any]]:
    """The leaves of the result, on so many threads each."""
    found: list[list[Any]] = []
    for count in THREADS:
        with config.override(threads=count):
            found.append(ad.tree.leaves(function(*args)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_same_to_the_bit_on_any_number_of_threads(name: str) -> None:
    function, args = CASES[name]
    compiled = ad.jit(function)
    found = on_threads(compiled, *args)
    for leaves in found[1:]:
        for one, other in zip(found[0], leaves, strict=True):
            np.testing.assert_array_equal(one, other)
    for got, expected in zip(found[0], ad.tree.leaves(function(*args)), strict=True):
        single = np.asarray(got).dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=2e-4 if single else 1e-9, atol=1e-9)
    assert compiled.report().specializations[0].threads, "nothing of it runs on several threads"


@pytest.mark.parametrize("sizes", [(100, 200_001, 300_007, 65_537)])
def test_code_for_many_sizes(sizes: tuple[int, ...]) -> None:
    function = lambda x: (np.sum(np.exp(x)), np.max(x), np.sin(x) * x[::-1], np.sum(x[1:] * x[:-1]))
    compiled = ad.jit(function)
    for n in sizes:
        found = on_threads(compiled, LONG[:n])
        for leaves in found[1:]:
            assert all(np.array_equal(a, b) for a, b in zip(found[0], leaves, strict=True))
        for got, expected in zip(found[0], function(LONG[:n]), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("count", THREADS)
def test_the_first_index_out_of_bounds_is_named(count: int) -> None:
    take = ad.jit(lambda x, i: np.sum(x[i]) + np.max(x[i] * 2))
    x, i = LONG[:1000], np.arange(400_000) % 1000
    with config.override(threads=count):
        take(x, i)
        i[390_000], i[150_000], i[350_000] = 1000, -1001, 7777
        for _ in range(3):
            with pytest.raises(IndexError, match="index -1001 is out of bounds for an axis of size 1000"):
                take(x, i)
        i[:] = 0
        assert np.isfinite(take(x, i))


@pytest.mark.parametrize("count", THREADS)
def test_singular_matrices_raise(count: int) -> None:
    a = STACK.copy()
    a[401] = 0
    solve = ad.jit(np.linalg.solve)
    with config.override(threads=count):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            solve(a, RIGHT)
        np.testing.assert_allclose(solve(STACK, RIGHT), np.linalg.solve(STACK, RIGHT))


def test_draws_are_those_of_one_thread() -> None:
    draw = ad.jit(lambda rng: (rng.normal(size=200_000), rng.random(100_001)))
    for count in THREADS:
        with config.override(threads=count):
            one, other = ad.random.default_rng(5), ad.random.default_rng(5)
            got = draw(one)
            np.testing.assert_array_equal(
                got[1], other.normal(size=200_000) * 0 + got[1][:0].sum() if False else got[1]
            )
            expected = (other.normal(size=200_000), other.random(100_001))
            np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
            np.testing.assert_array_equal(got[1], expected[1])
            assert one.counter == other.counter


def test_effects_keep_their_order() -> None:
    seen: list[int] = []

    def body(k: Any) -> Any:
        ad.debug.callback(lambda k: seen.append(int(k)), k)
        return np.sum(np.exp(LONG[:3000] * k))

    run = ad.jit(lambda ks: ad.map(body, ks))
    with config.override(threads=4):
        run(np.arange(40))
    assert seen == list(range(40))
    assert run.report().specializations[0].threads[0].endswith("one thread, it calls Python")


def test_what_does_not_pay_runs_on_one() -> None:
    small = ad.jit(lambda x: np.sum(np.exp(x)))
    small(LONG[:1000])
    assert small.report().specializations[0].threads == []
    assert "one: no part takes more than 50 µs" in str(small.report())


def test_checks_fail_alike() -> None:
    checked = ad.jit(lambda x: (ad.check(np.all(x < 3.0), "too large"), np.exp(x))[1])
    for count in THREADS:
        with config.override(threads=count), pytest.raises(Exception, match="too large"):
            checked(np.abs(LONG) + 3)
