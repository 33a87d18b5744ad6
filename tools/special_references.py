"""Write tests/ops/special/references.json: derivatives of special functions in their parameters, by mpmath.

Each row is a function, the orders of the derivative, a point, the value, and a scale: errors are relative to the
greater of |value| and scale. The scale of an oscillating function is its amplitude; it is zero elsewhere.

    python tools/special_references.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath as mp

TARGET = Path(__file__).resolve().parent.parent / "tests" / "ops" / "special" / "references.json"
STEP = mp.mpf(10) ** -18

GAMMA = [
    (1e-3, 0.1), (1e-3, 1e-300), (1e-3, 5.0), (0.1, 1e-5), (0.1, 0.9), (0.1, 1.1), (0.1, 30.0), (0.5, 0.5), (1.0, 1.0),
    (1.0, 1.5), (1.0, 20.0), (2.0, 1.2), (2.0, 5.0), (10.0, 1.5), (10.0, 9.6), (10.0, 30.0), (5.0, 0.01), (30.0, 0.5),
    (100.0, 60.0), (100.0, 99.0), (100.0, 140.0), (1000.0, 900.0), (1000.0, 1004.0), (1000.0, 1150.0),
]  # fmt: skip
GAMMA_LARGE = [(1e5, 1e5), (1e6, 1.001e6), (1e6, 0.9975e6), (1e8, 1e8 + 2e4), (1e10, 1e10 - 1e5)]
BETA = [
    (0.5, 0.5, 0.3), (0.5, 0.5, 0.999), (1e-2, 2.0, 0.5), (1e-2, 1e-2, 0.45), (1e-2, 1e-2, 0.9999), (1e-3, 1.0, 1e-10),
    (1.0, 1e-3, 0.99), (1.0, 1e-3, 1.0 - 2.0**-40), (2.0, 3.0, 0.4), (2.0, 3.0, 1e-5), (2.0, 3.0, 0.9999),
    (20.0, 3.0, 0.9), (20.0, 0.1, 0.999), (100.0, 100.0, 0.49), (100.0, 100.0, 0.45), (100.0, 100.0, 0.6),
    (300.0, 5.0, 0.98), (300.0, 5.0, 0.999), (5.0, 300.0, 0.01), (1000.0, 1000.0, 0.52), (1000.0, 0.5, 0.9995),
    (50.0, 2e3, 0.03), (1e-3, 50.0, 0.001), (1e-3, 50.0, 0.3), (0.3, 0.7, 2.0**-30),
]  # fmt: skip
BESSEL = [
    (0.0, 1e-8), (0.0, 0.1), (0.0, 1.0), (0.0, 2.1), (0.0, 5.0), (0.0, 30.0), (0.0, 200.0), (1.0, 1e-8), (1.0, 0.5),
    (1.0, 1.01), (0.5, 2.0), (3.0, 5.0), (4.9, 5.0), (5.0, 5.0), (5.0, 4.9), (6.0, 5.2), (10.0, 9.99), (0.01, 1e-3),
    (1e-3, 1e-4), (1e-3, 2e-3), (0.1, 0.2), (20.0, 1e-3), (20.0, 20.001), (20.0, 25.0), (25.0, 20.0), (25.0, 25.0),
    (50.0, 49.0), (100.0, 100.1), (100.0, 120.0), (10.0, 300.0), (200.0, 150.0), (200.0, 199.9), (-0.5, 3.0),
    (-2.0, 1.5), (-7.3, 4.0), (-3.0, 20.0), (-1e-3, 0.1), (3.0, 4.0), (6.0, 4.0), (10.0, 4.0), (10.0, 12.0),
    (1e-5, 40.0), (3.0, 60.0), (50.0, 300.0), (60.0, 300.0),
]  # fmt: skip
LIMIT = [
    (0.5, 1.0), (1.0, -3.0), (2.5, -11.0), (2.5, -15.0), (2.5, 100.0), (2.5, 1e4), (0.3, -500.0), (-1.5, 3.0),
    (-1.5, 40.0), (100.0, 50.0), (100.0, 1000.0),
]  # fmt: skip
KUMMER = [
    (0.5, 1.0, 0.3), (0.5, 1.5, -30.0), (0.5, 1.5, -55.0), (0.5, 1.5, -300.0), (0.5, 1.5, 30.0), (0.5, 1.5, 60.0),
    (0.5, 1.5, 300.0), (2.0, 0.5, -5.0), (3.7, 0.5, -25.0), (-1.0, 2.0, 3.0), (-2.0, 2.5, -5.0), (-2.5, 2.5, 10.0),
    (10.0, 20.0, -40.0), (10.0, 20.0, 100.0), (30.0, 4.0, 20.0), (2.0, 2.0, -10.0), (2.0, 2.0, 60.0),
    (3.0, 2.0, -100.0), (0.0, 1.0, 4.0),
]  # fmt: skip
GAUSS = [
    (0.5, 1.0, 1.5, 0.3), (0.5, 1.0, 1.5, 0.9), (0.5, 1.0, 1.5, 0.999), (0.5, 1.0, 1.5, 1.0 - 1e-9),
    (1.0, 1.0, 2.0, 0.99), (1.0, 2.0, 4.0, 0.999), (1.5, 2.5, 1.2, 0.95), (0.5, 1.0, 1.5, -0.5), (0.5, 1.0, 1.5, -5.0),
    (0.5, 1.0, 1.5, -1e4), (-1.5, 2.0, 3.0, 0.9), (-2.0, 2.0, 3.0, 0.9), (-2.0, 3.0, 1.5, -8.0), (5.0, 7.0, 3.0, 0.8),
    (5.0, 7.0, 30.0, 0.97), (0.3, 0.4, -0.7, 0.8), (2.0, 3.0, 2.0, -30.0), (20.0, 30.0, 40.0, 0.9),
    (20.0, 30.0, 40.0, -3.0),
]  # fmt: skip
TRICOMI = [
    (0.5, 1.0, 0.3), (0.5, 1.0, 1e-8), (0.5, 2.5, 3.0), (1.0, 1.0, 100.0), (2.0, 0.3, 1e3), (3.0, 7.0, 0.01),
    (10.0, 2.0, 5.0), (100.0, 3.0, 5.0), (100.0, 150.0, 20.0), (0.01, 0.5, 0.1), (0.5, -20.5, 2.0), (-0.5, 1.3, 2.0),
    (-3.0, 0.5, 2.0), (-3.0, 4.0, 2.5), (-20.3, 2.0, 5.0), (-0.2, 0.3, 0.1), (-5.5, 8.0, 3.0), (1e-3, 2.0, 4.0),
]  # fmt: skip


def incomplete_gamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def amplitude(orders: tuple[int, ...], point: tuple[float, ...]) -> float:
    """Of a Bessel function right of its turning point: a tenth of |H|."""
    v, x = point
    return 0.1 * float(abs(derived(mp.hankel1, orders, point))) if x > abs(v) else 0.0


def none(orders: tuple[int, ...], point: tuple[float, ...]) -> float:
    return 0.0


def negligible(orders: tuple[int, ...], point: tuple[float, ...]) -> float:
    """Beside I, of which it is the derivative: at order 0 that is -K, of which differences see nothing for large x."""
    return 1e-30


TABLE: list[tuple[str, Callable[..., Any], list[Any], list[tuple[int, ...]], Callable[..., float]]] = [
    ("gammainc", incomplete_gamma, GAMMA, [(1, 0), (2, 0)], none),
    ("betainc", incomplete_beta, BETA, [(1, 0, 0), (0, 1, 0), (2, 0, 0), (1, 1, 0), (0, 2, 0)], none),
    ("jv", mp.besselj, BESSEL, [(1, 0), (2, 0)], amplitude),
    ("yv", mp.bessely, BESSEL, [(1, 0), (2, 0)], amplitude),
    ("ive", lambda v, x: mp.exp(-x) * mp.besseli(v, x), BESSEL, [(1, 0), (2, 0)], negligible),
    ("kve", lambda v, x: mp.exp(x) * mp.besselk(v, x), BESSEL, [(1, 0), (2, 0)], none),
    ("hyp0f1", mp.hyp0f1, LIMIT, [(1, 0), (2, 0), (1, 1), (1, 2)], none),
    ("hyp1f1", mp.hyp1f1, KUMMER, [(1, 0, 0), (0, 1, 0), (2, 0, 0), (1, 1, 0), (0, 2, 0), (1, 0, 1), (0, 1, 1)], none),
    (
        "hyp2f1",
        mp.hyp2f1,
        GAUSS,
        [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 0, 1), (2, 0, 0, 0), (1, 0, 1, 0)],
        none,
    ),
    ("hyperu", mp.hyperu, TRICOMI, [(1, 0, 0), (0, 1, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1)], none),
]


def derived(function: Callable[..., Any], orders: tuple[int, ...], point: tuple[Any, ...]) -> Any:
    """A partial derivative by differences, in many digits."""
    with mp.workdps(60 + 10 * sum(orders)):
        exact = tuple(mp.mpmathify(p) for p in point)
        return mp.diff(function, exact, orders, h=STEP)


def large_gamma(a: float, x: float) -> Any:
    """∂P/∂a for large a, as the integral of the density times log t - ψ(a) over the shorter tail."""
    with mp.workdps(30):
        s, y = mp.mpf(a), mp.mpf(x)
        mean, width = mp.psi(0, s), 1 / mp.sqrt(y)
        side = 1 if mp.log(y) < mean else -1
        logarithm = lambda u: mp.log(y) - side * u
        density = lambda u: mp.exp(s * logarithm(u) - mp.exp(logarithm(u)) - mp.loggamma(s)) * (logarithm(u) - mean)
        return side * mp.quad(density, [width * k for k in (0, 1, 2, 4, 8, 12, 20)])


def rows() -> Iterator[list[Any]]:
    for name, function, points, every, scale in TABLE:
        for orders in every:
            for point in points:
                value = derived(function, orders, point)
                yield [name, list(orders), list(point), float(mp.re(value)), scale(orders, point)]
    for point in GAMMA_LARGE:
        yield ["gammainc", [1, 0], list(point), float(large_gamma(*point)), 0.0]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(row) for row in rows())
    TARGET.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
