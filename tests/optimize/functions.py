"""Functions that tests of minimization share, with their starts and smallest values."""

import numpy as np


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def wood(x):
    return (
        100 * (x[1] - x[0] ** 2) ** 2
        + (1 - x[0]) ** 2
        + 90 * (x[3] - x[2] ** 2) ** 2
        + (1 - x[2]) ** 2
        + 10.1 * ((x[1] - 1) ** 2 + (x[3] - 1) ** 2)
        + 19.8 * (x[1] - 1) * (x[3] - 1)
    )


def powell_singular(x):
    return (x[0] + 10 * x[1]) ** 2 + 5 * (x[2] - x[3]) ** 2 + (x[1] - 2 * x[2]) ** 4 + 10 * (x[0] - x[3]) ** 4


def beale(x):
    return (1.5 - x[0] * (1 - x[1])) ** 2 + (2.25 - x[0] * (1 - x[1] ** 2)) ** 2 + (2.625 - x[0] * (1 - x[1] ** 3)) ** 2


def brown_badly_scaled(x):
    return (x[0] - 1e6) ** 2 + (x[1] - 2e-6) ** 2 + (x[0] * x[1] - 2) ** 2


def helical_valley(x):
    theta = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return 100 * ((x[2] - 10 * theta) ** 2 + (np.sqrt(x[0] ** 2 + x[1] ** 2) - 1) ** 2) + x[2] ** 2


STANDARD = {  # name: (function, start, smallest value)
    "rosenbrock": (rosenbrock, np.array([-1.2, 1.0]), 0.0),
    "wood": (wood, np.array([-3.0, -1.0, -3.0, -1.0]), 0.0),
    "powell singular": (powell_singular, np.array([3.0, -1.0, 0.0, 1.0]), 0.0),
    "beale": (beale, np.array([1.0, 1.0]), 0.0),
    "helical valley": (helical_valley, np.array([-1.0, 1e-9, 0.0]), 0.0),
}
