"""Signals: filters, spectra, correlation, prediction and resampling."""

import cmath
import math
from collections import deque

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import solve_toeplitz
from scipy.ndimage import convolve1d
from scipy.signal import savgol_filter

from tests.corpus.programs import Program


class Biquad:
    """A second-order section in transposed direct form, which keeps its state between samples."""

    def __init__(self, b0, b1, b2, a1, a2):
        self.b = (b0, b1, b2)
        self.a = (a1, a2)
        self.reset()

    def reset(self):
        self.s1 = 0.0
        self.s2 = 0.0

    def process(self, x):
        b0, b1, b2 = self.b
        a1, a2 = self.a
        y = b0 * x + self.s1
        self.s1 = b1 * x - a1 * y + self.s2
        self.s2 = b2 * x - a2 * y
        return y


def low_pass(samples, cutoff, q=0.7071):
    """A signal through a low-pass biquad; the cutoff is a fraction of the sampling rate."""
    w0 = 2 * math.pi * cutoff
    alpha = math.sin(w0) / (2 * q)
    a0 = 1 + alpha
    b1 = (1 - math.cos(w0)) / a0
    section = Biquad(b1 / 2, b1, b1 / 2, -2 * math.cos(w0) / a0, (1 - alpha) / a0)
    return np.array([section.process(x) for x in samples])


def exponential_smoothing(samples, alpha, beta=0.3, horizon=3):
    """Holt's forecast: level and trend, smoothed."""
    level = samples[0]
    trend = samples[1] - samples[0]
    for x in samples[1:]:
        previous = level
        level = alpha * x + (1 - alpha) * (level + trend)
        trend = beta * (level - previous) + (1 - beta) * trend
    return np.array([level + k * trend for k in range(1, horizon + 1)])


def goertzel_power(samples, frequency):
    """Power of one frequency, given in cycles per sample."""
    coeff = 2 * math.cos(2 * math.pi * frequency)
    s_prev = s_prev2 = 0.0
    for x in samples:
        s = x + coeff * s_prev - s_prev2
        s_prev2, s_prev = s_prev, s
    return s_prev**2 + s_prev2**2 - coeff * s_prev * s_prev2


