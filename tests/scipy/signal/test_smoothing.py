"""Trends and smoothing: SciPy's values and derivatives."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.scipy import signal
from tests.numpy.checking import Case, every_check, signed
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

CASES = [
    Case("detrend", signal.detrend, (signed(2, 5),)),
    Case("savgol_filter", lambda x: signal.savgol_filter(x, 5, 2), (signed(2, 7),)),
    Case("savgol_filter derivative", lambda x: signal.savgol_filter(x, 4, 2, 1, mode="mirror"), (signed(6),)),
    Case("medfilt", signal.medfilt, (signed(3, 4),)),
    Case("order_filter", lambda x: signal.order_filter(x, np.eye(3), 1), (signed(3, 4),)),
    Case("wiener", lambda x, noise: signal.wiener(x, 3, noise), (signed(3, 4), np.float64(0.3))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("n", [8, 9])
def test_values_in_every_form(n):
    x = signed(2, n, 3)
    same_in_every_form(signal.detrend, scipy.signal.detrend, x, axis=[1], type=["linear", "constant"], bp=[0, [3, 5]])
    options = {"deriv": [0, 1, 2, 4], "delta": [0.5], "axis": [1], "cval": [0.7]}
    options |= {"mode": ["interp", "mirror", "constant", "nearest", "wrap"]}
    for length, order in ((5, 2), (4, 2), (7, 3)):
        chosen = {"window_length": [length], "polyorder": [order]}
        same_in_every_form(signal.savgol_filter, scipy.signal.savgol_filter, x, **chosen, **options)
    same_in_every_form(signal.medfilt, scipy.signal.medfilt, x, kernel_size=[None, 3, [1, 5, 3]])
    same_in_every_form(signal.medfilt2d, scipy.signal.medfilt2d, x[0], kernel_size=[3, [5, 1]])
    same_in_every_form(signal.wiener, scipy.signal.wiener, x[0], mysize=[None, 3, [5, 3]], noise=[None, 0.4])
    domain = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]])
    same_in_every_form(signal.order_filter, scipy.signal.order_filter, x[0], domain=[domain], rank=[0, 2])


def test_a_line_has_no_rest_and_no_slope():
    line = np.linspace(1.0, 3.0, 6)
    value, slope = ad.jvp(signal.detrend, (line,), (np.ones(6),))
    np.testing.assert_allclose([value, slope], np.zeros((2, 6)), atol=1e-12)


def test_even_boxes_are_refused():
    with pytest.raises(ValueError, match="odd"):
        ad.vjp(lambda x: signal.medfilt(x, 4), np.ones(6))
