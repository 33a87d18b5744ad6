"""Engineering: pipes, exchangers, beams, gears and circuits."""

import cmath
import math

import numpy as np

from tests.corpus.programs import Program


def pipe_network_flows(demands, resistances, rounds=60):
    """Flows in a square of pipes with a diagonal, by Hardy Cross's corrections around the two loops."""
    d1, d2, d3 = demands
    supply = d1 + d2 + d3
    flow = {
        "ab": 0.4 * supply,
        "bc": 0.4 * supply - d1,
        "ac": 0.3 * supply,
        "ad": 0.3 * supply,
        "dc": 0.3 * supply - d3,
    }
    r = dict(zip(flow, resistances))
    loops = [[("ab", 1), ("bc", 1), ("ac", -1)], [("ac", 1), ("dc", -1), ("ad", -1)]]
    for _ in range(rounds):
        largest = 0.0
        for loop in loops:
            head = sum(s * r[p] * flow[p] * abs(flow[p]) ** 0.852 for p, s in loop)
            slope = sum(1.852 * r[p] * abs(flow[p]) ** 0.852 for p, _ in loop)
            correction = -head / slope
            for p, s in loop:
                flow[p] += s * correction
            largest = max(largest, abs(correction))
        if largest < 1e-13:
            break
    return np.array(list(flow.values()))


def exchanger_outlets(hot_inlet, cold_inlet, conductance, hot_capacity=2.0, cold_capacity=3.1, kind="counter"):
    """Outlet temperatures of a heat exchanger by its effectiveness."""
    smaller, larger = sorted([hot_capacity, cold_capacity])
    ratio = smaller / larger
    ntu = conductance / smaller
    match kind:
        case "counter" if ratio < 1:
            fade = math.exp(-ntu * (1 - ratio))
            effectiveness = (1 - fade) / (1 - ratio * fade)
        case "counter":
            effectiveness = ntu / (1 + ntu)
        case "parallel":
            effectiveness = (1 - math.exp(-ntu * (1 + ratio))) / (1 + ratio)
        case _:
            raise ValueError(f"unknown kind: {kind!r}")
    heat = effectiveness * smaller * (hot_inlet - cold_inlet)
    return np.array([hot_inlet - heat / hot_capacity, cold_inlet + heat / cold_capacity])


def support_moments(spans, loads):
    """Moments over the inner supports of a continuous beam, by the equation of three moments."""
    n = len(spans) - 1
    A = np.zeros((n, n))
    b = np.zeros(n)
    for i in range(n):
        left, right = spans[i], spans[i + 1]
        A[i, i] = 2 * (left + right)
        if i > 0:
            A[i, i - 1] = left
        if i < n - 1:
            A[i, i + 1] = right
        b[i] = -(loads[i] * left**3 + loads[i + 1] * right**3) / 4
    return np.linalg.inv(A).dot(b)


class Gear:
    """A spur gear with involute teeth."""

    pressure_angle = math.radians(20)

    def __init__(self, teeth, module, shift=0.0):
        self.teeth, self.module, self.shift = teeth, module, shift

    @property
    def base_radius(self):
        return self.teeth * self.module * math.cos(self.pressure_angle) / 2

    @property
    def tip_radius(self):
        return self.module * (self.teeth / 2 + 1 + self.shift)


def contact_ratio(module, shift, small=19, large=43):
    """Teeth in contact on average between two gears with shifted profiles."""
    pinion, wheel = Gear(small, module, shift), Gear(large, module, shift / 3)
    alpha = Gear.pressure_angle
    target = math.tan(alpha) - alpha + 2 * math.tan(alpha) * (pinion.shift + wheel.shift) / (small + large)
    working = alpha + 0.05
    while abs(gap := math.tan(working) - working - target) > 1e-15:
        step = gap / math.tan(working) ** 2
        working -= step
        if abs(step) < 1e-15:
            break
    center = (pinion.base_radius + wheel.base_radius) / math.cos(working)
    path = sum(math.sqrt(g.tip_radius**2 - g.base_radius**2) for g in (pinion, wheel))
    path -= center * math.sin(working)
    return path / (math.pi * module * math.cos(alpha))


def diode_bridge_voltages(source, resistance, saturation=1e-9, thermal=0.026):
    """Voltages at the nodes of a circuit with two diodes, by nodal analysis and Newton's method."""
    resistors = [(0, 1, resistance), (1, 2, 470.0), (2, 3, 2 * resistance), (3, 0, 1000.0)]
    diodes = [(1, 0), (2, 0)]
    v = np.zeros(4)
    v[1:] = 0.5
    for _ in range(100):
        G = np.zeros((4, 4))
        current = np.zeros(4)
        current[3] += source / 100.0
        G[3, 3] += 1 / 100.0
        for a, b, ohms in resistors:
            np.add.at(G, ([a, b, a, b], [a, b, b, a]), np.array([1, 1, -1, -1]) / ohms)
        for a, b in diodes:
            drop = v[a] - v[b]
            g = saturation / thermal * np.exp(drop / thermal)
            rest = saturation * (np.exp(drop / thermal) - 1) - g * drop
            np.add.at(G, ([a, b, a, b], [a, b, b, a]), np.array([g, g, -g, -g]))
            current[a] -= rest
            current[b] += rest
        new = np.zeros(4)
        new[1:] = np.linalg.solve(G[1:, 1:], current[1:])
        change = np.clip(new - v, -0.1, 0.1)
        v = v + change
        if np.abs(change).max() < 1e-13:
            break
    return v[1:]


def ladder_filter_gain(frequency, inductance, capacitance, load=50.0):
    """Decibels through a ladder of coils and capacitors, by chain matrices of complex entries."""
    s = 2j * math.pi * frequency
    series = lambda z: np.array([[1, z], [0, 1]], dtype=complex)
    shunt = lambda y: np.array([[1, 0], [y, 1]], dtype=complex)
    elements = [series(load), shunt(s * capacitance), series(s * inductance), shunt(s * capacitance)]
    chain = np.eye(2, dtype=complex)
    for element in elements:
        chain = chain @ element
    a, b = chain[0]
    transfer = 2 / (a + b / load)
    magnitude, _phase = cmath.polar(transfer)
    return 20 * math.log10(magnitude)


PROGRAMS = [
    Program(pipe_network_flows, (np.array([0.5, 0.8, 0.4]), np.array([1.5, 2.0, 1.2, 1.8, 2.2]))),
    Program(exchanger_outlets, (95.0, 18.0, 2.7)),
    Program(support_moments, (np.array([4.0, 5.5, 3.5, 6.0]), np.array([12.0, 9.0, 15.0, 10.0]))),
    Program(contact_ratio, (2.5, 0.31)),
    Program(diode_bridge_voltages, (5.2, 330.0)),
    Program(ladder_filter_gain, (1.3, 7.0, 0.0031)),
]
