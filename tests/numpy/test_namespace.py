"""adjoint.numpy: creation functions, lists, and everything else from NumPy."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as adn
import adjoint.numpy.fft as fft
import adjoint.numpy.linalg as linalg
from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.program.trace import Tracer
from tests.numpy.checking import Case, array, every_check


def loop(x):
    z = adn.zeros(4)
    z[0] = x[0]
    for k in range(1, 4):
        z[k] = z[k - 1] * x[k] + 1.0
    return z


def matrix(x):
    m = adn.eye(3)
    m[0, 1:] = x[:2]
    m[:, 2] *= x[3]
    return m @ m


CASES = [
    Case("loop into zeros", loop, (array(4),)),
    Case("matrix", matrix, (array(4),)),
    Case("array of numbers", lambda x: adn.array([x[0], 2.0, x[1] * x[2]]), (array(4),)),
    Case("nested lists", lambda x: adn.array([[x[0], 1], [x[1], x[2] ** 2]]), (array(4),)),
    Case("list of arrays", lambda x: adn.array([x, x * 2]), (array(4),)),
    Case("ndmin and dtype", lambda x: adn.array([x[0]], dtype=complex, ndmin=3), (array(4),)),
    Case("asarray", lambda x: adn.asarray((x[0], x[1])) * adn.asarray(x)[:2], (array(4),)),
    Case("full", lambda x: adn.full((2, 3), x[0] * x[1]), (array(4),)),
    Case("empty", lambda x: np.copyto(e := adn.empty(4), x) or e * e, (array(4),)),
    Case("sum of a list", lambda x: adn.sum([x[0], x[1] * 2]), (array(4),)),
    Case("max of a list", lambda x: adn.max([x[0], x[1], 0.5]), (array(4),)),
    Case("diag of a list", lambda x: adn.diag([x[0], x[1]]), (array(4),)),
    Case("linalg", lambda x: adn.linalg.norm([x[0], x[3]]), (array(4),)),
    Case("concatenate", lambda x: adn.concatenate([x, [x[0], 1.0]]), (array(4),)),
    Case("where", lambda x: adn.where([True, False], [x[0], x[1]], 0.0), (array(4),)),
    Case("r_", lambda x: adn.r_[x, 1.0, x[0], 0:3], (array(4),)),
    Case("c_", lambda x: adn.c_[x, x * x], (array(4),)),
    Case("take of a plain array", lambda x: adn.take(np.arange(5.0), np.array([1, 2])) * x[:2], (array(4),)),
    Case("pad", lambda x: adn.pad(np.ones(2), 1, constant_values=x[0]), (array(4),)),
    Case("full_like", lambda x: adn.full_like(np.ones(2), x[0]), (array(4),)),
    Case("linspace", lambda x: adn.linspace(x[0], x[1], 3), (array(4),)),
    Case("arange", lambda x: adn.arange(4) * x, (array(4),)),
    Case(
        "vectorize", lambda x: adn.vectorize(lambda a, b: a * b if a > b else a**2)(x, 0.8), (array(4),), symbolic=False
    ),
    Case("vectorize with two results", lambda x: adn.vectorize(lambda a: (a, a * a))(x), (array(4),)),
    Case("zeros_like of plain", lambda x: np.copyto(e := adn.zeros_like(np.ones(4)), x) or e, (array(4),)),
]


@every_check(CASES)
def test_namespace(case, check) -> None:
    check(case)


def test_outside_a_transformation_everything_is_plain() -> None:
    for made, wanted in (
        (adn.zeros((2, 3)), np.zeros((2, 3))),
        (adn.ones(2, dtype=np.float32), np.ones(2, np.float32)),
        (adn.array([1, 2]), np.array([1, 2])),
        (adn.full(2, 3.5), np.full(2, 3.5)),
        (adn.arange(3), np.arange(3)),
        (adn.eye(2), np.eye(2)),
        (adn.asarray([1.0]), np.array([1.0])),
        (adn.identity(2), np.identity(2)),
        (adn.tri(2), np.tri(2)),
        (adn.r_[1:4, 0.5], np.r_[1:4, 0.5]),
        (adn.linspace(0, 1, 3), np.linspace(0, 1, 3)),
    ):
        assert type(made) is np.ndarray
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)


def test_inside_it_is_traced_and_new() -> None:
    given = np.ones(3)

    def f(x):
        copied = adn.array(given)
        assert isinstance(copied, Tracer)
        copied[0] = x
        assert adn.asarray(given) is given
        return np.sum(copied)

    for f_ in (
        lambda: ad.grad(f)(2.0),
        lambda: ad.jvp(f, (2.0,), (1.0,)),
        lambda: ad.vmap(f)(np.ones(2)),
        lambda: ad.jet(f, (2.0,), [[1.0]]),
    ):
        f_()
    np.testing.assert_array_equal(given, 1.0)


def test_nested_transformations_fill_their_own_arrays() -> None:
    def inner(y, x):
        z = adn.zeros(2)
        z[0] = y * x
        z[1] = x**2
        return np.sum(z**2)

    f = lambda x: ad.grad(inner)(x**2, x)  # 2 (y x) x with y = x²: 2 x⁴
    assert ad.grad(f)(1.5) == pytest.approx(8 * 1.5**3)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.array([1.0, 2.0])), [8.0, 64.0])


def test_names_are_those_of_numpy() -> None:
    assert adn.sin is np.sin
    assert adn.float32 is np.float32
    assert adn.pi == np.pi
    assert set(np.__all__) <= set(dir(adn))
    assert adn.__array_api_version__ == np.__array_api_version__
    assert adn.__array_namespace_info__().devices() == ["cpu"]
    with pytest.raises(AttributeError, match="neither has NumPy"):
        adn.no_such_function
    for name in np.__all__:
        assert getattr(adn, name) is not None or name == "newaxis"


def test_parts_can_be_imported() -> None:
    assert adn.linalg is linalg
    assert adn.fft is fft
    assert set(np.linalg.__all__) <= set(dir(linalg))
    assert set(np.fft.__all__) <= set(dir(fft))
    assert linalg.LinAlgError is np.linalg.LinAlgError
    for part, name in ((linalg, "no_such_function"), (fft, "no_such_transform")):
        with pytest.raises(AttributeError, match="neither has NumPy"):
            getattr(part, name)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name: str) -> None:
    f, plain = getattr(fft, name), getattr(np.fft, name)
    for n in (1, 4, 5):
        np.testing.assert_array_equal(f(n, 0.3), plain(n, 0.3))
        assert f(n, dtype=np.float32).dtype == np.float32
        value, slope = ad.jvp(lambda d, n=n: f(n, d), (0.3,), (1.0,))
        np.testing.assert_allclose(value, plain(n, 0.3), rtol=1e-15)
        np.testing.assert_allclose(slope, -plain(n, 0.3) / 0.3, rtol=1e-14)
        np.testing.assert_allclose(ad.jit(lambda d, n=n: f(n, d))(0.3), plain(n, 0.3), rtol=1e-15)
    with pytest.raises(TypeError, match="real floats"):
        f(4, dtype=np.int64)


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="different shapes"):
        ad.grad(lambda x: np.sum(adn.array([x, [x, x]])))(1.0)
    with pytest.raises(UnsupportedError, match="linspace"):
        ad.grad(lambda x: np.sum(adn.arange(x)))(3.0)


def test_copies_can_be_assigned_to_by_inner_transformations() -> None:
    """An array of an outer transformation, copied: what works alone works inside jit, grad and vmap, too."""

    def f(h, u):
        u = ad.numpy.array(u)
        u[0] -= h
        return np.sum(u**2)

    u = np.array([1.0, 2.0])
    assert ad.grad(f)(2.0, u) == 2.0
    assert ad.jit(ad.grad(f))(2.0, u) == 2.0
    np.testing.assert_array_equal(ad.grad(lambda u: ad.grad(f)(2.0, u))(u), [-2.0, 0.0])
    np.testing.assert_array_equal(ad.vmap(ad.grad(f), in_axes=(None, 0))(2.0, np.stack([u, 2 * u])), [2.0, 0.0])
    assert ad.jvp(lambda h: ad.jvp(lambda k: f(k, u * h), (2.0,), (1.0,))[1], (1.0,), (1.0,))[1] == -2.0
