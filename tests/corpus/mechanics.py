"""Mechanics: trajectories, oscillators, orbits, trusses, beams and linkages."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ellipk

from tests.corpus.programs import Program


def projectile_range(speed, angle, drag=0.02, dt=0.01, g=9.81):
    """Distance at which a projectile with quadratic drag comes back to the ground."""
    x, y = 0.0, 0.0
    vx = speed * math.cos(angle)
    vy = speed * math.sin(angle)
    while True:
        v = math.sqrt(vx**2 + vy**2)
        x_old, y_old = x, y
        x += dt * vx
        y += dt * vy
        vx -= dt * drag * v * vx
        vy -= dt * (g + drag * v * vy)
        if y < 0:
            break
    # interpolate between the last two points
    frac = y_old / (y_old - y)
    return x_old + frac * (x - x_old)


def pendulum_period(length, amplitude, g=9.81):
    """Period of a pendulum of finite amplitude, by the arithmetic-geometric mean."""
    a, b = 1.0, math.cos(amplitude / 2)
    while abs(a - b) > 1e-14:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return 2 * math.pi * math.sqrt(length / g) / a


def pendulum_period_error(length, amplitude, n_terms=6, g=9.81):
    """What the truncated series of the period misses, against the elliptic integral."""
    exact = 4 * np.sqrt(length / g) * ellipk(np.sin(amplitude / 2) ** 2)
    coefficients = [1.0]
    for n in range(1, n_terms):
        coefficients.append(coefficients[-1] * ((2 * n - 1) / (2 * n)) ** 2)
    series = sum(c * np.sin(amplitude / 2) ** (2 * n) for n, c in enumerate(coefficients))
    return float(exact - 2 * np.pi * np.sqrt(length / g) * series)


def double_pendulum(state, lengths, steps=60, dt=0.02):
    """State (angles and rates) of a double pendulum of unit masses after some steps of Runge-Kutta."""
    l1, l2 = lengths
    m1 = m2 = 1.0
    g = 9.81

    def rhs(s):
        th1, th2, w1, w2 = s
        d = th1 - th2
        den = 2 * m1 + m2 - m2 * math.cos(2 * d)
        a1 = (
            -g * (2 * m1 + m2) * math.sin(th1)
            - m2 * g * math.sin(th1 - 2 * th2)
            - 2 * math.sin(d) * m2 * (w2**2 * l2 + w1**2 * l1 * math.cos(d))
        ) / (l1 * den)
        a2 = (
            2
            * math.sin(d)
            * (w1**2 * l1 * (m1 + m2) + g * (m1 + m2) * math.cos(th1) + w2**2 * l2 * m2 * math.cos(d))
            / (l2 * den)
        )
        return np.array([w1, w2, a1, a2])

    y = np.array(state, dtype=float)
    for _ in range(steps):
        k1 = rhs(y)
        k2 = rhs(y + dt / 2 * k1)
        k3 = rhs(y + dt / 2 * k2)
        k4 = rhs(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def kepler_position(mean_anomaly, eccentricity, semi_major=1.0):
    """Position on an elliptic orbit, from Kepler's equation solved by Newton's method."""
    if not 0 <= eccentricity < 1:
        raise ValueError(f"not an ellipse: e = {eccentricity}")
    E = mean_anomaly if eccentricity < 0.8 else math.pi
    for _ in range(50):
        delta = (E - eccentricity * math.sin(E) - mean_anomaly) / (1 - eccentricity * math.cos(E))
        E -= delta
        if abs(delta) < 1e-13:
            break
    else:
        raise RuntimeError("Kepler's equation did not converge")
    x = semi_major * (math.cos(E) - eccentricity)
    y = semi_major * math.sqrt(1 - eccentricity**2) * math.sin(E)
    return np.array([x, y])


def n_body_leapfrog(positions, velocities, masses=(1.0, 0.5, 0.25), dt=0.01, steps=25, eps=0.05):
    """Positions of attracting bodies in the plane after some leapfrog steps."""
    n = len(masses)

    def accelerations(pos):
        acc = np.zeros_like(pos)
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                r = pos[j] - pos[i]
                acc[i] += masses[j] * r / (np.dot(r, r) + eps**2) ** 1.5
        return acc

    x = positions.copy()
    v = velocities.copy()
    a = accelerations(x)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x)
        v += 0.5 * dt * a
    return x


NODES = {0: (0.0, 0.0), 1: (1.0, 0.0), 2: (0.0, 1.0), 3: (1.0, 1.0), 4: (2.0, 0.5)}
BARS = [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3), (1, 4), (3, 4)]


def truss_displacement(areas, load, young=200.0):
    """Displacements of the free nodes of a plane truss that hangs on a wall, loaded at its tip."""
    K = np.zeros((10, 10))
    for (i, j), area in zip(BARS, areas):
        (xi, yi), (xj, yj) = NODES[i], NODES[j]
        L = math.hypot(xj - xi, yj - yi)
        c, s = (xj - xi) / L, (yj - yi) / L
        k = young * area / L * np.array([[c * c, c * s], [c * s, s * s]])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += np.block([[k, -k], [-k, k]])
    fixed = [0, 1, 4, 5]
    free = [d for d in range(10) if d not in fixed]
    f = np.zeros(10)
    f[9] = -load
    u = np.zeros(10)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return u[free]


def tapered_beam_deflection(load, taper, elements=6, length=2.0, young=70.0):
    """Deflection at the tip of a tapered cantilever, with cubic beam elements."""
    h = length / elements
    K = np.zeros((2 * elements + 2, 2 * elements + 2))
    reference = np.array(
        [
            [12, 6 * h, -12, 6 * h],
            [6 * h, 4 * h * h, -6 * h, 2 * h * h],
            [-12, -6 * h, 12, -6 * h],
            [6 * h, 2 * h * h, -6 * h, 4 * h * h],
        ]
    )
    for e in range(elements):
        mid = (e + 0.5) / elements
        depth = 0.3 * (1 - taper * mid)
        inertia = 0.1 * depth**3 / 12
        K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += young * inertia / h**3 * reference
    F = np.zeros(2 * elements + 2)
    F[-2] = load
    # clamp the first node
    d = np.linalg.solve(K[2:, 2:], F[2:])
    return float(d[-2])


@dataclass
class Rocket:
    dry_mass: float
    fuel: float
    altitude: float = 0.0
    velocity: float = 0.0
    log: list = field(default_factory=list)

    @property
    def mass(self):
        return self.dry_mass + self.fuel

    def step(self, thrust, rate, dt):
        burned = min(rate * dt, self.fuel)
        force = thrust * burned / (rate * dt)
        density = 1.2 * math.exp(-self.altitude / 8500.0)
        drag = 0.5 * density * 0.02 * self.velocity * abs(self.velocity)
        self.velocity += dt * ((force - drag) / self.mass - 9.81)
        self.altitude += dt * self.velocity
        self.fuel -= burned
        self.log.append((self.altitude, self.velocity))


def rocket_apogee(thrust, burn_rate):
    """Greatest altitude of a sounding rocket, from the log of its flight."""
    rocket = Rocket(dry_mass=20.0, fuel=12.0)
    while rocket.velocity >= 0:
        rocket.step(thrust, burn_rate, 0.05)
        if len(rocket.log) > 5000:
            raise RuntimeError("still climbing")
    (h0, v0), (h1, v1) = rocket.log[-2:]
    t = v0 / (v0 - v1)  # where the velocity vanishes
    return h0 + t * (h1 - h0) + 0.5 * t * 0.05 * v0


def tumbling_body(omega, inertia, dt=0.02, steps=50):
    """Rotation matrix of a torque-free rigid body, by its quaternion and Euler's equations."""
    I1, I2, I3 = inertia
    w = omega.copy()
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for _ in range(steps):
        wdot = np.array(
            [(I2 - I3) / I1 * w[1] * w[2], (I3 - I1) / I2 * w[2] * w[0], (I1 - I2) / I3 * w[0] * w[1]],
        )
        w_mid = w + dt / 2 * wdot
        Omega = np.zeros((4, 4))
        Omega[0, 1:] = -w_mid
        Omega[1:, 0] = w_mid
        Omega[1, 2], Omega[1, 3], Omega[2, 3] = w_mid[2], -w_mid[1], w_mid[0]
        Omega[2, 1], Omega[3, 1], Omega[3, 2] = -w_mid[2], w_mid[1], -w_mid[0]
        q = q + dt / 2 * Omega @ q
        q /= np.linalg.norm(q)
        w += dt * wdot
    a, b, c, d = q
    return np.array(
        [
            [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
        ]
    )


def adaptive_van_der_pol(mu, x0, t_end=3.0, tol=1e-5):
    """Van der Pol's oscillator with the Bogacki-Shampine pair and a step size of its own choice."""
    f = lambda y: np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])
    t, h = 0.0, 0.1
    y = np.array([x0, 0.0])
    rejected = 0
    while t < t_end:
        h = min(h, t_end - t)
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + 3 * h / 4 * k2)
        y_new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = f(y_new)
        err = np.max(np.abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8)))
        if err > tol:
            rejected += 1
            h *= max(0.2, 0.9 * (tol / err) ** (1 / 3))
            continue
        t += h
        y = y_new
        h *= min(4.0, 0.9 * (tol / (err + 1e-300)) ** (1 / 3))
    assert rejected < 100
    return y[0]


