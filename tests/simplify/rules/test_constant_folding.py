"""Constants: uniform arrays, equal arrays, and what is computed before the program runs."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.program import Literal, Program
from adjoint.simplify import simplify
from adjoint.simplify.rules.constant_folding import MOST_ELEMENTS, literal_key, uniform_element


def simplified(f, *args) -> Program:
    return simplify(ad.trace(f)(*args).program)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64, np.int8, bool, np.float16])
def test_the_one_element_of_an_array(dtype) -> None:
    array = np.ones((2, 3), dtype)
    assert uniform_element(array) == array[0, 0]
    assert uniform_element(array).dtype == dtype
    assert uniform_element(np.asfortranarray(array)) == array[0, 0]
    other = array.copy()
    other[1, 1] = 0
    assert uniform_element(other) is None


def test_elements_are_compared_bit_by_bit() -> None:
    assert uniform_element(np.array([0.0, -0.0])) is None
    assert np.isnan(uniform_element(np.array([np.nan, np.nan])))
    assert uniform_element(np.array([1 + 2j, 1 + 3j, 1 + 2j])) is None
    assert uniform_element(np.zeros((0, 3))) is None
    assert literal_key(0.0) != literal_key(-0.0)
    assert literal_key(1) != literal_key(1.0) != literal_key(np.float64(1.0))
    assert literal_key(np.nan) == literal_key(float("nan"))


def test_uniform_arrays_become_numbers_and_dtypes_stay() -> None:
    x = np.ones(3, np.float32)
    program = simplified(lambda x: x * np.full(3, 2.0), x)  # float64, since the array is
    (eq,) = program.equations
    assert not program.constants
    assert eq.inputs[1].value.dtype == np.float64
    assert program.output_types[0].dtype == np.float64
    program = simplified(lambda x: x * np.full(3, 2.0, np.float32), x)
    assert program.output_types[0].dtype == np.float32


def test_a_uniform_array_that_is_wider_is_spread() -> None:
    program = simplified(lambda x: x * np.full((2, 3), 2.0), np.ones(3))
    assert [eq.op.title for eq in program.equations] == ["multiply", "broadcast"]
    np.testing.assert_array_equal(program(np.arange(3.0))[0], [[0, 2, 4]] * 2)


def test_equal_arrays_are_one() -> None:
    a = np.array([1.0, 2.0, 3.0])
    program = simplified(lambda x: (x * a, x + a.copy()), np.ones(3))
    assert len(program.constants) == 1


def test_what_is_known_is_computed() -> None:
    program = simplified(lambda x: x * np.sin(ad.stop_gradient(x * 0 + 1) * 0 + 2), 1.0)
    assert program.equations  # x * 0 is not known: x may be NaN
    index = np.array([2, 0])
    f = lambda x: ad.numpy.array([1.0, 2.0, 5.0])[index] * x
    program = simplified(f, np.ones(2))
    assert [eq.op.title for eq in program.equations] == ["multiply"]
    np.testing.assert_array_equal(program(np.ones(2))[0], [5.0, 1.0])


def test_nothing_large_is_made() -> None:
    n = MOST_ELEMENTS + 1
    ramp = np.arange(float(n))
    program = simplified(lambda x: ad.numpy.array(ramp)[::-1] + x, 1.0)
    assert [value.size for value in program.constants.values()] == [n]
    assert [eq.op.title for eq in program.equations] == ["slice", "add"]
    program = simplified(lambda x: np.exp(ad.numpy.array(np.ones(10**6))) * x, 1.0)
    assert not program.constants  # one number, spread
    assert [eq.op.title for eq in program.equations] == ["multiply", "broadcast"]


def test_empty_arrays_are_constants() -> None:
    program = simplified(lambda x: np.sin(x[:0]) * 2.0, np.ones(3))
    assert [eq.op.title for eq in program.equations] == ["broadcast"]
    assert program(np.ones(3))[0].shape == (0,)


def test_results_are_not_weak() -> None:
    program = simplified(lambda x: np.where(np.bool_(True), 1.0, x * 0 + x), np.float32(2.0))
    (output,) = program.outputs
    assert isinstance(output, Literal)
    assert isinstance(output.value, np.generic)
    assert output.type.dtype == program(np.float32(2.0))[0].dtype


def test_what_fails_fails_when_the_program_runs() -> None:
    f = lambda x: ad.numpy.array([1.0, 2.0])[np.array([5])] * x
    with pytest.raises(IndexError):
        f(1.0)
    trace = ad.trace(lambda x: np.linalg.inv(ad.numpy.array(np.zeros((2, 2)))) * x)(1.0)
    program = simplify(trace.program)
    with pytest.raises(np.linalg.LinAlgError):
        program(1.0)


def test_numbers_of_python_are_folded() -> None:
    for f in (lambda x: x**0, lambda x: 2.0 * x**0 + 1, lambda x: (x - x) ** 0 * x):
        for x in (2.0, 3, np.float32(2.0), 1j):
            got = ad.jit(f)(x)
            assert got == f(x)
            assert np.asarray(got).dtype == np.asarray(f(x)).dtype
