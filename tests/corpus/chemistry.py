"""Chemistry: kinetics, titration, phase equilibrium, spectra."""

import math
from itertools import pairwise

import numpy as np
from scipy.special import erfcx

from tests.corpus.programs import Program


def titration_ph(base_volume, acid_concentration, pka, base_concentration=0.1, acid_volume=25.0, tol=1e-13):
    """pH of a weak acid to which a strong base was added, by bisection on the balance of charges."""
    total = acid_volume + base_volume
    sodium = base_concentration * base_volume / total
    acid = acid_concentration * acid_volume / total
    ka = 10.0**-pka

    def charge(ph):
        h = 10.0**-ph
        return sodium + h - 1e-14 / h - acid * ka / (ka + h)

    low, high = 0.0, 14.0
    assert charge(low) > 0 > charge(high)
    while high - low > tol * (1 + abs(low)):
        middle = (low + high) / 2
        if charge(middle) > 0:
            low = middle
        else:
            high = middle
    # one last step by the secant through the ends
    f_low, f_high = charge(low - 1e-3), charge(high + 1e-3)
    return low - 1e-3 + (high - low + 2e-3) * f_low / (f_low - f_high)


def flash_split(feed, k_values):
    """Liquid and vapor compositions of a flashed feed (Rachford and Rice's equation), one below the other."""
    z = feed / np.sum(feed)
    k1 = k_values - 1
    if np.sum(z * k_values) <= 1:
        return np.vstack([z, np.zeros_like(z)])
    vapor = 0.5
    for _ in range(100):
        denominator = 1 + vapor * k1
        f = np.sum(z * k1 / denominator)
        df = -np.sum(z * k1**2 / denominator**2)
        new = vapor - f / df
        if not 0 < new < 1:
            new = (vapor + (1.0 if new >= 1 else 0.0)) / 2
        done = abs(new - vapor) < 1e-13
        vapor = new
        if done:
            break
    else:
        raise RuntimeError("the flash does not converge")
    liquid = z / (1 + vapor * k1)
    return np.vstack([liquid, k_values * liquid])


def robertson_reaction(rates, steps=20, dt=0.5):
    """Concentrations in Robertson's stiff reaction after a while, by implicit Euler steps."""
    k1, k2, k3 = rates
    k2 *= 1e4
    k3 *= 1e7

    def velocity(y):
        a, b, c = y
        return np.array([-k1 * a + k2 * b * c, k1 * a - k2 * b * c - k3 * b * b, k3 * b * b])

    def jacobian(y):
        _, b, c = y
        J = np.zeros((3, 3))
        J[0] = [-k1, k2 * c, k2 * b]
        J[1] = [k1, -k2 * c - 2 * k3 * b, -k2 * b]
        J[2, 1] = 2 * k3 * b
        return J

    y = np.array([1.0, 0.0, 0.0])
    for _ in range(steps):
        new = y.copy()
        for _ in range(10):
            residual = new - y - dt * velocity(new)
            delta = np.linalg.solve(np.eye(3) - dt * jacobian(new), residual)
            new -= delta
            if np.max(np.abs(delta)) < 1e-14:
                break
        y = new
    return y


def unmixed_spectrum(absorbances, path_length):
    """Concentrations of three dyes from the absorbances at six wavelengths, by weighted least squares."""
    wavelengths = np.array([420, 460, 500, 540, 580, 620])
    bands = [(430, 35, 1.2), (510, 40, 0.9), (590, 30, 1.6)]
    columns = []
    for center, width, height in bands:
        columns.append(height * np.exp(-(((wavelengths - center) / width) ** 2)))
    matrix = path_length * np.column_stack(columns)
    weights = 10.0 ** (-absorbances)
    solution, *_ = np.linalg.lstsq(matrix * weights[:, None], absorbances * weights, rcond=None)
    return solution


def peak_tailing(width, decay, shift=2.0, points=81):
    """Width behind over width ahead of a chromatographic peak, at a tenth of its height."""
    t = np.linspace(-4, 12, points) + shift
    z = (width / decay - (t - shift) / width) / math.sqrt(2)
    signal = np.exp(-(((t - shift) / width) ** 2) / 2) * erfcx(z)
    top = int(np.argmax(signal))
    # the parabola through the three highest points
    y0, y1, y2 = signal[top - 1 : top + 2]
    offset = 0.5 * (y0 - y2) / (y0 - 2 * y1 + y2)
    height = y1 - 0.25 * (y0 - y2) * offset
    apex = t[top] + offset * (t[1] - t[0])
    crossings = []
    for (ta, ya), (tb, yb) in pairwise(zip(t, signal)):
        if (ya - 0.1 * height) * (yb - 0.1 * height) < 0:
            crossings.append(ta + (0.1 * height - ya) * (tb - ta) / (yb - ya))
    front, back = crossings
    return (back - apex) / (apex - front)


PROGRAMS = [
    Program(titration_ph, (12.3, 0.11, 4.76)),
    Program(flash_split, (np.array([0.3, 0.3, 0.5]), np.array([2.3, 1.2, 0.45]))),
    Program(robertson_reaction, (np.array([0.04, 1.0, 3.0]),)),
    Program(unmixed_spectrum, (np.array([0.62, 0.55, 0.71, 0.6, 0.83, 0.4]), 1.1)),
    Program(peak_tailing, (0.83, 1.37)),
]
