"""What holds for every function: the width does not matter, NaN stays NaN, use inside one kernel shares work."""

from itertools import product

import numpy as np
import pytest

from adjoint.compile import machine
from adjoint.compile.ir import Function, Module, Value, Writer
from adjoint.compile.vector_math import NAMES, call
from adjoint.compile.vector_math.arrays import loop_text
from tests.compile.vector_math.reference import DTYPES, assert_same, both_signs, compiled, every_size, special_values
from tests.support.sweeps import sampled


@pytest.mark.parametrize("name, dtype", sampled(product(NAMES, DTYPES), every=3))
def test_width_does_not_matter(name: str, dtype: str) -> None:
    rng = np.random.default_rng(8)
    points = [both_signs(every_size(dtype, 150)), rng.uniform(-4, 4, 300).astype(dtype), special_values(dtype)]
    x = np.concatenate(points)
    args = (x,) if NAMES[name] == 1 else (x, rng.permutation(x))
    expected = compiled(name, dtype, 1)(*args)
    for width in (4, 8) if dtype == "float64" else (8, 16):
        assert_same(compiled(name, dtype, width)(*args), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_nan_stays(name: str, dtype: str) -> None:
    for position in range(NAMES[name]):
        args = [np.full(3, 1.5 if name == "arccosh" else 0.5, dtype) for _ in range(NAMES[name])]
        args[position][1] = np.nan
        got = compiled(name, dtype)(*args)
        np.testing.assert_array_equal(np.isnan(got), [False, True, False])


def test_sin_and_cos_share_their_reduction() -> None:
    """Both together need far fewer instructions than one and the other."""

    def count(write: Writer) -> int:
        module, _ = machine.optimize(loop_text(write, 1, "double", 4))
        return str(module).count("@llvm.fma.v4f64")

    def sin(function: Function, x: Value) -> Value:
        return call(function, "sin", x)

    def both(function: Function, x: Value) -> Value:
        return function.fadd(call(function, "sin", x), call(function, "cos", x))

    assert count(both) <= count(sin) + 2


def test_every_function_is_there_once() -> None:
    module = Module()
    function = Function(module, "twice", ["double"], "double")
    (x,) = function.params
    function.ret(call(function, "exp", call(function, "exp", x)))
    function.finish()
    assert str(module).count("define") == 2
