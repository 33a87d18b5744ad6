"""ndarray's methods and attributes on traced values."""

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as adn
from adjoint.base.errors import TraceError, UnsupportedError
from tests.numpy.checking import Case, array, complex_array, every_check

X, T, Z = array(3, 4), array(2, 3, 2), complex_array(3)


def assigned_parts(z):
    z = z.copy()
    z.real = np.abs(z)
    z.imag = 2.0
    return z


CASES = [
    *[
        Case(name, lambda x, name=name: getattr(x, name)(axis=1), (X,))
        for name in ("sum", "mean", "prod", "max", "min", "std", "var", "cumsum", "cumprod")
    ],
    *[
        Case(name, lambda x, name=name: x * getattr(x, name)(axis=0), (X,))
        for name in ("argmax", "argmin", "argsort", "any", "all")
    ],
    Case("sum positional", lambda x: x.sum(0), (X,)),
    Case("clip", lambda x: x.clip(0.5, max=1.0), (X,)),
    Case("round", lambda x: x.round() * x, (X,)),
    Case("conj", lambda z: z.conj() * z.conjugate(), (Z,)),
    Case("real and imag", lambda z: z.real * z.imag, (Z,)),
    Case("assigned parts", assigned_parts, (Z,)),
    Case("T", lambda x: x.T @ x, (X,)),
    Case("mT", lambda x: x.mT, (T,)),
    Case("flat", lambda x: x.flat[3] * x.flat[1:4], (X,)),
    Case("reshape", lambda x: x.reshape(2, -1), (X,)),
    Case("reshape tuple", lambda x: x.reshape((4, 3), order="F"), (X,)),
    Case("ravel", lambda x: x.ravel(), (X,)),
    Case("flatten", lambda x: x.flatten("F"), (X,)),
    Case("transpose", lambda x: x.transpose(2, 0, 1), (T,)),
    Case("transpose tuple", lambda x: x.transpose((1, 0, 2)), (T,)),
    Case("transpose none", lambda x: x.transpose(), (T,)),
    Case("swapaxes", lambda x: x.swapaxes(0, 2), (T,)),
    Case("squeeze", lambda x: x.squeeze(), (array(1, 3),)),
    Case("repeat", lambda x: x.repeat(2, axis=0), (X,)),
    Case("take", lambda x: x.take([0, 2], axis=1), (X,)),
    Case("astype", lambda x: x.astype(complex), (X,)),
    Case("dot", lambda x: x.dot(np.ones(4)), (X,)),
    Case("diagonal", lambda x: x.diagonal(1), (X,)),
    Case("trace", lambda x: x.trace(), (X,)),
    Case("compress", lambda x: x.compress([True, False, True], axis=0), (X,)),
    Case("nonzero", lambda x: x[(x > 1).nonzero()], (X,), lanes=False, symbolic=False),
    Case("choose", lambda x: np.array([0, 1, 1, 0]).choose([1, 2]) * x, (X,)),
    Case("searchsorted", lambda x: x * np.sort(x).searchsorted(0.7), (array(5),)),
    Case("copy", lambda x: copy.deepcopy(x) + copy.copy(x) * x.copy(), (X,)),
    Case(
        "at set",
        lambda x: x.at[1:].set(5.0) if hasattr(x, "at") else np.concatenate([x[:1], np.full((2, 4), 5.0)]),
        (X,),
    ),
]


@every_check(CASES)
def test_methods(case, check) -> None:
    check(case)


def test_attributes() -> None:
    def f(x):
        assert (x.size, x.ndim, x.itemsize, x.nbytes, x.shape, x.dtype, x.device) == (
            12,
            2,
            8,
            96,
            (3, 4),
            np.float64,
            "cpu",
        )
        assert x.to_device("cpu") is x
        assert x.__array_namespace__() is adn
        assert not hasattr(x, "strides")
        assert len(x) == 3
        return x.sum()

    ad.grad(f)(X)


