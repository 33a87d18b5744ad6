"""Functions that always do the same: recorded once, then replayed."""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.jit import jit

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """fun with its first arguments filled in, compiled. It is recorded anew for arguments of other shapes."""
    return jit(functools.partial(fun, *args, **kwargs))


def __getattr__(name: str) -> Any:
    if name in ("full_graph", "const_graph_unary", "ConstGraphNode", "FullGraphNode"):
        raise AttributeError(
            f"autograd.misc.tracers.{name} belongs to the inside of autograd. ad.trace(f, x) gives the program of a "
            "function as an object that can be looked at and run."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
