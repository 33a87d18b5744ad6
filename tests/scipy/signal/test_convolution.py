"""Convolutions of scipy.signal: SciPy's values in every mode, derivatives in both arguments."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, complex_array, every_check, signed
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

CASES = [
    Case("convolve", signal.convolve, (signed(5), array(3))),
    Case("convolve planes", lambda a, b: signal.convolve(a, b, "same"), (signed(3, 4), complex_array(2, 3))),
    Case("correlate", lambda a, b: signal.correlate(a, b, "valid"), (complex_array(5), complex_array(3))),
    Case("fftconvolve", lambda a, b: signal.fftconvolve(a, b, axes=1), (signed(2, 4), array(2, 3))),
    Case("oaconvolve", lambda a, b: signal.oaconvolve(a, b, "same", axes=0), (signed(4, 2), array(3, 1))),
    Case("convolve2d", lambda a, b: signal.convolve2d(a, b, "same", "wrap"), (signed(4, 3), array(2, 2))),
    Case("correlate2d", lambda a, b: signal.correlate2d(a, b, "full", "symm"), (signed(3, 3), array(2, 2))),
    Case("filled", lambda a, b: signal.convolve2d(a, b, fillvalue=1.5), (signed(3, 3), array(2, 2))),
    Case("upfirdn", lambda h, x: signal.upfirdn(h, x, 3, 2), (array(4), signed(2, 5))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_compiled():
    f = lambda a, b: np.sum(signal.fftconvolve(a, b, "same") ** 2)
    a, b = signed(4, 5), array(3, 2)
    np.testing.assert_allclose(ad.jit(f)(a, b), f(a, b), rtol=1e-12)
    for found, wanted in zip(ad.jit(ad.grad(f, (0, 1)))(a, b), ad.grad(f, (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


SIZES = [((7,), (3,)), ((7,), (4,)), ((4,), (7,)), ((6, 7), (4, 3)), ((3, 2), (6, 5))]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_values_in_every_mode(sizes):
    a, b = signed(*sizes[0]), complex_array(*sizes[1])
    modes = ["full", "same", "valid"]
    for second in (b, b.real):
        for name in ("convolve", "correlate"):
            same_in_every_form(
                getattr(signal, name), getattr(scipy.signal, name), a, second, mode=modes, method=["auto", "direct"]
            )
        same_in_every_form(signal.fftconvolve, scipy.signal.fftconvolve, a, second, mode=modes)
        if a.ndim == 2:
            for name in ("convolve2d", "correlate2d"):
                ours, theirs = getattr(signal, name), getattr(scipy.signal, name)
                same_in_every_form(ours, theirs, a, second, mode=modes, boundary=["fill", "wrap", "symm"])
                same_in_every_form(ours, theirs, a, second, mode=modes, fillvalue=[1.5])


def test_values_along_some_axes():
    a, b = signed(3, 5, 2), array(3, 4, 2)
    for first, second in ((a, b), (b, a), (a, b[:1, :, :1]), (b[:1, :, :1], a)):
        options = {"mode": ["full", "same", "valid"], "axes": [1]}
        same_in_every_form(signal.fftconvolve, scipy.signal.fftconvolve, first, second, **options)
    same_in_every_form(signal.upfirdn, scipy.signal.upfirdn, array(4), a, up=[1, 2, 3], down=[1, 3], axis=[0, 1, -1])


def test_numbers():
    assert ad.grad(lambda a: signal.convolve(a, 3.0))(2.0) == 3.0
    assert ad.grad(lambda a: np.real(signal.correlate(a, 3.0 + 1j)))(2.0) == 3.0


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: signal.convolve(x, x, "middle"), ValueError),
        (lambda x: signal.convolve(x, np.ones(2)), ValueError),
        (lambda x: signal.convolve(x, np.ones((1, 9)), "valid"), ValueError),
        (lambda x: signal.convolve2d(x[0], x[0]), ValueError),
        (lambda x: signal.convolve2d(x, x, boundary="round"), ValueError),
        (lambda x: signal.upfirdn(np.ones(2), x, mode="edge"), UnsupportedError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        ad.grad(lambda x: np.sum(call(x)))(np.ones((2, 3)))
