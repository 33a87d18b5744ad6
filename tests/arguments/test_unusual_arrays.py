"""Arrays as they come: any layout, byte order and alignment; read-only, empty, 0-d, NaN and infinite."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy.special import logsumexp

X = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4))
V = np.random.default_rng(1).normal(size=(3, 4))


def assigned(x):
    y = x * 1.0
    y[1, ::2] = x[0, ::2] ** 2
    y[:, 0] *= 3.0
    return y


def into_the_argument(x):
    x[0] = x[1] * 2.0
    x += 1.0
    return x**2


def square(x):
    return x @ x.T + np.eye(3)


FUNCTIONS = {
    "identity": lambda x: x,
    "tanh": np.tanh,
    "product": lambda x: np.exp(x) * np.sin(x) / (1.0 + x**2),
    "with a constant": lambda x: np.arctan2(x, V) * X,
    "matmul": lambda x: x @ x.T,
    "einsum": lambda x: np.einsum("ij,kj->ik", x, np.cos(x)),
    "transpose": lambda x: x.T * np.arange(3.0),
    "reshape": lambda x: x.reshape(2, 6) * np.arange(6.0),
    "ravel in F": lambda x: np.ravel(x, order="F") * np.arange(12.0),
    "sort": lambda x: np.sort(x, axis=0) * X,
    "max": lambda x: np.max(x, axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=1) ** 2,
    "prod": lambda x: np.prod(x, axis=0),
    "cumprod": lambda x: np.cumprod(x),
    "slices": lambda x: x[1:, ::-1] ** 2,
    "rows": lambda x: x[[0, 2, 0]] ** 2,
    "mask": lambda x: x[X > 0.5] ** 2,
    "where": lambda x: np.where(x > 0.5, x**2, -x),
    "concatenate": lambda x: np.concatenate([x, x**2], axis=1),
    "stack": lambda x: np.stack([x[0], x[1] * x[2]]),
    "pad": lambda x: np.pad(x, 1, mode="reflect") ** 2,
    "roll": lambda x: np.roll(x, 2) * X,
    "diff": lambda x: np.diff(x, axis=0) ** 2,
    "std": lambda x: np.std(x, axis=1),
    "norm": lambda x: np.linalg.norm(x, axis=0),
    "logsumexp": lambda x: logsumexp(x, axis=1),
    "clip": lambda x: np.clip(x, 0.3, 0.7),
    "inverse": lambda x: np.linalg.inv(square(x)),
    "slogdet": lambda x: np.linalg.slogdet(square(x))[1],
    "cholesky": lambda x: np.linalg.cholesky(square(x)),
    "fourier": lambda x: np.abs(np.fft.fft(x, axis=1)),
    "assigned": assigned,
    "into the argument": into_the_argument,
    "outer": lambda x: np.outer(x[0], x[:, 1]),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(X, axis=1), 1) * X,
    "scan": lambda x: ad.scan(lambda c, row: (np.tanh(c + row), c * row), np.zeros(4), x)[1],
    "cond": lambda x: ad.cond(np.sum(x) > 0, np.sin, np.cos, x),
}


def unaligned(x):
    raw = bytearray(1) + bytearray(np.ascontiguousarray(x).tobytes())
    return np.frombuffer(raw, dtype=x.dtype, offset=1).reshape(x.shape)


def locked(x):
    y = x.copy()
    y.flags.writeable = False
    return y


def strided(x):
    wide = np.zeros((*x.shape[:-1], 3 * x.shape[-1]))
    wide[..., 1::3] = x
    return wide[..., 1::3]


class Subclass(np.ndarray):
    """An array of somebody else's class."""


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "read-only": locked,
    "strided": strided,
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "transposed": lambda x: np.ascontiguousarray(np.swapaxes(x, -1, -2)).swapaxes(-1, -2),
    "unaligned": unaligned,
    "subclass": lambda x: x.copy().view(Subclass),
    "unmasked": lambda x: np.ma.array(x, mask=False),
}


