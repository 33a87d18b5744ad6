"""What reverse mode keeps of loops inside loops, as machine code: compiled = interpreted, to any depth and order."""

import resource
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.support.nested_loops import nest
from tests.support.sweeps import sampled

BATCH = np.array([[1.0, 1.0], [-0.3, 0.9], [2.5, -1.2], [0.5, 0.1], [-2.0, -1.0], [0.0, 1.7]])
MODES: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "tangent": lambda f: lambda x: ad.jvp(f, (x,), (np.array([1.0, -0.5]),))[1],
    "gradient": ad.grad,
    "forward over reverse": lambda f: lambda x: ad.jvp(ad.grad(f), (x,), (np.array([1.0, -0.5]),))[1],
    "reverse over reverse": lambda f: ad.grad(lambda x: ad.grad(f)(x) @ np.array([1.0, -0.5])),
    "Hessian": ad.hessian,
    "batch": lambda f: lambda x: ad.vmap(f)(BATCH * x),
    "batch of gradients": lambda f: lambda x: ad.vmap(ad.grad(f))(BATCH * x),
    "gradient of a batch": lambda f: ad.grad(lambda x: np.sum(np.sin(ad.vmap(f)(BATCH * x)))),
    "batch of Hessians": lambda f: lambda x: ad.vmap(ad.hessian(f))(BATCH * x),
    "batch of batches": lambda f: (
        lambda x: ad.vmap(lambda s: ad.vmap(ad.grad(f))(BATCH * x * s))(np.array([1.0, -0.5]))
    ),
}


def as_function(seed: int, depth: int) -> Any:
    run = nest(np.random.default_rng(seed), depth)
    return lambda x: run(x[0], x[1])


