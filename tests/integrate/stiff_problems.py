"""Problems of the test set for initial value problems (Mazzia and Magherini, Bari), with their published end values."""

from typing import Any, NamedTuple

import numpy as np


class Problem(NamedTuple):
    f: Any
    end: float
    start: list[float]
    expected: dict[int, float]  # component → value at the end
    mass: Any = None

    def sizes(self):
        return np.array([abs(self.expected.get(i, 1e-3)) for i in range(len(self.start))])


def rober(t, y, k=(0.04, 3e7, 1e4)):
    return np.stack([-k[0] * y[0] + k[2] * y[1] * y[2], k[0] * y[0] - k[2] * y[1] * y[2] - k[1] * y[1] ** 2,
                     k[1] * y[1] ** 2])  # fmt: skip


def orego(t, y):
    return np.stack([77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / 77.27,
                     0.161 * (y[0] - y[2])])  # fmt: skip


def hires(t, y):
    return np.stack([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -280 * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        280 * y[5] * y[7] - 1.81 * y[6], -280 * y[5] * y[7] + 1.81 * y[6],
    ])  # fmt: skip


def vdpol(t, y):
    return np.stack([y[1], ((1 - y[0] ** 2) * y[1] - y[0]) * 1e6])


def akzo(t, y):
    s = np.sqrt(y[1])
    r1, r2, r3 = 18.7 * y[0] ** 4 * s, 0.58 * y[2] * y[3], 0.58 / 34.4 * y[0] * y[4]
    r4, r5 = 0.09 * y[0] * y[3] ** 2, 0.42 * y[5] ** 2 * s
    inflow = 3.3 * (0.9 / 737.0 - y[1])
    return np.stack([-2 * r1 + r2 - r3 - r4, -0.5 * r1 - r4 - 0.5 * r5 + inflow, r1 - r2 + r3, -r2 + r3 - 2 * r4,
                     r2 - r3 + r5, 115.83 * y[0] * y[3] - y[5]])  # fmt: skip


PROBLEMS = {
    "ROBER": Problem(
        rober, 1e11, [1.0, 0.0, 0.0], {0: 2.083340149701255e-8, 1: 8.333360770334713e-14, 2: 0.9999999791665050}
    ),
    "OREGO": Problem(orego, 360.0, [1.0, 2.0, 3.0], {0: 1.000814870318523, 1: 1228.178521549917, 2: 132.0554942846706}),
    "HIRES": Problem(
        hires, 321.8122, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], {0: 7.371312573325668e-4, 7: 2.850001604814231e-3}
    ),
    "VDPOL": Problem(vdpol, 2.0, [2.0, 0.0], {0: 1.706167732170483, 1: -0.8928097010247975}),
    "CHEMAKZO": Problem(
        akzo, 180.0, [0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007],
        {0: 0.1150794920661702, 1: 0.001203831471567715, 2: 0.1611562887407974, 3: 3.656156421249283e-4,
         4: 0.01708010885264404, 5: 0.004873531310307455}, np.diag([1.0, 1, 1, 1, 1, 0]),
    ),
}  # fmt: skip