def derivatives(f, x, v):
    """Values and derivatives in every mode; x and v in any layout."""
    total = lambda x: np.sum(np.sin(f(x)))
    y, pullback = ad.vjp(f, x)
    return [
        ad.grad(total)(x),
        *ad.value_and_grad(total)(x),
        y,
        pullback(np.ones_like(y))[0],
        *ad.jvp(total, (x,), (v,)),
        ad.linearize(total, x)[1](v),
        *ad.jet(total, (x,), ((v, x),))[1],
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts(name, layout) -> None:
    f, make = FUNCTIONS[name], LAYOUTS[layout]
    x, v, lanes = make(X), make(V), make(np.stack([X, X[::-1]]))
    before = x.tobytes(), x.strides, x.flags.writeable
    for found, expected in zip(derivatives(f, x, v), derivatives(f, X.copy(), V), strict=True):
        assert type(found) in (np.ndarray, np.float64)
        assert found.dtype.isnative
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    mapped = ad.vmap(f)(lanes)
    np.testing.assert_allclose(mapped, [f(X.copy()), f(X[::-1].copy())], rtol=1e-11, atol=1e-13)
    assert (x.tobytes(), x.strides, x.flags.writeable) == before, "the caller's array is as it was"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_ordinary_array(name) -> None:
    """What the layouts are compared with, against differences."""
    total = lambda x: np.sum(np.sin(FUNCTIONS[name](x)))
    step = 1e-5
    expected = (total(X + step * V) - total(X - step * V)) / (2 * step)
    np.testing.assert_allclose(ad.jvp(total, (X,), (V,))[1], expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sum(ad.grad(total)(X) * V), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_constants_of_any_layout(make) -> None:
    constant = make(X)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(np.sin(x * constant)))(V), X * np.cos(V * X))
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(constant @ x))(V.T), np.broadcast_to(X.sum(0)[:, None], (4, 3)))


# Derivatives at NaN, inf, -inf and an ordinary point. The first three are limits, or NaN where there is none.
LIMITS = {
    "identity": (lambda x: +x, 1.0, 1.0, 1.0),
    "square": (lambda x: x**2, np.nan, np.inf, -np.inf),
    "exp": (np.exp, np.nan, np.inf, 0.0),
    "expm1": (np.expm1, np.nan, np.inf, 0.0),
    "tanh": (np.tanh, np.nan, 0.0, 0.0),
    "arctan": (np.arctan, np.nan, 0.0, 0.0),
    "sin": (np.sin, np.nan, np.nan, np.nan),
    "abs": (np.abs, np.nan, 1.0, -1.0),
    "sign": (np.sign, 0.0, 0.0, 0.0),
    "maximum": (lambda x: np.maximum(x, 0.0), None, 1.0, 0.0),
    "minimum": (lambda x: np.minimum(x, 0.0), None, 0.0, 1.0),
    "clip": (lambda x: np.clip(x, -1.0, 1.0), None, 0.0, 0.0),
    "sinh": (np.sinh, np.nan, np.inf, np.inf),
    "reciprocal": (np.reciprocal, np.nan, 0.0, 0.0),
    "where": (lambda x: np.where(np.isfinite(x), x**2, 3.0 * x), 3.0, 3.0, 3.0),
    "masked out": (lambda x: np.where(np.isfinite(x), np.sin(x) * x, 0.0), 0.0, 0.0, 0.0),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), np.nan, 1.0, 0.0),
}


@pytest.mark.parametrize("name", LIMITS)
def test_nan_and_infinity(name) -> None:
    f, *expected = LIMITS[name]
    x = np.array([np.nan, np.inf, -np.inf, 0.3])
    with np.errstate(all="ignore"):
        step = 1e-6
        expected.append((f(0.3 + step) - f(0.3 - step)) / (2 * step))
        value, pullback = ad.vjp(f, x)
        np.testing.assert_array_equal(value, f(x))
        ways = {
            "grad": ad.grad(lambda x: np.sum(f(x)))(x),
            "vjp": pullback(np.ones(4))[0],
            "jvp": ad.jvp(f, (x,), (np.ones(4),))[1],
            "jet": ad.jet(f, (x,), ((np.ones(4),),))[1][0],
            "vmap": ad.vmap(ad.grad(f))(x),
            "one by one": [ad.grad(f)(v) for v in x],
        }
    for way, found in ways.items():
        for one, other in zip(found, expected, strict=True):
            if other is not None:  # at NaN both sides of a maximum are as good
                np.testing.assert_allclose(one, other, rtol=1e-8, err_msg=way)


