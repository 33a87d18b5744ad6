"""Frequency responses: SciPy's values, derivatives in coefficients, roots and frequencies."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, complex_array, every_check
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

B, A = scipy.signal.butter(2, 0.4)
SOS = scipy.signal.butter(3, 0.4, output="sos")
W = array(4)
CASES = [
    Case("freqz", lambda b, a, w: signal.freqz(b, a, w)[1], (B, A, W)),
    Case("freqz of a number of points", lambda b: signal.freqz(b, worN=5)[1], (B,)),
    Case(
        "freqz_zpk", lambda z, p, k: signal.freqz_zpk(z, p, k, W)[1], (complex_array(2), 3 * complex_array(2), array())
    ),
    Case("freqs", lambda b, a: signal.freqs(b, a, W)[1], (B, A)),
    Case("freqs_zpk", lambda z, p: signal.freqs_zpk(z, p, 2.0, W)[1], (complex_array(2), complex_array(2) - 3)),
    Case("group_delay", lambda b, a: signal.group_delay((b, a), W)[1], (B, A)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_values_in_every_form():
    points = [None, 20, W]
    same_in_every_form(signal.freqz, scipy.signal.freqz, B, A, worN=points, whole=[False, True], fs=[2 * np.pi, 3.0])
    same_in_every_form(signal.freqz, scipy.signal.freqz, B, A, worN=[9], include_nyquist=[False, True])
    same_in_every_form(signal.freqz_sos, scipy.signal.freqz_sos, SOS, worN=points, whole=[False, True], fs=[3.0])
    same_in_every_form(signal.sosfreqz, scipy.signal.sosfreqz, SOS)
    z, p, k = scipy.signal.butter(3, 0.3, output="zpk")
    same_in_every_form(signal.freqz_zpk, scipy.signal.freqz_zpk, z, p, np.float64(k), worN=points, whole=[False, True])
    delay = lambda b, a, **o: signal.group_delay((b, a), **o)
    inside = np.array([0.2, 0.4, 0.1])  # the zeros of B are on the unit circle, where the delay is 0 / 0
    same_in_every_form(
        delay, lambda b, a, **o: scipy.signal.group_delay((b, a), **o), inside, A, w=points, whole=[False, True]
    )
    found = ad.vjp(signal.sos2tf, SOS)[0]
    for part, wanted in zip(found, scipy.signal.sos2tf(SOS), strict=True):
        np.testing.assert_allclose(part, wanted, atol=1e-14)


def test_what_has_no_rule():
    with pytest.raises(UnsupportedError, match="worN"):
        ad.vjp(lambda b: signal.freqs(b, A)[1], B)
    with pytest.raises(UnsupportedError, match="plot"):
        ad.vjp(lambda b: signal.freqz(b, A, plot=print)[1], B)