def bouncing_ball(height, restitution, t_end=2.5, g=9.81):
    """Height of a ball that bounces, from one impact to the next."""
    t = math.sqrt(2 * height / g)
    if t_end < t:
        return height - 0.5 * g * t_end**2
    v = g * t
    bounces = 0
    while True:
        v *= restitution
        bounces += 1
        flight = 2 * v / g
        if t + flight > t_end:
            tau = t_end - t
            return v * tau - 0.5 * g * tau**2
        t += flight


def arm_end_point(angles, lengths):
    """End point of a planar arm: the product of the homogeneous transforms of its links."""

    def link(theta, length):
        c, s = math.cos(theta), math.sin(theta)
        return np.array([[c, -s, length * c], [s, c, length * s], [0, 0, 1]])

    total = functools.reduce(np.matmul, [link(t, l) for t, l in zip(angles, lengths)], np.eye(3))
    return total[:2, 2]


PROGRAMS = [
    Program(projectile_range, (30.0, 0.7)),
    Program(pendulum_period, (1.3, 0.9)),
    Program(pendulum_period_error, (1.3, 0.9)),
    Program(double_pendulum, (np.array([1.1, -0.4, 0.2, 0.5]), np.array([1.0, 0.8]))),
    Program(kepler_position, (1.2, 0.35)),
    Program(
        n_body_leapfrog,
        (np.array([[0.0, 0.1], [1.0, 0.0], [-0.3, 1.2]]), np.array([[0.0, -0.2], [0.1, 0.8], [-0.7, 0.0]])),
    ),
    Program(truss_displacement, (np.array([0.02, 0.03, 0.025, 0.01, 0.02, 0.015, 0.03]), 1.5)),
    Program(tapered_beam_deflection, (0.01, 0.4)),
    Program(rocket_apogee, (900.0, 1.7)),
    Program(tumbling_body, (np.array([0.3, 2.0, 0.1]), np.array([1.0, 2.0, 3.0]))),
    Program(adaptive_van_der_pol, (1.5, 1.2)),
    Program(bouncing_ball, (1.8, 0.83)),
    Program(arm_end_point, (np.array([0.4, -0.9, 1.3]), np.array([1.0, 0.7, 0.4]))),
]
