"""Traced values under their other name, and what to do without them."""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from adjoint import tree
from adjoint.base.errors import UnsupportedError
from adjoint.program.trace import Tracer, live_trace, primal

__all__ = ["Box", "getval", "isbox", "nothing_traced", "notrace_primitive"]


class _AnyTracer(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tracer)


class Box(metaclass=_AnyTracer):
    """A traced value: `isinstance(x, Box)` says whether a derivative may go with x."""

    @classmethod
    def register(cls, value_type: type) -> None:
        raise UnsupportedError(
            f"Box.register({value_type.__name__}): a class of your own is differentiated as a container of arrays. Say "
            "what it holds with adjoint.tree.register, or make it a dataclass."
        )


def isbox(x: Any) -> bool:
    """Whether x is traced."""
    return isinstance(x, Tracer)


def getval(x: Any) -> Any:
    """x without its derivatives."""
    return tree.map(primal, x) if isinstance(x, list | tuple | dict) else primal(x)


@contextmanager
def nothing_traced() -> Generator[None]:
    """While inside, new arrays are plain: for black boxes that call back to functions of ours with plain values."""
    trace = live_trace()
    while trace is not None and trace.outer is not None:
        trace = trace.outer
    if trace is None:
        yield
    else:
        with trace.below():
            yield


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose derivative is zero: it is called with the values alone."""

    @functools.wraps(f_raw)
    def untraced(*args: Any, **kwargs: Any) -> Any:
        with nothing_traced():
            return f_raw(*map(getval, args), **kwargs)

    return untraced
