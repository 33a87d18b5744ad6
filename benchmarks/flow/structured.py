"""The same programs in the words that `adjoint` and `jax.lax` share: while_loop, scan, cond.

`flow` has while_loop(condition, body, init), scan(body, init, xs), cond(predicate, then, other, *operands) and the
functions of NumPy as `np`.
"""

from __future__ import annotations

from typing import Any

from benchmarks.flow.plain import CHILDREN, COUPONS, ECCENTRICITY, LONG, STEPS, TOLERANCE, YEARS, H


def kepler_one(flow: Any, anomaly: Any) -> Any:
    """cos E for one M."""
    np = flow.np

    def newton(state: Any) -> Any:
        angle, _ = state
        step = (angle - ECCENTRICITY * np.sin(angle) - anomaly) / (1.0 - ECCENTRICITY * np.cos(angle))
        return angle - step, step

    return np.cos(flow.while_loop(lambda s: np.abs(s[1]) > 1e-12, newton, (anomaly, np.ones_like(anomaly)))[0])


def kepler(flow: Any, anomalies: Any) -> Any:
    """Σ cos E, one M after the other."""
    return flow.scan(lambda total, m: (total + kepler_one(flow, m), None), 0.0 * anomalies[0], anomalies)[0]


def bond_value(flow: Any, rate: Any, coupon: Any, years: Any) -> Any:
    """The value of a bond, and its derivative in the rate."""
    discount = 1.0 / (1.0 + rate)

    def year(state: Any) -> Any:
        k, value, slope = state
        return k + 1, value * discount + coupon, (slope - value * discount) * discount

    init = (0 * years, 1.0 + 0.0 * rate, 0.0 * rate)
    return flow.while_loop(lambda s: s[0] < years, year, init)[1:]


def bond_yield(flow: Any, price: Any, coupon: Any, years: Any) -> Any:
    """The rate at which a bond has a price."""
    np = flow.np

    def halve(state: Any) -> Any:
        low, high = state
        middle = 0.5 * (low + high)
        above = bond_value(flow, middle, coupon, years)[0] > price
        return flow.cond(above, lambda: (middle, high), lambda: (low, middle))

    def newton(state: Any) -> Any:
        rate, _, k = state
        value, slope = bond_value(flow, rate, coupon, years)
        step = (value - price) / slope
        return rate - step, step, k + 1

    low, high = flow.while_loop(lambda s: s[1] - s[0] > 0.1, halve, (0.0 * price - 0.2, 0.0 * price + 0.8))
    init = (0.5 * (low + high), 1.0 + 0.0 * price, 0 * years)
    return flow.while_loop(lambda s: (np.abs(s[1]) >= 1e-11) & (s[2] < 30), newton, init)[0]


def one_bond(flow: Any, theta: Any, coupon: Any, years: Any) -> Any:
    """The penalty of one bond."""
    price = bond_value(flow, theta[0] + theta[1] * years + theta[2] * coupon, coupon, years)[0]
    called = lambda: ((years + 1) // 2, 1.0 + 0.5 * (price - 1.0))
    years, price = flow.cond(price > 1.2, called, lambda: (years, price))
    found = bond_yield(flow, price, coupon, years)
    low = lambda: flow.cond(found < 0.02, lambda: 0.02 - found, lambda: found)
    return flow.cond(found > 0.05, lambda: 2.0 * found * found, low)


def bonds(flow: Any, theta: Any) -> Any:
    """The penalties of all bonds."""
    add = lambda total, bond: (total + one_bond(flow, theta, *bond), None)
    return flow.scan(add, 0.0 * theta[0], (COUPONS, YEARS))[0]


def particle(flow: Any, p: Any) -> Any:
    """A particle that meets a floor and a wall."""
    np = flow.np
    bounce, drag = p[2], p[3]

    def step(state: Any, _: Any) -> Any:
        x, v, energy = state
        v = v - H * (9.81 + drag * v * np.abs(v))
        x = x + H * v
        wall = lambda: flow.cond(x > 2.0, lambda: (4.0 - x, -v), lambda: (x, v))
        x, v = flow.cond(x < 0.0, lambda: (-x, -bounce * v), wall)
        return (x, v, energy + H * v * v), None

    x, _, energy = flow.scan(step, (p[0], p[1], 0.0 * p[0]), None, length=STEPS)[0]
    return energy + x


def gauss_seidel(flow: Any, b: Any) -> Any:
    """Σ u²: a sweep is a scan that hands the new value on."""
    np = flow.np

    def sweep(state: Any) -> Any:
        u, _ = state

        def one(carry: Any, item: Any) -> Any:
            left, change = carry
            old, right, given = item
            new = (given + left + right) / 2.2
            return (new, np.maximum(change, np.abs(new - old))), new

        zero = 0.0 * b[0]
        right = np.concatenate([u[1:], 0.0 * b[:1]])
        (_, change), u = flow.scan(one, (zero, zero), (u, right, b))
        return u, change

    u, _ = flow.while_loop(lambda s: s[1] > TOLERANCE, sweep, (0.0 * b, 1.0 + 0.0 * b[0]))
    return np.sum(u * u)


def tree_walk(flow: Any, values: Any) -> Any:
    """A tree from its root: the order is known, so the walk is Python's and the branches are selections."""
    np = flow.np
    total = 0.0
    stack: list[tuple[int, Any]] = [(0, 1.0)]
    while stack:
        node, weight = stack.pop()
        v = values[node] * weight
        total = total + np.where(v > 0.5, v * v, np.where(v < -0.5, np.sin(v), -v))
        weight = np.where(v > 0.5, 0.9 * weight, np.where(v < -0.5, weight, weight + 0.1 * v))
        children = CHILDREN[node]
        if children is not None:
            stack += [(children[0], weight), (children[1], 0.8 * weight)]
    return total


def long_loop(flow: Any, p: Any) -> Any:
    """Twenty thousand steps of Euler's method."""
    np = flow.np
    friction = p[2]

    def step(state: Any, i: Any) -> Any:
        angle, speed = state
        speed = speed - 1e-3 * (np.sin(angle) + friction * speed - 0.5 * (i * 1e-4))
        return (angle + 1e-3 * speed, speed), None

    angle, speed = flow.scan(step, (p[0], p[1]), np.arange(LONG))[0]
    return angle * speed
