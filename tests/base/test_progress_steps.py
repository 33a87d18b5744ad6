"""Progress that is told step by step, and that of work inside the library, which is shown on request."""

import gc
import io
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from adjoint.base import progress as module
from adjoint.base.config import config
from adjoint.base.progress import Steps, progress, reported
from adjoint.base.source import user_facing


@pytest.fixture
def pipe(monkeypatch):
    """stderr and stdout that are no terminals."""
    stream = io.StringIO()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, stdout=io.StringIO()))
    with config.override(progress=None):
        yield stream


def lines(stream):
    return stream.getvalue().splitlines()


# Work of the library


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", -1.0)


def test_the_library_is_silent_unless_it_is_asked(pipe, impatient):
    items = range(3)
    assert reported(items, "work") is items
    with progress.showing():
        assert list(reported(items, "work")) == [0, 1, 2]
    assert reported(items, "work") is items
    assert lines(pipe)[-1].startswith("work: 3/3")


def test_short_work_of_the_library_is_not_shown(pipe, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 1000.0)
    with progress.showing():
        assert list(reported(range(50), "work")) == list(range(50))
    assert lines(pipe) == []


def test_showing_obeys_the_switch_and_the_environment(pipe, impatient, monkeypatch):
    with progress.showing(), config.override(progress=False):
        list(reported(range(3), "work"))
    assert lines(pipe) == []
    monkeypatch.setenv("ADJOINT_REPORTS", "1")
    config.reset()
    try:
        assert config.reports is True
    finally:
        monkeypatch.delenv("ADJOINT_REPORTS")
        config.reset()


# Steps that are told


def test_steps_are_shown_run_by_run(pipe):
    steps = Steps("solve", 4)
    steps.step()  # before it begins: nothing
    for _ in range(2):
        steps.begin()
        for _ in range(4):
            steps.step()
        steps.end()
    assert [text.split(",")[0] for text in lines(pipe)] == [f"solve: {n}/4 ({25 * n}%)" for n in (1, 2, 3, 4)] * 2


def test_a_run_that_an_error_has_left_ends_when_the_next_begins(pipe):
    steps = Steps("solve", 10)
    steps.begin()
    steps.step()
    steps.begin()
    steps.end()
    assert [text.split(",")[0] for text in lines(pipe)] == ["solve: 1/10 (10%)", "solve: 0/10 (0%)"]
    for _ in progress(range(1), "next"):
        pass
    assert lines(pipe)[-1].startswith("next: 1/1")


def test_steps_begin_by_themselves_and_show_values(pipe):
    steps = Steps("solve")
    steps.reach(1, residual=0.25)
    del steps
    gc.collect()
    assert lines(pipe) == [lines(pipe)[0]]
    assert lines(pipe)[0].startswith("solve: 1, ")
    assert lines(pipe)[0].endswith("residual=0.25")


def test_steps_of_threads_do_not_mix(pipe):
    steps = Steps("solve", 3)

    def work():
        steps.begin()
        for _ in range(3):
            steps.step()
        steps.end()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(text.startswith("solve: 3/3") for text in lines(pipe)) == 4


def test_a_loop_closed_by_another_thread_leaves_its_own_alone(pipe):
    iterator = iter(progress(range(10), "left"))
    next(iterator)
    thread = threading.Thread(target=iterator.close)
    thread.start()
    thread.join()
    for _ in progress(range(1), "next"):
        pass
    assert lines(pipe)[-1].startswith("next: 1/1")


def test_an_error_on_its_way_to_the_user_closes_what_it_left(pipe):
    steps = Steps("solve", 10)

    @user_facing
    def work():
        steps.begin()
        steps.step()
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        work()
    assert lines(pipe)[-1].startswith("solve: 1/10")
    for _ in progress(range(1), "next"):
        pass
    assert lines(pipe)[-1].startswith("next: 1/1")


def test_the_cursor_comes_back_when_a_program_ends_inside_a_bar():
    program = "from adjoint.base.progress import Steps\nsteps = Steps('left', 3)\nsteps.begin()\nsteps.step()\n"
    environment = os.environ | {"ADJOINT_PROGRESS": "1", "TERM": "xterm"}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.rindex("\x1b[?25h") > answer.stderr.rindex("\x1b[?25l")
