"""DLPack both ways, and the memory of results: new, writable, nobody else's."""

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, 1.0, 2.0])
total = lambda x: np.sum(x**3)


class Exported:
    """An array of another library: DLPack is all it speaks."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arguments_and_operands() -> None:
    foreign = Exported(X)
    np.testing.assert_allclose(ad.grad(total)(foreign), 3 * X**2)
    np.testing.assert_allclose(ad.jvp(total, (foreign,), (foreign,))[1], np.sum(3 * X**3))
    np.testing.assert_allclose(ad.vmap(np.square)(foreign), X**2)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(x * foreign))(X), X)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(foreign * x))(X), X)
    np.testing.assert_array_equal(X, [0.5, 1.0, 2.0])


def test_read_only_arrays_of_others() -> None:
    locked = X.copy()
    locked.flags.writeable = False
    np.testing.assert_allclose(ad.grad(total)(Exported(locked)), 3 * X**2)
    assert not locked.flags.writeable

    def in_place(x):
        x[0] = 2.0
        return np.sum(x**2)

    np.testing.assert_allclose(ad.grad(in_place)(Exported(locked)), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(locked, [0.5, 1.0, 2.0])


RESULTS = {
    "grad": lambda x: [ad.grad(total)(x)],
    "grad of the identity": lambda x: [ad.grad(np.sum)(x)],
    "value_and_grad": lambda x: list(ad.value_and_grad(lambda x: np.sum(x))(x)[1:]),
    "aux": lambda x: [ad.grad(lambda x: (np.sum(x), x), has_aux=True)(x)[1]],
    "jvp": lambda x: list(ad.jvp(lambda x: x, (x,), (x,))),
    "vjp": lambda x: [ad.vjp(lambda x: x, x)[0], ad.vjp(lambda x: x, x)[1](x)[0]],
    "linearize": lambda x: [ad.linearize(lambda x: x, x)[0], ad.linearize(lambda x: x, x)[1](x)],
    "linear_transpose": lambda x: [ad.linear_transpose(lambda x: x, x)(x)[0]],
    "vmap": lambda x: [ad.vmap(lambda x: x)(x)],
    "vmap of a constant": lambda x: [ad.vmap(lambda _: X)(x)],
    "jet": lambda x: [ad.jet(lambda x: x, (x,), ((x, x),))[0], *ad.jet(lambda x: x, (x,), ((x, x),))[1]],
    "jacobian": lambda x: [ad.jacobian(np.square)(x)],
    "hessian": lambda x: [ad.hessian(total)(x)],
    "scan": lambda x: list(ad.scan(lambda c, v: (c, v), x, x)),
    "while_loop": lambda x: [ad.while_loop(lambda x: x[0] > 9.0, lambda x: 2 * x, x)],
    "fori_loop": lambda x: [ad.fori_loop(0, 0, lambda i, x: 2 * x, x)],
    "map": lambda x: [ad.map(lambda x: x, x)],
    "associative_scan": lambda x: [ad.associative_scan(np.add, x[:1])],
    "transposed": lambda x: [ad.grad(lambda x: np.sum(x.T * X))(x)],
    "broadcast": lambda x: [ad.grad(lambda x: np.sum(np.broadcast_to(x, (2, 3))))(x)],
    "twice the same": lambda x: list(ad.vjp(lambda x: (x, x), x)[0]),
    "two arguments": lambda x: list(ad.grad(lambda a, b: np.sum(a + b), argnums=(0, 1))(x, x)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_memory_of_their_own(name) -> None:
    x = X.copy()
    results = RESULTS[name](x)
    arrays = [r for r in results if np.ndim(r)]
    assert arrays
    for i, array in enumerate(arrays):
        assert type(array) is np.ndarray
        assert array.flags.writeable
        assert array.dtype.isnative
        assert not any(np.shares_memory(array, other) for other in [x, X, *arrays[:i]])
        np.testing.assert_array_equal(np.from_dlpack(array), array)
        array[...] = -1.0
    np.testing.assert_array_equal(x, X)
    for again, first in zip(RESULTS[name](x), RESULTS[name](x), strict=True):
        np.testing.assert_array_equal(again, first)


def test_a_traced_value_is_not_exported() -> None:
    with pytest.raises(TypeError, match="derivative would be lost"):
        ad.grad(lambda x: np.sum(np.from_dlpack(x)))(X)


def test_numbers_are_numpy_scalars() -> None:
    for value in (ad.grad(np.sin)(1.0), ad.value_and_grad(np.sin)(1.0)[0], ad.vjp(np.sin, 1.0)[1](1.0)[0]):
        assert type(value) is np.float64
