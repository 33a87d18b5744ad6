"""What SciPy gives as a whole sequence of functions with its derivatives: lqn, lqmn, pbdv_seq, pbvv_seq.

Each y in the sequence solves y″ = p(x) y′ + q(x) y, so the pair (y, y′) is closed under differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.nary_ufuncs import adjoint_product, product
from adjoint.ops.elementwise.pointwise import spread
from adjoint.ops.special.library import special
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


def _legendre(fixed: tuple[Any, ...], x: Value) -> tuple[Value, Value]:
    """(1-x²) y″ = 2x y′ - (n(n+1) - m²/(1-x²)) y."""
    s = (1.0 - x) * (1.0 + x)
    n = _column(np.arange(fixed[-1] + 1.0), x)
    if len(fixed) == 1:
        return 2.0 * x / s, -n * (n + 1.0) / s
    orders: Any = np.arange(float(fixed[0] + 1))
    m = orders.reshape((-1, 1, *[1] * x.ndim))
    return 2.0 * x / s, (m * m / s - n * (n + 1.0)) / s


def _column(orders: Any, x: Value) -> Any:
    return np.reshape(orders, (-1, *[1] * x.ndim))


def _weber(fixed: tuple[Any, ...], x: Value) -> tuple[Value, Value]:
    """y″ = (x²/4 - v - ½) y, for v = v₀ … v, v₀ the fractional part."""
    v = fixed[0]
    orders = v - int(v) + np.arange(max(int(v), 1) + 1.0)
    return 0.0, 0.25 * x * x - _column(orders, x) - 0.5


# name -> the coefficients (p, q), and the axes of the sequence
EQUATIONS: dict[str, tuple[Callable[..., tuple[Value, Value]], int]] = {
    "lqn": (_legendre, 1),
    "lqmn": (_legendre, 2),
    "pbdv_seq": (_weber, 1),
    "pbvv_seq": (_weber, 1),
}


@primitive
class FunctionSequence(Differential):
    """(y, y′) of a sequence of functions, on the first axes, at every x."""

    function: str
    fixed: tuple[Any, ...]

    several = True

    @property
    def title(self) -> str:
        return self.function

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0])
        runs = [getattr(special, self.function)(*self.fixed, t) for t in x.ravel()]
        shape = self._lengths()
        cut = tuple(slice(n) for n in shape)
        kind = x.dtype
        parts = [np.stack([np.asarray(f[i])[cut] for f in runs], axis=-1) for i in (0, 1)] if runs else []
        empty = np.zeros((*shape, 0))
        return tuple(np.reshape(p, (*shape, *x.shape)).astype(kind)[()] for p in (parts or [empty, empty]))

    def _lengths(self) -> tuple[int, ...]:
        least = 1 if self.function.startswith("pb") else 0  # two functions at least
        return tuple(max(int(v), least) + 1 for v in self.fixed)

    def result_type(self, *types: ArrayType) -> Any:
        one = ArrayType((*self._lengths(), *types[0].shape), types[0].dtype)
        return one, one

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        axes = EQUATIONS[self.function][1]
        return tuple(np.moveaxis(part, axes, 0) for part in self(xs[0]))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True], True

    def _second(self, x: Value, z: Sequence[Value]) -> Value:
        p, q = EQUATIONS[self.function][0](self.fixed, x)
        return p * z[1] + q * z[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if dxs[0] is None:
            return None, None
        rates = (z[1], self._second(xs[0], z))
        return tuple(spread(product(dxs[0], rate), part) for rate, part in zip(rates, z, strict=True))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        cotangent = total(adjoint_product(ct[0], z[1]), adjoint_product(ct[1], self._second(xs[0], z)))
        return [None if cotangent is None else fit(cotangent, xs[0])]
