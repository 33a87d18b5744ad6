"""Elementwise functions written in plain NumPy: z = f(x₁ … xₙ) and its partials, nothing else."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.pointwise import Pointwise, conjugated, masked_multiply, spread
from adjoint.program.types import ArrayType, Value, promotion_token


class Elementwise(Pointwise, Differential):
    """A smooth function of numbers, applied element by element.

    A subclass states `evaluate`, in plain NumPy that broadcasts, and `partials`. Compiled programs hold what `evaluate`
    does; a subclass that cannot be traced there (a SciPy function) states `expand` beside it.
    """

    @abstractmethod
    def partials(self, xs: Sequence[Value], z: Value) -> Sequence[Value]:
        """∂z/∂xᵢ for each argument; None for zero."""

    @property
    def ufunc(self) -> Any:
        raise TypeError(f"{self.title} is no ufunc")

    def _dtype(self, types: Sequence[ArrayType]) -> np.dtype[Any]:
        tokens = [promotion_token(t) for t in types]
        ones: list[Any] = [
            t(1) if isinstance(t, type) and t in (int, float, complex) else np.ones(1, t) for t in tokens
        ]
        return np.asarray(self.evaluate(*ones)).dtype

    def expand(self, *args: Any, **kwargs: Any) -> Any:
        return self.evaluate(*args, **kwargs)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True] * len(wanted), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        ds = self.partials(xs, z)
        dz = total(*[masked_multiply(dx, d) for dx, d in zip(dxs, ds, strict=True) if dx is not None and d is not None])
        return None if dz is None else spread(dz, z)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        ds = self.partials(xs, z)
        return [
            fit(masked_multiply(ct, conjugated(d)), x) if w and d is not None else None
            for x, d, w in zip(xs, ds, wanted, strict=True)
        ]
