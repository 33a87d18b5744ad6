"""The Array API standard: traced values as array objects, and what is asked of creation functions and of orders."""

import itertools
import operator

import array_api_compat
import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as xp
from adjoint.base.config import config
from adjoint.program.trace import Tracer
from tests.numpy.array_api_names import KINDS

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def in_every_trace(f, *xs):
    """What f gives in each transformation; it must do the same in all."""
    ones = tuple(np.ones_like(x) for x in xs)
    found = [ad.vjp(f, *xs)[0], ad.jvp(f, xs, ones)[0], ad.jet(f, xs, [[one] for one in ones])[0], ad.jit(f)(*xs)]
    found.append(ad.vmap(f)(*[np.stack([x, x]) for x in xs])[0])
    return found


def test_attributes_and_methods() -> None:
    one_way = ["abs", "eq", "ge", "getitem", "gt", "invert", "le", "lt", "ne", "neg", "pos", "setitem"]
    asked = ["array_namespace", "bool", "complex", "dlpack", "dlpack_device", "float", "index", "int"]
    both = ["add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor"]
    names = [f"__{name}__" for name in (*one_way, *asked)] + [f"__{way}{n}__" for n in both for way in ("", "r", "i")]
    names += ["to_device", "T", "device", "dtype", "mT", "ndim", "shape", "size"]

    def f(x):
        assert [name for name in names if not hasattr(x, name)] == []
        assert (x.shape, x.ndim, x.size, x.dtype, x.device) == ((2, 3), 2, 6, xp.float64, "cpu")
        assert x.__array_namespace__() is xp
        assert x.__array_namespace__(api_version="2024.12") is xp
        assert x.__array_namespace__(api_version=None) is xp
        assert x.__dlpack_device__() == (1, 0)
        with pytest.raises(ValueError, match="not '2031"):
            x.__array_namespace__(api_version="2031.12")
        with pytest.raises(ValueError, match="arrays live on 'cpu'"):
            x.to_device("gpu")
        with pytest.raises(ValueError, match="stream"):
            x.to_device("cpu", stream=1)
        with pytest.raises(BufferError, match="derivative would be lost"):
            x.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=True)
        with pytest.raises(BufferError):
            np.from_dlpack(x)
        assert x.mT.shape == x.T.shape == (3, 2)
        return x.to_device(x.device).mT * 2

    for found in in_every_trace(f, X):
        np.testing.assert_array_equal(found, X.T * 2)


OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
)


@pytest.mark.parametrize("operation", OPERATORS, ids=lambda op: op.__name__)
def test_operators_with_numbers_of_python(operation) -> None:
    """A number takes the dtype of the array, as the standard says for numbers of the same or a lower kind."""
    for dtype in KINDS["real floating"]:
        x = X.astype(dtype)
        for number in (2, 2.0, True):
            for f in (lambda x, n=number: operation(x, n), lambda x, n=number: operation(n, x)):
                wanted = f(x)
                assert wanted.dtype in (np.dtype(dtype), np.bool)
                beside = lambda x, f=f: (np.sum(x), f(x))  # truth values have no cotangents
                for found in (ad.jit(f)(x), ad.vjp(beside, x, has_aux=True)[2], ad.vmap(f)(x)):
                    assert found.dtype == wanted.dtype
                    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", KINDS["integer or bool"])
def test_operators_of_integers(dtype: str) -> None:
    x, y = np.array([0, 1, 5, 7]).astype(dtype), np.array([1, 1, 3, 2]).astype(dtype)
    one = True if dtype == "bool" else 1
    operations = [operator.and_, operator.or_, operator.xor]
    operations += [operator.lshift, operator.rshift, operator.floordiv, operator.mod, operator.pow][
        : 0 if one is True else 5
    ]

    def f(x, y):
        return [~x] + [g for op in operations for g in (op(x, y), op(x, one), op(one, y))]

    for found in (ad.jit(f)(x, y), ad.vmap(f)(x, y)):
        for a, b in zip(found, f(x, y), strict=True):
            assert a.dtype == b.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(a, b)


