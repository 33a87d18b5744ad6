"""scipy.fft on traced values: SciPy's values in every form, adjoints, and SciPy's own functions with our backend."""

import itertools

import numpy as np
import pytest
import scipy.fft

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import fft
from tests.numpy.checking import Case, array, complex_array, every_check, signed
from tests.scipy.signal.agreement import CHECKS

X, Z = signed(3, 4), complex_array(3, 4)
NORMS = [None, "backward", "ortho", "forward"]
CASES = [
    *[Case(f"dct {t}", lambda x, t=t: fft.dct(x, t, norm="ortho"), (signed(2, 5),)) for t in (1, 2, 3, 4)],
    *[Case(f"dst {t}", lambda x, t=t: fft.dst(x, t, 6), (signed(4),)) for t in (1, 2, 3, 4)],
    Case("dctn", lambda x: fft.dctn(x, axes=(0, 1)), (X,)),
    Case("complex", fft.idct, (complex_array(5),)),
    Case("hfftn", fft.hfftn, (Z,)),
    Case("fht", lambda a: fft.fht(a, 0.1, 0.5, bias=0.2), (array(5),)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def same(name, x, **options):
    """SciPy's value; and ⟨u, f(v)⟩ = ⟨f*(u), v⟩ for the adjoint."""
    ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
    y, pull = ad.vjp(lambda x: ours(x, **options), x)
    wanted = theirs(x, **options)
    assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype), (name, options)
    np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-12, err_msg=f"{name} {options}")
    rng = np.random.default_rng(0)
    draw = lambda a: rng.normal(size=a.shape) + (1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else 0)
    u, v = draw(y), draw(x)
    np.testing.assert_allclose(np.vdot(pull(u)[0], v).real, np.vdot(u, theirs(v, **options)).real, atol=1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_fourier_transforms(norm):
    for name, n in itertools.product(["fft", "ifft", "irfft", "hfft"], [None, 3, 6]):
        same(name, Z, n=n, axis=0, norm=norm)
    for name in ("rfft", "ihfft"):
        same(name, X, n=5, norm=norm)
    for name in ("fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn", "hfft2", "hfftn"):
        same(name, Z, norm=norm)
        same(name, Z, s=(4, 5), norm=norm)
    for name in ("rfft2", "rfftn", "ihfft2", "ihfftn"):
        same(name, X, norm=norm)
        same(name, X, s=(2, 3), axes=(1, 0), norm=norm)


@pytest.mark.parametrize("kind, type_", list(itertools.product(["dct", "dst"], [1, 2, 3, 4])))
def test_sines_and_cosines(kind, type_):
    for norm, orthogonalize in itertools.product(NORMS, [None, True, False]):
        for name, n in itertools.product((kind, f"i{kind}"), [None, 3, 6]):
            same(name, X, type=type_, n=n, axis=1, norm=norm, orthogonalize=orthogonalize)
        for name in (f"{kind}n", f"i{kind}n"):
            same(name, X, type=type_, s=(2, 6), norm=norm, orthogonalize=orthogonalize)
            same(name, X, type=type_, axes=0, norm=norm)


def test_single_precision_and_integers():
    x = X.astype(np.float32)
    assert ad.vjp(fft.dct, x)[0].dtype == np.float32
    assert ad.grad(lambda x: np.sum(fft.dst(x)))(x).dtype == np.float32
    np.testing.assert_array_equal(fft.dct(np.arange(3)), scipy.fft.dct(np.arange(3)))


def test_scipys_functions_with_our_backend():
    with scipy.fft.set_backend(fft):
        slope = ad.grad(lambda x: np.sum(scipy.fft.dct(x) ** 2))(X)
        plain = scipy.fft.dct(X)
    np.testing.assert_allclose(slope, ad.grad(lambda x: np.sum(fft.dct(x) ** 2))(X))
    np.testing.assert_array_equal(plain, scipy.fft.dct(X))


def test_compiled():
    f = lambda x: np.sum(fft.dctn(x) ** 3)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X), ad.grad(f)(X), rtol=1e-10)


def test_hankel_transforms():
    a = np.exp(-(np.linspace(-2, 2, 8) ** 2))
    for name in ("fht", "ifht"):
        same(name, a, dln=0.1, mu=0.5, offset=0.1, bias=0.2)
    with pytest.raises(UnsupportedError, match="bias"):
        ad.grad(lambda b: np.sum(fft.fht(ad.numpy.array(a) * b, 0.1, 0.5, bias=b)))(0.1)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="type"):
        ad.vjp(lambda x: fft.dct(x, 5), X)
    with pytest.raises(ValueError, match="norm"):
        ad.vjp(lambda x: fft.dct(x, norm="half"), X)
    with pytest.raises(AttributeError, match="neither"):
        fft.no_such_transform
    assert "next_fast_len" in dir(fft)
    assert fft.next_fast_len(7) == scipy.fft.next_fast_len(7)
