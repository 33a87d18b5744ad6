"""Elements between memory and registers: strides, masks and dtypes, by programs that need them."""

import numpy as np
import pytest

from adjoint.compile import vectors
from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.machine import parse_verified
from tests.random_programs.running import agrees

DTYPES = ["float64", "float32", "float16", "complex64", "complex128", "int8", "uint16", "int32", "uint64", "bool"]
rng = np.random.default_rng(19)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_of_every_dtype(dtype) -> None:
    x = (rng.normal(size=(6, 21)) * 3).astype(dtype)
    agrees(
        lambda x: [
            x[:, ::2], x[:, ::-1], x[::-1, ::-3], x.T, np.broadcast_to(x[:, :1], x.shape),
            np.broadcast_to(x[0], (4, 21)),
            np.pad(x[:, 3:], ((1, 0), (2, 5))), np.concatenate([x[:, ::-1], x[:, :5]], axis=1), x.ravel()[::5],
        ],
        x,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.dtype(d) for d in DTYPES], ids=str)
@pytest.mark.parametrize("stride", [0, 1, -1, 3])
def test_loads_and_stores_are_well_formed(dtype, stride) -> None:
    module = Module()
    f = Function(module, "f", ["ptr", "i64", "<4 x i1>", "i1"], "void")
    base, at, mask, one = f.params
    for width, which in ((1, None), (1, one), (4, None), (4, mask)):
        value = vectors.load(f, dtype, base, at, stride, width, which)
        parts = [value] if isinstance(value, Value) else value
        assert all(part.width == width for part in parts)
        vectors.store(
            f, dtype, vectors.spread(f, vectors.number(f, dtype, 1, 1), width), base, at, stride or 1, width, which
        )
        vectors.store(f, dtype, value, base, at, stride or 1, width, which)
    f.ret()
    f.finish()
    parse_verified(str(module))


def test_lanes_of_pairs() -> None:
    f = Function(Module(), "f", ["<4 x double>", "<4 x i1>"], "void")
    z = (f.params[0], f.params[0])
    for actual in (vectors.select(f, f.params[1], z, z), vectors.shuffle(f, z, [1, 0])):
        assert len(actual) == 2
    assert [part.type for part in vectors.lane(f, z, 2)] == ["double", "double"]
    assert vectors.component(np.dtype("complex64")) == "float"
    assert vectors.component(np.dtype("bool")) == "i8"
