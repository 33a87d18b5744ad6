"""Whether a call is SciPy's, on plain values, or ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import tree
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.base.foreign import is_refusal
from adjoint.program.trace import TRACED, live_trace

__all__ = ["has_traced", "try_theirs"]


def has_traced(*values: Any) -> bool:
    """Whether a value, or anything in a list, tuple or dict, is traced."""
    return any(isinstance(leaf, TRACED) for leaf in tree.leaves(values))


def try_theirs(given: Any, theirs: Callable[[], Any], read: Callable[[], Any]) -> tuple[Any] | None:
    """What SciPy answers, where nothing is traced: no argument, and nothing of what `read` finds in its functions.

    Functions that cannot be written down are SciPy's to call. If something traced comes up then, the error is that of
    writing them down, which says what stands in the way.
    """
    if has_traced(given):
        return None
    if live_trace() is None:
        return (theirs(),)
    try:
        if has_traced(read()):
            return None
    except Exception as error:
        if isinstance(error, TraceError | UnsupportedError) or is_refusal(error):
            try:
                return (theirs(),)
            except Exception:
                raise error from None
    return (theirs(),)
