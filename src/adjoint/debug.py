"""Looking inside while a function runs: print, callback, check, and where a NaN came from.

All work inside every transformation and inside the bodies of loops and branches, in order, and are never optimized
away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint import tree
from adjoint.base.source import describe, here, user_facing
from adjoint.ops.effects import Arguments, Callback, Check, Print
from adjoint.program.trace import Tracer, live_trace
from adjoint.transform.nonfinite import nans

__all__ = ["callback", "check", "nans", "print"]


@user_facing
def print(text: str, *args: tree.Tree, **kwargs: tree.Tree) -> None:  # noqa: A001
    """Print `text.format(*args, **kwargs)` with plain values: `ad.debug.print("x = {}, y = {y:.3f}", x, y=y)`.

    Inside the body of a loop it prints in every iteration; under `vmap` once for each batch element, after the mapped
    function has run. In a function that reverse mode runs again (`checkpoint`) it prints the first time only.

    ```python
    ad.jit(lambda x: ad.debug.print("x = {:.2f}", x))(1.0)  # → x = 1.00
    ```
    """
    if not isinstance(text, str):
        raise TypeError(
            f"debug.print needs a format string for the values; got {type(text).__name__}. "
            "Write debug.print('{}', x)."
        )
    arguments, operands = Arguments.of(args, kwargs)
    Print(text, arguments)(*operands)


@user_facing
def callback(function: Callable[..., object], *args: tree.Tree, **kwargs: tree.Tree) -> None:
    """Call `function(*args, **kwargs)` with plain arrays, and ignore its result. Runs when and as often as `print`.

    ```python
    seen = []
    ad.fori_loop(0, 3, lambda i, x: (ad.debug.callback(seen.append, x), 2 * x)[1], 1.0)  # → 8.0
    seen  # → [1.0, 2.0, 4.0]
    ```
    """
    if not callable(function):
        raise TypeError(f"debug.callback needs a function; got {type(function).__name__}.")
    arguments, operands = Arguments.of(args, kwargs)
    Callback(function, arguments)(*operands)


@user_facing
def check(condition: tree.Tree, message: str, *args: tree.Tree, **kwargs: tree.Tree) -> None:
    """Raise CheckError (a ValueError) unless `condition` is true, in all elements if it is an array.

    `message` may have fields for values: `check(x > 0, "x must be positive, not {}", x)`. In the bodies of loops and
    branches and in traced programs it is checked whenever they run. Under `vmap` the error names the batch elements;
    those that did not take the branch, or whose loop has ended, are not checked (the condition of a `while_loop` is
    evaluated, and checked, for all elements as long as one goes on).

    ```python
    ad.debug.check(np.array([1.0, -1.0]) > 0, "x must be positive")  # → CheckError: x must be positive
    ```
    """
    if not isinstance(message, str):
        raise TypeError(
            f"check needs a message that says what is wrong; got {type(message).__name__}. "
            "Write check(x > 0, 'x must be positive')."
        )
    if not isinstance(condition, Tracer) and live_trace() is None and np.all(condition):
        return
    arguments, operands = Arguments.of(args, kwargs)
    given = condition if isinstance(condition, Tracer) else np.asarray(condition)
    Check(message, describe(here()), arguments)(given, *operands)
