"""Sequences of arguments, and an older check of gradients; the module bears the name of autograd's."""

# pyright: basic

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from adjoint.compat.autograd.test_util import check_grads

__all__ = ["func", "quick_grad_check", "subval", "subvals"]


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """x as a tuple, with other values in some positions."""
    changed = list(x)
    for i, v in ivs:
        changed[i] = v
    return tuple(changed)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """x as a tuple, with another value in one place."""
    return subvals(x, [(i, v)])


def func(f: Callable[..., Any]) -> Callable[..., Any]:
    """f itself: what a method was under its class in Python 2."""
    return f


def quick_grad_check(
    fun: Callable[..., Any], arg0: Any, extra_args: Any = (), kwargs: Any = None, **ignored: Any
) -> None:
    """check_grads of the first argument, in its older form."""
    warnings.warn("quick_grad_check is an older form of check_grads.", DeprecationWarning, stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
