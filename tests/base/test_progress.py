"""Progress is watched through the streams a user would see: a pipe, a terminal made by the system, nothing."""

import gc
import io
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from adjoint.base import progress as module
from adjoint.base.config import config
from adjoint.base.progress import progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def pipe(monkeypatch):
    """stderr and stdout that are no terminals."""
    stream = io.StringIO()
    # Not in sys itself: pytest puts its own streams there between a fixture and its test.
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream, stdout=io.StringIO()))
    with config.override(progress=None):
        yield stream


@pytest.fixture
def terminal(monkeypatch, pipe):
    """A terminal on stderr."""
    stream = Terminal()
    monkeypatch.setattr(module.sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return stream


def lines(stream):
    return stream.getvalue().splitlines()


# Items


@pytest.mark.parametrize("shown", [None, True, False])
def test_items_pass_unchanged(pipe, shown):
    with config.override(progress=shown):
        assert list(progress(range(25), "fit")) == list(range(25))
        assert list(progress(iter("abc"))) == ["a", "b", "c"]
        assert list(progress([])) == []


def test_items_are_taken_one_at_a_time(pipe):
    taken = []

    def source():
        for i in range(5):
            taken.append(i)
            yield i

    iterator = iter(progress(source()))
    assert taken == []
    assert next(iterator) == 0
    assert taken == [0]


def test_length(pipe):
    assert len(progress(range(7))) == 7
    assert len(progress(iter("abc"), total=3)) == 3
    with pytest.raises(TypeError, match="give total="):
        len(progress(iter("abc")))


def test_a_second_loop_is_refused(pipe):
    bar = progress(range(2))
    assert list(bar) == [0, 1]
    with pytest.raises(RuntimeError, match="make a new one"):
        list(bar)


# Plain lines


@pytest.mark.parametrize("total", [1, 3, 10, 11, 99, 1000, 12345])
def test_at_most_ten_lines_the_last_of_them_complete(pipe, total):
    for _ in progress(range(total), "fit"):
        pass
    shown = lines(pipe)
    assert len(shown) == min(total, 10)
    assert shown[-1].startswith(f"fit: {total}/{total} (100%), ")
    assert len(set(shown)) == len(shown)


def test_lines_appear_as_the_loop_goes(pipe):
    seen = []
    for _ in progress(range(100), "fit"):
        seen.append(len(lines(pipe)))
    assert seen[:10] == [0] * 10
    assert seen[10] == 1
    assert seen[95] == 9


def test_unknown_length_gives_a_line_for_each_power_of_ten(pipe):
    for _ in progress((i for i in range(1234)), "read"):
        pass
    assert [text.split(",")[0] for text in lines(pipe)] == [f"read: {n}" for n in (1, 10, 100, 1000, 1234)]


def test_a_total_that_is_too_small_does_not_flood(pipe):
    assert len(list(progress(iter(range(5000)), total=10))) == 5000
    assert len(lines(pipe)) < 20


def test_an_empty_loop_says_so(pipe):
    for _ in progress([], "fit"):
        pass
    assert len(lines(pipe)) == 1


def test_notes_stand_beside_the_count(pipe):
    for step in (bar := progress(range(2), "fit")):
        bar.note(loss=np.float64(0.123456789), step=step, kind="train", rate=np.asarray(0.5), size=np.int64(3))
    assert lines(pipe)[-1].endswith("loss=0.1235 step=1 kind=train rate=0.5 size=3")


def test_only_the_outermost_of_nested_loops_prints(pipe):
    for _ in progress(range(3), "outer"):
        for _ in progress(range(50), "inner"):
            pass
    assert [text.split(":")[0] for text in lines(pipe)] == ["outer"] * 3
    for _ in progress(range(1), "next"):
        pass
    assert lines(pipe)[-1].startswith("next: 1/1")


def test_break_closes(pipe):
    for i in progress(range(100), "fit"):
        if i == 4:
            break
    gc.collect()
    assert lines(pipe)[-1].startswith("fit: 4/100 (4%)")


def test_an_error_in_the_loop_closes_and_passes_on(pipe):
    with pytest.raises(ZeroDivisionError):
        for _ in progress(range(100), "fit"):
            1 / 0
    gc.collect()
    for _ in progress(range(1), "after"):
        pass
    assert lines(pipe)[-1].startswith("after")


def test_an_error_of_the_source_passes_on(pipe):
    def source():
        yield 1
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(progress(source()))


# Silence


def test_switched_off_is_silent(pipe, terminal):
    with config.override(progress=False):
        for _ in (bar := progress(range(100), "fit")):
            bar.note(loss=1.0)
    assert pipe.getvalue() == terminal.getvalue() == ""


def test_programs_without_any_stream_work(monkeypatch):
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=None, stdout=None))
    assert list(progress(range(3))) == [0, 1, 2]


# Bars


def test_a_terminal_gets_a_bar(terminal):
    for _ in (bar := progress(range(30), "fit [x]")):
        bar.note(loss=0.25)
    text = terminal.getvalue()
    assert "fit [x]" in text
    assert "30/30" in text
    assert "loss=0.25" in text


def test_a_bar_appears_at_once(terminal):
    iterator = iter(progress(range(1000), "slow start"))
    next(iterator)
    iterator.close()
    assert "slow start" in terminal.getvalue()


def test_a_bar_of_unknown_length(terminal):
    for _ in progress((i for i in range(5)), "read"):
        pass
    assert "5/?" in terminal.getvalue()


def test_stdout_is_used_when_only_it_is_a_terminal(pipe, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(module.sys, "stdout", stream)
    for _ in progress(range(3), "fit"):
        pass
    assert "3/3" in stream.getvalue()
    assert pipe.getvalue() == ""


def test_a_bar_can_be_forced(pipe):
    with config.override(progress=True):
        for _ in progress(range(3), "fit"):
            pass
    assert "\x1b[" in pipe.getvalue()
    assert "3/3" in pipe.getvalue()


def test_nested_bars_and_bars_of_threads_share_the_screen(terminal):
    def work(name):
        for _ in progress(range(3), name):
            for _ in progress(range(2), f"{name} inner"):
                pass

    threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = terminal.getvalue()
    assert all(f"thread {i} inner" in text for i in range(4))


def test_inner_bars_leave_no_trail(terminal):
    for _ in progress(range(30), "outer"):
        for _ in progress(range(2), "inner"):
            pass
    # What the screen shows in the end is written after the last time that lines above were erased.
    last = terminal.getvalue().rpartition("\x1b[2K")[2]
    assert "30/30" in last
    assert "inner" not in last


@pytest.mark.parametrize("ending", ["break", "error"])
def test_the_cursor_comes_back_however_the_loop_ends(terminal, ending):
    def loop():
        for _ in progress(range(10), "fit"):
            if ending == "break":
                break
            raise ZeroDivisionError

    if ending == "break":
        loop()
    else:
        with pytest.raises(ZeroDivisionError):
            loop()
    gc.collect()
    hidden, shown = "\x1b[?25l", "\x1b[?25h"
    assert terminal.getvalue().rindex(shown) > terminal.getvalue().rindex(hidden)


def test_rich_is_imported_only_for_a_bar():
    program = (
        "import sys\n"
        "from adjoint.base.progress import progress\n"
        "list(progress(range(3)))\n"
        "assert 'rich' not in sys.modules\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert "3/3" in answer.stderr


def test_a_number_is_nothing_to_iterate_over():
    with pytest.raises(TypeError, match=r"not int: progress\(range\(n\)\)"):
        progress(5)  # pyright: ignore[reportArgumentType]
