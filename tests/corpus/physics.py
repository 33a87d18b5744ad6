"""Physics: motion, fields, circuits, spectra."""

import math

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from tests.corpus.programs import Program


def pendulum_angle(theta0, length, damping=0.15):
    """Angle of a damped pendulum after two seconds, by Runge-Kutta steps on a list of states."""
    g = 9.81

    def slope(state):
        theta, omega = state
        return [omega, -damping * omega - g / length * math.sin(theta)]

    def shifted(state, k, h):
        return [s + h * d for s, d in zip(state, k)]

    h = 0.02
    state = [theta0, 0.0]
    for _ in range(100):
        k1 = slope(state)
        k2 = slope(shifted(state, k1, h / 2))
        k3 = slope(shifted(state, k2, h / 2))
        k4 = slope(shifted(state, k3, h))
        state = [s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4)]
    return state[0]


def projectile_range(speed, angle, drag=0.01):
    """Range of a projectile with quadratic drag; the landing point is interpolated in the last step."""
    x, y = 0.0, 0.0
    vx = speed * math.cos(angle)
    vy = speed * math.sin(angle)
    dt = 0.01
    while True:
        v = math.sqrt(vx**2 + vy**2)
        x_old, y_old = x, y
        vx -= drag * v * vx * dt
        vy -= (9.81 + drag * v * vy) * dt
        x += vx * dt
        y += vy * dt
        if y < 0:
            break
    fraction = y_old / (y_old - y)
    return x_old + fraction * (x - x_old)


def gravity_accelerations(positions, masses, softening=0.05):
    n = len(masses)
    acc = np.zeros((n, 2))
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            d = positions[j] - positions[i]
            r2 = d[0] ** 2 + d[1] ** 2 + softening**2
            acc[i] += masses[j] * d / r2**1.5
    return acc


def planets_after_a_while(positions, masses):
    """Leapfrog integration of a few bodies that start at rest relative to a slow rotation."""
    x = positions.copy()
    v = np.zeros_like(x)
    v[:, 0] = -0.5 * x[:, 1]
    v[:, 1] = 0.5 * x[:, 0]
    dt = 0.02
    a = gravity_accelerations(x, masses)
    for _ in range(20):
        v += 0.5 * dt * a
        x += dt * v
        a = gravity_accelerations(x, masses)
        v += 0.5 * dt * a
    return x


def rod_temperature(conductivity, initial):
    """Explicit heat equation; the ends are held at the temperatures they start with."""
    n = len(initial)
    dx = 1.0 / (n - 1)
    dt = 0.25 * dx**2
    T = np.zeros(n)
    for i in range(n):
        T[i] = initial[i]
    for _ in range(60):
        T[1:-1] += conductivity * dt / dx**2 * (T[2:] - 2 * T[1:-1] + T[:-2])
    return T


def lennard_jones(coordinates, epsilon, sigma, cutoff=2.5):
    """Energy of a cluster, shifted so that the pair potential is zero at the cutoff."""
    rc = cutoff * sigma
    shift = 4 * epsilon * ((sigma / rc) ** 12 - (sigma / rc) ** 6)
    energy = 0.0
    for i in range(coordinates.shape[0]):
        for j in range(i + 1, coordinates.shape[0]):
            r = math.sqrt(sum((coordinates[i, k] - coordinates[j, k]) ** 2 for k in range(3)))
            if r > rc:
                continue
            s6 = (sigma / r) ** 6
            energy += 4 * epsilon * (s6 * s6 - s6) - shift
    return energy


def ground_state_energy(stiffness, anharmonicity):
    """Lowest level of an anharmonic oscillator by finite differences on a grid."""
    n = 60
    x = np.linspace(-5, 5, n)
    h = x[1] - x[0]
    H = np.zeros((n, n))
    for i in range(n):
        H[i, i] = 1 / h**2 + 0.5 * stiffness * x[i] ** 2 + anharmonicity * x[i] ** 4
        if i > 0:
            H[i, i - 1] = -0.5 / h**2
        if i < n - 1:
            H[i, i + 1] = -0.5 / h**2
    return np.linalg.eigvalsh(H)[0]


def thin_film_reflectance(indices, thicknesses, wavelength=550.0):
    """Reflectance of a stack of layers on glass at normal incidence, by characteristic matrices."""
    n_air, n_glass = 1.0, 1.52
    M = np.eye(2, dtype=complex)
    for n, d in zip(indices, thicknesses):
        delta = 2 * np.pi * n * d / wavelength
        layer = np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        M = M @ layer
    B, C = M @ np.array([1.0, n_glass])
    r = (n_air * B - C) / (n_air * B + C)
    return abs(r) ** 2


def network_resistance(resistances):
    """Resistance between the first and the last node of a bridge circuit, by nodal analysis."""
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    assert len(resistances) == len(edges)
    nodes = 1 + max(max(e) for e in edges)
    G = np.zeros((nodes, nodes))
    for (a, b), R in zip(edges, resistances):
        g = 1.0 / R
        G[a, a] += g
        G[b, b] += g
        G[a, b] -= g
        G[b, a] -= g
    current = np.zeros(nodes - 1)
    current[0] = 1.0
    voltages = np.linalg.solve(G[:-1, :-1], current)  # the last node is the ground
    return voltages[0]


