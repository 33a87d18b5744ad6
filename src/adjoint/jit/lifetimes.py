"""Programs that calls with one function share: they are kept with that function, and end with it.

A cache of programs by function would keep alive all that functions close over, data too: a program holds its function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from types import FunctionType
from typing import Any, TypeVar
from weakref import ref

__all__ = ["kept_with"]

ATTRIBUTE = "__adjoint_programs__"
MOST = 16  # for each function
FEW = 4  # of callables that are no functions: objects and their methods

R = TypeVar("R")


class _Kept:
    """Programs of one function. `functools.wraps` copies attributes, so that others may have this one as well."""

    def __init__(self, owner: FunctionType) -> None:
        self.owner = ref(owner)
        self.entries: dict[Any, Any] = {}

    def __copy__(self) -> None:
        return None

    def __deepcopy__(self, memo: Any) -> None:
        return None


def kept_with(owner: Callable[..., Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make `make(*key)` once for each key, as long as the function `owner(*key)` lives."""

    def decorate(make: Callable[..., R]) -> Callable[..., R]:
        remembered = lru_cache(maxsize=FEW)(make)

        @wraps(make)
        def find(*key: Any) -> R:
            try:
                hash(key)
            except TypeError:
                return make(*key)
            function = owner(*key)
            if not isinstance(function, FunctionType):
                return remembered(*key)
            entries = _entries_of(function)
            whole = make, key
            if whole not in entries:
                if len(entries) >= MOST:
                    entries.pop(next(iter(entries)), None)
                entries[whole] = make(*key)
            return entries[whole]

        return find

    return decorate


def _entries_of(function: FunctionType) -> dict[Any, Any]:
    kept = function.__dict__.get(ATTRIBUTE)
    if not isinstance(kept, _Kept) or kept.owner() is not function:
        kept = function.__dict__[ATTRIBUTE] = _Kept(function)
    return kept.entries
