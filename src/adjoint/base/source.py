"""Where in the user's code: the line that asked for an operation, and tracebacks without our own frames.

A location keeps a code object and the offset of an instruction, never a frame: a frame would keep the user's
arrays alive. The line is decoded when somebody asks.
"""

import functools
import importlib.util
import itertools
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from adjoint.base.config import config
from adjoint.base.suggestions import explain_call

__all__ = [
    "Location", "by_name", "clean_traceback", "describe", "equation_lines", "explainers", "here", "is_library", "line",
    "name_options", "short", "user_facing", "user_frame", "warn_user",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=BaseException)


class Location(NamedTuple):
    """An instruction in the user's code: its code object and the offset of the instruction in it."""

    code: CodeType
    lasti: int

    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        return str, (describe(self),)  # code objects do not pickle, and a string is its own description


# Documented as CPython's own; inspect.currentframe is the same function, but cannot skip frames.
_frame: Callable[[int], FrameType] = sys._getframe  # pyright: ignore[reportPrivateUsage]
_new_tuple = cast(Any, tuple).__new__

# The file as frames show it, which may differ from __file__: src/adjoint/base/source.py -> src/adjoint/
_OURS = os.path.join(os.path.dirname(os.path.dirname(_frame(0).f_code.co_filename)), "")
_STANDARD = frozenset({functools.wraps.__code__.co_filename, contextmanager.__code__.co_filename})


@functools.cache
def _installed_beside_numpy() -> str:
    """The folder that holds NumPy, which need not be loaded, and the other installed libraries: SciPy, pandas."""
    numpy = importlib.util.find_spec("numpy")
    return os.path.join(os.path.dirname(os.path.dirname((numpy and numpy.origin) or os.devnull)), "")


class _Libraries(dict[str, bool]):
    """Does a code file belong to a library: ours, NumPy and what is installed beside it, functools, contextlib?

    Decided once for each file.
    """

    def __missing__(self, filename: str) -> bool:
        answer = filename in _STANDARD or filename.startswith(
            (_OURS, "<frozen ", "<program>", _installed_beside_numpy())
        )
        self[filename] = answer
        return answer


_is_library = _Libraries()


def is_library(filename: str) -> bool:
    """Whether a code file belongs to a library and not to the user."""
    return _is_library[filename]


# Each is shown an error on its way to the user, and may give another one that says more: caused by the first, or in its
# place when it has its traceback.
explainers: list[Callable[[Exception], Exception | None]] = []


def user_frame(skip: int = 0) -> FrameType | None:
    """The innermost frame of user code on the current stack, after `skip` frames; None when there is none."""
    frame: FrameType | None = _frame(1 + skip)
    while frame is not None and _is_library[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


# Frames that run equations of a program stand for the lines at which these were recorded: by the file of the frame's
# code, how the line is found.
equation_lines: dict[str, Callable[[FrameType], Location | str | None]] = {}


def warn_user(message: str | Warning, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the line of the user's code that is running now, or that the program which runs was recorded from."""
    frame: FrameType | None = _frame(1)
    while frame is not None and _is_library[filename := frame.f_code.co_filename]:
        if (find := equation_lines.get(filename)) is not None and isinstance(found := find(frame), Location):
            _warn_at(found, message, category)
            return
        frame = frame.f_back
    if frame is None:
        warnings.warn_explicit(message, category, "adjoint", 0)
        return
    module = frame.f_globals
    registry = module.setdefault("__warningregistry__", {})
    name = module.get("__name__", "<unknown>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, name, registry)


def _warn_at(location: Location, message: str | Warning, category: type[Warning]) -> None:
    filename = location.code.co_filename
    files = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}
    module: dict[str, Any] = vars(files[filename]) if filename in files else {}
    name, registry = module.get("__name__"), module.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, filename, line(location), name, registry)


def here() -> Location | None:
    """The place in user code that is running now."""
    frame: FrameType | None = _frame(1)
    while frame is not None:
        code = frame.f_code
        if not _is_library[code.co_filename]:
            # What Location(code, frame.f_lasti) does, at half the cost: this runs for every recorded operation.
            return _new_tuple(Location, (code, frame.f_lasti))
        frame = frame.f_back
    return None


def line(location: Location) -> int:
    """The number of the line."""
    code, lasti = location
    # One entry for each code unit of two bytes; entries without a line belong to instructions that Python added.
    for start, *_ in itertools.islice(code.co_positions(), max(lasti, 0) // 2, None):
        if start is not None:
            return start
    return code.co_firstlineno


def _file_name(filename: str) -> str:
    return "notebook cell" if f"{os.sep}ipykernel_" in filename else os.path.basename(filename)


def short(location: Location | str | None) -> str:
    """`model.py:12`."""
    if isinstance(location, str):
        return location
    if location is None:
        return "unknown line"
    return f"{_file_name(location.code.co_filename)}:{line(location)}"


def describe(location: Location | str | None) -> str:
    """`model.py:12, in loss: y = np.sqrt(x)`. A text is its own description."""
    if isinstance(location, str):
        return location
    if location is None:
        return "unknown line"
    code = location.code
    function = code.co_qualname.rpartition("<locals>.")[2]
    text = linecache.getline(code.co_filename, line(location)).strip()
    where = "" if function == "<module>" else f", in {function}"
    return f"{short(location)}{where}" + (f": {text}" if text else "")


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    kept: TracebackType | None = None
    for entry in reversed(list(_entries(traceback))):
        if not entry.tb_frame.f_code.co_filename.startswith(_OURS):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def clean_traceback(error: E) -> E:
    """Remove this library's frames from the traceback of `error`, and of the errors it is chained to.

    Set ADJOINT_FULL_TRACEBACK=1 (or `config.full_traceback`) to keep them.
    """
    if config.full_traceback:
        return error
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = _without_our_frames(current.__traceback__)
        waiting += [linked for linked in (current.__cause__, current.__context__) if linked is not None]
        if isinstance(current, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", current).exceptions
    return error


def user_facing(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call: its errors show their frames, not ours."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            better = next((value for explain in explainers if (value := explain(error)) is not None), None)
            if better is None and isinstance(error, TypeError) and (words := explain_call(function, error)) is not None:
                error.args = (words,)
            clean_traceback(error)
            if better is not None and better.__traceback__ is not None:  # the same error in better words, at its lines
                try:
                    raise better from None
                except Exception:
                    better.__traceback__ = error.__traceback__
                    raise
            if better is not None:
                raise better from error
            # A bare raise takes the traceback that the error has now, and adds no entry for this frame.
            raise

    return call


def name_options(cls: type) -> type:
    """A class whose options users give by name: unknown ones are told with the nearest that there is."""
    if "__init__" in vars(cls):
        setattr(cls, "__init__", user_facing(vars(cls)["__init__"]))  # noqa: B010
    return cls


def by_name(thing: Any) -> str | None:
    """The name under which a module holds this very object, as it does after a decorator: it pickles by its name."""
    name: str = getattr(thing, "__qualname__", "")
    value: Any = sys.modules.get(getattr(thing, "__module__", ""))
    for part in name.split("."):
        value = getattr(value, part, None)
    return name if value is thing else None
