"""Arguments for the functions of scipy.signal: those not named here are called with a signal."""

import numpy as np

from tests.coverage.agreement import Example, at, each, of

X = np.sin(np.arange(24) * 0.7) + 0.1 * np.cos(np.arange(24) * 2.3)
Y = np.cos(np.arange(24) * 0.4) + 0.3
NOISE = np.random.default_rng(2).standard_normal((2, 24))
IMAGE = np.outer(X[:5], Y[:6]) + np.arange(30).reshape(5, 6) / 7
KERNEL = np.array([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4]])
B, A = np.array([0.4, 0.3, -0.2]), np.array([1.0, -0.5, 0.1])
SOS = np.array([[0.4, 0.3, -0.2, 1.0, -0.5, 0.1]])
Z, P, K = np.array([0.3, -0.5]), np.array([0.6, -0.2]), 1.3
# the leading coefficient of the denominator is one
UNIT, FREE = np.array([0, 0, 0, 1.0, 0, 0]), np.array([1, 1, 1, 0, 1, 1])
T = np.array([0.11, 0.23, 0.42])
W = np.array([0.3, 0.9, 1.7])
SYSTEM = (np.array([[0.2, 0.1], [0.0, -0.3]]), np.array([[1.0], [0.5]]), np.array([[1.0, 0.0]]), np.zeros((1, 1)))


def monic(a):
    """A denominator that begins with a plain one."""
    return np.concatenate([np.ones(1), a[1:]])


