"""np.emath: roots, logarithms and inverse functions that answer in complex numbers outside of their real domain.

Whether any element lies outside decides the dtype, so it is asked; where values are not known (in the body of a loop)
the answer is complex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.numpy.asking import settled
from adjoint.numpy.dispatch import as_array, implements
from adjoint.numpy.shaping import convert
from adjoint.program.types import Value


def _extended(x: Any, outside: Callable[[Value], Value]) -> Value:
    """x, as complex numbers when an element lies outside."""
    x = as_array(x)
    if x.dtype.kind == "c" or settled(np.any(outside(x))) is False:
        return x
    return convert(x, np.result_type(x.dtype if x.dtype.kind == "f" else np.float64, np.complex64))


def _negative(x: Value) -> Value:
    return np.less(x, 0)


def _beyond_one(x: Value) -> Value:
    return np.greater(np.abs(x), 1)


def _answer(function: Any, numpys: Any, outside: Callable[[Value], Value]) -> None:
    implements(function)(lambda x: numpys(_extended(x, outside)))


for _name in ("sqrt", "log", "log2", "log10"):
    _answer(getattr(np.emath, _name), getattr(np, _name), _negative)
for _name in ("arccos", "arcsin", "arctanh"):
    _answer(getattr(np.emath, _name), getattr(np, _name), _beyond_one)


@implements(np.emath.logn)
def logn(n: Any, x: Any) -> Value:
    """The logarithm to base n."""
    return np.log(_extended(x, _negative)) / np.log(_extended(n, _negative))


@implements(np.emath.power)
def power(x: Any, p: Any) -> Value:
    """xᵖ; whole negative exponents as floats."""
    p = as_array(p)
    if p.dtype.kind in "iu" and settled(np.any(_negative(p))) is not False:
        p = convert(p, np.float64)
    return np.power(_extended(x, _negative), p)