def test_pure_updates() -> None:
    x = np.array([1.0, 2.0, 3.0])

    def f(x):
        y = x.at[[0, 0, 2]].add(10 * x[:3])
        y = y.at[1].multiply(x[0]).at[2].divide(2.0).at[0].subtract(1.0)
        y = y.at[0].power(2).at[1].max(7.0).at[2].min(x[2])
        assert y.at[1:].get().shape == (2,)
        return np.sum(y), x

    (value, same), slope = (
        ad.value_and_grad(lambda x: f(x), has_aux=True)(x)[0],
        ad.jvp(lambda x: f(x)[0], (x,), (np.ones(3),))[1],
    )
    np.testing.assert_array_equal(same, x)
    assert value == (1 + 10 + 20 - 1) ** 2 + 7.0 + 3.0
    step = 1e-6

    def plain(x):
        a, b, c = x
        return (a + 10 * a + 10 * b - 1) ** 2 + max(a * b, 7.0) + min((c + 10 * c) / 2, c)

    np.testing.assert_allclose(slope, (plain(x + step) - plain(x - step)) / (2 * step), rtol=1e-7)


def test_sort_and_partition_act_in_place() -> None:
    def f(x):
        x = +x
        view = x[1:]
        assert x.sort() is None
        x.partition(1)
        return np.sum(x * np.arange(3.0)) + view[0]

    np.testing.assert_array_equal(ad.grad(f)(np.array([3.0, 1.0, 2.0])), [2.0, 0.0, 2.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.view(int),
        lambda x: x.view(type=np.matrix),
        lambda x: x.tobytes(),
        lambda x: x.__dlpack__(),
        lambda x: np.from_dlpack(x),
        lambda x: x.resize(2),
        lambda x: pickle.dumps(x),
        lambda x: x.byteswap(),
        lambda x: x.dumps(),
        lambda x: x.setflags(write=False),
    ],
)
def test_what_needs_memory_is_refused(call) -> None:
    with pytest.raises(UnsupportedError, match="traced float64"):
        ad.grad(lambda x: np.sum(x) + 0 * len(call(x)))(np.ones(3))


def test_items() -> None:
    for call in (lambda x: x.item(), lambda x: x.item(0), lambda x: x.tolist()):
        with ad.config.override(convert=False), pytest.raises(TraceError, match="derivative would be lost"):
            ad.grad(lambda x, call=call: np.sum(x) * call(x))(np.ones(1))
    with pytest.raises(AttributeError, match="strides"):
        ad.grad(lambda x: x.strides[0] * x[0])(np.ones(1))
    # whole numbers may be asked
    np.testing.assert_array_equal(
        ad.vmap(lambda i: 2 * i.item() + len(i.reshape(1).tolist()))(np.array([1, 2, 1])), [3, 5, 3]
    )
    with pytest.raises(ValueError, match="device"):
        ad.grad(lambda x: x.to_device("gpu"))(1.0)


COPIES = {
    "x.copy()": lambda x: x.copy(),
    "np.copy": np.copy,
    "np.array": np.array,
    "astype": lambda x: x.astype(x.dtype),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=list(COPIES))
def test_a_copy_may_be_written_to_by_the_transformation_that_runs(copy) -> None:
    """x is traced further out: the copy is of the inner transformation, batched once a batched value is in it."""

    def written(x, s):
        y = copy(x)
        y[1] = s * y[0]
        return np.sum(y * y)

    x, s = np.array([0.3, 0.5, 0.9]), np.array([1.0, 2.0])
    expected = np.array([np.sum(np.array([0.3, t * 0.3, 0.9]) ** 2) for t in s])
    slopes = np.array([2 * 0.3 * np.sum(1 + s * s), 0.0, 4 * 0.9])
    batched = lambda x: ad.vmap(lambda t: written(x, t))(s)
    np.testing.assert_allclose(ad.jit(batched)(x), expected)
    np.testing.assert_allclose(ad.vmap(batched)(np.stack([x, x])), [expected, expected])
    for gradient in (ad.grad(lambda x: np.sum(batched(x))), ad.jit(ad.grad(lambda x: np.sum(batched(x))))):
        np.testing.assert_allclose(gradient(x), slopes)
    inner = lambda x: ad.grad(lambda t: written(x, t))(2.0)  # 2 s x₀²
    np.testing.assert_allclose(ad.grad(inner)(x), [4 * 2.0 * 0.3, 0.0, 0.0])