EXAMPLES: dict[str, Example] = {
    **each("convolve correlate fftconvolve oaconvolve", at(X, B)),
    **each("convolve2d correlate2d", at(IMAGE, KERNEL)),
    "upfirdn": of(lambda f, h, x: f(h, x, 3, 2), B, X),
    "deconvolve": at(X, B),
    **each("lfilter filtfilt", of(lambda f, b, a, x: f(b, monic(a), x), B, A, X)),
    "lfilter_zi": of(lambda f, b, a: f(b, monic(a)), B, A),
    "lfiltic": of(lambda f, b, a, y: f(b, monic(a), y), B, A, [0.3, 0.2]),
    **each("sosfilt sosfiltfilt", of(lambda f, s, x: f(s * FREE + UNIT, x), SOS, X)),
    "sosfilt_zi": of(lambda f, s: f(s * FREE + UNIT), SOS),
    "sos2tf": at(SOS),
    "savgol_filter": of(lambda f, x: f(x, 5, 2), X),
    "medfilt": of(lambda f, x: f(x, 3), X),
    "medfilt2d": of(lambda f, x: f(x, 3), IMAGE),
    "order_filter": of(lambda f, x: f(x, np.ones(3), 1), X),
    "wiener": of(lambda f, x: f(x, 5), X),
    **each("freqs freqz", of(lambda f, b, a: f(b, a, worN=W)[1], B, A)),
    **each("freqs_zpk freqz_zpk", of(lambda f, z, p, k: f(z, p, k, worN=W)[1], Z, P, K)),
    **each("freqz_sos sosfreqz", of(lambda f, s: f(s * FREE + UNIT, worN=W)[1], SOS)),
    "group_delay": of(lambda f, b, a: f((b, a), w=W)[1], B, A),
    **each("welch spectrogram stft", of(lambda f, x: f(x, nperseg=8)[-1], X)),
    "periodogram": of(lambda f, x: f(x)[1], X),
    **each("csd coherence", of(lambda f, x, y: f(x, y, nperseg=8)[1], NOISE[0], NOISE[1])),
    "istft": of(lambda f, z: f(z, nperseg=8)[1], np.outer(X[:5], np.exp(1j * Y[:6]))),
    "lombscargle": of(lambda f, x, y: f(x, y, W), np.arange(24) * 0.9 + 0.1 * X, X),
    "hilbert2": at(IMAGE),
    "zoom_fft": of(lambda f, x: f(x, [0.1, 0.6], 5), X),
    "resample": of(lambda f, x: f(x, 10), X),
    "resample_poly": of(lambda f, x: f(x, 3, 2), X),
    "decimate": of(lambda f, x: f(x, 2, ftype="fir"), X),
    "chirp": of(lambda f, t, f0, t1, f1: f(t, f0, t1, f1), T, 2.0, 1.5, 3.0),
    "gausspulse": of(lambda f, t: f(t, 5), T),
    "sawtooth": of(lambda f, t: f(t, 0.5), T),
    "sweep_poly": of(lambda f, t, p: f(t, p), T, [0.3, 1.2, 2.0]),
    "peak_prominences": of(lambda f, x: f(x, [2, 11])[0], X),
    "peak_widths": of(lambda f, x: f(x, [2, 11])[0], X),
    "find_peaks": of(lambda f, x: f(x)[0], X),
    "argrelextrema": of(lambda f, x: f(x, np.greater), X),
    "get_window": of(lambda f: f("hann", 5)),
    "correlation_lags": of(lambda f: f(3, 4)),
    "unit_impulse": of(lambda f: f(4)),
    "max_len_seq": of(lambda f: f(3)),
    "savgol_coeffs": of(lambda f: f(5, 2)),
    "czt_points": of(lambda f: f(4)),
    "choose_conv_method": of(lambda f: f(X, B)),
    **each("check_COLA check_NOLA", of(lambda f: f("hann", 8, 4))),
    # refused
    **each("butter bessel", of(lambda f, w: f(2, w), 0.3)),
    **each("cheby1 cheby2", of(lambda f, r, w: f(2, r, w), 1.0, 0.3)),
    **each("cheb1ap cheb2ap", of(lambda f, r: f(2, r), 1.0)),
    **each("buttap besselap", of(lambda f: f(2))),
    **each("buttord cheb1ord cheb2ord ellipord iirdesign", of(lambda f, a, b: f(a, b, 1, 30), 0.2, 0.4)),
    "ellip": of(lambda f, w: f(2, 1.0, 30, w), 0.3),
    "ellipap": of(lambda f, r: f(2, r, 30), 1.0),
    "iirfilter": of(lambda f, w: f(2, w, btype="low"), 0.3),
    "iircomb": of(lambda f, q: f(0.25, q), 20.0),
    **each("iirnotch iirpeak", at(0.3, 20.0)),
    "gammatone": of(lambda f, w: f(w, "iir"), 0.3),
    "firwin": of(lambda f, w: f(5, w), 0.3),
    "firwin2": of(lambda f, g: f(5, [0.0, 0.5, 1.0], g), [1.0, 0.5, 0.0]),
    "firwin_2d": of(lambda f, w: f((3, 3), ("hamming", "hamming"), fc=w), 0.3),
    "firls": of(lambda f, g: f(5, [0.0, 0.2, 0.5, 1.0], g), [1.0, 1.0, 0.0, 0.0]),
    "remez": of(lambda f, g: f(5, [0.0, 0.1, 0.2, 0.5], g), [1.0, 0.0]),
    "minimum_phase": at([0.1, 0.3, 0.5, 0.3, 0.1]),
    "kaiser_atten": of(lambda f, w: f(5, w), 0.3),
    "kaiser_beta": at(30.0),
    "kaiserord": at(30.0, 0.2),
    "band_stop_obj": of(lambda f, w: f(w, 0, np.array([0.1, 0.9]), np.array([0.3, 0.7]), 1, 30, "butter"), 0.15),
    "findfreqs": of(lambda f, b, a: f(b, a, 4), B, A),
    "bilinear": at(B, A),
    "bilinear_zpk": of(lambda f, z, p: f(z, p, 1.0, 2.0), Z, P),
    **each("lp2bp lp2bs lp2hp lp2lp", at(B, A)),
    **each("lp2hp_zpk lp2lp_zpk zpk2sos zpk2ss zpk2tf", of(lambda f, z, p: f(z, p, 1.0), Z, P)),
    **each("lp2bp_zpk lp2bs_zpk", of(lambda f, z, p: f(z + 0.3j, p + 0.2j, 1.0), Z, P)),
    **each("normalize tf2sos tf2ss tf2zpk residue residuez", at(B, A)),
    "sos2zpk": at(SOS),
    **each("ss2tf ss2zpk", at(*SYSTEM)),
    **each("invres invresz", of(lambda f, r, p: f(r, p, []), Z, P)),
    "unique_roots": at(P),
    **each("impulse step", of(lambda f, b, a: f((b, a)), B, A)),
    **each("bode freqresp", of(lambda f, b, a: f((b, a), W), B, A)),
    **each("dimpulse dstep", of(lambda f, b, a: f((b, a, 1.0), n=4), B, A)),
    **each("dbode dfreqresp", of(lambda f, b, a: f((b, a, 1.0), W), B, A)),
    "lsim": of(lambda f, u: f((B, A), u, np.arange(24.0)), X),
    "dlsim": of(lambda f, u: f((B, A, 1.0), u), X),
    "cont2discrete": of(lambda f, b, a: f((b, a), 0.5), B, A),
    "abcd_normalize": at(*SYSTEM),
    "place_poles": of(lambda f, a, p: f(a, SYSTEM[1], p), SYSTEM[0], [-0.3, -0.6]),
    **each("cspline2d qspline2d", at(np.outer(X, Y))),
    "spline_filter": of(lambda f, x: f(x, 0.1), np.outer(X, Y)),
    **each("cspline1d_eval qspline1d_eval", of(lambda f, c, x: f(c, x), X, [1.3, 2.6])),
    "symiirorder1": of(lambda f, x: f(x, 0.4, 0.3), X),
    "symiirorder2": of(lambda f, x: f(x, 0.1, 0.3), X),
    "sepfir2d": of(lambda f, x: f(x, B, B), IMAGE),
    "gauss_spline": of(lambda f, x: f(x, 2), X),
    "closest_STFT_dual_window": of(lambda f, w: f(w, 3), Y[:6]),
    "vectorstrength": of(lambda f, x: f(x, 3.0), X),
    # of older versions
    **each("morlet ricker", of(lambda f, w: f(5, w), 1.3)),
    "morlet2": of(lambda f, w: f(5, w), 1.3),
    "cwt": of(lambda f, x: f(x, lambda m, s: np.ones(int(m)) / s, [1.0, 2.0]), X),
    **each("cascade qmf", at(B)),
    "daub": of(lambda f: f(2)),
    "cmplx_sort": at(X),
    "find_peaks_cwt": of(lambda f, x: f(x, np.arange(1, 4)), X),
}


def example(name: str) -> Example:
    """Arguments for a function of scipy.signal."""
    return EXAMPLES.get(name) or at(X)
