"""Arrays that converted code makes may be written to with traced values: then they are traced from the beginning.

An array is made plain, as everywhere, and the place in the code where it was made is noted. When a traced value is
written into it, that place is remembered, the run is given up and starts over, and the array is a traced constant of
the running transformation this time: all its names and views see what is written. An array that the function has not
made is somebody else's, and writing a traced value into it is refused.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NoReturn

import numpy as np

from adjoint.base.errors import AdjointError, TraceError, UnsupportedError
from adjoint.base.source import describe, here
from adjoint.numpy.dispatch import constant, is_traced
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value

_frame: Callable[[int], FrameType] = sys._getframe
Position = tuple[str, int, int]  # file, line, column
MOST_KNOWN = 1 << 16


class StartOver(BaseException):
    """The transformation has to begin anew, now that more is known. Not an Exception: users must not catch it."""

    def __init__(self, key: Any, error: Exception) -> None:
        super().__init__(key)
        self.key, self.error = key, error


_made: dict[int, tuple[weakref.ref[Any], CodeType, int, int]] = {}  # arrays by identity: where they were made, and when
_lifted: set[Position] = set()
_is_lifted: dict[tuple[CodeType, int], bool] = {}
_clock = itertools.count()


def moment() -> int:
    """A number that grows: what was made before and after."""
    return next(_clock)


def position_of(code: CodeType, lasti: int) -> Position:
    """File, line and column of an instruction."""
    line, _, column, _ = next(itertools.islice(code.co_positions(), lasti // 2, None))
    return code.co_filename, line or 0, column or 0


def made_here(array: Value, depth: int = 1) -> Value:
    """A new array of the converted code that has called: plain, or traced where it will be written to."""
    if type(array) is not np.ndarray or live_trace() is None or not array.ndim:
        return array
    frame = _frame(depth + 1)
    key = (frame.f_code, frame.f_lasti)
    lifted = _is_lifted.get(key)
    if lifted is None:
        lifted = _is_lifted[key] = bool(_lifted) and position_of(*key) in _lifted
    if lifted:
        return lift(array)
    if len(_made) > MOST_KNOWN:
        for number in [n for n, (reference, *_) in _made.items() if reference() is None]:
            del _made[number]
    _made[id(array)] = (weakref.ref(array), *key, moment())
    return array


def lift(array: Value) -> Value:
    """An array as a traced constant of the innermost transformation."""
    trace = live_trace()
    if array.dtype.kind in "biu" and trace is not None and trace.in_program:
        return trace.constant(array)
    return constant(array)


def maker_of(array: Value) -> tuple[CodeType, int, int] | None:
    """Where and when an array, or the one that it is a view of, was made by converted code."""
    while isinstance(array, np.ndarray):
        found = _made.get(id(array))
        if found is not None and found[0]() is array:
            return found[1:]
        array = array.base  # type: ignore[assignment]
    return None


def refuse_or_lift(array: Value, call: str) -> NoReturn:
    """A traced value, or one that depends on the path taken, is to be written into a plain array."""
    maker = maker_of(array)
    error = TraceError(
        f"{call} would write a traced value into an array of shape {np.shape(array)} that the function has not made, "
        f"at {describe(here())}: its owner would not see it, and the derivative would be lost. Write to a copy "
        "(z = z.copy()), and return it."
    )
    if maker is None:
        raise error
    position = position_of(*maker[:2])
    if position in _lifted:
        raise error
    raise StartOver(("array", position), error)


def remember_lifted(position: Position) -> None:
    """From now on arrays made there are traced."""
    _lifted.add(position)
    _is_lifted.clear()


def any_traced(*values: Any) -> bool:
    """Whether a value, or something in a list or tuple, is traced."""
    return any(isinstance(v, Tracer) or (isinstance(v, list | tuple) and is_traced(v)) for v in values)


class Swallowed(BaseException):
    """A refusal that user code has caught. Not an Exception: it goes on to the end of the transformation."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def caught(kinds: Any) -> None:
    """A handler of the user's begins: one that does not name our errors does not catch them."""
    error = sys.exc_info()[1]
    error = error if isinstance(error, TraceError | UnsupportedError) else getattr(error, "__cause__", None)
    if not isinstance(error, TraceError | UnsupportedError):
        return
    named = kinds if isinstance(kinds, tuple) else (kinds,)
    if not any(isinstance(kind, type) and issubclass(kind, AdjointError) for kind in named):
        raise Swallowed(error)
