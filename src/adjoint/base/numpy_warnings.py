"""NumPy's warnings at the user's line: NumPy names the line of whoever calls it, and that is one of ours.

Where NumPy would warn it is told to log instead, to an object of ours that warns at the user's line. This is a setting
of one context variable, the one behind `np.errstate`, when a transformation begins and ends; nothing is done for each
operation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, ParamSpec, TypeVar

import numpy as np

from adjoint.base.source import warn_user

__all__ = ["ERROR_STATE", "restore", "use_lines_of_users", "with_lines_of_users"]

P = ParamSpec("P")
R = TypeVar("R")

# The variable behind np.errstate, where this NumPy has it.
_config: Any = getattr(getattr(np, "_core", None), "_ufunc_config", None)
ERROR_STATE: ContextVar[Any] | None = getattr(_config, "_extobj_contextvar", None)
_known: dict[int, tuple[Any, Any]] = {}  # by identity: a state, and the one that takes its place
MOST_KNOWN = 64


class _Log:
    """What NumPy writes its warnings to."""

    def write(self, text: str) -> None:
        warn_user(text.removeprefix("Warning: ").rstrip("\n"), RuntimeWarning)


_log = _Log()


def use_lines_of_users() -> Token[Any] | None:
    """From now on, until `restore`, NumPy's warnings are given at lines of the user's; None if nothing changes."""
    if ERROR_STATE is None:
        return None
    state = ERROR_STATE.get()
    known = _known.get(id(state))
    if known is None or known[0] is not state:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        known = _known[id(state)] = (state, _relocated(ERROR_STATE))
    return None if known[1] is None else ERROR_STATE.set(known[1])


def restore(token: Token[Any] | None) -> None:
    """As it was before `use_lines_of_users` gave this."""
    if token is not None and ERROR_STATE is not None:
        ERROR_STATE.reset(token)


def _relocated(variable: ContextVar[Any]) -> Any:
    """The present state with logs for warnings; None where nothing warns, or the user has a log of his own."""
    kinds: dict[Any, Any] = {kind: "log" for kind, how in np.geterr().items() if how == "warn"}
    if not kinds or np.geterrcall() is not None:
        return None
    with np.errstate(call=_log, **kinds):
        return variable.get()


def with_lines_of_users(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that evaluates operations: warnings are given at the line that has called it."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        token = use_lines_of_users()
        try:
            return function(*args, **kwargs)
        finally:
            restore(token)

    return call
