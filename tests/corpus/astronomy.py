"""Astronomy: orbits, stars and galaxies."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import iv, kv

from tests.corpus.programs import Program


def polytrope_radius(index, step=0.05):
    """First zero of the Lane-Emden function, by Runge-Kutta steps and a cubic through the last interval."""

    def f(xi, theta, dtheta):
        power = theta**index if theta > 0 else 0.0
        return dtheta, -power - 2 * dtheta / xi

    xi = step
    theta = 1 - xi**2 / 6 + index * xi**4 / 120
    slope = -xi / 3 + index * xi**3 / 30
    while True:
        k1 = f(xi, theta, slope)
        k2 = f(xi + step / 2, theta + step / 2 * k1[0], slope + step / 2 * k1[1])
        k3 = f(xi + step / 2, theta + step / 2 * k2[0], slope + step / 2 * k2[1])
        k4 = f(xi + step, theta + step * k3[0], slope + step * k3[1])
        new_theta = theta + step / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        if new_theta < 0:
            break
        slope += step / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        theta, xi = new_theta, xi + step
        if xi > 30:
            raise ValueError(f"the polytrope of index {index} has no surface nearby")
    return xi - theta / slope * (1 - theta / (xi * slope))


@dataclass
class Binary:
    """A star that moves about a companion."""

    period: float
    amplitude: float
    eccentricity: float = 0.0
    argument: float = 0.0
    iterations: int = field(default=0, init=False)

    def anomaly(self, mean):
        e = self.eccentricity
        guess = mean + e * np.sin(mean)
        while True:
            change = (guess - e * np.sin(guess) - mean) / (1 - e * np.cos(guess))
            guess = guess - change
            self.iterations += 1
            if np.all(np.abs(change) < 1e-12):
                return guess

    def velocity(self, times):
        E = self.anomaly(2 * np.pi * times / self.period)
        e = self.eccentricity
        nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
        return self.amplitude * (np.cos(nu + self.argument) + e * np.cos(self.argument))


def radial_velocity_misfit(period, eccentricity, observed):
    """Sum of squares between observed radial velocities and those of an orbit, in the best amplitude."""
    times = np.arange(len(observed)) * 1.7
    star = Binary(period, 1.0, eccentricity, argument=0.6)
    shape = star.velocity(times)
    amplitude = shape @ observed / (shape @ shape)
    star.amplitude = amplitude
    residuals = observed - star.velocity(times)
    return float(np.sum(residuals**2))


def orbital_elements(position, velocity, mu=1.0):
    """Semi-major axis, eccentricity, inclination, node, argument of periapsis and true anomaly."""
    h = np.cross(position, velocity)
    node = np.cross([0.0, 0.0, 1.0], h)
    r = np.linalg.norm(position)
    v2 = velocity.dot(velocity)
    e_vector = ((v2 - mu / r) * position - position.dot(velocity) * velocity) / mu
    e = np.linalg.norm(e_vector)
    a = 1 / (2 / r - v2 / mu)
    inclination = math.acos(h[2] / np.linalg.norm(h))
    raan = math.acos(node[0] / np.linalg.norm(node))
    if node[1] < 0:
        raan = 2 * math.pi - raan
    omega = math.acos(np.clip(node @ e_vector / (np.linalg.norm(node) * e), -1, 1))
    if e_vector[2] < 0:
        omega = 2 * math.pi - omega
    nu = math.acos(np.clip(e_vector @ position / (e * r), -1, 1))
    if position @ velocity < 0:
        nu = 2 * math.pi - nu
    return np.array([a, e, inclination, raan, omega, nu])


def galaxy_rotation_curve(radii, scale, disk_mass, halo_velocity=1.6, core=2.0):
    """Rotation speeds of an exponential disk in a halo with a core."""
    y = radii / (2 * scale)
    bessel = iv(0, y) * kv(0, y) - iv(1, y) * kv(1, y)
    disk = 2 * disk_mass / scale * y**2 * bessel
    halo = halo_velocity**2 * (1 - core / radii * np.arctan(radii / core))
    return np.sqrt(disk + halo)


VELOCITIES = np.array([1.2, 0.3, -0.8, -0.6, 0.1, 0.9, 0.7, -0.2, -0.9, -0.4])

PROGRAMS = [
    Program(polytrope_radius, (1.53,)),
    Program(radial_velocity_misfit, (9.1, 0.23, VELOCITIES)),
    Program(orbital_elements, (np.array([0.9, 0.4, 0.2]), np.array([-0.5, 0.8, 0.3]))),
    Program(galaxy_rotation_curve, (np.array([0.8, 2.0, 4.5, 9.0]), 1.9, 3.2)),
]
