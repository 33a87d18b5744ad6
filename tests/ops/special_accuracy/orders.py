"""Cylinder functions and polynomials in order and degree; Wright's function; Mathieu and spheroidal functions."""

from __future__ import annotations

from typing import Any

import mpmath as mp

from tests.ops.special_accuracy.entry import Entry


def wright(a: Any, b: Any, x: Any) -> Any:
    total, k = mp.mpf(0), 0
    while True:
        term = mp.exp(k * mp.log(x) - mp.loggamma(k + 1)) * mp.rgamma(a * k + b)
        total, k = total + term, k + 1
        if k > 2 * x ** (1 / (1 + a)) + 5 and abs(term) < abs(total) * mp.mpf(10) ** (-mp.mp.dps - 2):
            return total


def besselpoly(a: Any, lmb: Any, nu: Any) -> Any:
    """∫ xᵏ J_ν(2ax) dx as a power series."""
    return mp.nsum(
        lambda k: (
            (-1) ** int(k) * a ** (2 * k + nu) * mp.rgamma(k + 1) * mp.rgamma(k + nu + 1) / (2 * k + nu + lmb + 1)
        ),
        [0, mp.inf],
    )


def pbvv(v: Any, x: Any) -> Any:
    return mp.pcfv(-v - mp.mpf(1) / 2, x)


def lpmv(m: Any, v: Any, x: Any) -> Any:
    return mp.re(mp.legenp(v, int(m), x))


def mathieu_matrix(even: bool, m: int, q: Any) -> tuple[Any, int]:
    """The matrix of the Fourier coefficients, and the place of order m among its eigenvalues."""
    size, lowest = 22 + m // 2, 1 if m % 2 else 0 if even else 2
    a = mp.zeros(size)
    for k in range(size):
        a[k, k] = mp.mpf(2 * k + lowest) ** 2
        if k:
            a[k, k - 1] = a[k - 1, k] = q * (mp.sqrt(2) if lowest == 0 and k == 1 else 1)
    if lowest == 1:
        a[0, 0] += q if even else -q
    return a, (m - lowest) // 2


def mathieu_value(even: bool) -> Any:
    def value(m: Any, q: Any) -> Any:
        a, place = mathieu_matrix(even, int(m), q)
        return sorted(mp.eigsy(a, eigvals_only=True))[place]

    return value


def mathieu_cem(m: Any, q: Any, x: Any) -> Any:
    a, place = mathieu_matrix(True, int(m), q)
    _, vectors = mp.eigsy(a)
    lowest = int(m) % 2
    weights = [mp.sqrt(mp.mpf(1) / 2) if lowest == 0 and k == 0 else mp.mpf(1) for k in range(a.rows)]
    coefficients = [vectors[k, place] * weights[k] for k in range(a.rows)]
    value = sum(c * mp.cos((2 * k + lowest) * x * mp.pi / 180) for k, c in enumerate(coefficients))
    return value * mp.sign(sum(coefficients))