def is_compiled(function: Any) -> bool:
    return {one.how for one in function.report().specializations} == {"compiled"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", sampled(range(64), 32))
def test_random_nests_compiled_as_interpreted(seed: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter keeps rows of different lengths as one array, filled up with zeros: another algorithm.

    And it takes all elements of a batch together, the compiled program each by itself, in twos, or all six.
    """
    monkeypatch.setattr("adjoint.ops.control.batch_elements.WIDEST", (1, 2, 6)[seed % 7 % 3])
    monkeypatch.setattr("adjoint.ops.control.batch_elements.NARROWEST", 2)
    f = MODES[mode](as_function(seed, 1 + seed % (2 if "Hessian" in mode else 3)))
    compiled = ad.jit(f)
    for x in (np.array([0.4, 0.7]), np.array([-0.8, 1.1])):
        want = f(x)
        np.testing.assert_allclose(compiled(x), want, rtol=1e-8, atol=1e-9 * (1.0 + np.max(np.abs(want))))
    assert is_compiled(compiled)


def powers(x: Any, counts: Any) -> Any:
    """Σ over i of x^(kᵢ (kᵢ + 1) / 2): kᵢ iterations, the j-th of which multiplies j times."""

    def times(base: Any, n: Any) -> Any:
        return ad.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, base))[1]

    def step(total: Any, k: Any) -> Any:
        y = ad.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, times(s[1], s[0] + 1)), (0, 1.0 + 0.0 * x))[1]
        return total + y, y

    return ad.scan(step, 0.0 * x, counts)[0]


@pytest.mark.parametrize("counts", [[0], [1], [0, 0, 0], [2, 0, 3, 1, 0], [0, 1, 5, 5, 2, 0]])
def test_rows_of_rows_have_the_derivatives_of_powers(counts: list[int]) -> None:
    """No iteration and one, at the ends and between; second derivatives by both orders of the modes."""
    exponents = np.array([k * (k + 1) // 2 for k in counts])
    x, ks = 1.3, np.array(counts)
    f = lambda x: powers(x, ks)
    reverse = ad.jit(ad.value_and_grad(f))
    value, slope = reverse(x)
    np.testing.assert_allclose(value, np.sum(x**exponents), rtol=1e-12)
    np.testing.assert_allclose(slope, np.sum(exponents * x ** (exponents - 1.0)), rtol=1e-12)
    want = np.sum(exponents * (exponents - 1) * x ** (exponents - 2.0))
    over_reverse = ad.jit(ad.grad(ad.grad(f)))
    forward_over = ad.jit(lambda x: ad.jvp(ad.grad(f), (x,), (1.0,))[1])
    np.testing.assert_allclose([over_reverse(x), forward_over(x)], [want, want], rtol=1e-11)
    assert all(map(is_compiled, (reverse, over_reverse, forward_over)))


def test_third_derivatives_of_rows_of_different_lengths() -> None:
    """Sums of their cotangents are taken row by row."""
    exponents = np.array([5, 0, 4, 1])

    def f(x: Any) -> Any:
        times = lambda n: ad.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, 1.0 + 0.0 * x))[1]
        return ad.scan(lambda c, n: (c + times(n), None), 0.0 * x, exponents)[0]

    third = ad.jit(ad.grad(ad.grad(ad.grad(f))))
    want = np.sum(exponents * (exponents - 1) * (exponents - 2) * 1.3 ** (exponents - 3.0))
    np.testing.assert_allclose(third(1.3), want, rtol=1e-11)
    assert is_compiled(third)


def test_third_derivatives_of_rows_of_rows() -> None:
    """A loop that is read again finds its number of iterations under another name."""
    counts = np.array([2, 0, 3, 1])
    exponents = counts * (counts + 1) // 2
    third = ad.jit(ad.grad(ad.grad(ad.grad(lambda x: powers(x, counts)))))
    want = np.sum(exponents * (exponents - 1) * (exponents - 2) * 1.3 ** (exponents - 3.0))
    np.testing.assert_allclose(third(1.3), want, rtol=1e-11)
    assert is_compiled(third)


def test_the_same_code_for_other_numbers_of_iterations() -> None:
    """Longer and shorter histories one after the other, in memory that is taken again."""
    f = ad.jit(ad.grad(powers))
    for counts in ([3, 1], [9, 40], [0, 0], [60, 2], [1, 1]):
        exponents = np.array([k * (k + 1) // 2 for k in counts])
        want = np.sum(exponents * 0.99 ** (exponents - 1.0))
        np.testing.assert_allclose(f(0.99, np.array(counts)), want, rtol=1e-10)


def test_memory_does_not_grow_from_call_to_call() -> None:
    f = ad.jit(ad.grad(powers))
    counts = np.array([5, 0, 30])

    def most_memory(calls: int) -> int:
        for _ in range(calls):
            f(0.99, counts)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = most_memory(1000)
    assert most_memory(20_000) - before < 2_000  # kilobytes; a history left behind in each call would be 80 000


def test_a_history_that_finds_no_memory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjoint.compile.kernel.most_bytes", lambda: 100_000)
    endless = lambda x: ad.while_loop(lambda s: s > 0, lambda s: s - 1e-9 * s * s, x)
    f = ad.jit(ad.grad(lambda x: np.sum(ad.scan(lambda c, t: (c, endless(x * t)), x, np.ones(3))[1])))
    for _ in range(2):
        with pytest.raises(MemoryError, match=r"keeps of the iterations of a while loop.*checkpoint"):
            f(1.0)


def test_a_signal_ends_loops_inside_loops() -> None:
    def endless(x: Any) -> Any:
        inner = lambda y: ad.while_loop(lambda s: s[0] < 3.0, lambda s: (s[0] + 1.0, s[1] * x), (0.0, y))[1]
        return ad.while_loop(lambda s: s > -1.0, lambda s: np.sin(inner(s)) * 0.5, x)

    class Stop(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    f = ad.jit(lambda x: np.sum(ad.scan(lambda c, t: (c, endless(x * t)), x, np.ones(3))[1]))
    previous = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Stop):
            f(0.7)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize("limit", [5, 70, 200])
@pytest.mark.parametrize("depth", [1, 2])
def test_stacks_of_a_loop_that_walks_along_another(limit: int, depth: int) -> None:
    """As many rows in both, yet one gets all of its rows before the other gets any: they share no memory."""

    def settled(x: Any) -> Any:
        go = lambda s: np.logical_and(s[0] < limit, np.abs(s[1]) < 0.5)
        count, y = ad.while_loop(go, lambda s: (s[0] + 1, 0.5 * s[1] + 0.1), (np.int64(0), x))
        return np.tanh((y + count.astype(float)) / 50)

    def total(x: Any) -> Any:
        return np.sum(ad.vmap(settled)(x))

    second = lambda x: ad.grad(lambda y: np.sum(ad.grad(total)(y) * np.cos(y)))(x)
    xs = np.random.default_rng(0).normal(size=(3, 3))
    expected = np.array([second(x) for x in xs])
    f = second
    for _ in range(depth):
        f, xs, expected = ad.vmap(f), np.stack([xs, xs[::-1]]), np.stack([expected, expected[::-1]])
    compiled = ad.jit(ad.vmap(f))
    for _ in range(3):  # what is read beyond the rows differs from call to call
        np.testing.assert_allclose(compiled(xs), expected, rtol=1e-12, atol=1e-15)
