"""Forking while other threads trace and compile: nothing that they held is held in the child."""

import gc
import multiprocessing
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.forking import free_in_child
from adjoint.base.garbage import uncollected
from adjoint.compile import machine
from adjoint.jit import executable

PATIENCE = 20.0  # seconds until a child counts as one that hangs


def in_child(function: Callable[[], Any]) -> str:
    """What a function returns in a forked child, as text."""
    source, sink = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of later versions of Python: threads are the point
        child = os.fork()
    if child == 0:
        try:
            os.write(sink, repr(function()).encode())
        finally:
            os._exit(0)
    os.close(sink)
    ready, _, _ = select.select([source], [], [], PATIENCE)
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = os.read(source, 1000).decode() if ready else "it hangs"
    os.close(source)
    return text


@contextmanager
def elsewhere(inside: Callable[[threading.Event, threading.Event], None]) -> Iterator[None]:
    """Another thread, which sets the first event where it is to be while the block runs, and waits for the second."""
    there, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=inside, args=(there, done))
    thread.start()
    assert there.wait(PATIENCE)
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_what_another_thread_holds_is_free_in_the_child(kind: Any) -> None:
    lock = free_in_child(kind())

    def hold(there: threading.Event, done: threading.Event) -> None:
        with lock:
            there.set()
            done.wait(PATIENCE)

    with elsewhere(hold):
        assert in_child(lambda: lock.acquire(timeout=5)) == "True"
        assert not lock.acquire(blocking=False)


def test_what_the_thread_itself_holds_stays_held() -> None:
    lock = free_in_child(threading.RLock())
    with lock:
        assert in_child(lambda: lock.release()) == "None"


def test_garbage_is_collected_again_in_the_child() -> None:
    def hold(there: threading.Event, done: threading.Event) -> None:
        with uncollected():
            there.set()
            done.wait(PATIENCE)

    with elsewhere(hold):
        assert not gc.isenabled()
        assert in_child(gc.isenabled) == "True"
        with uncollected():
            assert in_child(gc.isenabled) == "False"
    assert gc.isenabled()


def compiled(scale: float) -> float:
    return float(ad.jit(ad.grad(lambda x: np.sum(np.sin(scale * x))))(np.array([0.5, 0.0]))[1])


@pytest.mark.parametrize(
    "module, name, function",
    [(executable, "simplify", np.sin), (executable, "compile_program", np.cos), (machine, "optimize", np.tanh)],
    ids=["simplify", "compile_program", "optimize"],
)
def test_a_child_compiles_while_another_thread_does(
    module: Any, name: str, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread is stopped inside, with the locks that it holds there; the child needs them all, and the function."""
    work = getattr(module, name)
    events: list[threading.Event] = []
    shared = ad.jit(lambda x: function(x) * 0.125 + 3.0)

    def stopped(*args: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            events[0].set()
            events[1].wait(PATIENCE)
        return work(*args)

    def run(there: threading.Event, done: threading.Event) -> None:
        events.extend((there, done))
        assert shared(0.0) == 3.0 + 0.125 * function(0.0)

    monkeypatch.setattr(module, name, stopped)
    with config.override(cache=False), elsewhere(run):
        assert in_child(lambda: (compiled(3.0), float(shared(0.0)))) == f"(3.0, {3.0 + 0.125 * function(0.0)})"
    assert compiled(5.0) == 5.0


IMPORTING = threading.Event()


def test_a_module_that_another_thread_imports_is_there_in_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"import time\nfrom {__name__} import IMPORTING\nIMPORTING.set()\ntime.sleep(0.3)\nVALUE = 3\n"
    (tmp_path / "imported_slowly.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(ad, "__path__", [*ad.__path__, str(tmp_path)])

    thread = threading.Thread(target=import_module, args=("adjoint.imported_slowly",))
    thread.start()
    assert IMPORTING.wait(PATIENCE)
    assert in_child(lambda: import_module("adjoint.imported_slowly").VALUE) == "3"
    thread.join()
    monkeypatch.delitem(sys.modules, "adjoint.imported_slowly")


def test_multiprocessing_with_fork() -> None:
    """A pool of forked processes, while a thread compiles one function after another."""

    def compile_on(there: threading.Event, done: threading.Event) -> None:
        scale = 10.0
        while not done.is_set():
            scale += 1.0
            compiled(scale)
            there.set()

    with config.override(cache=False), elsewhere(compile_on), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = pool.map_async(compiled, [1.0, 2.0, 3.0, 4.0]).get(PATIENCE)
    assert found == [1.0, 2.0, 3.0, 4.0]
