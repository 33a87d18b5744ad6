"""The pool of threads: when it starts, forks, interrupts, calls from many threads, and what settings mean."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.compile.pool import known_pool, pool

SOURCE = str(Path(ad.__file__).parents[1])
X = np.random.default_rng(0).normal(size=200_000)


def run(code: str, **environment: str) -> list[str]:
    """What a program prints, in a process of its own that must end well."""
    begin = "import numpy as np, os, sys, threading, adjoint as ad\nfrom adjoint.compile.pool import known_pool, pool\n"
    settings = {**os.environ, "PYTHONPATH": SOURCE, **environment}
    settings.pop("ADJOINT_THREADS", None) if "ADJOINT_THREADS" not in environment else None
    done = subprocess.run(
        [sys.executable, "-c", begin + code], env=settings, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


BIG = "f = ad.jit(lambda x: np.sum(np.exp(np.sin(x))))\nx = np.arange(300_000) * 1e-3\n"


def test_nothing_starts_before_there_is_something_to_do() -> None:
    assert run(BIG + "print(known_pool() is None); f(x[:100]); print(known_pool() is None)") == ["True", "True"]


def test_one_thread_starts_none() -> None:
    assert run(BIG + "f(x); print(known_pool().workers)", ADJOINT_THREADS="1") == ["0"]
    assert run(BIG + "ad.config.threads = 1; f(x); print(known_pool().workers)", ADJOINT_THREADS="3") == ["0"]


def test_as_many_as_are_wanted() -> None:
    code = BIG + "f(x); print(known_pool().workers)\nad.config.threads = 5; f(x); print(known_pool().workers)"
    assert run(code, ADJOINT_THREADS="3") == ["2", "4"]


def test_the_default_is_what_the_process_may_use() -> None:
    (found,) = run("print(ad.config.threads)")
    assert int(found) == (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def test_settings() -> None:
    for wrong in (0, -1, True):
        with pytest.raises(ValueError, match=r"config.threads cannot be"):
            config.threads = wrong
    with pytest.raises(TypeError, match=r"config.threads cannot be"):
        config.threads = 1.5  # type: ignore[assignment]
    with config.override(threads=3):
        assert config.threads == 3
        with config.override(threads=2):
            assert config.threads == 2
        assert config.threads == 3


def test_a_block_is_for_its_thread_alone() -> None:
    code = (
        BIG
        + """
ad.config.threads = 3
def work():
    f(x)
    print(known_pool().workers)
with ad.config.override(threads=1):
    f(x)
    print(known_pool().workers)
    other = threading.Thread(target=work)
    other.start()
    other.join()
"""
    )
    assert run(code) == ["0", "2"]


def test_forked_children_have_threads_of_their_own() -> None:
    code = (
        BIG
        + """
ad.config.threads = 3
value = f(x)
busy = [threading.Thread(target=lambda: [f(x) for _ in range(50)]) for _ in range(3)]
[thread.start() for thread in busy]
for _ in range(4):
    child = os.fork()
    if not child:
        before = known_pool().workers
        os._exit(0 if before == 0 and f(x) == value and known_pool().workers == 2 else 1)
    print(os.waitpid(child, 0)[1])
[thread.join() for thread in busy]
print(f(x) == value)
"""
    )
    assert run(code) == ["0", "0", "0", "0", "True"]


def test_calls_from_many_threads_at_once() -> None:
    f = ad.jit(lambda x: np.sum(np.exp(np.sin(x))))
    g = ad.jit(lambda x: ad.map(lambda row: np.linalg.solve(np.eye(9) + np.outer(row, row), row), x))
    rows = X[:9000].reshape(1000, 9)
    wrong: list[int] = []
    with config.override(threads=1):
        expected = f(X), g(rows)

    def work() -> None:
        with config.override(threads=3):
            for k in range(20):
                if f(X) != expected[0] or not np.array_equal(g(rows), expected[1]):
                    wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("count", [1, 3])
def test_interrupts(count: int, request: pytest.FixtureRequest) -> None:
    """Loops that would take minutes end, and the function can be called again."""
    inner = lambda n: lambda a: ad.fori_loop(0, n, lambda _, c: np.sin(c) + a, a)
    slow = ad.jit(lambda x, n: ad.map(inner(10**9), x) if n else ad.map(inner(10), x), static_argnums=1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in what runs in the background
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with config.override(threads=count):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            slow(X[:100], 1)
        assert time.monotonic() - begin < 60
        assert np.all(np.isfinite(slow(X[:100], 0)))


def test_elements_can_be_interrupted_between_chunks() -> None:
    code = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in what runs in the background
ad.config.threads = 2
f = ad.jit(lambda x: ad.fori_loop(0, 10**6, lambda _, c: np.sin(c) * 1.1, x))
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    f(np.ones(10**6))
except KeyboardInterrupt:
    print("ended")
"""
    assert run(code) == ["ended"]


def test_no_memory_grows() -> None:
    f = ad.jit(lambda x: np.sum(np.exp(np.sin(x))))
    g = ad.jit(lambda x: ad.map(lambda row: np.linalg.inv(np.outer(row, row) + 9 * np.eye(9))[0], x))
    rows = X[:2700].reshape(300, 9)
    with config.override(threads=3):
        for k in range(1500):
            f(X[:40_000])
            g(rows)
            if k == 500:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4000  # kilobytes


def test_one_pool_for_all() -> None:
    assert pool() is pool() is known_pool()
