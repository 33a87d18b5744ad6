"""Spectra: SciPy's values in every form, derivatives in signals and windows."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.scipy import signal
from tests.numpy.checking import Case, array, complex_array, every_check, signed
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

CASES = [
    Case("welch", lambda x: signal.welch(x, nperseg=6)[1], (signed(2, 14),)),
    Case("csd", lambda x, y: signal.csd(x, y, nperseg=4, detrend=False)[1], (signed(9), array(9))),
    Case("coherence", lambda x, y: signal.coherence(x, y, nperseg=4)[1][1:], (signed(12), array(12))),
    Case("periodogram", lambda x, w: signal.periodogram(x, window=w)[1], (signed(7), array(7))),
    Case("spectrogram", lambda x: signal.spectrogram(x, nperseg=6, noverlap=2, mode="complex")[2], (signed(12),)),
    Case("stft", lambda x, w: signal.stft(x, window=w, nperseg=6, boundary="even")[2], (signed(10), array(6))),
    Case("istft", lambda z: signal.istft(z, nperseg=6)[1], (complex_array(4, 5),)),
    Case("lombscargle", signal.lombscargle, (np.sort(array(7)) * 3, signed(7), array(3))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_compiled():
    x = signed(30)
    loss = lambda x: np.sum(signal.welch(x, nperseg=8)[1] ** 2)
    np.testing.assert_allclose(ad.jit(ad.grad(loss))(x), ad.grad(loss)(x), rtol=1e-10, atol=1e-12)


FORMS = [
    {},
    {"nperseg": [15], "noverlap": [4]},
    {"nperseg": [16], "nfft": [20, 21], "detrend": [False, "linear"]},
    {"nperseg": [10], "window": ["boxcar", ("gaussian", 3.0)], "fs": [3.0], "noverlap": [0], "detrend": [False]},
    {"nperseg": [10], "return_onesided": [False]},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_values_in_every_form(form):
    x, y = signed(2, 50, 3), array(2, 50, 3)
    scalings = ["density", "spectrum"]
    same_in_every_form(
        signal.welch, scipy.signal.welch, x, axis=[1], scaling=scalings, average=["mean", "median"], **form
    )
    same_in_every_form(signal.welch, scipy.signal.welch, x + 1j * y, axis=[1], **form)
    same_in_every_form(signal.csd, scipy.signal.csd, x, y, axis=[1], average=["mean", "median"], **form)
    same_in_every_form(signal.csd, scipy.signal.csd, x, y[:, :40], axis=[-2], **form)
    same_in_every_form(signal.spectrogram, scipy.signal.spectrogram, x, axis=[1, -2], mode=["psd", "magnitude"], **form)
    boundaries = ["zeros", "even", "odd", "constant", None]
    same_in_every_form(signal.stft, scipy.signal.stft, x, axis=[1], boundary=boundaries, padded=[True, False], **form)
    same_in_every_form(signal.stft, scipy.signal.stft, x, axis=[-2], scaling=["spectrum", "psd"], **form)
    if "return_onesided" not in form:
        same_in_every_form(signal.coherence, scipy.signal.coherence, x, y, axis=[1], **form)


def test_angles_and_one_piece():
    x = signed(2, 50, 3)
    forms = {"nperseg": [16], "detrend": [False], "mode": ["angle", "phase"], "axis": [1]}
    same_in_every_form(signal.spectrogram, scipy.signal.spectrogram, x, **forms)
    forms = {"axis": [1], "nfft": [None, 40, 70], "window": ["boxcar", "hann", None], "detrend": [False, "linear"]}
    same_in_every_form(signal.periodogram, scipy.signal.periodogram, x, **forms)


def test_back_again():
    x = signed(2, 50, 3)
    for options in ({"nperseg": 20}, {"nperseg": 16, "noverlap": 12}, {"nperseg": 16, "scaling": "psd"}):
        z = scipy.signal.stft(x, axis=1, **options)[2]
        forms = {name: [value] for name, value in options.items()}
        same_in_every_form(signal.istft, scipy.signal.istft, z, freq_axis=[1], **forms)
        same_in_every_form(
            signal.istft, scipy.signal.istft, np.moveaxis(z, 1, -1), time_axis=[-2], freq_axis=[-1], **forms
        )
    z = scipy.signal.stft(x, axis=1, nperseg=16, return_onesided=False)[2]
    same_in_every_form(
        signal.istft, scipy.signal.istft, z, freq_axis=[1], input_onesided=[False], boundary=[True, False]
    )
    there_and_back = lambda x: signal.istft(signal.stft(x, nperseg=8)[2], nperseg=8)[1][:24]
    np.testing.assert_allclose(ad.jacobian(there_and_back)(signed(24)), np.eye(24), atol=1e-10)


def test_uneven_samples():
    rng = np.random.default_rng(0)
    t, y, w, f = np.sort(rng.uniform(0, 10, 30)), rng.normal(size=30), rng.uniform(0.5, 1, 30), np.linspace(0.5, 6, 7)
    ours = lambda t, y, f, w, **options: signal.lombscargle(t, y, f, weights=w, **options)
    theirs = lambda t, y, f, w, **options: scipy.signal.lombscargle(t, y, f, weights=w, **options)
    same_in_every_form(ours, theirs, t, y, f, w, normalize=[False, True, "amplitude"], floating_mean=[False, True])


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="noverlap"):
        ad.vjp(lambda x: signal.welch(x, nperseg=4, noverlap=5)[1], signed(9))
    with pytest.raises(ValueError, match="nfft"):
        ad.vjp(lambda x: signal.stft(x, nperseg=4, nfft=3)[2], signed(9))
    with pytest.warns(UserWarning, match="nperseg"):
        ad.vjp(lambda x: signal.welch(x)[1], signed(9))
