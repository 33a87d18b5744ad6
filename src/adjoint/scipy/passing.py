"""SciPy's own functions, as `adjoint.scipy` passes them on: with plain values they are SciPy's, with traced ones the
table of coverage has a word on them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.refusal import refuse
from adjoint.base.source import describe, here
from adjoint.coverage import CONSTANT, DIFFERENTIABLE, find
from adjoint.program.trace import Tracer


def is_traced(value: Any) -> bool:
    """Whether a value, or anything in a list or tuple, is traced."""
    return isinstance(value, Tracer) or (isinstance(value, list | tuple) and any(map(is_traced, value)))


def passed(module: Any, name: str, is_refused: Callable[[Any], bool] = is_traced) -> Any:
    """What adjoint.<module>.<name> is when it is not defined there: SciPy's own, for arguments that are not refused.

    A ufunc finds its rule, or its refusal, by itself. Of the others, constant ones take traced integers by asking
    for them.
    """
    try:
        value = getattr(module, name)
    except AttributeError:
        title = module.__name__
        raise AttributeError(f"adjoint.{title} has no {name!r}, and neither has {title}") from None
    row = find(module.__name__, name)
    if isinstance(value, np.ufunc | type) or not callable(value) or (row is not None and row.kind == DIFFERENTIABLE):
        return value

    @functools.wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_refused, (*args, *kwargs.values()))):
            if row is None or row.kind != CONSTANT:
                refuse(f"{module.__name__}.{name}", row)
            args = tuple(map(_asked, args))
            kwargs = {key: _asked(argument) for key, argument in kwargs.items()}
            if any(map(is_refused, (*args, *kwargs.values()))):
                refuse(f"{module.__name__}.{name}", row)
        return value(*args, **kwargs)

    return call


def _asked(value: Any) -> Any:
    """A traced integer as a plain one."""
    whole = isinstance(value, Tracer) and value.dtype.kind in "iu" and not value.shape
    return operator.index(value) if whole else value  # type: ignore[arg-type]


def settled(call: str, name: str, value: Any) -> Any:
    """An argument that decides a shape or a position, also within lists, as plain values.

    While a function is compiled, an array that it reads from its closure is traced: the program is then for this
    content. Batch elements with different ones are run in groups.
    """
    if isinstance(value, list | tuple) and is_traced(value):
        return type(value)(settled(call, name, part) for part in value)
    given: Any = value
    while isinstance(value, Tracer):
        trace: Any = value._trace
        if hasattr(trace, "common"):
            value = trace.common(value)
        elif hasattr(trace, "ask") or given.dtype.kind not in "biu":
            raise UnsupportedError(
                f"{call}: {name} is traced, at {describe(here())}, but it must be known before anything is computed. "
                "Give plain integers or numbers, from outside of the function."
            )
        else:
            value = value._value
    return value
