"""Recursive filters: what a sequence must be so that a filter of its own values gives another one."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.elementwise.pointwise import conjugated
from adjoint.ops.signal.convolution import Convolution
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class AllPole(Differential):
    """y with Σₖ a[l,k] y[r,l,t-k] = v[r,l,t], and zeros before t = 0; backwards in time (t+k) when `reverse`.

    This is A y = v with a triangular Toeplitz matrix A, so A ẏ = v̇ - Ȧ y; the adjoint solves with Aᴴ, which runs
    backwards. Rows r share the coefficients, lines l have their own.
    """

    reverse: bool = False

    @property
    def title(self) -> str:
        return "all_pole"

    @staticmethod
    def _dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
        return np.result_type(*dtypes, np.float32)

    def evaluate(self, *xs: Value) -> Value:
        from scipy.signal import lfilter

        a, v = xs
        dtype = self._dtype(a.dtype, v.dtype)
        turned: Any = (slice(None), slice(None, None, -1) if self.reverse else slice(None))
        y = np.empty(np.shape(v), dtype)
        one = np.ones(1, dtype)
        for line in range(v.shape[1]):
            rows: Any = v[:, line].astype(dtype, copy=False)
            if rows.size:
                y[:, line] = np.asarray(lfilter(one, a[line].astype(dtype), rows[turned], axis=-1))[turned]
        return y

    def result_type(self, *types: ArrayType) -> Any:
        a, v = types
        return ArrayType(v.shape, self._dtype(a.dtype, v.dtype))

    def _product(self, y: Value) -> tuple[Convolution, Value]:
        """How a meets y: [r,l,1,t] and [l,1,1,k], over i = t - k (or t + k)."""
        step = 1 if self.reverse else -1
        return Convolution((1,), (step,), (1,), (0,), (y.shape[2],)), np.expand_dims(y, 2)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        da, drive = dxs
        if da is not None:
            conv, y = self._product(z)
            changed = np.squeeze(conv(y, np.reshape(da, (da.shape[0], 1, 1, da.shape[1]))), 2)
            drive = total(drive, -changed)
        return None if drive is None else self(xs[0], drive)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, v = xs
        back = AllPole(not self.reverse)(conjugated(a), ct)
        a_bar = None
        if wanted[0]:
            conv, y = self._product(z)
            kernel = ArrayType((a.shape[0], 1, 1, a.shape[1]), a.dtype)
            a_bar = -np.reshape(conv.adjoint(1, np.expand_dims(back, 2), [y, kernel]), a.shape)
        return a_bar, fit(back, v) if wanted[1] else None

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), bool(wanted[0])

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        a, v = xs
        if not mapped[0]:
            rows = v.shape[1]
            return np.reshape(self(a, np.reshape(v, (size * rows, *v.shape[2:]))), v.shape)
        v = np.moveaxis(v, 0, 1) if mapped[1] else np.broadcast_to(np.expand_dims(v, 1), (len(v), size, *v.shape[1:]))
        rows, _, lines, steps = v.shape
        y = self(np.reshape(a, (size * lines, a.shape[2])), np.reshape(v, (rows, size * lines, steps)))
        return np.moveaxis(np.reshape(y, v.shape), 1, 0)
