"""What functions for all sizes are written with: numbers of one dtype in vectors, of which the last one has a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.compile.ir import Function, Module, Value, vector_of

SCALARS = {"float32": "float", "float64": "double"}


class MaskedCode:
    """Functions of one dtype in vectors of so many bits; none is inlined."""

    def __init__(self, module: Module, dtype: np.dtype[Any], bits: int) -> None:
        self.module, self.scalar, self.bytes = module, SCALARS[dtype.name], dtype.itemsize
        self.lanes = bits // 8 // dtype.itemsize
        self.attributes = f'nounwind noinline "prefer-vector-width"="{bits}"'

    def function(self, name: str, params: list[str], linkage: str = "internal") -> Function:
        return Function(self.module, name, params, "void", linkage=linkage, attributes=self.attributes)

    def at(self, f: Function, pointer: Value, *terms: Value) -> Value:
        """The address of the number at the sum of some positions."""
        position = terms[0]
        for term in terms[1:]:
            position = f.add(position, term)
        return f.element(pointer, position, self.scalar)

    def mask(self, f: Function, count: Value, lanes: int) -> Value:
        """The first `count` lanes."""
        return f.icmp("slt", f.lane_numbers(lanes), f.spread(count, lanes))

    def load(self, f: Function, pointer: Value, mask: Value) -> Value:
        """Numbers; those that the mask leaves out are zero."""
        kind = vector_of(self.scalar, mask.width)
        return f.intrinsic(
            "masked.load", pointer, f.constant("i32", self.bytes), mask, f.constant(kind, 0),
            returns=kind, over=[kind, "ptr"],
        )  # fmt: skip

    def store(self, f: Function, value: Value, pointer: Value, mask: Value) -> None:
        name = f"llvm.masked.store.v{value.width}f{8 * self.bytes}.p0"
        f.call(name, "void", value, pointer, f.constant("i32", self.bytes), mask, declared=True)
