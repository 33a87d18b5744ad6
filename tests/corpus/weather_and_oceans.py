"""Weather and oceans: moist air, currents, waves, tides and climates."""

import math

import numpy as np
from scipy.linalg import solve_banded

from tests.corpus.programs import Program


def saturation_pressure(celsius):
    """Pressure of water vapor over water, in hectopascals; over ice where it freezes."""
    if np.isscalar(celsius):
        a, b = (17.27, 237.3) if celsius >= 0 else (21.87, 265.5)
        return 6.1078 * math.exp(a * celsius / (celsius + b))
    over_water = np.exp(17.27 * celsius / (celsius + 237.3))
    over_ice = np.exp(21.87 * celsius / (celsius + 265.5))
    return 6.1078 * np.where(celsius >= 0, over_water, over_ice)


def wet_bulb_temperature(temperature, humidity, pressure=1005.0):
    """Temperature of a wet thermometer in the wind, by Newton's method with a slope by differences."""
    vapor = humidity / 100 * saturation_pressure(temperature)

    def balance(t):
        return saturation_pressure(t) - vapor - 6.6e-4 * (1 + 0.00115 * t) * pressure * (temperature - t)

    t = temperature - (100 - humidity) / 5
    for _ in range(40):
        f = balance(t)
        slope = (balance(t + 1e-3) - balance(t - 1e-3)) / 2e-3
        t -= f / slope
        if abs(f) < 1e-11:
            break
    else:
        raise ArithmeticError(f"no wet-bulb temperature near {t:.1f} degrees")
    return t


def lifted_energy(surface_temperature, dew_point, levels=20):
    """Energy that a parcel of air gains as it rises through a standard atmosphere, where it is lighter."""
    heights = np.linspace(0.0, 9000.0, levels)
    surroundings = surface_temperature - 2.0 - 0.0068 * heights
    parcel, dew = surface_temperature, dew_point
    buoyancies = [0.0]
    dz = heights[1] - heights[0]
    for k in range(1, levels):
        if parcel > dew:
            parcel = parcel - 0.0098 * dz
            dew = dew - 0.0018 * dz
        else:
            kelvin = parcel + 273.15
            pressure = 1013.0 * math.exp(-heights[k] / 8000)
            e = saturation_pressure(parcel)
            mixing = 0.622 * e / (pressure - e)
            top = 1 + 2.5e6 * mixing / (287 * kelvin)
            bottom = 1 + 0.622 * 2.5e6**2 * mixing / (1005 * 287 * kelvin**2)
            parcel = parcel - 0.0098 * top / bottom * dz
        difference = 9.81 * (parcel - surroundings[k]) / (surroundings[k] + 273.15)
        buoyancies.append(difference)
    b = np.array(buoyancies)
    b[b < 0] = 0.0
    return np.trapezoid(b, heights)


def shoaled_waves(period, height, angle):
    """Heights of waves that come to a beach, until they break."""
    omega = 2 * math.pi / period

    def wavenumber(depth):
        k = omega**2 / 9.81
        k = k / math.sqrt(math.tanh(k * depth))
        error = 1.0
        while abs(error) > 1e-13:
            th = math.tanh(k * depth)
            error = (9.81 * k * th - omega**2) / (9.81 * th + 9.81 * k * depth * (1 - th * th))
            k -= error
        return k

    def group_speed(k, depth):
        return omega / k * (0.5 + k * depth / math.sinh(2 * k * depth))

    deep = wavenumber(50.0)
    start = group_speed(deep, 50.0)
    profile = []
    for depth in (20.0, 10.0, 6.0, 4.0, 2.5, 1.5, 1.0):
        k = wavenumber(depth)
        local = math.asin(deep / k * math.sin(angle))
        h = height * math.sqrt(start / group_speed(k, depth) * math.cos(angle) / math.cos(local))
        if h > 0.78 * depth:
            profile.append(0.78 * depth * (1 + 0.1 * local))
            break
        profile.append(h)
    return np.array(profile)


def tidal_amplitudes(levels, spacing):
    """Amplitudes of the mean level and three tides in measured levels of the sea, by the normal equations."""
    hours = np.arange(len(levels)) * spacing
    speeds = {"M2": 28.984, "S2": 30.0, "K1": 15.041}
    columns = [np.ones_like(hours)]
    for speed in speeds.values():
        phase = np.deg2rad(speed * hours)
        columns.extend([np.cos(phase), np.sin(phase)])
    design = np.stack(columns, axis=1)
    normal = np.einsum("ki,kj->ij", design, design) + 1e-3 * np.eye(len(columns))
    mean, *pairs = np.linalg.solve(normal, design.T @ levels)
    return np.array([mean] + [math.hypot(c, s) for c, s in zip(pairs[::2], pairs[1::2])])


def ekman_transport(stress, viscosity, depth=40.0, n=24, coriolis=1e-4):
    """Transport of water along and across the wind that drives it, by a banded system."""
    dz = depth / n
    z = (np.arange(n) + 0.5) * dz
    mixing = viscosity * np.exp(-z / 60.0)
    between = (mixing[1:] + mixing[:-1]) / 2 / dz**2
    bands = np.zeros((5, 2 * n))
    # unknowns u0, v0, u1, v1, ...: mixing couples every second one, the earth's rotation each pair
    for k in range(n):
        below = between[k] if k < n - 1 else mixing[k] / dz**2
        above = between[k - 1] if k > 0 else 0.0
        bands[2, 2 * k : 2 * k + 2] = above + below
        if k > 0:
            bands[0, 2 * k : 2 * k + 2] = -above
            bands[4, 2 * k - 2 : 2 * k] = -above
        bands[1, 2 * k + 1] = -coriolis
        bands[3, 2 * k] = coriolis
    forcing = np.zeros(2 * n)
    forcing[0] = stress / dz
    solution = solve_banded((2, 2), bands, forcing)
    return dz * np.array([solution[::2].sum(), solution[1::2].sum()])


def ice_line_climate(solar_constant, transport, bands=12):
    """Mean temperature of an earth of latitude bands whose cold ones are bright, by fixed-point rounds."""
    x = (np.arange(bands) + 0.5) / bands
    sunshine = solar_constant / 4 * (1 - 0.482 * (3 * x**2 - 1) / 2)
    temperature = 30 - 50 * x**2
    for _ in range(200):
        albedo = np.select(
            [temperature < -12.0, temperature > 6.0], [0.6, 0.29], default=0.29 + 0.31 * (6.0 - temperature) / 18.0
        )
        mean = temperature.mean()
        new = (sunshine * (1 - albedo) + transport * mean - 203.3) / (2.09 + transport)
        if np.max(np.abs(new - temperature)) < 1e-11:
            break
        temperature = 0.5 * (new + temperature)
    return temperature.mean()


SEA = 0.4 + np.cos(0.506 * np.arange(30)) + 0.3 * np.sin(0.52 * np.arange(30)) + 0.2 * np.cos(0.26 * np.arange(30) + 1)

PROGRAMS = [
    Program(wet_bulb_temperature, (24.0, 55.0)),
    Program(lifted_energy, (28.3, 19.1)),
    Program(shoaled_waves, (8.0, 1.3, 0.4)),
    Program(tidal_amplitudes, (SEA, 1.02)),
    Program(ekman_transport, (1.2e-4, 0.012)),
    Program(ice_line_climate, (1361.0, 3.1)),
]
