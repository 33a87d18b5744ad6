"""Collections wait while something large grows, in every thread, and go on afterwards."""

import gc
import threading

import pytest

import adjoint as ad
from adjoint.base.garbage import uncollected


def test_collections_wait_and_go_on() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_they_stay_off_for_who_has_switched_them_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_they_go_on_when_the_last_thread_has_left() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with uncollected():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with uncollected():
        thread.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_an_error_in_a_traced_function_switches_them_on_again() -> None:
    def raises(x: float) -> float:
        assert not gc.isenabled()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ad.jit(raises)(1.0)
    assert gc.isenabled()
