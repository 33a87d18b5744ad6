"""Functions whose files are read when they are first called.

What compiles a program is half of the library, and a process that finds its machine code on disk needs none of it.
Names that are deferred are imports all the same: they point downwards, and stand at the top of a file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from adjoint.base.garbage import loading


def deferred(module: str, name: str) -> Callable[..., Any]:
    """A function (or class) of another file, by its name: the file is read when it is first called."""

    @cache
    def found() -> Callable[..., Any]:
        with loading():
            return getattr(import_module(module), name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return found()(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    return call