EMPTY = {
    "sum": np.sum,
    "sin": lambda x: np.sum(np.sin(x) * x),
    "prod": np.prod,
    "norm": np.linalg.norm,
    "cumsum": lambda x: np.sum(np.cumsum(x)),
    "sort": lambda x: np.sum(np.sort(x, axis=-1)),
    "slice": lambda x: np.sum(x[1:] ** 2),
    "rows": lambda x: np.sum(x[np.zeros(0, int)]),
    "mask": lambda x: np.sum(x[x > 0]),
    "concatenate": lambda x: np.sum(np.concatenate([x, x])),
    "reshape": lambda x: np.sum(np.reshape(x, x.shape[::-1])),
    "product": lambda x: np.sum(x @ np.swapaxes(x, 0, -1)) if x.ndim == 2 else x @ x,
    "einsum": lambda x: np.einsum("i,i->" if x.ndim == 1 else "ij,ij->", x, x),
    "where": lambda x: np.sum(np.where(x > 0, x, 0.0)),
    "broadcast": lambda x: np.sum(x + np.ones(np.shape(x)[-1:])),
    "max with a start": lambda x: np.max(x, initial=-1.0),
    "scan": lambda x: ad.scan(lambda c, row: (c + np.sum(row), c), 0.0, x)[0],
    "in place": lambda x: np.sum(assigned_empty(x)),
}


def assigned_empty(x):
    y = x * 1.0
    y[...] = x**2
    return y


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
@pytest.mark.parametrize("name", EMPTY)
def test_empty(name, shape) -> None:
    f, x = EMPTY[name], np.zeros(shape)
    expected = f(x)
    value, slope = ad.value_and_grad(f)(x)
    assert value == expected
    assert (slope.shape, slope.dtype) == (shape, np.float64)
    np.testing.assert_array_equal(ad.jvp(f, (x,), (x,)), [expected, 0.0])
    np.testing.assert_array_equal(ad.jet(f, (x,), ((x, x),))[1], [0.0, 0.0])
    np.testing.assert_array_equal(ad.vmap(f)(np.zeros((2, *shape))), [expected, expected])
    assert ad.vmap(ad.grad(f))(np.zeros((2, *shape))).shape == (2, *shape)
    assert ad.hessian(f)(x).shape == shape + shape


def test_no_lanes_and_nothing_to_reduce() -> None:
    assert ad.vmap(np.sin)(np.zeros((0, 2))).shape == (0, 2)
    for f in (np.max, np.min, lambda x: x[np.argmax(x)]):
        with pytest.raises(ValueError):
            ad.grad(f)(np.zeros(0))
    assert ad.jacobian(np.sin)(np.zeros(0)).shape == (0, 0)
    assert ad.grad(lambda tree: 1.0)({}) == {}


@pytest.mark.parametrize("scalar", [0.3, np.float64(0.3), np.array(0.3), np.float32(0.3), np.array(0.3, np.float32)])
def test_zero_dimensional(scalar) -> None:
    """A number, a NumPy scalar and a 0-d array are the same thing; results are scalars of the same precision."""
    f = lambda x: np.sin(x) * x
    expected, kind = np.cos(0.3) * 0.3 + np.sin(0.3), np.asarray(scalar).dtype.type
    found = [
        ad.grad(f)(scalar),
        ad.vjp(f, scalar)[1](kind(1.0))[0],
        ad.jvp(f, (scalar,), (kind(1.0),))[1],
        ad.jet(f, (scalar,), ((kind(1.0),),))[1][0],
        ad.jacobian(f)(scalar),
        ad.vmap(ad.grad(f))(np.reshape(scalar, 1))[0],
    ]
    for derivative in found:
        assert type(derivative) is kind
        assert derivative == pytest.approx(expected, rel=1e-6)


def test_float16_and_longdouble() -> None:
    half = ad.grad(lambda x: np.sum(x**2))(np.array([0.5, 2.0], np.float16))
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, [1.0, 4.0])
    with pytest.raises(TypeError, match=r"longdouble|float128"):
        ad.grad(np.sum)(np.ones(2, np.longdouble))
