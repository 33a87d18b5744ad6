"""Values and types of LLVM's text: `double`, `<8 x double>`, and constants written by their bits."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np


class Value(NamedTuple):
    """A value of the function being written: its name or constant, and its type."""

    text: str
    type: str

    @property
    def width(self) -> int:
        """How many lanes; 1 for a scalar."""
        return lanes(self.type)

    @property
    def scalar(self) -> str:
        """The type of one lane."""
        return scalar_of(self.type)


def lanes(kind: str) -> int:
    """The number of lanes of a type: 8 for `<8 x double>`, 1 for `double`."""
    return int(kind[1 : kind.index(" ")]) if kind[0] == "<" else 1


def scalar_of(kind: str) -> str:
    """The type of one lane: `double` for `<8 x double>`."""
    return kind[kind.index("x") + 2 : -1] if kind[0] == "<" else kind


def vector_of(kind: str, width: int) -> str:
    """The type of `width` lanes of a scalar type; the scalar type itself for one lane."""
    return kind if width == 1 else f"<{width} x {kind}>"


def like(kind: str, model: Value) -> str:
    """A scalar type, as wide as a value."""
    return vector_of(kind, model.width)


BITS = {"double": 64, "float": 32, "half": 16, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1, "ptr": 64}
MANGLED = {"double": "f64", "float": "f32", "half": "f16", "ptr": "p0"}


def mangled(kind: str) -> str:
    """How a type is written in the name of an intrinsic: v8f64."""
    scalar = scalar_of(kind)
    name = MANGLED.get(scalar, scalar)
    return name if kind[0] != "<" else f"v{lanes(kind)}{name}"


def number_text(kind: str, number: Any) -> str:
    """A scalar constant of a scalar type; floats by their bits, so that every digit is kept."""
    if isinstance(number, int) and type(number) not in (int, bool):
        str(number)  # a size that is not known refuses
    if kind == "i1":
        return "true" if number else "false"
    if kind[0] == "i":
        bits = int(kind[1:])
        n = int(number) & ((1 << bits) - 1)
        return str(n - (1 << bits) if n >> (bits - 1) else n)
    if kind == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', float(number)))[0]:04X}"
    if kind == "float":  # written as the double that it equals
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
