"""Files that are read when something in them is first used.

What compiles a program is half of the library, and a process that finds its machine code on disk needs none of it; a
minimization needs one method out of thirty. Names that are deferred are imports all the same: they point downwards,
and stand at the top of a file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
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


class _Package(ModuleType):
    """Folders and files that are called like a function (`least_squares`) do not take its name when they are read."""

    def __setattr__(self, name: str, value: Any) -> None:
        homes: Mapping[str, str] = vars(self).get("_HOME_OF", {})
        if not (isinstance(value, ModuleType) and homes.get(name, self.__name__) != self.__name__):
            super().__setattr__(name, value)


def open_lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are read from their files when they are first used.

    `homes` has the names of each file, as one text; the package itself is the home of files that are names.
    """
    module = sys.modules[package]
    home_of = {name: file for file, names in homes.items() for name in names.split()}
    module.__dict__["_HOME_OF"] = home_of
    module.__class__ = _Package

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        home = home_of[name]
        with loading():
            value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        module.__dict__[name] = value  # from now on it is found without this function
        return value

    return find, lambda: sorted(home_of)
