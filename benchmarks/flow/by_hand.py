"""The same programs with their derivatives, written by hand for numba: each returns the value and the gradient.

Root finders carry the tangent of their one number along; where there are many numbers the sweep goes back.
"""

from __future__ import annotations

import math
from typing import Any

import numba  # pyright: ignore[reportMissingImports] (of the environment of `make bench`)
import numpy as np

from benchmarks.flow.plain import CHILDREN, COUPONS, ECCENTRICITY, LONG, STEPS, TOLERANCE, YEARS, H

_LEFT = np.array([c[0] if c else -1 for c in CHILDREN])
_RIGHT = np.array([c[1] if c else -1 for c in CHILDREN])
compiled = numba.njit(error_model="numpy")


@compiled
def kepler(anomalies: Any) -> Any:
    total, gradient = 0.0, np.empty(len(anomalies))
    for i in range(len(anomalies)):
        angle, tangent, step = anomalies[i], 1.0, 1.0
        while abs(step) > 1e-12:
            s, c = ECCENTRICITY * math.sin(angle), ECCENTRICITY * math.cos(angle)
            step = (angle - s - anomalies[i]) / (1.0 - c)
            dstep = (tangent * (1.0 - c) - 1.0 - step * s * tangent) / (1.0 - c)
            angle, tangent = angle - step, tangent - dstep
        total += math.cos(angle)
        gradient[i] = -math.sin(angle) * tangent
    return total, gradient


@compiled
def bond_value(rate: Any, coupon: Any, years: Any) -> Any:
    discount = 1.0 / (1.0 + rate)
    value, slope = 1.0, 0.0
    for _ in range(years):
        slope = (slope - value * discount) * discount
        value = value * discount + coupon
    return value, slope


@compiled
def bond_curve(rate: Any, coupon: Any, years: Any) -> Any:
    """Value, slope and curvature."""
    discount = 1.0 / (1.0 + rate)
    value, slope, curvature = 1.0, 0.0, 0.0
    for _ in range(years):
        curvature = (curvature - 2.0 * (slope - value * discount) * discount) * discount
        slope = (slope - value * discount) * discount
        value = value * discount + coupon
    return value, slope, curvature


@compiled
def bonds(theta: Any) -> Any:
    total, gradient = 0.0, np.zeros(3)
    for i in range(len(COUPONS)):
        years, coupon = YEARS[i], COUPONS[i]
        before = years
        price, dprice = bond_value(theta[0] + theta[1] * years + theta[2] * coupon, coupon, years)
        if price > 1.2:
            years = (years + 1) // 2
            price, dprice = 1.0 + 0.5 * (price - 1.0), 0.5 * dprice
        low, high = -0.2, 0.8
        while high - low > 0.1:
            middle = 0.5 * (low + high)
            if bond_value(middle, coupon, years)[0] > price:
                low = middle
            else:
                high = middle
        rate, tangent = 0.5 * (low + high), 0.0
        for _ in range(30):
            value, slope, curvature = bond_curve(rate, coupon, years)
            step = (value - price) / slope
            tangent -= (slope * tangent - dprice - step * curvature * tangent) / slope
            rate -= step
            if abs(step) < 1e-11:
                break
        if rate > 0.05:
            total += 2.0 * rate * rate
            tangent *= 4.0 * rate
        elif rate < 0.02:
            total += 0.02 - rate
            tangent = -tangent
        else:
            total += rate
        gradient[0] += tangent
        gradient[1] += tangent * before
        gradient[2] += tangent * coupon
    return total, gradient


