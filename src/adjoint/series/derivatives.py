"""The n-th derivative of a function of one number, by Taylor mode.

Nesting n derivatives costs about 2ⁿ evaluations. One power series to order n costs O(n²) products for each operation,
and holds all lower derivatives as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Function
from adjoint.api.taylor import jet
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import start_over
from adjoint.program.types import type_of
from adjoint.transform.drivers import check_floating

__all__ = ["along", "check_holomorphic", "derivative", "floating", "whole_order"]

HIGHEST = 170  # 171! is no float64


def whole_order(order: Any, title: str) -> int:
    """An order of differentiation."""
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 0 <= order <= HIGHEST:
        raise ValueError(f"{title}: the order is {order!r}; it must be an integer from 0 to {HIGHEST}.")
    return int(order)


def floating(x: Any, title: str) -> Any:
    """A tree of numbers, whole ones as floating-point ones."""
    return tree.map(lambda leaf: _floating_leaf(leaf, title), x)


def _floating_leaf(x: Any, title: str) -> Any:
    x = x if hasattr(x, "dtype") else np.asarray(x)[()]
    if x.dtype.kind in "iu":
        return x.astype(float)
    if x.dtype.kind not in "fc":
        raise DtypeError(f"{title}: the argument has dtype {x.dtype}; it must be real or complex numbers.")
    return x


def along(function: Callable[[Any], Any], x: Any, direction: Any, order: int, title: str) -> list[Any]:
    """The derivatives of t ↦ f(x + t v) at t = 0, of orders 0 … order."""
    if order == 0:
        return [function(x)]
    nothing = tree.map(lambda leaf: None, x)
    value, coefficients = jet(function, (x,), ([direction, *[nothing] * (order - 1)],))
    check_floating([type_of(leaf) for leaf in tree.leaves(value)], title)
    check_holomorphic(x, value, title)
    return [value, *coefficients]


def check_holomorphic(x: Any, value: Any, title: str) -> None:
    """Complex derivatives are those of holomorphic functions: one whose results are real is none."""
    if not any(leaf.dtype.kind == "c" for leaf in tree.leaves(x)):
        return
    if any(hasattr(leaf, "dtype") and leaf.dtype.kind == "f" for leaf in tree.leaves(value)):
        raise DtypeError(
            f"{title}: the function takes complex numbers to real ones, so that it is not holomorphic and has no "
            "complex derivative. Write it as a function of real and imaginary parts."
        )


@user_facing
def derivative(function: Function, n: int = 1, argnums: int = 0) -> Function:
    """f⁽ⁿ⁾, for a function of one number (and of other arguments, which stay as they are); n = 0 is f itself.

    The results of f may be any tree of arrays; of a complex number f is holomorphic. For many numbers at once:
    vmap(derivative(f, n)).

    ```python
    ad.derivative(np.sin, 9)(0.0)  # → 1.0
    ```
    """
    order = whole_order(n, "derivative")

    @user_facing
    def nth(*args: Any, **kwargs: Any) -> Any:
        if not -len(args) <= argnums < len(args):
            raise ShapeError(f"derivative: argnums={argnums} does not fit a call with {len(args)} arguments.")
        position = argnums % len(args)
        x = _number(args[position])

        def run(function: Function) -> Any:
            alone = lambda x: function(*args[:position], x, *args[position + 1 :], **kwargs)
            return along(alone, x, x.dtype.type(1), order, "derivative")[-1]

        return start_over(run, function, (args, kwargs))

    nth.__name__ = f"derivative_{order}_of_{getattr(function, '__name__', 'function')}"
    return nth


def _number(x: Any) -> Any:
    if len(tree.leaves(x)) != 1 or (tree.leaves(x)[0] is not x and not isinstance(x, list)):
        raise ShapeError(f"derivative: the argument is a {type(x).__name__}; it must be one number. For several "
                         "variables use ad.partials.")  # fmt: skip
    x = x if hasattr(x, "dtype") else np.asarray(x)[()]
    if x.shape != ():
        raise ShapeError(f"derivative: the argument has shape {x.shape}; it must be one number. For each of many "
                         "numbers use vmap(derivative(f, n)); for several variables ad.partials.")  # fmt: skip
    return _floating_leaf(x, "derivative")