def chain_frequencies(springs, masses):
    """Normal frequencies of masses in a row between two walls."""
    n = len(masses)
    rows = []
    for i in range(n):
        row = [0.0] * n
        row[i] = springs[i] + springs[i + 1]
        if i > 0:
            row[i - 1] = -springs[i]
        if i + 1 < n:
            row[i + 1] = -springs[i + 1]
        rows.append(row)
    K = np.array(rows)
    w2 = scipy.linalg.eigh(K, np.diag(masses), eigvals_only=True)
    return np.sqrt(w2)


def orbit_position(mean_anomaly, eccentricity, semi_major=1.0):
    """Place of a planet on its ellipse: Kepler's equation by Newton's iteration."""
    E = mean_anomaly if eccentricity < 0.8 else math.pi
    tol = 1e-12
    step = 1.0
    count = 0
    while abs(step) > tol and count < 50:
        step = (E - eccentricity * math.sin(E) - mean_anomaly) / (1 - eccentricity * math.cos(E))
        E -= step
        count += 1
    x = semi_major * (math.cos(E) - eccentricity)
    y = semi_major * math.sqrt(1 - eccentricity**2) * math.sin(E)
    return np.array([x, y])


def string_energy(wave_speed, pluck):
    """Energy of a vibrating string after some steps of the leapfrog scheme, from all rows of the solution."""
    nx, nt = len(pluck), 40
    dx, dt = 1.0 / (nx - 1), 0.01
    c2 = (wave_speed * dt / dx) ** 2
    u = np.zeros((nt, nx))
    u[0] = pluck
    u[0, 0] = u[0, -1] = 0.0
    for i in range(1, nx - 1):
        u[1, i] = u[0, i] + 0.5 * c2 * (u[0, i + 1] - 2 * u[0, i] + u[0, i - 1])
    for n in range(1, nt - 1):
        for i in range(1, nx - 1):
            u[n + 1, i] = 2 * u[n, i] - u[n - 1, i] + c2 * (u[n, i + 1] - 2 * u[n, i] + u[n, i - 1])
    velocity = (u[-1] - u[-2]) / dt
    slope = np.diff(u[-1]) / dx
    return 0.5 * dx * np.sum(velocity**2) + 0.5 * wave_speed**2 * dx * np.sum(slope**2)


def blackbody_fraction(temperature, filter_center):
    """Part of a black body's power that passes a Gaussian filter around a wavelength in micrometers."""
    wavelengths = np.linspace(0.2, 20.0, 400)
    planck = np.array([1.0 / (w**5 * math.expm1(14387.77 / (w * temperature))) for w in wavelengths])
    window = np.exp(-0.5 * ((wavelengths - filter_center) / 0.8) ** 2)
    return np.trapezoid(planck * window, wavelengths) / np.trapezoid(planck, wavelengths)


def membrane_deflection(load, tension):
    """Largest deflection of a square membrane under a load at each node: sparse five-point stencil."""
    n = load.shape[0]
    h = 1.0 / (n + 1)
    rows, cols, entries = [], [], []
    for i in range(n):
        for j in range(n):
            k = i * n + j
            rows.append(k)
            cols.append(k)
            entries.append(4.0 * tension / h**2)
            for p, q in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= p < n and 0 <= q < n:
                    rows.append(k)
                    cols.append(p * n + q)
                    entries.append(-tension / h**2)
    A = scipy.sparse.coo_matrix((entries, (rows, cols)), shape=(n * n, n * n)).tocsc()
    return scipy.sparse.linalg.spsolve(A, load.ravel()).max()


PROGRAMS = [
    Program(pendulum_angle, (0.9, 1.3)),
    Program(projectile_range, (22.0, 0.7)),
    Program(planets_after_a_while, (np.array([[1.0, 0.1], [-0.6, 0.8], [-0.3, -0.9]]), np.array([1.0, 0.7, 0.4]))),
    Program(rod_temperature, (0.8, np.array([1.0, 0.3, 0.0, 0.5, 0.9, 0.2, 0.0, 0.4, 0.1]))),
    Program(
        lennard_jones,
        (np.array([[0.0, 0.0, 0.0], [1.1, 0.1, 0.0], [0.4, 1.0, 0.2], [0.5, 0.3, 1.2], [3.9, 0.2, 0.1]]), 1.0, 1.05),
    ),
    Program(ground_state_energy, (1.0, 0.1)),
    Program(thin_film_reflectance, (np.array([1.38, 2.1, 1.7]), np.array([99.0, 120.0, 80.0]))),
    Program(network_resistance, (np.array([1.0, 2.0, 1.5, 3.0, 0.7]),)),
    Program(chain_frequencies, (np.array([2.0, 1.0, 3.0, 1.5]), np.array([1.0, 0.6, 1.4]))),
    Program(orbit_position, (1.2, 0.4)),
    Program(string_energy, (1.1, np.array([0.0, 0.2, 0.5, 0.8, 0.6, 0.3, 0.15, 0.05, 0.0]))),
    Program(blackbody_fraction, (900.0, 3.5)),
    Program(membrane_deflection, (np.array([[1.0, 0.5, 0.2], [0.8, 1.4, 0.3], [0.1, 0.6, 0.9]]), 2.0)),
]
