"""Ctrl-C while machine code runs: loops of any kind are left soon, and the function works afterwards."""

import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def step(y: Any, x: Any) -> Any:
    return 0.5 * np.sin(y) + x


def counted(x: Any, n: int) -> Any:
    return ad.fori_loop(0, n, lambda i, y: step(y, x), x)


def while_(x: Any, n: int) -> Any:
    return ad.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[1], x)), (0, x))[1]


def nested(x: Any, n: int) -> Any:
    """Each of the loops inside is short, and nobody knows how short."""

    def inside(i: Any, y: Any) -> Any:
        return ad.while_loop(lambda s: s[0] < n // 100_000, lambda s: (s[0] + 1, step(s[1], x)), (0, y))[1]

    return ad.fori_loop(0, 100_000, inside, x)


def mapped(x: Any, n: int) -> Any:
    return np.sum(ad.map(lambda t: while_(x * t, n // 100), np.linspace(0.5, 1.0, 100)))


def batched(x: Any, n: int) -> Any:
    return np.sum(ad.vmap(lambda t: while_(x * t, n))(np.linspace(0.5, 1.0, 4)))


def arrays(x: Any, n: int) -> Any:
    return np.sum(ad.fori_loop(0, n // 1000, lambda i, y: step(y, x), np.linspace(0.0, 1.0, 1000)))


def solving(x: Any, n: int) -> Any:
    A = np.eye(40) * 2.0 + 0.01
    return np.sum(ad.fori_loop(0, n // 1000, lambda i, y: np.linalg.solve(A, y) + x, A))


LONG, SHORT = 10**11, 10**4  # iterations: hours and none


def interrupted(f: Any, *args: Any, after: float = 0.05) -> float:
    """How long a call goes on after Ctrl-C, in seconds."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f(*args)
    timer.join()
    return time.monotonic() - sent[0]


@pytest.mark.parametrize("f", [counted, while_, nested, mapped, batched, arrays, solving], ids=lambda f: f.__name__)
def test_loops_are_left_soon(f: Any) -> None:
    fast = ad.jit(f)
    expected = fast(0.5, SHORT)
    assert interrupted(fast, 0.5, LONG) < 1.0
    assert fast(0.5, SHORT) == expected
    assert interrupted(fast, 0.5, LONG) < 1.0


def test_static_counts() -> None:
    """The number of iterations is known, too large for an array, and the loop is left all the same."""
    fast = ad.jit(lambda x: counted(x, LONG))
    program = ad.trace(lambda x: counted(x, LONG))(0.5).program
    assert all(np.size(c) < 100 for c in program.constants.values())
    fast_enough = interrupted(fast, 0.5, after=0.5)
    assert fast_enough < 1.0


def test_code_for_any_size() -> None:
    """Code that was written for few rows looks for signals when there are many."""
    fast = ad.jit(lambda xs: ad.scan(lambda c, x: (while_(c, 20_000) + x, None), 0.5, xs)[0])
    for n in (2, 3, 4):
        fast(np.zeros(n))
    assert interrupted(fast, np.zeros(1_000_000)) < 1.0


def test_the_gradient_of_a_long_loop_frees_its_rows() -> None:
    """What reverse mode keeps of a while loop is given back when it is left."""
    fast = ad.jit(ad.grad(while_))
    fast(0.5, SHORT)
    interrupted(fast, 0.5, LONG, after=0.1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(6):
        interrupted(fast, 0.5, LONG, after=0.1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2.5 * before
    assert np.isfinite(fast(0.5, SHORT))


def test_other_threads_run_meanwhile_and_do_not_see_it() -> None:
    fast = ad.jit(while_)
    fast(0.5, SHORT)
    actual: list[Any] = []
    thread = threading.Thread(target=lambda: actual.append(fast(0.5, 5_000_000)))
    thread.start()
    assert interrupted(fast, 0.5, LONG) < 1.0
    thread.join()
    assert np.isfinite(actual[0])
