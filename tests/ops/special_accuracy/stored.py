"""Incomplete gamma and beta, Bessel and hypergeometric functions in their parameters: against stored values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath

from tests.ops.special_accuracy.entry import Entry

ROWS = json.loads((Path(__file__).parents[1] / "special" / "references.json").read_text(encoding="utf-8"))
ARGUMENTS = {
    "gammainc": "a x",
    "betainc": "a b x",
    **dict.fromkeys(("jv", "yv", "ive", "kve"), "v x"),
    "hyp0f1": "b x",
    "hyp1f1": "a b x",
    "hyp2f1": "a b c x",
    "hyperu": "a b x",
}
METHODS = {
    "gammainc": "series for x ≤ 1, else Gauss's quadrature of the density over one tail",
    "betainc": "Gauss's quadrature of the density over one tail",
    "jv": "power series; Schläfli's integral along a path through the saddle",
    "yv": "Schläfli's integral along paths through the saddles",
    "ive": "power series; Schläfli's or Bessel's integral",
    "kve": "trapezoidal rule for the integral of exp(νt - x cosh t)",
    "hyp0f1": "power series; Bessel functions for |x| > 12",
    "hyp1f1": "power series, after Kummer's transformation for x < 0; asymptotic series",
    "hyp2f1": "power series, after Pfaff's transformation for x < 0; Taylor steps near x = 1",
    "hyperu": "Gauss's quadrature of the integral; recurrence in a",
}
Region = tuple[str, Callable[..., bool]]
TURNING = ("turning points, ν near x", lambda v, x: abs(abs(v) - x) < 0.05 * x)
BESSEL: list[Region] = [
    TURNING,
    ("x > ν", lambda v, x: x > abs(v)),
    ("x < ν", lambda v, x: x <= abs(v)),
]
REGIONS: dict[str, list[Region]] = {
    "gammainc": [
        ("a, x > 50, near the peak and far", lambda a, x: a > 50),
        ("a < 1", lambda a, x: a < 1),
        ("elsewhere", lambda a, x: True),
    ],
    "betainc": [
        ("a or b > 50", lambda a, b, x: max(a, b) > 50),
        ("a or b ≤ 0.01", lambda a, b, x: min(a, b) <= 0.01),
        ("elsewhere", lambda a, b, x: True),
    ],
    **dict.fromkeys(("jv", "yv", "ive", "kve"), BESSEL),
    "hyp0f1": [("x < 0", lambda b, x: x < 0), ("x > 0", lambda b, x: True)],
    "hyp1f1": [("|x| > 50", lambda a, b, x: abs(x) > 50), ("elsewhere", lambda a, b, x: True)],
    "hyp2f1": [
        ("0.9 ≤ x < 1", lambda a, b, c, x: x >= 0.9),
        ("x < -1", lambda a, b, c, x: x < -1),
        ("elsewhere", lambda a, b, c, x: True),
    ],
    "hyperu": [("a ≤ 0", lambda a, b, x: a <= 0), ("a > 0", lambda a, b, x: True)],
}
STATED = {
    "gammainc": (2e-13, 1e-12),
    "betainc": (3e-12, 3e-12),
    **dict.fromkeys(("jv", "yv"), (1e-12, 1e-12)),
    **dict.fromkeys(("ive", "kve"), (2e-13, 2e-13)),
    "hyp0f1": (1e-12, 2e-11),
    "hyp1f1": (1e-13, 1e-13),
    "hyp2f1": (1e-11, 1e-11),
    "hyperu": (3e-12, 3e-12),
}


def _stored(values: dict[tuple[float, ...], float]) -> Callable[..., Any]:
    return lambda *point: mpmath.mpf(values[tuple(float(p) for p in point)])


def _entries() -> list[Entry]:
    found: list[Entry] = []
    members = {(name, tuple(orders)): [] for name, orders, *_ in ROWS}
    for name, orders, point, value, scale in ROWS:
        if scale == 0 or abs(value) > 1e-20:
            members[name, tuple(orders)].append((tuple(point), value))
    for (name, orders), pairs in members.items():
        order = max(orders)
        if order != sum(orders):
            continue  # mixed derivatives are in the tests
        position = orders.index(order)
        left = list(pairs)
        for region, inside in REGIONS[name]:
            here = [pair for pair in left if inside(*pair[0])]
            left = [pair for pair in left if pair not in here]
            if here:
                found.append(
                    Entry(
                        name,
                        ARGUMENTS[name].split()[position],
                        METHODS[name],
                        region,
                        STATED[name][order > 1],
                        _stored(dict(here)),
                        [point for point, _ in here],
                        position,
                        direct=True,
                        order=order,
                    )
                )
    return found


ENTRIES = _entries()