@compiled
def particle(p: Any) -> Any:
    x, v, bounce, drag = p[0], p[1], p[2], p[3]
    energy = 0.0
    met, before, after = np.empty(STEPS, np.int8), np.empty(STEPS), np.empty(STEPS)
    for k in range(STEPS):
        before[k] = v
        v = v - H * (9.81 + drag * v * abs(v))
        x = x + H * v
        after[k] = v
        met[k] = 0
        if x < 0.0:
            x, v, met[k] = -x, -bounce * v, 1
        elif x > 2.0:
            x, v, met[k] = 4.0 - x, -v, 2
        energy += H * v * v
    value = energy + x
    dx, dv, dbounce, ddrag = 1.0, 0.0, 0.0, 0.0
    for k in range(STEPS - 1, -1, -1):
        v = after[k]
        if met[k] == 1:
            dv += 2.0 * H * (-bounce * v)
            dx, dbounce, dv = -dx, dbounce - dv * v, -bounce * dv
        elif met[k] == 2:
            dv = -(dv - 2.0 * H * v)
            dx = -dx
        else:
            dv += 2.0 * H * v
        dv += H * dx
        v = before[k]
        ddrag -= H * v * abs(v) * dv
        dv *= 1.0 - 2.0 * H * drag * abs(v)
    return value, np.array([dx, dv, dbounce, ddrag])


@compiled
def gauss_seidel(b: Any) -> Any:
    n = len(b)
    u = np.zeros(n + 2)
    change, sweeps = 1.0, 0
    while change > TOLERANCE:
        change = 0.0
        sweeps += 1
        for i in range(1, n + 1):
            new = (b[i - 1] + u[i - 1] + u[i + 1]) / 2.2
            change = max(change, abs(new - u[i]))
            u[i] = new
    du, gradient = 2.0 * u, np.zeros(n)
    for _ in range(sweeps):
        for i in range(n, 0, -1):
            share = du[i] / 2.2
            du[i] = 0.0
            du[i - 1] += share
            du[i + 1] += share
            gradient[i - 1] += share
        du[0] = du[n + 1] = 0.0
    return np.sum(u * u), gradient


@compiled
def tree_walk(values: Any) -> Any:
    n = len(values)
    stack, weights, order = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    stack[0], weights[0], top, count, total = 0, 1.0, 1, 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        order[count] = node
        count += 1
        weight = weights[node]
        value = values[node] * weight
        if value > 0.5:
            total += value * value
            weight *= 0.9
        elif value < -0.5:
            total += math.sin(value)
        else:
            total -= value
            weight += 0.1 * value
        if _LEFT[node] >= 0:
            stack[top], stack[top + 1] = _LEFT[node], _RIGHT[node]
            weights[_LEFT[node]], weights[_RIGHT[node]] = weight, 0.8 * weight
            top += 2
    gradient, dweights = np.zeros(n), np.zeros(n)
    for k in range(count - 1, -1, -1):
        node = order[k]
        dweight = 0.0
        if _LEFT[node] >= 0:
            dweight = dweights[_LEFT[node]] + 0.8 * dweights[_RIGHT[node]]
        value = values[node] * weights[node]
        if value > 0.5:
            dvalue = 2.0 * value
            dweight *= 0.9
        elif value < -0.5:
            dvalue = math.cos(value)
        else:
            dvalue = 0.1 * dweight - 1.0
        gradient[node] = dvalue * weights[node]
        dweights[node] = dweight + dvalue * values[node]
    return total, gradient


@compiled
def long_loop(p: Any) -> Any:
    angle, speed, friction = p[0], p[1], p[2]
    angles, speeds = np.empty(LONG), np.empty(LONG)
    for i in range(LONG):
        angles[i], speeds[i] = angle, speed
        speed = speed - 1e-3 * (math.sin(angle) + friction * speed - 0.5 * (i * 1e-4))
        angle = angle + 1e-3 * speed
    value = angle * speed
    dangle, dspeed, dfriction = speed, angle, 0.0
    for i in range(LONG - 1, -1, -1):
        dspeed += 1e-3 * dangle
        dfriction -= 1e-3 * speeds[i] * dspeed
        dangle -= 1e-3 * math.cos(angles[i]) * dspeed
        dspeed *= 1.0 - 1e-3 * friction
    return value, np.array([dangle, dspeed, dfriction])
