"""Compiled functions: traced once for each signature, simplified, compiled, and called without Python from then on.

`pipeline` is the picture of it. This file is the door: `adjoint.jit` is the function below, which loads the rest when
it is first called, so that `import adjoint` stays quick.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

from adjoint.base.garbage import loading
from adjoint.base.source import user_facing

if TYPE_CHECKING:
    from adjoint.jit.function import Function, Jitted

__all__ = ["jit"]


@overload
def jit(
    function: Function,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    strict: bool = False,
    branches: Literal["auto", "guards", "native"] = "auto",
) -> Jitted: ...
@overload
def jit(
    function: None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    strict: bool = False,
    branches: Literal["auto", "guards", "native"] = "auto",
) -> Callable[[Function], Jitted]: ...
@user_facing
def jit(
    function: Function | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    strict: bool = False,
    branches: Literal["auto", "guards", "native"] = "auto",
) -> Jitted | Callable[[Function], Jitted]:
    """The function, compiled: traced once for each kind of arguments, and run as machine code from then on.

    Arguments are trees of arrays and numbers; texts, flags, functions, None, and what `static_argnums` or
    `static_argnames` name, are part of the program. Python's own control flow works: each answer that it is given
    becomes a guard, and arguments that answer differently are traced again. When that has happened too often, a call
    runs as plain Python and a warning says why; with `strict` it raises. Where the answers are many, an `if` becomes a
    branch of the program, and loops whose tests or items are traced stay loops; `branches` "guards" or "native" forces
    one of the two. Numbers, flags and functions in closures,
    defaults and globals that the function names are looked at in each call, and arrays among them are inputs, also
    inside tuples, lists and dicts; so is what the functions read that it names there or is given, and what modules
    and objects hold under names in its code, unless they belong to a library. What it stores in attributes and items
    of such objects is written back after each call. Modules that are imported inside the function are as they were
    when it was traced.

    ```python
    fast = ad.jit(ad.value_and_grad(lambda x: np.sum(x**2)))
    fast(np.array([1.0, 2.0]))  # → (5.0, [2.0, 4.0])
    ```
    """
    module = _read_module()
    if branches not in ("auto", "guards", "native"):
        raise ValueError(f"jit: branches must be 'auto', 'guards' or 'native', not {branches!r}.")
    options = module.JitOptions(static_argnums, static_argnames, strict, branches)
    if function is None:
        return lambda f: module.Jitted(f, options)
    return module.Jitted(function, options)


@cache
def _read_module() -> Any:
    with loading():
        return importlib.import_module("adjoint.jit.function")