def test_operators_in_place() -> None:
    def f(x):
        y = xp.asarray(x, copy=True)
        y += 1.0
        y -= 0.5
        y *= x
        y /= 2.0
        y **= 2
        y //= 0.25
        y %= 3.0
        y @= xp.eye(3)
        y[0, 1:] = x[1, 1:]
        assert y is not x
        return y

    wanted = f(X)
    for found in in_every_trace(f, X):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_array_equal(X, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_conversions_ask_for_a_value() -> None:
    """bool, int and index are questions that a traced value can answer; float and complex would lose the derivative."""

    def f(x):
        n = xp.count_nonzero(x > 2.0)
        return x * (operator.index(n) if bool(xp.any(x > 1.0)) else int(x[0, 0]))

    for found in in_every_trace(f, X):
        np.testing.assert_array_equal(found, X * 4)
    for convert in (float, complex):
        for transformation in (ad.grad, ad.jit, ad.vmap):
            argument = np.ones(2)[0] if transformation is not ad.vmap else X[0]
            with config.override(convert=False), pytest.raises(TypeError, match="plain value"):
                transformation(lambda x, convert=convert: convert(x))(argument)
            found = transformation(lambda x, convert=convert: convert(x).real)(argument)
            np.testing.assert_array_equal(found, argument)  # one, where it is a slope


def test_creation_of_arrays() -> None:
    for make in (
        lambda device: xp.zeros(2, device=device),
        lambda device: xp.ones(2, device=device),
        lambda device: xp.full(2, 1.0, device=device),
        lambda device: xp.empty(2, device=device),
        lambda device: xp.arange(2, device=device),
        lambda device: xp.linspace(0, 1, 2, device=device),
        lambda device: xp.eye(2, device=device),
        lambda device: xp.asarray([1.0], device=device),
        lambda device: xp.zeros_like(X, device=device),
        lambda device: xp.from_dlpack(X, device=device),
        lambda device: xp.astype(X, xp.float32, device=device),
        lambda device: xp.fft.fftfreq(3, device=device),
    ):
        assert make("cpu").device == make(None).device == "cpu"
        with pytest.raises(ValueError, match="gpu"):
            make("gpu")
        with pytest.raises(ValueError, match="gpu"):
            ad.grad(lambda x, make=make: xp.sum(x) + xp.sum(make("gpu")))(X)


def test_copies_only_where_they_may_be() -> None:
    assert xp.asarray(X, copy=False) is X
    assert xp.asarray(X) is X
    assert not np.shares_memory(xp.asarray(X, copy=True), X)
    assert np.shares_memory(xp.from_dlpack(X), X)
    assert not np.shares_memory(xp.from_dlpack(X, copy=True), X)

    def f(x):
        assert xp.asarray(x) is xp.asarray(x, copy=False) is xp.from_dlpack(x) is x
        other, again = xp.asarray(x, copy=True), xp.from_dlpack(x, copy=True)
        other[0, 0] = again[0, 0] = 9.0
        for make in (lambda: xp.asarray(x, dtype=xp.float32, copy=False), lambda: xp.asarray([x, x], copy=False)):
            with pytest.raises(ValueError, match="copy"):
                make()
        return x * other

    for found in in_every_trace(f, X):
        np.testing.assert_array_equal(found, X * np.where(X == 1.0, 9.0, X))
    for make in (lambda: xp.asarray([1.0], copy=False), lambda: xp.asarray(X, dtype=xp.float32, copy=False)):
        with pytest.raises(ValueError, match="copy"):
            make()
    with pytest.raises(ValueError):
        xp.reshape(X.T, (6,), copy=False)


def test_constants_do_not_share_memory_with_the_caller() -> None:
    given = np.ones(3)

    def f(x):
        kept = xp.asarray(given)
        assert kept is given
        made = xp.asarray(given, dtype=xp.float64, copy=True)
        made[0] = x
        return xp.sum(made)

    assert ad.grad(f)(2.0) == 1.0
    np.testing.assert_array_equal(given, 1.0)


def test_orders_of_equal_elements() -> None:
    """Stable unless asked otherwise: equal elements keep their order, up and down, and so do their derivatives."""
    x = np.array([2.0, 1.0, 2.0, 1.0, 3.0, 2.0])
    up, down = [1, 3, 0, 2, 5, 4], [4, 0, 2, 5, 1, 3]
    many = np.tile(x, 50)  # long enough that NumPy's own default mixes them
    for f, order in ((xp.argsort, up), (lambda x: xp.argsort(x, descending=True), down)):
        beside = lambda x, f=f: (np.sum(x), f(x))  # integers have no cotangents
        for found in (f(x), ad.jit(f)(x), ad.vmap(f)(x[None])[0], ad.vjp(beside, x, has_aux=True)[2]):
            np.testing.assert_array_equal(found, order)
        places = f(many)
        assert all(a < b for a, b in itertools.pairwise(places) if many[a] == many[b])
    for f, order in ((xp.sort, up), (lambda x: xp.sort(x, descending=True), down)):
        np.testing.assert_array_equal(ad.jacobian(f)(x), np.eye(6)[order])
        np.testing.assert_array_equal(ad.jit(f)(x), x[order])
    assert xp.sort(X, axis=None, descending=True).tolist() == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert xp.argsort(X, axis=None, descending=True).tolist() == [5, 4, 3, 2, 1, 0]
    np.testing.assert_array_equal(xp.sort(np.array([1, 0, 255], np.uint8), descending=True), [255, 1, 0])
    assert xp.argsort(x, kind="quicksort").tolist() == np.argsort(x, kind="quicksort").tolist()


def test_bounds_by_place_and_by_name() -> None:
    for f in (
        lambda x: xp.clip(x, 2.0, 4.0),
        lambda x: xp.clip(x, 2.0, max=4.0),
        lambda x: xp.clip(x, min=2.0, max=4.0),
        lambda x: xp.clip(x, a_min=2.0, a_max=4.0),
        lambda x: xp.clip(x, min=2.0, a_max=4.0),
    ):
        for found in in_every_trace(f, X):
            np.testing.assert_array_equal(found, np.clip(X, 2.0, 4.0))
    with pytest.raises(ValueError, match="same bound"):
        xp.clip(X, 1.0, min=2.0)
    np.testing.assert_array_equal(xp.clip(np.arange(3, dtype=np.uint8), -1, 300), [0, 1, 2])


def test_limits_of_dtypes() -> None:
    for found in in_every_trace(lambda x: x * xp.finfo(x).eps, X):
        np.testing.assert_array_equal(found, X * np.finfo(np.float64).eps)
    assert xp.finfo(np.float32(1)).eps == xp.finfo("float32").eps == xp.finfo(np.ones(2, np.complex64)).eps
    assert xp.iinfo(np.ones(2, np.int8)).max == xp.iinfo(np.uint8).max // 2 == 127


def test_other_libraries_find_the_namespace() -> None:
    def f(x):
        assert isinstance(x, Tracer)
        assert array_api_compat.is_array_api_obj(x)
        assert not array_api_compat.is_numpy_array(x)
        assert array_api_compat.is_writeable_array(x)
        assert (array_api_compat.device(x), array_api_compat.size(x)) == ("cpu", 6)
        found = array_api_compat.array_namespace(x, xp.array(X), 1.0, None)
        assert found is xp
        return found.linalg.vector_norm(array_api_compat.to_device(x, "cpu"))

    for found in in_every_trace(f, X):
        np.testing.assert_allclose(found, np.sqrt(91.0))
    np.testing.assert_allclose(ad.grad(f)(X), X / np.sqrt(91.0))

    def mixed(x):
        with pytest.raises(TypeError, match="Multiple namespaces"):
            array_api_compat.array_namespace(x, np.ones(2))
        return xp.sum(x)

    ad.grad(mixed)(X)
