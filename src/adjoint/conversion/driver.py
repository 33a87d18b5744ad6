"""When a function is converted, and how a transformation starts over.

Eagerly a function runs as it is, unless what it does would be silently different, or could not be undone: questions of
type, writes to objects, prints. A refusal of a traced value converts it, and the transformation starts over. While a
program is written functions are always converted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from adjoint.base.config import config
from adjoint.base.errors import AdjointError, ControlFlowError, LeakError, TraceError, UnsupportedError
from adjoint.base.foreign import explained
from adjoint.base.source import is_library
from adjoint.conversion import array_functions  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the table of calls)
from adjoint.conversion.calls import call, is_convertible
from adjoint.conversion.forms import explicit, is_converted
from adjoint.conversion.joining import NoBlock
from adjoint.conversion.lifting import StartOver, Swallowed, remember_lifted
from adjoint.conversion.log import Log, logging
from adjoint.conversion.sharing import keep_python
from adjoint.conversion.suspicion import is_suspicious
from adjoint.program.trace import checkpoints, live_trace

R = TypeVar("R")
_needed: set[CodeType] = set()  # functions that have met a refusal as they are
_explicit: set[CodeType | None] = set()  # functions whose operators are methods that have met one
MOST_RUNS = 64
_LIBRARIES = ("math", "scipy")  # NumPy's functions take traced values themselves


class Converted:
    """A function that is called in the form that fits what is running."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self.function)(*args, **kwargs)


def prepare(function: Any) -> Any:
    """What a driver calls instead of a user function: converted if a program is being written, or if it is needed."""
    if not config.convert or not can_convert(function):
        return function
    return Converted(function)


def code_of(function: Any) -> CodeType | None:
    """The code of a function, of a method, or of what a partial calls."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        return function.__code__
    if isinstance(function, Converted):
        return code_of(function.function)
    method = getattr(type(function), "__call__", None)  # noqa: B004 (its class's, as Python calls it)
    return method.__code__ if isinstance(method, FunctionType) else None


def can_convert(function: Any) -> bool:
    """Whether a function is the user's, or a library's in whose place another is called."""
    while isinstance(function, functools.partial):
        function = function.func
    if has_counterpart(function):
        return True
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        return is_converted(function.__code__) or is_convertible(function)
    method = getattr(type(function), "__call__", None)  # noqa: B004
    return isinstance(method, FunctionType) and is_convertible(method)


def has_counterpart(function: Any) -> bool:
    """Whether converted code calls something else than a function of these libraries, which dispatch does not reach."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return module.startswith(_LIBRARIES) and not isinstance(function, type) and call(function) is not function


def start_over(run: Callable[[Any], R], function: Any, arguments: Any = ()) -> R:
    """run(function), with the function converted where that is needed; again when more is known."""
    if not config.convert:
        return run(function)
    if isinstance(function, Converted) or not can_convert(function):
        return run_again(run, function)
    code = code_of(function)
    trace = live_trace()
    if (trace is not None and trace.in_program) or code in _needed or is_suspicious(function, arguments):
        return run_explicit(run, function, code)
    try:
        return run(function)
    except (TraceError, UnsupportedError) as problem:
        if isinstance(problem, LeakError):
            raise
        first: Exception = problem
    except StartOver as again:
        first = again.error
    except Exception as problem:  # a library's own error in the place of a refusal, as C code raises them
        refusal = explained(problem)
        if not isinstance(refusal, TraceError):
            raise
        first = refusal
    try:
        result = run_explicit(run, function, code)
    except (TraceError, UnsupportedError) as problem:
        is_first = type(first) is type(problem) and not isinstance(problem, ControlFlowError)
        raise (first if is_first and _subject(first) == _subject(problem) else problem) from None
    if code is not None:
        _needed.add(code)
    return result


def _subject(problem: Exception) -> str:
    """What a refusal speaks of: its first words."""
    return str(problem).partition(" was asked ")[0].partition(" of a traced ")[0]


def run_explicit(run: Callable[[Any], R], function: Any, code: CodeType | None) -> R:
    """run(function) in its converted form; with converted operators where a method of the user's meets a refusal."""
    converted = Converted(function)
    if code not in _explicit:
        try:
            return run_again(run, converted)
        except (AdjointError, TypeError) as problem:
            if code is None or not (isinstance(problem, TraceError) or _fails_outside(problem)):
                raise
    with explicit():
        result = run_again(run, converted)
    _explicit.add(code)
    return result


def _fails_outside(problem: BaseException) -> bool:
    """Whether the innermost frame of user code is one that was not converted: of an operator, or a property."""
    traceback, last = problem.__traceback__, None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library(code.co_filename):
            last = code
        traceback = traceback.tb_next
    return last is not None and not is_converted(last)


def run_again(run: Callable[[Any], R], function: Any) -> R:
    """run(function), until nothing has to be traced from the beginning; what was written before is put back."""
    seen: set[Any] = set()
    for _ in range(MOST_RUNS):
        log, take_back = Log(is_region=False), checkpoints(live_trace())
        try:
            with logging(log):
                result = run(function)
            log.pass_on()
            return result
        except StartOver as again:
            log.restore()
            for forget in take_back:
                forget()
            if again.key in seen:
                if live_trace() is None:
                    raise again.error from None
                raise
            seen.add(again.key)
            kind, block = again.key
            remember_lifted(block) if kind == "array" else keep_python(block, again.error)
        except Swallowed as refused:
            raise refused.error from None
        except NoBlock as reason:
            raise ControlFlowError(str(reason)) from None
    raise ControlFlowError("a function had to start over too often")


__all__ = ["Converted", "prepare", "run_again", "start_over"]
