"""Programs in plain Python: loops that end by a tolerance, branches, a list as a stack, nothing else.

Each is a function of one array and returns a number. What is known beforehand (coupons, years, the tree) is plain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ECCENTRICITY = 0.9
STEPS, H = 1000, 0.01
LONG = 20_000
TOLERANCE = 1e-10
_rng = np.random.default_rng(0)
COUPONS = _rng.uniform(0.01, 0.09, size=200)
YEARS = _rng.integers(2, 30, size=200)
CHILDREN = [(2 * k + 1, 2 * k + 2) if k < 63 else None for k in range(127)]


def kepler(anomalies: Any) -> Any:
    """Σ cos E with E - e sin E = M for each M, by Newton's method; the number of steps differs."""
    total = 0.0
    for i in range(len(anomalies)):
        angle = anomalies[i]
        step = 1.0
        while abs(step) > 1e-12:
            step = (angle - ECCENTRICITY * math.sin(angle) - anomalies[i]) / (1.0 - ECCENTRICITY * math.cos(angle))
            angle = angle - step
        total += math.cos(angle)
    return total


def bond_value(rate: Any, coupon: Any, years: Any) -> Any:
    """The value of a bond of face value one, and its derivative in the rate, by Horner's scheme."""
    discount = 1.0 / (1.0 + rate)
    value, slope = 1.0, 0.0
    for _ in range(years):
        slope = (slope - value * discount) * discount
        value = value * discount + coupon
    return value, slope


def bond_yield(price: Any, coupon: Any, years: Any) -> Any:
    """The rate at which a bond has a price: bisection, then Newton's method."""
    low, high = -0.2, 0.8
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        if bond_value(middle, coupon, years)[0] > price:
            low = middle
        else:
            high = middle
    rate = 0.5 * (low + high)
    for _ in range(30):
        value, slope = bond_value(rate, coupon, years)
        step = (value - price) / slope
        rate -= step
        if abs(step) < 1e-11:
            break
    return rate


def bonds(theta: Any) -> Any:
    """A penalty on the yields of many bonds, which may be called when rates are low; θ: level, slope and spread."""
    total = 0.0
    for i in range(len(COUPONS)):
        years = YEARS[i]
        rate = theta[0] + theta[1] * years + theta[2] * COUPONS[i]
        price = bond_value(rate, COUPONS[i], years)[0]
        if price > 1.2:
            years = (years + 1) // 2
            price = 1.0 + 0.5 * (price - 1.0)
        found = bond_yield(price, COUPONS[i], years)
        if found > 0.05:
            total += 2.0 * found * found
        elif found < 0.02:
            total += 0.02 - found
        else:
            total += found
    return total


def particle(p: Any) -> Any:
    """A particle that falls, is slowed, and meets a floor and a wall; p: position, speed, bounce, drag."""
    x, v, bounce, drag = p
    energy = 0.0
    for _ in range(STEPS):
        v = v - H * (9.81 + drag * v * abs(v))
        x = x + H * v
        if x < 0.0:
            x = -x
            v = -bounce * v
        elif x > 2.0:
            x = 4.0 - x
            v = -v
        energy += H * v * v
    return energy + x


def gauss_seidel(b: Any) -> Any:
    """Σ u² with 2.2 u[i] - u[i-1] - u[i+1] = b[i], in place until nothing changes."""
    n = len(b)
    u = np.zeros(n + 2)
    change = 1.0
    while change > TOLERANCE:
        change = 0.0
        for i in range(1, n + 1):
            new = (b[i - 1] + u[i - 1] + u[i + 1]) / 2.2
            change = max(change, abs(new - u[i]))
            u[i] = new
    return np.sum(u * u)


def tree_walk(values: Any) -> Any:
    """A tree from its root, with a list as the stack; what is known at a node goes to its children."""
    total = 0.0
    stack = [(0, 1.0)]
    while stack:
        node, weight = stack.pop()
        value = values[node] * weight
        if value > 0.5:
            total += value * value
            weight *= 0.9
        elif value < -0.5:
            total += math.sin(value)
        else:
            total -= value
            weight += 0.1 * value
        children = CHILDREN[node]
        if children is not None:
            stack.append((children[0], weight))
            stack.append((children[1], 0.8 * weight))
    return total


def long_loop(p: Any) -> Any:
    """Euler's method for a driven pendulum with friction, twenty thousand steps; p: angle, speed, friction."""
    angle, speed, friction = p
    for i in range(LONG):
        speed = speed - 1e-3 * (math.sin(angle) + friction * speed - 0.5 * (i * 1e-4))
        angle = angle + 1e-3 * speed
    return angle * speed
