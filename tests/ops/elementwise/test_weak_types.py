"""Numbers that count as Python's."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.elementwise.weak_types import Weaken, strengthened
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, type_of


@pytest.mark.parametrize("value", [np.float64(2.5), np.int64(3), np.complex128(1j), np.array(2.0)])
def test_value_and_type(value: np.generic) -> None:
    z = Weaken().evaluate(value)
    assert type(z) in (float, int, complex)
    assert z == value
    assert Weaken().result_type(type_of(value)) == type_of(z)


def test_a_stack_stays_an_array() -> None:
    x = np.arange(3.0)
    assert Weaken().evaluate(x) is x
    assert Weaken().result_type(type_of(x)) == ArrayType((3,), x.dtype)
    np.testing.assert_array_equal(ad.vmap(lambda x: Weaken()(x) * 2)(x), x * 2)


def test_derivatives_are_those_of_the_identity() -> None:
    f = ad.jit(lambda x, y: (x * 2.0) * 3.0 * y)  # the product with 2 is a Python number, and so is that with 3
    assert ad.jvp(lambda y: f(0.5, y), (2.0,), (1.0,)) == (6.0, 3.0)
    g = ad.jit(ad.grad(lambda x: (x * 2) * x))
    assert g(3.0) == 12.0
    value, (first, second) = ad.jit(lambda x: ad.jet(lambda t: (t * 2) * t, (x,), ([1.0, 0.0],)))(3.0)
    assert (value, first, second) == (18.0, 12.0, 4.0)


FUNCTIONS = {
    "product": lambda x, n: x * n,
    "arithmetic": lambda x, n: x / (n + 1) - (2 * n) // 3 + n % 2 + n**2 * 0.5,
    "comparison": lambda x, n: np.where(x > n, x, n),
    "joined": lambda x, n: np.stack([x, x * n]) + np.maximum(x, n),
    "number": lambda x, n: np.float64(2.0) * n,
    "itself": lambda x, n: n,
    "power": lambda x, n: abs(x) ** n,
}


ORDERED = ("comparison", "joined")  # complex numbers are not
DTYPES = ("i1", "i8", "f2", "f4", "f8", "c8", "?")


@pytest.mark.parametrize("name, dtype", [(f, t) for f in FUNCTIONS for t in DTYPES if t != "c8" or f not in ORDERED])
def test_written_out_as_conversions(name: str, dtype: str) -> None:
    f, x = FUNCTIONS[name], np.array([1, 0, 3]).astype(dtype)
    program, _ = record_program(lambda x, n: [f(x, n)], [type_of(x), type_of(3)])
    made = strengthened(program)
    assert not any(v.type.weak for eq in made.equations for v in (*eq.outputs, *made.inputs))
    expected = f(x, 3)
    for number in (3, np.int64(3), np.array([3, 3, 3])):  # a stack has no type of Python's
        (found,) = made(x, number) if np.ndim(number) == 0 else ad.vmap(made)(np.stack([x] * 3), number)
        found = found[1] if np.ndim(number) else found
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "f2" else 1e-6)
    assert strengthened(made) is made


@pytest.mark.parametrize("name, dtype", [(f, t) for f in FUNCTIONS for t in DTYPES if t != "c8" or f not in ORDERED])
def test_python_numbers_of_batch_elements_give_way(name: str, dtype: str) -> None:
    f, x = FUNCTIONS[name], np.array([1, 0, 3]).astype(dtype)
    numbers = np.array([3, 5, 4])
    batched = ad.vmap(lambda x, n: f(x, Weaken()(n)), in_axes=(None, 0))
    for found in (batched(x, numbers), ad.jit(batched)(x, numbers)):
        for row, n in zip(found, numbers, strict=True):
            expected = np.asarray(f(x, n.item()))
            assert (row.dtype, row.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(row, expected, rtol=1e-3 if dtype == "f2" else 1e-6)


def _counted(x):
    count, scale = 0, 1.0
    while count < 5 and np.sum(np.abs(x)) * scale > 1.0:
        scale = scale * 0.5 if x[count % 3] > 0 else scale * 0.7
        count += 1
    carried, _ = ad.scan(lambda c, row: (np.tanh(c * scale + row * count), None), x[0], x)
    return x * (1 + count) / 2 + scale * carried


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_counts_of_batch_elements_leave_the_dtype_alone(dtype: str) -> None:
    xs = np.random.default_rng(2).normal(size=(2, 3, 3)).astype(dtype)
    gradient = ad.grad(lambda x: np.sum(_counted(x)))
    tangent = lambda x: ad.jvp(_counted, (x,), (x,))[1]
    for f in (_counted, tangent, gradient):
        for found in (ad.jit(ad.vmap(f))(xs[0]), ad.jit(ad.vmap(ad.vmap(f)))(xs)[0]):
            assert found.dtype == xs.dtype
            np.testing.assert_allclose(found, [f(x) for x in xs[0]], rtol=100 * float(np.finfo(dtype).eps))
