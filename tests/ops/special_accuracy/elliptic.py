"""ζ, elliptic integrals and functions, and what comes from the error function."""

from __future__ import annotations

from typing import Any

import mpmath as mp

from tests.ops.special_accuracy.entry import Entry


def owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    z = (x + 1j * gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(-1j * z)) / (sigma * mp.sqrt(2 * mp.pi))


def _jacobi(name: str) -> Any:
    return lambda u, m: mp.ellipfun(name, u, m=m)


def log_ndtr(x: Any) -> Any:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


EULER = "sum of Euler and Maclaurin"
CARLSON = "closed form by R_D; trapezoidal rule over log t where arguments coincide"
NEAR = [(1.0, 2.0, 3.0, 1.0), (1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 3.0, 1.0001), (1.0, 2.0, 3.0, 1.31)]
APART = [(1.0, 2.0, 3.0, 9.0), (1e-3, 2.0, 300.0, 30.0), (0.1, 0.2, 0.3, 100.0), (2.0, 3.0, 4.0, -1.2)]
NEAR_D = [(1.0, 2.0, 1.0), (1.0, 1.0, 1.0), (1.0, 2.0, 1.0001), (1.0, 2.0, 1.31)]
APART_D = [(1.0, 2.0, 30.0), (1e-3, 2.0, 300.0), (1e-5, 1e5, 1.0)]
FINITE = [(0.4, 0.3), (1.2, -0.6), (2.5, 0.1), (-4.0, 0.8), (1.5, 0.999), (1e-4, 0.5), (9.0, -50.0)]

ENTRIES = [
    Entry(
        "zeta",
        "x",
        EULER,
        "s from 1.001 to 60, q from 10⁻³ to 10⁶",
        1e-13,
        lambda s, q: mp.zeta(s, q),
        [(1.001, 0.3), (1.5, 1e-3), (2.0, 7.0), (5.0, 100.0), (20.0, 1.7), (60.0, 3.0), (3.0, 1e6)],
        0,
        digits=30,
    ),
    Entry(
        "zeta",
        "x",
        EULER,
        "Riemann's, 0 ≤ s ≤ 40",
        1e-13,
        mp.zeta,
        [(0.0,), (0.5,), (0.99,), (1.2,), (4.0,), (40.0,)],
        0,
    ),
    Entry(
        "zeta",
        "x",
        "functional equation",
        "Riemann's, s from -30 to 0",
        1e-12,
        mp.zeta,
        [(-30.5,), (-9.3,), (-4.0,), (-0.7,), (-0.2,), (-1e-3,)],
        0,
    ),
    Entry("zeta", "x", EULER, "Riemann's, second derivative", 1e-12, mp.zeta, [(-4.3,), (0.5,), (3.0,)], 0, order=2),
    *[
        Entry("elliprj", name, CARLSON, region, 1e-13, lambda x, y, w, p: mp.re(mp.elliprj(x, y, w, p)), points, i)
        for i, name in ((0, "x"), (3, "p"))
        for region, points in (("coinciding", NEAR), ("apart, p < 0", APART))
    ],
    Entry("elliprj", "p", CARLSON, "coinciding, second derivative", 1e-12, mp.elliprj, NEAR, 3, order=2),
    *[
        Entry("elliprd", name, CARLSON, region, 1e-13, mp.elliprd, points, i)
        for i, name in ((0, "x"), (2, "z"))
        for region, points in (("coinciding", NEAR_D), ("apart", APART_D))
    ],
    Entry(
        "elliprc",
        "y",
        "closed form; series near y = x",
        "y/x from 10⁻³ to 10⁴",
        1e-12,
        lambda x, y: mp.re(mp.elliprc(x, y)),
        [(1.0, 1.0), (1.0, 1.19), (1.0, 1.21), (0.3, 3000.0), (2.0, 2e-3)],
        1,
    ),
    Entry(
        "ellipk",
        "m",
        "closed form; series near 0",
        "m from -10⁶ to 1 - 10⁻⁹",
        1e-12,
        mp.ellipk,
        [(-1e6,), (-0.2,), (1e-12,), (0.14,), (0.16,), (0.9,), (1.0 - 1e-9,)],
        0,
        digits=60,
    ),
    Entry("ellipkinc", "m", "closed form by R_D", "|φ| ≤ 9, m from -50 to 0.999", 1e-12, mp.ellipf, FINITE, 1),
    Entry("ellipeinc", "m", "closed form by R_D", "|φ| ≤ 9, m from -50 to 0.999", 1e-12, mp.ellipe, FINITE, 1),
    *[
        Entry(
            "ellipj",
            "m",
            "closed form by R_D",
            f"{name}, |u| ≤ 6",
            2e-11,
            _jacobi(name),
            [(0.4, 0.3), (1.2, 0.6), (2.5, 0.9), (-6.0, 0.5), (1.0, 0.99), (1e-3, 0.2)],
            1,
            result=i,
        )
        for i, name in enumerate(("sn", "cn", "dn"))
    ],
    Entry(
        "agm",
        "a",
        "closed form by K",
        "a/b from 10⁻⁶ to 10⁶",
        1e-12,
        mp.agm,
        [(0.4, 0.3), (1e6, 1.0), (1e-6, 1.0), (1.0, 1.0 + 1e-9), (2.0, 5.0)],
        0,
    ),
    *[
        Entry(
            "owens_t",
            name,
            "closed form",
            "|h| ≤ 8",
            1e-13,
            owens_t,
            [(0.7, 0.5), (-1.3, 3.0), (8.0, 0.9), (1e-4, 20.0)],
            i,
        )
        for i, name in enumerate("ha")
    ],
    *[
        Entry(
            "voigt_profile",
            name,
            "closed form by w",
            "|x|/σ from 0.1 to 40",
            1e-10,
            voigt,
            [(0.4, 1.2, 0.6), (3.0, 0.5, 0.1), (20.0, 0.5, 1.0), (0.1, 1.0, 1e-3)],
            i,
        )
        for i, name in enumerate(("x", "sigma", "gamma"))
    ],
    Entry(
        "log_ndtr",
        "x",
        "closed form",
        "x from -1000 to 9",
        1e-12,
        log_ndtr,
        [(-1000.0,), (-30.0,), (-1.0,), (0.0,), (9.0,)],
        0,
    ),
    Entry(
        "erfcx",
        "x",
        "closed form; asymptotic series for |x| > 12",
        "x from -5 to 10⁵",
        1e-12,
        erfcx,
        [(-5.0,), (0.3,), (3.0,), (11.9,), (12.1,), (1e5,)],
        0,
    ),
]
