"""Operators on functions of one variable, made into operators on functions of many: of argument number `argnum`."""

# pyright: basic

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

Argnum = int | Sequence[int]


def get_name(f: Any) -> str:
    """A function's name, or a text that says that it has none."""
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str:
    """A function's documentation, or nothing."""
    return getattr(f, "__doc__", None) or ""


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **names: Any) -> Callable[[Any], Any]:
    """Give a function another's name and documentation, filled into these texts."""

    def dress(f: Any) -> Any:
        f.__name__ = namestr.format(fun=get_name(fun), **names)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **names)
        return f

    return dress


def wrap_nary_f(fun: Any, op: Any, argnum: Argnum) -> Callable[[Any], Any]:
    """The name and documentation of an operator's result."""
    return wraps(
        fun,
        "{op}_of_{fun}_wrt_argnum_{argnum}",
        "{op} of {fun} in its argument number {argnum}; it takes the arguments of {fun}.",
        op=get_name(op),
        argnum=argnum,
    )


def checked(argnum: Any) -> int | tuple[int, ...]:
    """Which argument, or which ones."""
    if isinstance(argnum, bool) or not isinstance(argnum, int | tuple | list):
        raise TypeError(f"argnum is the position of an argument, or a tuple of positions; got {argnum!r}.")
    return argnum if isinstance(argnum, int) else tuple(argnum)


def of_one(fun: Callable[..., Any], argnum: int | tuple[int, ...], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """(the function of the chosen arguments alone, these arguments): several stand in a tuple."""
    chosen = (argnum,) if isinstance(argnum, int) else argnum
    for i in chosen:
        if not -len(args) <= i < len(args):
            raise TypeError(
                f"{get_name(fun)} was called with {len(args)} positional arguments, but the derivative in number {i} "
                "is asked for. Give it by position."
            )

    @functools.wraps(fun)
    def one(x: Any) -> Any:
        full = list(args)
        for i, v in zip(chosen, (x,) if isinstance(argnum, int) else x, strict=True):
            full[i] = v
        return fun(*full, **kwargs)

    return one, args[argnum] if isinstance(argnum, int) else tuple(args[i] for i in argnum)


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """`operator(f, x)` for a function of one variable as `operator(f, argnum)(*args)`."""

    @functools.wraps(unary_operator)
    def nary_operator(fun: Callable[..., Any], argnum: Argnum = 0, *options: Any, **named: Any) -> Callable[..., Any]:
        chosen = checked(argnum)

        @wrap_nary_f(fun, unary_operator, chosen)
        def nary_f(*args: Any, **kwargs: Any) -> Any:
            one, x = of_one(fun, chosen, args, kwargs)
            return unary_operator(one, x, *options, **named)

        return nary_f

    return nary_operator
