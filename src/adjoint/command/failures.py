"""What can go wrong on the command line, said in one message, and the exit codes."""

from __future__ import annotations

import os
import sysconfig
import traceback
from enum import IntEnum
from typing import Any

from adjoint.base.errors import AdjointError
from adjoint.base.source import is_library

_PYTHONS_OWN = os.path.join(sysconfig.get_path("stdlib"), "")


class Exit(IntEnum):
    """Exit codes of the command `adjoint`."""

    WELL = 0  # done
    NO = 1  # the answer is no: derivatives disagree, a value is not finite, something is missing on this machine
    BAD_INPUT = 2  # a command, an expression, a value, a file or a function that cannot be used
    INTERRUPTED = 130  # Ctrl-C
    PIPE_CLOSED = 141  # nobody reads the output any more


class CommandError(Exception):
    """Bad input: the message says what it is and what to do."""

    def __init__(self, message: str, code: Exit = Exit.BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code


class ExpressionError(CommandError):
    """An expression that cannot be used: what, at which column, with a line that points there."""

    def __init__(self, message: str, text: str = "", column: int = 0, width: int = 1) -> None:
        self.plain, self.column = message, column
        super().__init__(message + point_at(text, column, width) if text and column else message)


def point_at(text: str, column: int, width: int = 1, longest: int = 100) -> str:
    """The text and a mark below it, on two lines of their own; only the surroundings of the place in a long text."""
    line_start = text.rfind("\n", 0, column - 1) + 1
    line = text[line_start:].partition("\n")[0]
    at = column - 1 - line_start
    start = max(0, at - longest // 2) if len(line) > longest else 0
    shown = line[start : start + longest]
    before, after = "…" if start else "", "…" if start + longest < len(line) else ""
    width = max(1, min(width, len(shown) - (at - start)))
    return f"\n  {before}{shown}{after}\n  {' ' * (len(before) + at - start)}{'^' * width}"


def said_of(error: BaseException, subject: str = "") -> str:
    """An error of a user function, or of the library, as one message: what, and at which line."""
    what = str(error).strip() or "no message"
    kind = "" if isinstance(error, AdjointError) else f"{type(error).__name__}: "
    if isinstance(error, RecursionError):
        kind, what = "RecursionError: ", "calls are nested too deeply"
    if isinstance(error, MemoryError):
        kind, what = "not enough memory: ", str(error).strip() or "an array is too large for this machine"
    where = line_of(error)
    return f"{subject}{kind}{what}" + (f"\n  at {where}" if where and where not in what else "")


def line_of(error: BaseException) -> str:
    """The innermost line of user code that an error came through; empty when there is none."""
    if isinstance(error, SyntaxError) and error.filename:  # of a file that was read: it did not run
        written = (error.text or "").strip()
        return f"{_file(error.filename)}:{error.lineno}" + (f": {written}" if written else "")
    frames: list[Any] = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not is_library(frame.filename) and not frame.filename.startswith(("<", _PYTHONS_OWN))
    ]
    if not frames:
        return ""
    last = frames[-1]
    return f"{_file(last.filename)}:{last.lineno}, in {last.name}" + (f": {last.line}" if last.line else "")


def _file(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
