"""Recursive filters: SciPy's values, derivatives in coefficients, signal and states."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

B, A = scipy.signal.butter(2, 0.4)
SOS = scipy.signal.butter(3, 0.4, output="sos")
SECTIONS = (SOS[:, :3], SOS[:, 4:])  # the coefficients that may change: a[0] is one


def sections(b, a):
    return np.concatenate([b, np.ones((len(b), 1)), a], axis=1)


CASES = [
    Case("lfilter", signal.lfilter, (B, 1.5 * A, signed(2, 6))),
    Case("lfilter with states", lambda b, a, x, z: signal.lfilter(b, a, x, 0, z), (B, A, signed(5, 2), array(2, 2))),
    Case(
        "more zeros than poles",
        lambda b, a, x, z: signal.lfilter(b, a, x, zi=z),
        (array(4), A[:2], signed(5), array(3)),
    ),
    Case("no poles", signal.lfilter, (array(3), np.array([2.0]), signed(5))),
    Case("lfilter_zi", signal.lfilter_zi, (B, 1.5 * A)),
    Case("lfiltic", signal.lfiltic, (B, 1.5 * A, array(2), array(1))),
    Case("deconvolve", signal.deconvolve, (signed(6), array(3) + 1.0)),
    Case(
        "sosfilt", lambda b, a, x, z: signal.sosfilt(sections(b, a), x, zi=z), (*SECTIONS, signed(2, 5), array(2, 2, 2))
    ),
    Case("sosfilt without states", lambda b, a, x: signal.sosfilt(sections(b, a), x), (*SECTIONS, signed(6))),
    Case("sosfilt_zi", signal.sosfilt_zi, (SOS,)),
    Case("filtfilt", lambda b, a, x: signal.filtfilt(b, a, x, padlen=4), (B, A, signed(2, 7))),
    Case("sosfiltfilt", lambda b, a, x: signal.sosfiltfilt(sections(b, a), x, padlen=3), (*SECTIONS, signed(6))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("case", [CASES[0], CASES[11]], ids=lambda case: case.name)
def test_compiled(case):
    np.testing.assert_allclose(ad.jit(case.function)(*case.inputs), case.function(*case.inputs), rtol=1e-10, atol=1e-12)
    gradient = ad.grad(lambda *xs: np.sum(case.function(*xs) ** 2), tuple(range(len(case.inputs))))
    for found, wanted in zip(ad.jit(gradient)(*case.inputs), gradient(*case.inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_values_in_every_form():
    b, a = scipy.signal.butter(3, 0.3)
    x = signed(2, 40, 3)
    for zeros, poles in ((b, 1.7 * a), (b[:2], a), (b, a[:2])):
        same_in_every_form(signal.lfilter, scipy.signal.lfilter, zeros, poles, x, axis=[0, 1, -1])
        order = max(len(zeros), len(poles)) - 1
        for n in (40, 2, 1):  # also signals shorter than the filter
            part, zi = x[:, :n], array(2, order, 3)
            f = lambda b, a, x, z: signal.lfilter(b, a, x, 1, z)
            g = lambda b, a, x, z: scipy.signal.lfilter(b, a, x, 1, z)
            same_in_every_form(f, g, zeros, poles, part, zi)
        options = {"axis": [1], "padtype": ["odd", "even", "constant", None]}
        same_in_every_form(signal.filtfilt, scipy.signal.filtfilt, zeros, poles, x, **options)
    sos = scipy.signal.butter(5, 0.3, output="sos")
    same_in_every_form(signal.sosfilt, scipy.signal.sosfilt, sos, x, axis=[0, 1, -1])
    same_in_every_form(signal.sosfiltfilt, scipy.signal.sosfiltfilt, sos, x, axis=[1], padtype=["odd", "even", None])


def test_one_coefficient_at_a_time():
    """The filter of a single pole is a power series: y[t] = aᵗ."""
    impulse = np.eye(6)[0]
    f = lambda a: signal.lfilter([1.0], np.stack([np.ones_like(a), -a]), impulse)
    t = np.arange(6)
    np.testing.assert_allclose(ad.jvp(f, (0.7,), (1.0,))[1], t * 0.7 ** np.maximum(t - 1, 0), rtol=1e-12)
    _, series = ad.jet(f, (0.7,), ((1.0, 0.0),))
    np.testing.assert_allclose(series[1], t * (t - 1) * 0.7 ** np.maximum(t - 2, 0), rtol=1e-12, atol=1e-14)


def test_a_fitted_filter():
    """Newton's method on the coefficient of a pole finds it again."""
    x = np.random.default_rng(0).normal(size=200)
    target = scipy.signal.lfilter([1.0], [1.0, -0.8], x)
    loss = lambda a: np.sum((signal.lfilter([1.0], np.stack([1.0 + 0.0 * a, -a]), x) - target) ** 2)
    a = 0.75
    for _ in range(8):
        a = a - ad.grad(loss)(a) / ad.grad(ad.grad(loss))(a)
    assert a == pytest.approx(0.8, rel=1e-10)


def test_single_precision():
    b, a, x = (v.astype(np.float32) for v in (B, A, signed(2, 8)))
    assert ad.vjp(lambda x: signal.lfilter(b, a, x), x)[0].dtype == np.float32
    assert ad.grad(lambda a: np.sum(signal.lfilter(b, a, x)))(a).dtype == np.float32


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: signal.lfilter(B, A, x, zi=np.ones(5)), ShapeError),
        (lambda x: signal.lfilter(np.ones((2, 2)), A, x), ValueError),
        (lambda x: signal.filtfilt(B, A, x), ValueError),
        (lambda x: signal.filtfilt(B, A, x, method="gust"), UnsupportedError),
        (lambda x: signal.filtfilt(B, A, x, padtype="round"), ValueError),
        (lambda x: signal.sosfilt(np.ones((2, 5)), x), ShapeError),
        (lambda x: signal.sosfilt(SOS, x, zi=np.ones((2, 3))), ShapeError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        ad.vjp(call, np.ones(6))