def spheroidal_value(sign: int) -> Any:
    def value(m: Any, n: Any, c: Any) -> Any:
        m, n = int(m), int(n)
        size = 18 + n // 2
        a = mp.zeros(size)
        step = lambda l: mp.mpf(l * l - m * m) / (4 * l * l - 1)
        for k in range(size):
            l = m + 2 * k + (n - m) % 2
            a[k, k] = l * (l + 1) + sign * c * c * ((step(l) if l > m else 0) + step(l + 1))
            if k + 1 < size:
                a[k, k + 1] = a[k + 1, k] = sign * c * c * mp.sqrt(step(l + 1) * step(l + 2))
        return sorted(mp.eigsy(a, eigvals_only=True))[(n - m) // 2]

    return value


LINE = "quadrature along a line through the saddle"
SERIES = "power series, a window around its greatest term"
EIGEN = "perturbation of an eigenvector"
CYLINDER = [(-8.3, 3.0), (-0.5, 0.4), (0.3, 0.0), (2.0, 9.0), (5.7, 3.0), (12.2, 0.4), (40.3, 9.0), (32.2, 11.7)]
LEFT = [(-8.3, -2.5), (-0.5, -7.0), (0.3, -0.1), (5.7, -2.5), (12.2, -7.0)]

ENTRIES = [
    *[
        Entry(name, "v", LINE, region, 1e-12, exact, points, 0, result=0)
        for name, exact in (("pbdv", mp.pcfd), ("pbvv", pbvv))
        for region, points in (("x ≥ 0, v to 40", CYLINDER), ("x < 0", LEFT))
    ],
    Entry(
        "pbwa",
        "a",
        "power series",
        "|x| ≤ 5, |a| ≤ 5",
        5e-8,
        lambda a, x: mp.re(mp.pcfw(a, x)),
        [(-4.5, -5.0), (-1.0, 5.0), (0.7, 0.3), (3.0, -5.0), (3.0, 2.0), (5.0, 5.0)],
        0,
        result=0,
    ),
    Entry(
        "struve",
        "v",
        "power series",
        "x < 9",
        3e-13,
        mp.struveh,
        [(-2.3, 0.5), (0.0, 1e-3), (0.7, 4.0), (3.0, 8.9), (12.0, 5.0)],
        0,
    ),
    Entry(
        "struve",
        "v",
        "Y in the order, and exp-sinh quadrature of H - Y",
        "x from 9 to 200",
        1e-11,
        mp.struveh,
        [(-2.3, 20.0), (0.0, 9.1), (0.7, 100.0), (3.0, 15.0), (12.0, 200.0)],
        0,
    ),
    Entry(
        "modstruve",
        "v",
        "power series",
        "x from 10⁻³ to 100",
        1e-12,
        mp.struvel,
        [(-2.3, 0.5), (0.0, 1e-3), (0.7, 4.0), (3.0, 20.0), (12.0, 100.0)],
        0,
        scale=lambda v, x: abs(mp.struvel(v, x)),
    ),
    *[
        Entry(
            "besselpoly",
            name,
            "tanh-sinh quadrature",
            "a from 0.1 to 8",
            1e-12,
            besselpoly,
            [(0.1, 0.4, 1.3), (0.7, 0.0, 0.5), (3.0, 2.5, 2.0), (8.0, 1.0, 0.3)],
            i,
        )
        for i, name in enumerate(("a", "lmb", "nu"))
    ],
    *[
        Entry(
            "wright_bessel",
            name,
            SERIES,
            "x to 10⁴",
            1e-12,
            wright,
            [(0.5, 1.2, 0.3), (0.1, 0.3, 200.0), (1.0, 2.0, 50.0), (2.3, 5.0, 1e4), (0.5, 30.0, 1e3), (5.0, 0.1, 1e4)],
            i,
        )
        for i, name in enumerate("ab")
    ],
    *[
        Entry(
            "eval_jacobi",
            name,
            "finite sum",
            "whole n to 20",
            1e-12,
            mp.jacobi,
            [(1, 0.3, -0.6, 0.4), (5, 1.3, 0.6, -0.8), (20, 0.3, -0.6, 0.4)],
            i,
        )
        for i, name in ((1, "alpha"), (2, "beta"))
    ],
    *[
        Entry(
            "eval_jacobi",
            name,
            "by hyp2f1 in its parameters",
            "real n to 6",
            1e-11,
            mp.jacobi,
            [(0.3, 0.3, -0.6, 0.4), (2.7, 1.3, 0.6, 0.8), (5.5, 0.2, 0.4, -0.3)],
            i,
        )
        for i, name in ((0, "n"), (1, "alpha"), (2, "beta"))
    ],
    Entry(
        "eval_gegenbauer",
        "alpha",
        "finite sum",
        "whole n to 20",
        1e-12,
        mp.gegenbauer,
        [(1, 0.3, 0.4), (5, 1.3, -0.8), (20, 0.3, 0.4)],
        1,
    ),
    Entry(
        "eval_gegenbauer",
        "n",
        "by hyp2f1 in its parameters",
        "real n to 6",
        1e-11,
        mp.gegenbauer,
        [(0.3, 0.3, 0.4), (2.7, 1.3, 0.8), (5.5, 0.2, -0.3)],
        0,
    ),
    Entry(
        "eval_genlaguerre",
        "alpha",
        "finite sum",
        "whole n to 20",
        1e-12,
        mp.laguerre,
        [(1, 0.3, 0.4), (5, 1.3, 8.0), (20, 0.3, 1.4)],
        1,
    ),
    Entry(
        "eval_genlaguerre",
        "n",
        "by hyp1f1 in its parameters",
        "real n to 6",
        1e-11,
        mp.laguerre,
        [(0.3, 0.3, 0.4), (2.7, 1.3, 3.0), (5.5, 0.2, 9.0)],
        0,
    ),
    Entry(
        "eval_legendre",
        "n",
        "integral of Mehler and Dirichlet",
        "n to 50, x from -0.99 to 3",
        1e-12,
        lambda n, x: mp.re(mp.legendre(n, x)),
        [(0.3, -0.97), (2.0, 0.5), (15.5, -0.2), (50.0, 0.3), (2.7, 3.0), (4.4, -0.99)],
        0,
    ),
    Entry(
        "eval_chebyt",
        "n",
        "closed form",
        "x from -1 to 3",
        1e-13,
        lambda n, x: mp.re(mp.chebyt(n, x)),
        [(0.3, -0.97), (2.0, 0.4), (15.5, -0.2), (2.7, 3.0)],
        0,
    ),
    Entry(
        "lpmv",
        "v",
        "integral of Mehler and Dirichlet",
        "m ≤ 3, v to 15",
        1e-10,
        lpmv,
        [(0, 0.3, -0.97), (1, 2.7, 0.5), (2, 15.5, 0.5), (3, 2.0, 0.999), (3, 15.5, -0.2)],
        1,
    ),
    Entry(
        "lpmv",
        "x",
        "closed form",
        "m ≤ 3, v to 15",
        1e-12,
        lpmv,
        [(0, 0.3, -0.97), (1, 2.7, 0.5), (2, 15.5, 0.5), (3, 2.7, 0.999)],
        2,
    ),
    *[
        Entry(
            f"mathieu_{'ab'[odd]}",
            "q",
            EIGEN,
            "|q| ≤ 60, m ≤ 7",
            1e-11,
            mathieu_value(not odd),
            [(1, 0.7), (2, -5.0), (3, 20.0), (7, 60.0)],
            1,
        )
        for odd in (0, 1)
    ],
    Entry(
        "mathieu_cem",
        "q",
        EIGEN,
        "|q| ≤ 20, m ≤ 3",
        1e-11,
        mathieu_cem,
        [(0, 0.7, 20.0), (2, -5.0, 77.0), (3, 20.0, 40.0)],
        1,
        result=0,
    ),
    *[
        Entry(
            f"{kind}_cv",
            "c",
            EIGEN,
            "c ≤ 8, n ≤ 5",
            1e-11,
            spheroidal_value(sign),
            [(0, 1, 0.5), (1, 2, 3.0), (2, 5, 8.0)],
            2,
        )
        for kind, sign in (("pro", 1), ("obl", -1))
    ],
]
