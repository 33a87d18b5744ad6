"""Draws docs/pictures/integrals.png."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import scipy.integrate
from matplotlib import pyplot

import adjoint as ad
from adjoint import integrate

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def three_peaks(x):
    """The last of Kahaner's integrands."""
    return np.cosh(10 * (x - 0.2)) ** -2 + np.cosh(100 * (x - 0.4)) ** -4 + np.cosh(1000 * (x - 0.6)) ** -6


def draw_integrals() -> None:
    """Where an integrand is evaluated; which peaks are missed, ours and SciPy's."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    seen: list[float] = []
    ours = integrate.quad(three_peaks, 0.0, 1.0)
    theirs = scipy.integrate.quad(lambda x: seen.append(x) or three_peaks(x), 0.0, 1.0, epsabs=1e-12, epsrel=1e-10)[0]
    x = np.sort(np.concatenate([np.linspace(0.0, 1.0, 500), 0.6 + np.linspace(-0.01, 0.01, 200)]))
    left.plot(x, three_peaks(x), "k", lw=1)
    left.plot(seen, three_peaks(np.array(seen)), "C1.", ms=4, label=f"SciPy's nodes, {theirs:.6f}")
    left.plot([], [], "k", lw=1, label=f"the integrand; integrate.quad: {float(ours.value):.6f}")
    left.set_ylim(-0.05, 1.45)
    left.set_xlabel("x")
    left.set_title("three peaks, ∫ = 0.210803")
    left.legend(loc="upper right")

    widths = 10.0 ** np.arange(-5.0, -0.9, 0.25)
    centers = np.random.default_rng(0).uniform(0.1, 0.9, 40)
    bell = lambda x, c, w: np.exp(-(((x - c) / w) ** 2))
    every = ad.jit(ad.vmap(lambda c, w: integrate.quad(bell, 0.0, 1.0, args=(c, w)).value, in_axes=(0, None)))
    single = lambda c, w: scipy.integrate.quad(bell, 0.0, 1.0, args=(c, w), epsabs=1e-12, epsrel=1e-10)[0]
    missed = lambda values, w: 100 * np.mean(np.asarray(values) < 0.5 * w * np.sqrt(np.pi))
    right.semilogx(widths, [missed([single(c, w) for c in centers], w) for w in widths], "C1o-", label="SciPy's quad")
    right.semilogx(widths, [missed(every(centers, w), w) for w in widths], "C0o-", label="integrate.quad")
    right.set_xlabel("width of a peak in [0, 1]")
    right.set_title("% of 40 peaks that are missed")
    right.legend()
    figure.savefig(PICTURES / "integrals.png", dpi=110)


if __name__ == "__main__":
    draw_integrals()
