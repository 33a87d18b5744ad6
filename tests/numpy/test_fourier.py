"""numpy.fft on traced values: NumPy's values in every form of length, axis and scale; adjoints; second order."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

X = np.random.default_rng(0).normal(size=(3, 4, 5))
Z = X + 1j * np.random.default_rng(1).normal(size=X.shape)
ONE = [("fft", Z), ("ifft", Z), ("fft", X), ("rfft", X), ("irfft", Z), ("hfft", Z), ("ihfft", X), ("irfft", X)]
MANY = [
    ("fftn", Z),
    ("ifftn", Z),
    ("fftn", X),
    ("rfftn", X),
    ("irfftn", Z),
    ("fft2", X),
    ("ifft2", Z),
    ("rfft2", X),
    ("irfft2", Z),
]
NORMS = [None, "backward", "ortho", "forward"]


def same(call, x, **options):
    f = lambda t: getattr(np.fft, call)(t, **options)
    y, pull = ad.vjp(f, x)
    want = getattr(np.fft, call)(x, **options)
    assert y.shape == want.shape
    assert y.dtype == want.dtype
    np.testing.assert_allclose(y, want, rtol=1e-12, atol=1e-12)
    # linear: the derivative is the function, and the adjoint is ⟨u, f(v)⟩ = ⟨f*(u), v⟩
    rng = np.random.default_rng(2)
    v = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    u = rng.normal(size=y.shape) + (1j * rng.normal(size=y.shape) if y.dtype.kind == "c" else 0)
    np.testing.assert_allclose(ad.jvp(f, (x,), (v,))[1], getattr(np.fft, call)(v, **options), rtol=1e-12, atol=1e-12)
    (ct,) = pull(u)
    assert ct.dtype == x.dtype
    np.testing.assert_allclose(np.vdot(ct, v).real, np.vdot(u, f(v)).real, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("call, x", ONE)
def test_one_axis(call, x, norm):
    for n in (None, 1, 2, 3, 4, 5, 6, 9):
        for axis in (-1, 0, 1):
            same(call, x, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("call, x", MANY)
def test_several_axes(call, x, norm):
    for axes in ((0, 1), (-1, 0), (2,)):
        same(call, x, axes=axes, norm=norm)
        same(call, x, s=(3, 6)[: len(axes)], axes=axes, norm=norm)
        same(call, x, s=(2, 7)[: len(axes)], axes=axes, norm=norm)
    same(call, x, norm=norm)


def test_an_axis_named_twice_is_transformed_twice():
    same("fftn", Z, axes=(0, 0))
    same("ifftn", Z, axes=(1, 1))


@pytest.mark.parametrize("call", ["fftshift", "ifftshift"])
def test_shifts(call):
    for axes in (None, 0, -1, (0, 2)):
        same(call, X, axes=axes)


def test_second_order_batches_and_series():
    power = lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4)
    check_grads(power, (X[0, 0],), order=2)
    np.testing.assert_allclose(ad.vmap(np.fft.rfft)(X[0]), np.fft.rfft(X[0]), rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(np.fft.ifft, in_axes=1, out_axes=1)(Z[0]), np.fft.ifft(Z[0], axis=0), rtol=1e-12)
    _, series = ad.jet(
        lambda t: np.fft.irfft(np.fft.rfft(t) * np.fft.rfft(t)), (X[0, 0, :4],), ([X[0, 1, :4], X[0, 2, :4]],)
    )
    a, b, c = (np.fft.rfft(X[0, k, :4]) for k in range(3))
    np.testing.assert_allclose(series[1], np.fft.irfft(2 * b * b + 2 * a * c), rtol=1e-10)


def test_single_precision_is_kept():
    x = X[0, 0].astype(np.float32)
    assert ad.vjp(np.fft.rfft, x)[0].dtype == np.complex64
    assert ad.grad(lambda t: np.sum(np.abs(np.fft.fft(t)) ** 2))(x).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_dtypes_are_numpys(dtype):
    x = (Z if dtype == np.complex64 else X)[0].astype(dtype)
    for call in sorted({name for name, _ in ONE + MANY}):
        if call not in ("rfft", "ihfft", "rfftn", "rfft2") or dtype != np.complex64:
            assert ad.vjp(getattr(np.fft, call), x)[0].dtype == getattr(np.fft, call)(x).dtype, call


def test_out_frequencies_and_compiled():
    def into_an_array(x):
        out = ad.numpy.zeros((4, 5), complex)
        np.fft.fft(x, out=out)
        return np.sum(np.abs(out) ** 4)

    f = lambda x: np.sum(np.abs(np.fft.fft(x)) ** 4)
    np.testing.assert_allclose(ad.grad(into_an_array)(X[0]), ad.grad(f)(X[0]), rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X[0]), ad.grad(f)(X[0]), rtol=1e-12)
    g = lambda x: np.sum(np.fft.irfft2(np.fft.rfft2(x) ** 2) ** 2)
    np.testing.assert_allclose(ad.jit(ad.grad(g))(X[0, :, :4]), ad.grad(g)(X[0, :, :4]), rtol=1e-12)
    for call in (np.fft.fftfreq, np.fft.rfftfreq):
        np.testing.assert_allclose(ad.jvp(lambda d, call=call: call(5, d), (0.5,), (1.0,))[1], -2.0 * call(5, 0.5))


def test_empty_stacks():
    assert ad.vjp(np.fft.rfft, np.zeros((0, 4)))[0].shape == (0, 3)
    assert ad.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(np.zeros((0, 4))).shape == (0, 4)


def test_bad_arguments():
    with pytest.raises(ValueError, match="data points"):
        ad.grad(lambda t: np.sum(np.fft.fft(t, n=0).real))(X[0, 0])
    with pytest.raises(ValueError, match="norm"):
        ad.grad(lambda t: np.sum(np.fft.fft(t, norm="half").real))(X[0, 0])
    with pytest.raises(TypeError, match="real"):
        ad.grad(lambda t: np.sum(np.fft.rfft(t).real))(Z[0, 0])
