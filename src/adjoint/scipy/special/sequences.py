"""Sequences: Legendre functions of the second kind, parabolic cylinder functions, spheroidal characteriztic values."""

# The values may be traced, and SciPy has no types.
# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from adjoint.ops.special.sequences import FunctionSequence
from adjoint.program.trace import bind
from adjoint.scipy.special.arguments import array, constant, traced, whole


def _sequence(name: str, x: Any, **fixed: Any) -> Any:
    constant(name, **fixed)
    if not traced(x):
        return getattr(scipy.special, name)(*fixed.values(), x)
    x = array(x)
    if x.ndim and name.startswith("pb"):
        raise ValueError(f"{name}: x must be a scalar, got the shape {x.shape}.")
    if fixed.get("v", 0) < 0:
        raise ValueError(f"{name}: v must not be negative, got {fixed['v']}. Use {name[:4]}, one for each order.")
    return bind(FunctionSequence(name, tuple(fixed.values())), x)


def lqn(n: Any, z: Any) -> Any:
    """Legendre's functions of the second kind Qₖ(z) and their derivatives, k = 0 … n."""
    return _sequence("lqn", z, n=n if traced(n) else whole("lqn", "n", n))


def lqmn(m: Any, n: Any, z: Any) -> Any:
    """Legendre's functions of the second kind of order 0 … m and degree 0 … n, and their derivatives."""
    m = m if traced(m) else whole("lqmn", "m", m)
    return _sequence("lqmn", z, m=m, n=n if traced(n) else whole("lqmn", "n", n))


def pbdv_seq(v: Any, x: Any) -> Any:
    """Parabolic cylinder functions D of order v-⌊v⌋ … v, and their derivatives."""
    return _sequence("pbdv_seq", x, v=v)


def pbvv_seq(v: Any, x: Any) -> Any:
    """Parabolic cylinder functions V of order v-⌊v⌋ … v, and their derivatives."""
    return _sequence("pbvv_seq", x, v=v)


def _characteriztic(name: str, m: Any, n: Any, c: Any) -> Any:
    constant(f"{name}_seq", m=m, n=n)
    if not traced(c):
        return getattr(scipy.special, f"{name}_seq")(m, n, c)
    low, high = whole(f"{name}_seq", "m", m), whole(f"{name}_seq", "n", n)
    if low > high:
        raise ValueError(f"{name}_seq: m must not be greater than n, got {m} and {n}.")
    return getattr(scipy.special, name)(low, np.arange(low, high + 1), array(c))


def pro_cv_seq(m: Any, n: Any, c: Any) -> Any:
    """Characteriztic values of prolate spheroidal wave functions of order m and degree m … n."""
    return _characteriztic("pro_cv", m, n, c)


def obl_cv_seq(m: Any, n: Any, c: Any) -> Any:
    """Characteriztic values of oblate spheroidal wave functions of order m and degree m … n."""
    return _characteriztic("obl_cv", m, n, c)
