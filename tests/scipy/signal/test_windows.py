"""Windows: SciPy's values, derivatives in their parameters."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, every_check
from tests.scipy.signal.agreement import CHECKS

number = lambda x: np.float64(x)
CASES = [
    Case(f"{name} {sym}", lambda *xs, name=name, sym=sym: getattr(signal.windows, name)(7, *xs, sym=sym), inputs)
    for name, inputs in {
        "gaussian": (number(1.3),),
        "general_gaussian": (number(1.5), number(2.0)),
        "kaiser": (number(4.0),),
        "general_cosine": (array(3),),
        "general_hamming": (number(0.6),),
        "tukey": (number(0.45),),
    }.items()
    for sym in (True, False)
]
CASES.append(Case("exponential", lambda tau: signal.windows.exponential(7, tau=tau), (number(1.5),)))
CASES.append(Case("shifted", lambda c: signal.windows.exponential(7, c, 2.0, sym=False), (number(1.5),)))


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_the_others_are_scipys():
    np.testing.assert_array_equal(signal.windows.hann(5), scipy.signal.windows.hann(5))
    np.testing.assert_array_equal(signal.get_window("hamming", 6), scipy.signal.get_window("hamming", 6))
    assert "dpss" in dir(signal.windows)
    with pytest.raises(UnsupportedError, match="chebwin"):
        ad.vjp(lambda at: signal.windows.chebwin(5, at), 60.0)
