"""Counting the calls of a function, for claims about cost."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, ParamSpec, TypeVar, final

P = ParamSpec("P")
R = TypeVar("R")


@final
class Counted(Generic[P, R]):
    """A function that counts how often it is called, in `calls`.

    ```python
    f = ad.testing.Counted(np.sin)
    ad.testing.difference_gradient(f, 1.0)
    f.calls  # → 2
    ```
    """

    def __init__(self, f: Callable[P, R]) -> None:
        self.function = f
        self.calls = 0
        update_wrapper(self, f)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        self.calls += 1
        return self.function(*args, **kwargs)

    def reset(self) -> int:
        """Set the count back to zero; returns what it was."""
        before, self.calls = self.calls, 0
        return before


def count_calls(f: Callable[P, R]) -> Counted[P, R]:
    """f with a counter: `g = count_calls(f); g(x); g.calls == 1`.

    ```python
    f = ad.testing.count_calls(np.sin)
    f(1.0) + f(2.0)
    f.calls  # → 2
    ```
    """
    return Counted(f)
