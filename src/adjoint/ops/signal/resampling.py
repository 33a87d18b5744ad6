"""Each place of an axis as a weighted sum of few elements: interpolation between samples on a grid."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Linear, fit
from adjoint.program.layout import Strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class WeightedTaps(Linear):
    """z[…, p, …] = Σₜ weight[p, t] x[…, index[p, t], …] along an axis of length n; or the transpose of this map."""

    axis: int
    n: int
    transposed: bool = False

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    @property
    def title(self) -> str:
        return "weighted_taps"

    @property
    def parameters(self) -> int:
        return 2

    def evaluate(self, *xs: Value) -> Value:
        from scipy.sparse import csr_array

        x, index, weight = xs
        count, taps = index.shape
        kind = self._dtype(x.dtype)
        matrix: Any = csr_array(
            (weight.astype(kind).ravel(), np.asarray(index).ravel(), np.arange(count + 1) * taps), shape=(count, self.n)
        )
        moved = np.moveaxis(np.asarray(x), self.axis, 0)
        flat = np.reshape(moved, (moved.shape[0], moved.size // max(1, moved.shape[0])))
        z = (matrix.T if self.transposed else matrix) @ flat.astype(kind, copy=False)
        return np.moveaxis(np.reshape(z, (z.shape[0], *moved.shape[1:])), 0, self.axis)

    @staticmethod
    def _dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
        return dtype if dtype.kind in "fc" and dtype != np.float16 else np.dtype(np.float64)

    def result_type(self, *types: ArrayType) -> Any:
        x, index, _ = types
        length = self.n if self.transposed else index.shape[0]
        return ArrayType((*x.shape[: self.axis], length, *x.shape[self.axis + 1 :]), self._dtype(x.dtype))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (fit(WeightedTaps(self.axis, self.n, not self.transposed)(ct, *xs[1:]), xs[0]),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        x, index, weight = xs
        if not (mapped[1] or mapped[2]):
            return WeightedTaps(self.axis + 1, self.n, self.transposed)(*xs)
        # each batch element has taps of its own: one long axis for all of them
        x = x if mapped[0] else np.broadcast_to(x, (size, *np.shape(x)))
        offsets = np.reshape(np.arange(size) * self.n, (size, 1, 1))
        index = np.broadcast_to(index, (size, *np.shape(index)[-2:])) + offsets
        weight = np.broadcast_to(weight, (size, *np.shape(weight)[-2:]))
        count, taps = index.shape[1:]
        x = np.moveaxis(x, self.axis + 1, 1)
        rest = x.shape[2:]
        z = WeightedTaps(0, size * self.n, self.transposed)(
            np.reshape(x, (size * x.shape[1], *rest)),
            np.reshape(index, (size * count, taps)),
            np.reshape(weight, (size * count, taps)),
        )
        return np.moveaxis(np.reshape(z, (size, self.n if self.transposed else count, *rest)), 1, self.axis + 1)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return types[0].nbytes
