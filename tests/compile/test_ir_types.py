"""Types and constants of LLVM's text."""

import struct

import numpy as np
import pytest

from adjoint.compile.ir_types import Value, lanes, like, mangled, number_text, scalar_of, vector_of
from adjoint.compile.symbolic_sizes import SizeError, Sym


def test_types() -> None:
    wide = vector_of("double", 8)
    assert (wide, lanes(wide), scalar_of(wide), mangled(wide)) == ("<8 x double>", 8, "double", "v8f64")
    assert (vector_of("i32", 1), lanes("i32"), scalar_of("i32"), mangled("ptr")) == ("i32", 1, "i32", "p0")
    value = Value("%x", "<4 x float>")
    assert (value.width, value.scalar, like("i1", value)) == (4, "float", "<4 x i1>")


@pytest.mark.parametrize("x", [0.1, -0.0, 1e300, 5e-324, float("inf"), -1.5])
def test_doubles_keep_every_bit(x) -> None:
    assert struct.pack(">d", x).hex().upper() == number_text("double", x)[2:]


def test_other_numbers() -> None:
    assert number_text("float", 0.1) == number_text("double", float(np.float32(0.1)))
    assert number_text("half", 1.0) == "0xH3C00"
    assert number_text("i8", 255) == "-1"
    assert number_text("i8", -129) == "127"
    assert number_text("i64", np.uint64(2**63)) == str(-(2**63))
    assert (number_text("i1", 3), number_text("i1", 0)) == ("true", "false")
    with pytest.raises(SizeError):
        number_text("i64", Sym.named("n", 3))
