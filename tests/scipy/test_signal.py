"""adjoint.scipy.signal as a namespace: signatures, SciPy's functions on plain values, refusals with a reason."""

import inspect

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import signal

FUNCTIONS = [name for name in signal.__all__ if name not in ("windows", "sosfreqz")]
LATELY = {"precenter"}  # an argument that SciPy is about to drop


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_scipys(name):
    ours, theirs = inspect.signature(getattr(signal, name)), inspect.signature(getattr(scipy.signal, name))
    wanted = {n: p for n, p in theirs.parameters.items() if n not in LATELY}
    assert list(ours.parameters) == list(wanted)
    for parameter, expected in zip(ours.parameters.values(), wanted.values(), strict=True):
        same = "hann", ("tukey", 0.25)  # the periodic window under its shorter name
        if parameter.default not in same:
            assert np.all(parameter.default == expected.default), f"{name}({parameter.name})"


def test_plain_values_go_to_scipy():
    x = np.arange(8.0)
    np.testing.assert_array_equal(signal.convolve(x, x), scipy.signal.convolve(x, x))
    np.testing.assert_array_equal(signal.butter(2, 0.3), scipy.signal.butter(2, 0.3))
    assert signal.dlti is scipy.signal.dlti
    assert "butter" in dir(signal)


def test_refusals_say_why():
    with pytest.raises(UnsupportedError, match=r"scipy\.signal\.butter was given a traced value, but"):
        ad.vjp(lambda w: signal.butter(2, w), 0.3)
    with pytest.raises(UnsupportedError, match="'fs'"):
        ad.vjp(lambda fs: signal.welch(np.ones(8), fs, nperseg=4)[1], 2.0)
    with pytest.raises(AttributeError, match="neither has"):
        signal.no_such_function


def test_functions_without_an_own_form_pass():
    assert ad.grad(signal.kaiser_beta)(60.0) == pytest.approx(0.1102)