def recursive_fft_power(samples):
    """Power spectrum by Cooley and Tukey's recursion."""

    def fft(x):
        n = len(x)
        if n == 1:
            return list(x)
        even, odd = fft(x[0::2]), fft(x[1::2])
        twiddled = [cmath.exp(-2j * cmath.pi * k / n) * odd[k] for k in range(n // 2)]
        return [e + t for e, t in zip(even, twiddled)] + [e - t for e, t in zip(even, twiddled)]

    assert len(samples) & (len(samples) - 1) == 0, "length must be a power of two"
    return np.array([abs(c) ** 2 for c in fft(samples)[: len(samples) // 2 + 1]])


def spectral_centroid(samples, rate=100.0):
    """Centroid and spread of a windowed spectrum."""
    n = len(samples)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)
    spectrum = np.abs(np.fft.rfft(samples * window)) ** 2
    freqs = np.fft.rfftfreq(n, 1 / rate)
    power = np.trapezoid(spectrum, freqs)
    centroid = np.trapezoid(freqs * spectrum, freqs) / power
    spread = np.sqrt(np.trapezoid((freqs - centroid) ** 2 * spectrum, freqs) / power)
    return np.array([centroid, spread])


def levinson_durbin(samples, order=3):
    """Coefficients of linear prediction, by the recursion on the autocorrelations."""
    n = len(samples)
    r = [np.dot(samples[: n - lag], samples[lag:]) for lag in range(order + 1)]
    a = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0]
    for i in range(1, order + 1):
        acc = r[i]
        for j in range(1, i):
            acc += a[j] * r[i - j]
        k = -acc / error
        previous = a.copy()
        for j in range(1, i):
            a[j] = previous[j] + k * previous[i - j]
        a[i] = k
        error *= 1 - k**2
    return a[1:]


def wiener_filter(samples, noise, taps=4):
    """Output power of the Wiener filter for white noise of a given variance."""
    n = len(samples)
    full = np.correlate(samples, samples, mode="full") / n
    r = full[n - 1 : n - 1 + taps]
    column = r.copy()
    column[0] += noise
    h = solve_toeplitz(column, r)
    filtered = np.convolve(samples, h, mode="same")
    return np.mean(filtered**2)


def adaptive_line_enhancer(samples, mu, taps=4, delay=1):
    """Squared error of an LMS predictor over the second half of a record."""
    weights = np.zeros(taps)
    history = deque([0.0] * (taps + delay), maxlen=taps + delay)
    errors = []
    for x in samples:
        u = np.array(list(history)[:taps])
        e = x - weights @ u
        weights += mu * e * u
        errors.append(e)
        history.append(x)
    half = len(errors) // 2
    return sum(e * e for e in errors[half:]) / (len(errors) - half)


def dominant_delay(reference, delayed):
    """Delay between two records: the peak of their correlation, refined by a parabola."""
    n = len(reference)
    lags = range(-n + 1, n)
    corr = {}
    for lag in lags:
        corr[lag] = sum(reference[i] * delayed[i + lag] for i in range(n) if 0 <= i + lag < n)
    best = max(corr, key=corr.get)
    if best in (lags[0], lags[-1]):
        return float(best)
    left, mid, right = corr[best - 1], corr[best], corr[best + 1]
    return best + 0.5 * (left - right) / (left - 2 * mid + right)


def zero_crossing_rate(samples, offset):
    """Mean distance of interpolated zero crossings of a signal with an offset."""

    def crossings(x):
        for i in range(len(x) - 1):
            if x[i] * x[i + 1] < 0:
                yield i + x[i] / (x[i] - x[i + 1])

    times = list(crossings(samples - offset))
    if len(times) < 2:
        return 0.0
    return (times[-1] - times[0]) / (len(times) - 1)


def compressor(samples, threshold, ratio=4.0, attack=0.3, release=0.05):
    """A feed-forward compressor of dynamic range: an envelope follower and a gain in decibels."""
    envelope = 1e-3
    out = np.empty_like(samples)
    for i, x in enumerate(samples):
        level = math.sqrt(x * x + 1e-9)
        rate = attack if level > envelope else release
        envelope += rate * (level - envelope)
        over = 20 * math.log10(envelope) - threshold
        gain_db = -over * (1 - 1 / ratio) if over > 0 else 0.0
        out[i] = x * 10 ** (gain_db / 20)
    return out


def resampled_energy(samples, stretch):
    """Energy of the derivative of a stretched signal, with a natural cubic spline."""
    t = np.arange(len(samples), dtype=float)
    spline = CubicSpline(t, samples, bc_type="natural")
    times = np.arange(0.5, 6.0, 0.5) * stretch
    smooth = savgol_filter(spline(times), 5, 2)
    return np.sum(np.diff(smooth) ** 2)


def edge_strength(samples, width):
    """Soft maximum of a signal filtered by the derivative of a Gaussian."""
    half = 4
    k = np.arange(-half, half + 1)
    kernel = -k * np.exp(-(k**2) / (2 * width**2))
    kernel /= np.abs(kernel).sum()
    response = convolve1d(samples, kernel, mode="reflect")
    peak = response.max()
    return peak + np.log(np.sum(np.exp(response - peak)))


T = np.arange(32)
CHIRP = np.sin(0.31 * T + 0.004 * T**2) + 0.2 * np.cos(1.7 * T)
SHORT = np.array([0.3, 1.1, -0.4, 0.7, 1.9, -1.2, 0.5, 0.8])

PROGRAMS = [
    Program(low_pass, (CHIRP, 0.12)),
    Program(exponential_smoothing, (SHORT, 0.4)),
    Program(goertzel_power, (CHIRP, 0.11)),
    Program(recursive_fft_power, (CHIRP[:16],)),
    Program(spectral_centroid, (CHIRP,)),
    Program(levinson_durbin, (CHIRP,)),
    Program(wiener_filter, (CHIRP, 0.2)),
    Program(adaptive_line_enhancer, (CHIRP, 0.05)),
    Program(dominant_delay, (CHIRP[2:22], CHIRP[:20])),
    Program(zero_crossing_rate, (CHIRP, 0.07)),
    Program(compressor, (0.9 * CHIRP, -8.0)),
    Program(resampled_energy, (SHORT, 1.1)),
    Program(edge_strength, (CHIRP, 1.3)),
]
