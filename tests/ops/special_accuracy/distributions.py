"""Distributions in their parameters: sums over Poisson's weights, integrals and incomplete beta functions in mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

from tests.ops.special_accuracy.entry import Entry

Points = list[tuple[Any, ...]]


def _mixture(f: Callable[[int], Any], nc: Any) -> Any:
    """Σ f(j) over the Poisson distribution of mean nc/2."""
    mean = nc / 2
    low, high = max(0, int(mean - 14 * mp.sqrt(mean) - 60)), int(mean + 14 * mp.sqrt(mean) + 90)
    weight = mp.exp(-mean + (low * mp.log(mean) if low else 0) - mp.loggamma(low + 1))
    total = mp.mpf(0)
    for j in range(low, high):
        total += weight * f(j)
        weight = weight * mean / (j + 1)
    return total


def chndtr(x: Any, df: Any, nc: Any) -> Any:
    """P(χ² ≤ x)."""
    return _mixture(lambda j: mp.gammainc(df / 2 + j, 0, x / 2, regularized=True), nc)


def ncfdtr(dfn: Any, dfd: Any, nc: Any, f: Any) -> Any:
    """P(F ≤ f)."""
    x = dfn * f / (dfn * f + dfd)
    return _mixture(lambda j: mp.betainc(dfn / 2 + j, dfd / 2, 0, x, regularized=True), nc)


def nctdtr(df: Any, nc: Any, t: Any) -> Any:
    """P(T ≤ t), or minus P(T > t) right of the middle, where the former is near 1."""
    log = mp.log(2) + df / 2 * mp.log(df / 2) - mp.loggamma(df / 2)
    side = 1 if t < nc else -1
    width = 1 / mp.sqrt(2 * df)
    density = lambda s: side * mp.ncdf(side * (t * s - nc)) * mp.exp(log + (df - 1) * mp.log(s) - df * s * s / 2)
    ends = [1 + k * width for k in (-12, -6, -3, 0, 3, 6, 12, 24)]
    return mp.quad(density, [0, *[e for e in ends if e > 0], max(40, ends[-1] + 1)])


def stdtr(df: Any, t: Any) -> Any:
    """P(T ≤ t) less the constant."""
    return mp.sign(-t) / 2 * mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True)


def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    return mp.betainc(dfn / 2, dfd / 2, 0, dfn * x / (dfn * x + dfd), regularized=True)


def chdtr(v: Any, x: Any) -> Any:
    return mp.gammainc(v / 2, 0, x / 2, regularized=True)


def stdtrit(df: Any, p: Any) -> Any:
    start = mp.sqrt(2) * mp.erfinv(2 * p - 1)
    return mp.findroot(
        lambda t: (1 if t > 0 else 0) + stdtr(df, t) - p if t else 0.5 - p, (start, 1.1 * start), tol=1e-60
    )


def kolmogorov(x: Any) -> Any:
    if x > 0.5:
        return 2 * sum((-1) ** (k - 1) * mp.exp(-2 * k * k * x * x) for k in range(1, 30))
    return -mp.sqrt(2 * mp.pi) / x * sum(mp.exp(-((2 * k - 1) ** 2) * mp.pi**2 / 8 / x**2) for k in range(1, 12))


def smirnov(n: Any, d: Any) -> Any:
    whole = int(n)
    terms = range(int(mp.floor(whole * (1 - d))) + 1)
    return d * sum(
        mp.binomial(whole, j) * (d + mp.mpf(j) / whole) ** (j - 1) * (1 - d - mp.mpf(j) / whole) ** (whole - j)
        for j in terms
    )


def tklmbda(x: Any, lmbda: Any) -> Any:
    quantile = lambda p: (p**lmbda - (1 - p) ** lmbda) / lmbda if lmbda else mp.log(p / (1 - p))
    return mp.findroot(lambda p: quantile(p) - x, (mp.mpf("1e-3"), 1 - mp.mpf("1e-3")), solver="illinois", tol=1e-60)


PATH = "path integral of the Laplace transform, through its saddle"
MIXTURE = "trapezoidal rule for the mixture of normal distributions"
CHI: dict[str, Points] = {
    "center": [(3.0, 2.0, 1.0), (8.0, 5.0, 4.0), (0.6, 1.5, 0.2), (150.0, 100.0, 40.0)],
    "tails, to 1e-47": [(40.0, 3.0, 2.0), (200.0, 5.0, 10.0), (5.0, 100.0, 10.0), (1e-3, 1.5, 2.0)],
    "df < 1": [(0.1, 0.5, 0.3), (50.0, 0.1, 0.1), (1e-3, 0.1, 0.01), (5.0, 0.01, 4.0)],
    "df or nc to 1000": [(1000.0, 900.0, 50.0), (500.0, 2.0, 450.0), (1100.0, 20.0, 1000.0)],
}
RATIO: dict[str, Points] = {
    "center": [(3.0, 5.0, 1.0, 1.2), (7.0, 12.0, 3.0, 0.8), (200.0, 300.0, 20.0, 1.1)],
    "tails": [(2.0, 3.0, 0.5, 30.0), (50.0, 3.0, 4.0, 0.1), (3.0, 80.0, 6.0, 12.0), (2.0, 1.0, 0.01, 1e4)],
    "df < 1": [(0.3, 0.5, 0.2, 0.1), (2.0, 0.3, 0.5, 0.8), (0.2, 4.0, 1.0, 3.0)],
    "one df much greater": [(225.0, 0.7, 1.2, 3.2), (0.45, 396.0, 4.1, 0.09), (160.0, 0.36, 6.8, 0.01)],
}
STUDENT: dict[str, Points] = {
    "center": [(3.0, 1.0, 1.2), (80.0, 3.0, 3.4), (20.0, -0.5, 0.4)],
    "tails": [(50.0, 4.0, 0.3), (2.0, 0.5, 30.0), (5.0, 1.0, -3.0), (1.0, 5.0, -0.5)],
    "df < 1": [(0.5, 0.2, 0.1), (0.8, 1.0, 4.0)],
    "df to 10⁴": [(300.0, -2.0, -1.1), (1e4, 1.0, 2.0)],
}


def _every(
    function: str,
    arguments: str,
    method: str,
    exact: Callable[..., Any],
    regions: dict[str, Points],
    stated: float,
    **more: Any,
) -> list[Entry]:
    return [
        Entry(function, name, method, region, more.get(name, stated), exact, points, i, digits=more.get("digits", 22))
        for i, name in enumerate(arguments.split())
        for region, points in regions.items()
    ]


ENTRIES = [
    *_every("chndtr", "x df nc", PATH, chndtr, CHI, 1e-13, digits=50),
    *_every("ncfdtr", "dfn dfd nc f", PATH, ncfdtr, RATIO, 1e-12, dfn=1e-11, dfd=1e-11),
    *_every("nctdtr", "df nc t", MIXTURE, nctdtr, STUDENT, 1e-13, df=2e-11),
    Entry(
        "stdtr",
        "df",
        MIXTURE,
        "df from 0.3 to 100",
        1e-12,
        stdtr,
        [(0.3, 0.5), (1.0, -2.0), (4.0, 1.3), (30.0, 0.7), (100.0, -1.8)],
        0,
    ),
    Entry("stdtr", "df", MIXTURE, "tails", 1e-12, stdtr, [(2.0, -50.0), (9.0, 30.0), (0.5, 1e4), (60.0, -12.0)], 0),
    Entry(
        "stdtr", "df", MIXTURE, "df from 10³ to 10⁵", 1e-9, stdtr, [(1e3, 0.7), (1e4, -2.2), (1e5, 3.0)], 0, digits=30
    ),
    Entry("stdtr", "df", MIXTURE, "second derivative", 1e-11, stdtr, [(4.0, 1.3), (1.0, -2.0)], 0, order=2),
    *_every(
        "fdtr",
        "dfn dfd",
        PATH,
        fdtr,
        {
            "center and tails": [
                (3.0, 5.0, 1.4),
                (40.0, 25.0, 0.8),
                (0.4, 6.0, 2.0),
                (5.0, 9.0, 40.0),
                (294.0, 0.12, 29.0),
            ]
        },
        1e-11,
    ),
    Entry(
        "chdtr",
        "v",
        "by gammainc in a",
        "center and tails",
        1e-12,
        chdtr,
        [(3.0, 1.0), (0.3, 0.01), (50.0, 120.0), (400.0, 380.0)],
        0,
    ),
    *_every(
        "stdtrit",
        "df p",
        "implicit, through stdtr",
        stdtrit,
        {"p from 10⁻⁴ to 0.9": [(3.0, 0.2), (8.0, 0.9), (1.5, 1e-4)]},
        1e-11,
    ),
    Entry(
        "kolmogorov",
        "x",
        "two theta series",
        "x from 0.15 to 4",
        1e-13,
        kolmogorov,
        [(0.15,), (0.4,), (0.89,), (0.91,), (1.7,), (4.0,)],
        0,
        digits=40,
    ),
    Entry(
        "kolmogorov",
        "x",
        "two theta series",
        "second derivative",
        1e-11,
        kolmogorov,
        [(0.4,), (0.95,), (2.0,)],
        0,
        order=2,
    ),
    Entry("smirnov", "d", "finite sum", "n to 200", 1e-13, smirnov, [(5, 0.23), (50, 0.1), (200, 0.02), (20, 0.7)], 1),
    *_every(
        "tklmbda",
        "x lmbda",
        "implicit, through the quantile",
        tklmbda,
        {"λ from -0.5 to 2": [(0.3, 0.7), (1.5, -0.5), (0.4, 2.0), (-3.0, 0.01), (0.2, 1e-3)]},
        1e-11,
    ),
]
