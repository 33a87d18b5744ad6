"""Wave forms: SciPy's values, derivatives in time and parameters."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, every_check
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

T = array(5)
NUMBERS = (np.float64(1.5), np.float64(2.0), np.float64(3.5))
CASES = [
    *[
        Case(f"chirp {m}", lambda t, m=m: signal.chirp(t, 1.5, 2.0, 3.5, m, 30.0, vertex_zero=False), (T,))
        for m in ("linear", "quadratic", "logarithmic", "hyperbolic")
    ],
    Case("gausspulse", lambda t: signal.gausspulse(t, 0.8, 0.6, retquad=True, retenv=True), (T,)),
    Case("sawtooth", lambda t, w: signal.sawtooth(3 * t, w), (T, np.float64(0.37))),
    Case("sweep_poly", lambda t, c: signal.sweep_poly(t, c, 20.0), (0.3 * T, array(3))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_values_and_slopes_in_the_parameters():
    methods = ["linear", "quadratic", "logarithmic", "hyperbolic"]
    options = {"method": methods, "phi": [0, 45.0], "vertex_zero": [True, False], "complex": [False, True]}
    chirp = lambda t, f0, t1, f1, **o: scipy.signal.chirp(t, float(f0), float(t1), float(f1), **o)
    same_in_every_form(signal.chirp, chirp, T, *NUMBERS, **options)
    for method in methods:
        f = lambda f0, t1, f1, method=method: np.sum(signal.chirp(T, f0, t1, f1, method))
        ad.check_grads(f, NUMBERS, order=2)
    assert ad.grad(lambda bw: signal.gausspulse("cutoff", 2.0, bw))(0.5) < 0
    np.testing.assert_allclose(signal.sawtooth(np.array([0.1, 9.0])), scipy.signal.sawtooth(np.array([0.1, 9.0])))
    assert np.isnan(ad.vjp(lambda t: signal.sawtooth(t, 1.5), 0.1)[0])


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="method"):
        ad.grad(lambda t: signal.chirp(t, 1.0, 1.0, 2.0, "cubic"))(0.5)
    with pytest.raises(ValueError, match="same sign"):
        ad.grad(lambda t: signal.chirp(t, 1.0, 1.0, -2.0, "log"))(0.5)
