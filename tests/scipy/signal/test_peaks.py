"""Peaks: SciPy's places and properties; properties move with the signal."""

import numpy as np
import pytest
import scipy.signal

import adjoint as ad
from adjoint.base.errors import ControlFlowError
from adjoint.scipy import signal

X = np.sin(np.arange(60) * 0.37) + 0.3 * np.random.default_rng(0).normal(size=60)
EVERYTHING = {"height": (None, None), "threshold": (None, None), "prominence": 0.2, "width": 0.1, "plateau_size": 0}


def test_places_and_properties():
    kept = []

    def f(x):
        peaks, properties = signal.find_peaks(x, **EVERYTHING)
        kept.append(peaks)
        return properties

    found, _ = ad.vjp(f, X)
    peaks, wanted = scipy.signal.find_peaks(X, **EVERYTHING)
    np.testing.assert_array_equal(kept[0], peaks)
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "name", ["peak_heights", "left_thresholds", "prominences", "widths", "left_ips", "width_heights"]
)
def test_properties_move_with_the_signal(name):
    ad.check_grads(
        lambda x: np.sum(signal.find_peaks(x, **EVERYTHING)[1][name] ** 2),
        (X,),
        order=2 if name == "prominences" else 1,
    )


def test_prominences_and_widths_of_given_peaks():
    peaks, _ = scipy.signal.find_peaks(X, prominence=0.5)
    for ours, theirs in (
        (signal.peak_prominences, scipy.signal.peak_prominences),
        (signal.peak_widths, scipy.signal.peak_widths),
    ):
        found = ad.vjp(lambda x, ours=ours: ours(x, peaks), X)[0]
        for part, wanted in zip(found, theirs(X, peaks), strict=True):
            np.testing.assert_allclose(part, wanted, atol=1e-12)
    smooth = np.sin(np.arange(60) * 0.37)
    tops, _ = scipy.signal.find_peaks(smooth)
    widths = lambda x: signal.peak_widths(x, tops, 0.7)[0]
    v, step = np.cos(np.arange(60)), 1e-6
    differences = (widths(smooth + step * v) - widths(smooth - step * v)) / (2 * step)
    np.testing.assert_allclose(ad.jvp(widths, (smooth,), (v,))[1], differences, rtol=1e-6, atol=1e-7)


def test_extrema_are_constant():
    for name in ("argrelmax", "argrelmin"):
        kept = []
        ad.grad(lambda x, name=name, kept=kept: kept.append(getattr(signal, name)(x)) or np.sum(x))(X)
        np.testing.assert_array_equal(kept[0][0], getattr(scipy.signal, name)(X)[0])
    limited = lambda x: np.sum(np.take(x, signal.find_peaks(x, height=x[0])[0]))
    peaks = scipy.signal.find_peaks(X, height=X[0])[0]
    np.testing.assert_array_equal(np.flatnonzero(ad.grad(limited)(X)), peaks)


def test_compiled_code_cannot_count_peaks():
    with pytest.raises(ControlFlowError, match="how many peaks"):
        ad.trace(lambda x: signal.find_peaks(x, height=0.0)[1]["peak_heights"])(X)
