"""Powers with an exponent that is known when the code is written.

A small integer exponent is a chain of products (an error of at most (|n| - 1)/2 units in the last place), ±½ is a
square root, ±1½ and ±2½ are both: x √x (up to 3 units).
Infinities, zeros and NaN come out as from NumPy, for which x^½ is `sqrt` and x^-½ is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.compile.ir import Function, Value
from adjoint.compile.pointwise.registers import Dtype

LARGEST = 6  # beyond, the products are less exact than the function


def by_squaring(x: Any, n: int, product: Callable[[Any, Any], Any]) -> Any:
    """xⁿ for n ≥ 1."""
    result = None
    while True:
        if n & 1:
            result = x if result is None else product(result, x)
        n >>= 1
        if not n:
            return result
        x = product(x, x)


def known_power(f: Function, dtype: Dtype, x: Value, n: float) -> Value | None:
    """xⁿ of a float by products and roots; None if the function must be called."""
    one = f.same(x, 1.0)
    if n == 0:
        return one
    if n == int_of(n) and abs(n) <= LARGEST:
        return by_squaring(f.fdiv(one, x) if n < 0 else x, abs(int_of(n)), f.fmul)
    if n == 0.5:
        return f.intrinsic("sqrt", x)
    if n == -0.5:
        root = f.intrinsic("sqrt", x)
        low = f.fcmp("oeq", x, f.same(x, -math.inf))
        return f.fdiv(one, f.select(low, f.same(x, math.inf), f.intrinsic("fabs", root)))
    if abs(n) in (1.5, 2.5):
        size = f.intrinsic("fabs", x)
        base = f.fdiv(one, size) if n < 0 else size
        found = f.fmul(by_squaring(base, int(abs(n)), f.fmul), f.intrinsic("sqrt", base))
        negative = f.binary("and", f.fcmp("olt", x, f.same(x, 0.0)), f.fcmp("une", x, f.same(x, -math.inf)))
        return f.select(negative, f.same(x, math.nan), found)
    return None


def int_of(n: float) -> int:
    """The integer that n is; 0 for what is none."""
    return int(n) if math.isfinite(n) and n == math.floor(n) else 0


def known_integer_power(f: Function, dtype: Dtype, x: Value, n: int) -> Value:
    """xⁿ of an integer for n ≥ 0, wrapping around."""
    return f.same(x, 1) if n == 0 else by_squaring(x, n, lambda a, b: f.binary("mul", a, b))
