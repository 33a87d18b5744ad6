"""Other rates and analytic signals: SciPy's values, linear maps with their adjoints."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, complex_array, every_check, signed
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

CASES = [
    Case("hilbert", lambda x: signal.hilbert(x, 7), (signed(2, 6),)),
    Case("hilbert2", signal.hilbert2, (signed(3, 4),)),
    Case("czt", lambda x: signal.czt(x, 4, np.exp(-0.3j), 0.9), (signed(2, 5),)),
    Case("zoom_fft", lambda x: signal.zoom_fft(x, [0.1, 0.5], 3), (complex_array(5),)),
    Case("resample", lambda x: signal.resample(x, 8, window="hann"), (signed(6, 2),)),
    Case("resample complex", lambda x: signal.resample(x, 4), (complex_array(6),)),
    Case("resample_poly", lambda x, h: signal.resample_poly(x, 3, 2, window=h, padtype="mean"), (signed(6), array(5))),
    Case("decimate", lambda x: signal.decimate(x, 2, 3), (signed(2, 16),)),
    Case("decimate fir", lambda x: signal.decimate(x, 3, 4, "fir", axis=0), (signed(10),)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("n", [8, 9])
def test_values_in_every_form(n):
    x = signed(2, n, 3)
    z = complex_array(2, n, 3)
    same_in_every_form(signal.hilbert, scipy.signal.hilbert, x, N=[None, 6, 11], axis=[1])
    same_in_every_form(signal.hilbert2, scipy.signal.hilbert2, x, N=[None, 5, (4, 6)], axes=[(0, 1), (-2, -1)])
    same_in_every_form(signal.czt, scipy.signal.czt, z, m=[None, 5], w=[None, np.exp(-0.3j)], a=[1.0, 0.9], axis=[1])
    same_in_every_form(
        signal.zoom_fft, scipy.signal.zoom_fft, x, fn=[0.5, [0.1, 0.4]], endpoint=[False, True], axis=[1]
    )
    lengths, windows = [4, 5, n, 12, 13], [None, "hann", array(n), np.cos]
    same_in_every_form(signal.resample, scipy.signal.resample, x, num=lengths, axis=[1], window=windows)
    same_in_every_form(
        signal.resample, scipy.signal.resample, z, num=lengths, axis=[1], window=windows, domain=["time", "freq"]
    )
    for up, down in ((2, 1), (1, 2), (3, 2), (2, 5), (3, 3)):
        padtypes = ["constant", "mean", "median", "minimum", "maximum"]
        options = {"up": [up], "down": [down], "axis": [1]}
        same_in_every_form(signal.resample_poly, scipy.signal.resample_poly, x, padtype=padtypes, **options)
        same_in_every_form(signal.resample_poly, scipy.signal.resample_poly, x, window=[array(5), array(6)], **options)


def test_decimated_values():
    x = signed(2, 70, 3)
    systems = ["iir", "fir", scipy.signal.dlti([1.0, 0.5], [1.0, -0.3]), scipy.signal.dlti([1.0, 0.5, 0.2], [1.0])]
    same_in_every_form(
        signal.decimate, scipy.signal.decimate, x, q=[2, 3], ftype=systems, axis=[1], zero_phase=[True, False]
    )


def test_times_go_along():
    t = np.linspace(0.0, 1.0, 6)
    x = signed(6)
    kept = []
    ad.grad(lambda x: np.sum(kept.append(signal.resample(x, 9, t)) or kept[-1][0]))(x)
    np.testing.assert_allclose(kept[0][1], scipy.signal.resample(x, 9, t)[1])


def test_what_has_no_rule():
    with pytest.raises(UnsupportedError, match=r"np\.pad"):
        ad.vjp(lambda x: signal.resample_poly(x, 2, 1, padtype="line"), signed(6))
    with pytest.raises(UnsupportedError, match="'w'"):
        ad.vjp(lambda w: signal.czt(np.ones(3), w=w), 0.5)
    with pytest.raises(ValueError, match="real"):
        ad.vjp(signal.hilbert, complex_array(4))
