"""The user's calls around an operation, as explanations and profiles note them."""

import sys

import numpy as np

from adjoint.base.source import line
from adjoint.show.explanation import recording
from adjoint.show.profile import recording as profile_recording

LINES: list[list[int]] = []


def inner(x):
    LINES.append([frame_line(3), frame_line(2), frame_line(1)])
    return np.sin(x)


def middle(x):
    return inner(x) + inner(2.0 * x)


def outer(x):
    for _ in range(2):
        x = middle(x)
    return x


def frame_line(depth):
    return sys._getframe(depth).f_lineno


def test_stacks_are_the_lines_that_python_was_at():
    LINES.clear()
    run = recording.recorded(outer, (0.5,), {})
    stacks = [[line(place) for place in calls.stack] for calls in run.calls]
    sines = [stack for stack, eq in zip(stacks, run.program.equations, strict=True) if eq.op.title == "sin"]
    assert len(sines) == 4
    assert [stack[:2] for stack in sines] == [lines[:2] for lines in LINES]
    assert [stack[2] for stack in sines] == [lines[2] + 1 for lines in LINES]  # inner itself had gone on by a line
    assert [frame.name for frame in run.calls[0].frames] == ["outer", "middle", "inner"]


def test_profiles_note_the_same_calls():
    explained, profiled = recording.recorded(outer, (0.5,), {}), profile_recording.recorded(outer, (0.5,), {})
    titles = [[eq.op.title for eq in run.program.equations] for run in (explained, profiled)]
    assert titles[0] == titles[1]
    assert [calls.stack for calls in explained.calls] == profiled.stacks
