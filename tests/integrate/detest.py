"""The 30 problems without stiffness of DETEST (Hull, Enright, Fellen and Sedgwick 1972), over [0, 20].

Statements and numbers are those of nodepy 1.1.1 (`nodepy.ivp.detest`), written anew. Classes: A one equation, B small
systems, C larger ones, D orbits, E equations of second order, F jumps or kinks of f, whose times are `stops`.
"""

from typing import Any, NamedTuple

import numpy as np

END = 20.0


class Problem(NamedTuple):
    f: Any
    start: Any
    stops: Any = ()


def _attraction(t, y):
    """B4: on a torus."""
    r = np.sqrt(y[0] ** 2 + y[1] ** 2)
    return np.stack([-y[1] - y[0] * y[2] / r, y[0] - y[1] * y[2] / r, y[0] / r])


def _chain(down, up, across):
    """C1 to C4: y′ = L y with three diagonals."""
    n = len(across)
    L = np.diag(across) + np.diag(down[: n - 1], -1) + np.diag(up[: n - 1], 1)
    return Problem(lambda t, y: L @ y, np.eye(n)[0])


SUN = 1.00000597682
PLANETS = np.array([0.000954786104043, 0.000285583733151, 0.0000437273164546, 0.0000517759138449, 0.00000277777777778])
GRAVITY = 2.95912208286
_PLACES = np.array([
    [3.42947415189, 3.35386959711, 1.35494901715], [6.64145542550, 5.97156957878, 2.18231499728],
    [11.2630437207, 14.6952576794, 6.27960525067], [-30.1552268759, 1.65699966404, 1.43785752721],
    [-21.1238353380, 28.4465098142, 15.3882659679],
])  # fmt: skip
_VELOCITIES = np.array([
    [-0.557160570446, 0.505696783289, 0.230578543901], [-0.415570776342, 0.365682722812, 0.169143213293],
    [-0.325325669158, 0.189706021964, 0.0877265322780], [-0.0240476254170, -0.287659532608, -0.117219543175],
    [-0.176860753121, -0.216393453025, -0.0148647893090],
])  # fmt: skip


def _planets(t, y):
    """C5: five outer planets around the sun and the four inner ones."""
    x, v = np.reshape(y, (2, 5, 3))
    r3 = np.sum(x**2, axis=1) ** 1.5
    between = x[None, :, :] - x[:, None, :]
    d3 = (np.sum(between**2, axis=2) + np.eye(5)) ** 1.5
    others = PLANETS * (1.0 - np.eye(5))
    pull = np.sum((others / d3)[:, :, None] * between, axis=1) - others @ (x / r3[:, None])
    own = -((SUN + PLANETS) / r3)[:, None] * x
    return np.concatenate([np.reshape(v, -1), np.reshape(GRAVITY * (own + pull), -1)])


def _orbit(eccentricity):
    """D: Kepler's equation."""

    def f(t, y):
        r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return np.stack([y[2], y[3], -y[0] / r3, -y[1] / r3])

    e = eccentricity
    return Problem(f, np.array([1 - e, 0.0, 0.0, np.sqrt((1 + e) / (1 - e))]))


def _bessel(t, y):
    return np.stack([y[1], -(y[1] / (t + 1) + (1 - 0.25 / (t + 1) ** 2) * y[0])])


def _square_wave(t, y):
    """F1: the force changes its sign at every whole time."""
    force = -1.0 if np.mod(np.floor(t), 2) else 1.0
    return np.stack([y[1], 0.2 * y[1] - (np.pi**2 + 0.01) * y[0] + force])


def _two_rates(t, y):
    """F2."""
    rate = 0.5 if np.mod(np.floor(t), 2) else 1.5
    return 55.0 - rate * y


def _peak_and_decay(t, y):
    """F4."""
    if t <= 10:
        return -2 / 21 - 120 * (t - 5) / (1 + 4 * (t - 5) ** 2) + 0 * y
    return -2 * y


_KINKS = np.arange(1.0, 20.0)


def _many_kinks(t, y):
    """F5: the real part of (t - i)^(4/3), which is -½ |t - i|^(4/3) to the left of i."""
    d = t - _KINKS
    size = np.abs(d) ** (4 / 3)
    return 4 / 3 / np.sum(_KINKS ** (4 / 3)) * np.sum(np.where(d >= 0, size, -0.5 * size)) * y


_ones, _counts = np.ones(10), np.arange(1.0, 10.0)
PROBLEMS = {
    "A1": Problem(lambda t, y: -y, np.array([1.0])),
    "A2": Problem(lambda t, y: -0.5 * y**3, np.array([1.0])),
    "A3": Problem(lambda t, y: y * np.cos(t), np.array([1.0])),
    "A4": Problem(lambda t, y: y / 4 * (1 - y / 20), np.array([1.0])),
    "A5": Problem(lambda t, y: (y - t) / (y + t), np.array([4.0])),
    "B1": Problem(lambda t, y: np.stack([2 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]), np.array([1.0, 3.0])),
    "B2": Problem(
        lambda t, y: np.stack([-y[0] + y[1], y[0] - 2 * y[1] + y[2], y[1] - y[2]]), np.array([2.0, 0.0, 1.0])
    ),
    "B3": Problem(lambda t, y: np.stack([-y[0], y[0] - y[1] ** 2, y[1] ** 2]), np.array([1.0, 0.0, 0.0])),
    "B4": Problem(_attraction, np.array([3.0, 0.0, 0.0])),
    "B5": Problem(
        lambda t, y: np.stack([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]), np.array([0.0, 1.0, 1.0])
    ),
    "C1": _chain(_ones, 0 * _ones, np.append(-_ones[:9], 0.0)),
    "C2": _chain(_counts, 0 * _counts, np.append(-_counts, 0.0)),
    "C3": _chain(_ones, _ones, -2 * _ones),
    "C4": _chain(np.ones(51), np.ones(51), -2 * np.ones(51)),
    "C5": Problem(_planets, np.concatenate([_PLACES.ravel(), _VELOCITIES.ravel()])),
    **{f"D{i + 1}": _orbit(e) for i, e in enumerate((0.1, 0.3, 0.5, 0.7, 0.9))},
    "E1": Problem(_bessel, np.array([0.6713967071418030, 0.09540051444747446])),
    "E2": Problem(lambda t, y: np.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]]), np.array([2.0, 0.0])),
    "E3": Problem(
        lambda t, y: np.stack([y[1], y[0] ** 3 / 6 - y[0] + 2 * np.sin(2.78535 * t)]), np.array([0.0, 0.0])
    ),
    "E4": Problem(lambda t, y: np.stack([y[1], 0.032 - 0.4 * y[1] ** 2]), np.array([30.0, 0.0])),
    "E5": Problem(lambda t, y: np.stack([y[1], np.sqrt(1 + y[1] ** 2) / (25 - t)]), np.array([0.0, 0.0])),
    "F1": Problem(_square_wave, np.array([0.0, 0.0]), _KINKS),
    "F2": Problem(_two_rates, np.array([110.0]), _KINKS),
    "F3": Problem(
        lambda t, y: np.stack([y[1], 0.01 * y[1] * (1 - y[0] ** 2) - y[0] - np.abs(np.sin(np.pi * t))]),
        np.array([0.0, 0.0]), _KINKS,
    ),
    "F4": Problem(_peak_and_decay, np.array([1.0]), np.array([10.0])),
    "F5": Problem(_many_kinks, np.array([1.0]), _KINKS),
}  # fmt: skip
