"""Functions made from others: what `grad`, `vmap`, `trace` … return."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from adjoint import tree
from adjoint.base.records import record
from adjoint.base.source import by_name, user_facing
from adjoint.conversion.driver import start_over
from adjoint.program import misfits  # noqa: F401  # pyright: ignore[reportUnusedImport]  (explains NumPy's errors)
from adjoint.transform.arguments import check_argnums
from adjoint.transform.nonfinite import active_watch, settle_result

__all__ = ["Function", "Options", "Transformed", "transformation"]

Function: TypeAlias = Callable[..., tree.Tree]
P = ParamSpec("P")
R = TypeVar("R")


def transformation(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a transformation that users call with the arguments at once, as `jvp`; others are `Transformed`."""

    @user_facing
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if args and callable(args[0]):
            rest, run = args[1:], cast(Any, function)
            result = start_over(lambda first: run(first, *rest, **kwargs), args[0], (rest, kwargs))
        else:
            result = function(*args, **kwargs)
        return result if active_watch() is None else settle_result(result, (args, kwargs))

    return call


@record
class Options:
    """What a transformation was asked for: each has a frozen dataclass of its own."""


class Transformed:
    """A function made from another one.

    It has the other's name and signature, works as a method, and pickles if the other does.
    """

    def __init__(self, run_: Callable[..., Any], function: Function, options: Options) -> None:
        if not callable(function):
            raise TypeError(
                f"{(name := run_.__name__.strip('_'))} needs a function, not {type(function).__name__}. Write "
                f"{name}(f)(x), not {name}(f(x))."
            )
        if (argnums := getattr(options, "argnums", None)) is not None:
            check_argnums(argnums, run_.__name__.strip("_"))
        functools.update_wrapper(self, function, updated=())
        self._run, self._function, self._options = run_, function, options
        self._is_opaque = self.has_rules  # a function with rules is called as it is

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_opaque:
            result = self._run(self._function, self._options, args, kwargs)
        else:
            run = lambda function: self._run(function, self._options, args, kwargs)
            result = start_over(run, self._function, (args, kwargs))
        return result if active_watch() is None else settle_result(result, (args, kwargs))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        return by_name(self) or (Transformed, (self._run, self._function, self._options))

    function = property(lambda self: self._function, doc="The function that it was made from.")

    @property
    def has_rules(self) -> bool:
        """Whether rules of the user's belong to it: they read what is outside when they are called."""
        return any(map(callable, vars(self._options).values()))

    def with_function(self, function: Function) -> Transformed:
        """The same transformation of another function."""
        return Transformed(self._run, function, self._options)

    def __repr__(self) -> str:
        return f"<{self._run.__name__.strip('_')} of {getattr(self._function, '__qualname__', self._function)}>"
