"""Traced values and primitives, under the names that they have inside autograd."""

# pyright: basic

from __future__ import annotations

from typing import Any

from adjoint.compat.autograd.boxes import Box, getval, isbox, notrace_primitive
from adjoint.compat.autograd.extend import primitive, register_notrace

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace"]

_INSIDE = ("Node", "trace", "trace_stack", "TraceStack", "new_box", "box_types", "find_top_boxed_args", "toposort")


def __getattr__(name: str) -> Any:
    if name in _INSIDE:
        raise AttributeError(
            f"autograd.tracer.{name} belongs to the inside of autograd, and this library is made in another way. "
            "ad.trace(f, x) gives the program of a function; ad.vjp and ad.linearize give its derivatives."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
