"""scipy.signal for plain and traced values. Names and arguments are SciPy's; on plain values every function is SciPy's.

A name that is not defined here is SciPy's own, and takes plain values only.
"""

import functools
from typing import Any

import scipy.signal as _theirs

from adjoint.base.errors import UnsupportedError
from adjoint.coverage import REFUSED, find
from adjoint.scipy.signal import windows
from adjoint.scipy.signal.along import is_traced
from adjoint.scipy.signal.convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
    upfirdn,
)
from adjoint.scipy.signal.filtering import (
    deconvolve,
    filtfilt,
    lfilter,
    lfilter_zi,
    lfiltic,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from adjoint.scipy.signal.peaks import (
    argrelextrema,
    argrelmax,
    argrelmin,
    find_peaks,
    peak_prominences,
    peak_widths,
)
from adjoint.scipy.signal.resampling import czt, decimate, hilbert, hilbert2, resample, resample_poly, zoom_fft
from adjoint.scipy.signal.responses import (
    freqs,
    freqs_zpk,
    freqz,
    freqz_sos,
    freqz_zpk,
    group_delay,
    sos2tf,
    sosfreqz,
)
from adjoint.scipy.signal.smoothing import detrend, medfilt, medfilt2d, order_filter, savgol_filter, wiener
from adjoint.scipy.signal.spectra import (
    coherence,
    csd,
    istft,
    lombscargle,
    periodogram,
    spectrogram,
    stft,
    welch,
)
from adjoint.scipy.signal.waves import chirp, gausspulse, sawtooth, sweep_poly

__all__ = [
    "argrelextrema",
    "argrelmax",
    "argrelmin",
    "chirp",
    "coherence",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "czt",
    "decimate",
    "deconvolve",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "find_peaks",
    "freqs",
    "freqs_zpk",
    "freqz",
    "freqz_sos",
    "freqz_zpk",
    "gausspulse",
    "group_delay",
    "hilbert",
    "hilbert2",
    "istft",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "lombscargle",
    "medfilt",
    "medfilt2d",
    "oaconvolve",
    "order_filter",
    "peak_prominences",
    "peak_widths",
    "periodogram",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sawtooth",
    "sos2tf",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "sosfreqz",
    "spectrogram",
    "stft",
    "sweep_poly",
    "upfirdn",
    "welch",
    "wiener",
    "windows",
    "zoom_fft",
]


def __getattr__(name: str) -> Any:
    """Everything else of scipy.signal, for plain values."""
    try:
        theirs = getattr(_theirs, name)
    except AttributeError:
        raise AttributeError(f"adjoint.scipy.signal has no {name!r}, and neither has scipy.signal") from None
    if name.startswith("_") or not callable(theirs) or isinstance(theirs, type):
        return theirs

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        row = find("scipy.signal", name)
        if is_traced(args, kwargs) and (row is None or row.kind == REFUSED):
            words = "it has no derivative rule. Give plain values." if row is None else row.words
            raise UnsupportedError(f"scipy.signal.{name} was given a traced value, but {words}")
        return theirs(*args, **kwargs)

    return call


def __dir__() -> list[str]:
    return sorted({*__all__, *_theirs.__all__})
