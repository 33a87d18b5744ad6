"""Names for parts of a computation: `with scope("encoder"):` labels what is recorded inside."""

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar, final

__all__ = ["current_scope", "scope"]

P = ParamSpec("P")
R = TypeVar("R")

_path: ContextVar[tuple[str, ...]] = ContextVar("adjoint_scope", default=())


def current_scope() -> tuple[str, ...]:
    """The names of the scopes that are open here, outermost first."""
    return _path.get()


@final
class scope:  # noqa: N801 (it is used like a function)
    """Label what is computed inside: `with scope("encoder"): ...`, or `@scope("encoder")` before a function.

    The object keeps nothing between entry and exit, so that it can be entered again inside itself, and by several
    threads at once.

    ```python
    with ad.scope("encoder"):
        y = np.tanh(0.0)
    y  # → 0.0
    ```
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"scope takes a name, a string that is not empty; got {name!r}.")
        self.name = name

    def __enter__(self) -> "scope":
        _path.set((*_path.get(), self.name))
        return self

    def __exit__(self, *error: object) -> None:
        _path.set(_path.get()[:-1])

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Run `function` inside this scope whenever it is called."""
        kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        if any(is_kind(function) for is_kind in kinds):
            # Their bodies run after the call has returned, when the scope would be closed again.
            raise TypeError(
                f"scope({self.name!r}) cannot decorate {function.__qualname__}, a generator or a coroutine; "
                "write `with scope(...)` inside it."
            )

        @functools.wraps(function)
        def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return scoped

    def __repr__(self) -> str:
        return f"scope({self.name!r})"
