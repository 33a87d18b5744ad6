"""What users say about conversion: which functions are converted, and what becomes of one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, TypeVar

from adjoint.api.function import Function
from adjoint.base.source import user_facing
from adjoint.conversion import driver  # noqa: F401  # pyright: ignore[reportUnusedImport]  (makes conversion ready)
from adjoint.conversion.forms import EAGER, NATIVE, find_origin, rewrite

__all__ = ["convert", "do_not_convert", "show_converted"]

F = TypeVar("F", bound=Callable[..., Any])


@user_facing
def convert(function: F) -> F:
    """Mark a function as one that is converted from its source, even if it belongs to an installed library.

    Functions of the user's are converted without being marked, where it is needed.

    ```python
    import math
    @ad.convert
    def wave(x):
        return math.sin(x)
    ad.grad(wave)(0.0)  # → 1.0
    ```
    """
    return _mark("convert", function, wanted=True)


@user_facing
def do_not_convert(function: F) -> F:
    """Mark a function that is called as it is: a traced value that it cannot take is refused.

    ```python
    import math
    @ad.do_not_convert
    def wave(x):
        return math.sin(x)
    ad.grad(wave)(0.0)  # → TraceError: math
    ```
    """
    return _mark("do_not_convert", function, wanted=False)


def _mark(name: str, function: F, *, wanted: bool) -> F:
    marked: Any = function
    if not isinstance(marked, FunctionType):
        raise TypeError(f"{name} marks functions that are written in Python, not {type(function).__name__}.")
    vars(marked)["__adjoint_convert__"] = wanted
    return function


@user_facing
def show_converted(function: Function, *, native: bool = True) -> str:
    """The text of a function as it is rewritten; `native` is the form for programs, else that for eager derivatives.

    ```python
    import math
    def wave(x):
        return math.sin(x)
    print(ad.show_converted(wave).splitlines()[1].strip())  # → return ad·call(math.sin)(x)
    ```
    """
    inner: Any = function.__func__ if isinstance(function, MethodType) else function
    inner = getattr(inner, "function", inner)
    found = find_origin(inner) if isinstance(inner, FunctionType) else None
    if found is None:
        raise TypeError(
            f"show_converted: {getattr(inner, '__name__', inner)!r} has no source: it is not written in Python, or was "
            "made by exec, or its file has changed. Define it in a file or a cell."
        )
    return ast.unparse(ast.fix_missing_locations(rewrite(found, NATIVE if native else EAGER)))
