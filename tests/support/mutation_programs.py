"""Small programs, each of which needs one rule of the rewriting of functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def calls(x: Any) -> Any:
    return math.sin(x) * x


def stores(x: Any) -> Any:
    z = np.zeros(3)
    z[0] = x * x
    z[1] += x
    z[-1] -= 2 * x
    return np.sum(z * z)


def item_sums(x: Any) -> Any:
    z = np.zeros(3)
    for i in range(3):
        z[i] += x * i
    return z[1] + z[2]


def joined(x: Any) -> Any:
    return np.sum(np.r_[x, 1.0, x * x])


def in_place(x: Any) -> Any:
    y = np.zeros(2)
    y += x
    y *= x
    return np.sum(y)


class Body:
    """An object with a state."""

    def __init__(self, v: Any) -> None:
        self.v, self.__hidden = v, 0.0

    def step(self, x: Any) -> None:
        if x > 0.5:
            self.v = self.v * x
        else:
            self.v += 2 * x
        self.__hidden += self.v


class Child(Body):
    def step(self, x: Any) -> None:
        if x > 0.0:
            super().step(x)


def attributes(x: Any) -> Any:
    body = Child(1.0)
    for i in range(12):
        body.step(x - 0.02 * i)
    return body.v * body.v + body._Body__hidden  # type: ignore[attr-defined]


def deletions(x: Any) -> Any:
    values = [x, 2 * x, 3 * x]
    if x > 0.6:
        del values[0]
    return sum(values)


def ternary(x: Any) -> Any:
    total = 0.0
    for i in range(12):
        total = total + (x * i if x > 0.05 * i else x * x)
    return total


def truths(x: Any) -> Any:
    total = 0.0
    for i in range(20):
        if (x > 0.1 * i and x < 0.9) or not x > 0.02 * i:
            total = total + x * i
        if 0.2 < x * i < 3.0 < 4.0 + x:
            total = total * 1.1
    return total


def asserted(x: Any) -> Any:
    y = x
    for _ in range(12):
        y = y * 1.1
        assert y < 1.5, "too large"
    return y


def swallowed(x: Any) -> Any:
    try:
        return float(np.require(x * np.ones(1))[0])
    except Exception:
        return 0.0


def texts(x: Any) -> Any:
    return x * len(f"{x:.3f}") * (2.0 if f"{x:.1f}" == "0.7" else 3.0)


def comprehended(x: Any) -> Any:
    return sum([v * 2 for v in map(math.exp, [x, 2 * x, -x]) if v * v > 0.01])


def walrus(x: Any) -> Any:
    total = 0.0

    def add(v: Any) -> Any:
        nonlocal total
        total = total + v
        return total

    while (y := x * 2) < 30.0:
        x = y
        add(y)
    return total + y


def tried(x: Any) -> Any:
    try:
        y = math.sqrt(x - 0.65)
    except ValueError:
        y = x * x
    try:
        return y + x / (x - x)
    except ZeroDivisionError:
        return y


class Pair:
    """An object whose special methods compute with `math`."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __iter__(self) -> Any:
        yield math.sin(self.v)
        yield math.cos(self.v)

    def __enter__(self) -> Any:
        return math.tan(self.v)

    def __exit__(self, *problem: Any) -> None:
        self.v = math.exp(self.v)

    def __bool__(self) -> bool:
        return math.sin(self.v) > 0.5

    def __add__(self, other: Any) -> Any:
        return Pair(math.hypot(self.v, other))

    def __neg__(self) -> Any:
        return Pair(math.exp(-self.v))

    def __lt__(self, other: Any) -> Any:
        return math.sin(self.v) < math.sin(other.v)

    def __contains__(self, v: Any) -> bool:
        return math.cos(self.v) < v

    @property
    def root(self) -> Any:
        return math.sqrt(self.v)


def unpacked(x: Any) -> Any:
    s, c = Pair(x)
    return s * 2 + c


def starred(x: Any) -> Any:
    return max(*Pair(x))


def managed(x: Any) -> Any:
    with Pair(x) as y:
        z = y * 2
    return z


def asked(x: Any) -> Any:
    return x * x if Pair(x) else x


def added(x: Any) -> Any:
    return (Pair(x) + 2.0).v


def negated(x: Any) -> Any:
    return (-Pair(x)).v


def compared(x: Any) -> Any:
    return x * x if Pair(x) < Pair(x + 1) else x


def contained(x: Any) -> Any:
    return x * x if 0.9 in Pair(x) else x


def properties(x: Any) -> Any:
    return Pair(x).root


def branches(x: Any) -> Any:
    y, z = x, 1.0
    for i in range(12):
        if y > 1.0:
            y, z = y * 0.7, z + y
        else:
            y = y * 1.3 + i * 0.01
    return y * z


def while_loop(x: Any) -> Any:
    y, h = x, 0.4
    while y < 50.0:
        y = y * 1.5 + h * x
        h = h * 0.9
    return y


def breaking(x: Any) -> Any:
    total = 0.0
    for i in range(40):
        total = total + x * i
        if total > 20.0:
            break
    return total


def skipping(x: Any) -> Any:
    total = 0.0
    for i in range(40):
        if x * i > 2.0:
            total = total + x
            if x * i > 9.0:
                continue
        total = total + x * i
    return total


def returning(x: Any) -> Any:
    for i in range(40):
        if x * i > 20.0:
            return x * i * i
    return -x


def otherwise(x: Any) -> Any:
    for i in range(40):
        if x * i > 100.0:
            break
    else:
        return x * 5
    return x


def shared(x: Any) -> Any:
    total = 1.0

    def visit(v: Any) -> None:
        nonlocal total
        total = total * 0.9 + v

    for i in range(15):
        visit(x * i)
    return total


def nested(x: Any) -> Any:
    scale = 1.0

    def inner(v: Any) -> Any:
        return math.sin(v) * scale

    for i in range(15):
        scale = scale + x
        x = x * 0.9 + 0.01 * inner(x * i)
    return x * scale


def local_class(x: Any) -> Any:
    class Gauge:
        def read(self, v: Any) -> Any:
            return math.exp(v)

    return Gauge().read(x) * x


def matched(x: Any) -> Any:
    total = 0.0
    for i in range(12):
        match i % 3:
            case 0:
                if x * i > 2.0:
                    total = total + x
            case _:
                total = total + x * i
    return total
