"""Problems of the test set for initial value problems (Mazzia and Magherini, Bari), with their published end values.

Components of HIRES and POLLU that are not published here are those of CVODE (scikit-sundae 1.2.0, rtol 10⁻¹³), which
agrees with the published ones to 10⁻¹¹.
"""

from typing import Any, NamedTuple

import numpy as np

from adjoint import integrate


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


POLLUTION = np.array([
    0.35, 26.6, 12300.0, 8.6e-4, 8.2e-4, 15000.0, 1.3e-4, 24000.0, 16500.0, 9000.0, 0.022, 12000.0, 1.88, 16300.0,
    4.8e6, 3.5e-4, 0.0175, 1e8, 4.44e11, 1240.0, 2.1, 5.78, 0.0474, 1780.0, 3.12,
])  # fmt: skip


def pollu(t, y, k=POLLUTION):
    (a, b, c, d, e, f, g, _, i, j, m, _, n, o, _, p, q, _, s, u) = [y[i] for i in range(20)]
    r = [a, b * d, e * b, g, g, g * f, i, i * f, m * b, m * a, n, j * b, o, a * f, c, d, d, p, p, q * f, s, s, a * d,
         s * a, u]  # fmt: skip
    r = [None, *[k[i] * rate for i, rate in enumerate(r)]]
    return np.stack([
        -r[1] - r[10] - r[14] - r[23] - r[24] + r[2] + r[3] + r[9] + r[11] + r[12] + r[22] + r[25],
        -r[2] - r[3] - r[9] - r[12] + r[1] + r[21], -r[15] + r[1] + r[17] + r[19] + r[22],
        -r[2] - r[16] - r[17] - r[23] + r[15], -r[3] + 2 * r[4] + r[6] + r[7] + r[13] + r[20],
        -r[6] - r[8] - r[14] - r[20] + r[3] + 2 * r[18], -r[4] - r[5] - r[6] + r[13], r[4] + r[5] + r[6] + r[7],
        -r[7] - r[8], -r[12] + r[7] + r[9], -r[9] - r[10] + r[8] + r[11], r[9], -r[11] + r[10], -r[13] + r[12], r[14],
        -r[18] - r[19] + r[16], -r[20], r[20], -r[21] - r[22] - r[24] + r[23] + r[25], -r[25] + r[24],
    ])  # fmt: skip


HIRES_END = [
    7.371312573325668e-4, 0.00014424857263176, 5.8887297409818e-05, 0.0011756513432843, 0.0023863561988575,
    0.0062389682528315, 0.0028499983952013, 2.850001604814231e-3,
]  # fmt: skip
POLLU_END = [
    0.05646255480022769, 0.1342484130423, 4.1397343310949e-09, 0.0055231402074759, 2.0189772623041e-07,
    1.4645418634962e-07, 0.077842491190018, 0.32450753533956, 0.0074940133838885, 1.6222931573045e-08,
    1.1358638332592e-08, 0.0022305059757135, 0.00020871628827954, 1.3969210168427e-05, 0.0089648848568983,
    4.3528463693234e-18, 0.0068992196962636, 0.00010078030373639, 1.7721465139666e-06, 5.682943292316392e-5,
]  # fmt: skip
PROBLEMS = {
    "ROBER": Problem(
        rober, 1e11, [1.0, 0.0, 0.0], {0: 2.083340149701255e-8, 1: 8.333360770334713e-14, 2: 0.9999999791665050}
    ),
    "OREGO": Problem(orego, 360.0, [1.0, 2.0, 3.0], {0: 1.000814870318523, 1: 1228.178521549917, 2: 132.0554942846706}),
    "HIRES": Problem(
        hires, 321.8122, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], dict(enumerate(HIRES_END))
    ),
    "VDPOL": Problem(vdpol, 2.0, [2.0, 0.0], {0: 1.706167732170483, 1: -0.8928097010247975}),
    "POLLU": Problem(
        pollu, 60.0, [0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0],
        dict(enumerate(POLLU_END)),
    ),
    "CHEMAKZO": Problem(
        akzo, 180.0, [0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007],
        {0: 0.1150794920661702, 1: 0.001203831471567715, 2: 0.1611562887407974, 3: 3.656156421249283e-4,
         4: 0.01708010885264404, 5: 0.004873531310307455}, np.diag([1.0, 1, 1, 1, 1, 0]),
    ),
}  # fmt: skip


def relative_error(name, method, tol, **options):
    """The largest error of a component with a published value, in units of the tolerance."""
    problem = PROBLEMS[name]
    path = integrate.solve(
        problem.f, (0.0, problem.end), np.array(problem.start, float), method=method, rtol=tol,
        atol=tol * problem.sizes(), mass=problem.mass, **options,
    )  # fmt: skip
    assert path.status == "finished"
    return max(abs(path.last[i] / value - 1.0) for i, value in problem.expected.items()) / tol
