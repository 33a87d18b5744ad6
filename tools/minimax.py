"""Minimax polynomials for adjoint.compile.vector_math, by Remez' exchange in high precision.

    python tools/minimax.py NAME …      prints the coefficients that stand in vector_math under "tools/minimax.py NAME"

p(x) = c_0 + c_1 x + … is fitted to f on [a, b] so that the greatest |w (p - f)| is least. Coefficients are rounded to
the target's format one after another, from the lowest power up; the others are fitted again after each rounding, so
that they make up for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

mp: Any = mpmath.mp
Real = Callable[[Any], Any]


class Fit(NamedTuple):
    """What to fit: f on [a, b] with so many coefficients; w f is to be accurate, by default f relative to itself."""

    f: Real
    a: float
    b: float
    count: int
    weight: Real | None = None
    kind: str = "double"


def rounded(x: Any, kind: str) -> Any:
    """The nearest double or float."""
    return mp.mpf(float(np.float32(float(x))) if kind == "float" else float(x))


def exchange(f: Sequence[Any], w: Sequence[Any], basis: Sequence[Sequence[Any]], rounds: int = 30) -> list[Any]:
    """The best coefficients on a grid: basis[i][j] is the i-th function at the j-th point.

    At count + 1 points the error is made equal, with alternating signs; these points then move to where the error is
    greatest, until it is nowhere greater.
    """
    count, points = len(basis), len(f)
    nodes = [round((1 - np.cos(np.pi * k / count)) / 2 * (points - 1)) for k in range(count + 1)]
    best: tuple[Any, list[Any]] | None = None
    for _ in range(rounds):
        matrix, right = mp.matrix(count + 1, count + 1), mp.matrix(count + 1, 1)
        for row, j in enumerate(nodes):
            for i in range(count):
                matrix[row, i] = basis[i][j] * w[j]
            matrix[row, count] = (-1) ** row
            right[row] = f[j] * w[j]
        solution = mp.lu_solve(matrix, right)
        c = [solution[i] for i in range(count)]
        error = [w[j] * (mp.fdot(c, [b[j] for b in basis]) - f[j]) for j in range(points)]
        worst = max(abs(e) for e in error)
        if best is None or worst < best[0]:
            best = (worst, c)
        if worst <= abs(solution[count]) * mp.mpf("1.005"):
            break
        nodes = alternating(error, count + 1)
        if len(nodes) < count + 1:
            break
    assert best is not None
    return best[1]


def alternating(error: Sequence[Any], count: int) -> list[int]:
    """Places of extrema with alternating signs; as many as asked for, if there are."""
    runs: list[int] = []
    for j, e in enumerate(error):
        if runs and (e > 0) == (error[runs[-1]] > 0):
            if abs(e) > abs(error[runs[-1]]):
                runs[-1] = j
        else:
            runs.append(j)
    while len(runs) > count:
        if len(runs) == count + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        else:  # the neighbors whose greater one is least
            k = min(range(len(runs) - 1), key=lambda k: max(abs(error[runs[k]]), abs(error[runs[k + 1]])))
            del runs[k : k + 2]
    return runs


def fitted(task: Fit, points: int = 300) -> tuple[list[float], float]:
    """The rounded coefficients, and their greatest weighted error."""
    mp.dps = 60
    middle, half = (mp.mpf(task.a) + mp.mpf(task.b)) / 2, (mp.mpf(task.b) - mp.mpf(task.a)) / 2
    xs = [middle - half * mp.cos(mp.pi * k / points) for k in range(points + 1)]
    xs = [x for x in xs if abs(x) > mp.mpf(10) ** -25]  # formulas divide by x
    left = [task.f(x) for x in xs]
    w = [1 / abs(v) for v in left] if task.weight is None else [task.weight(x) for x in xs]
    columns = [[x**p for x in xs] for p in range(task.count)]

    def error(rest: list[Any], others: list[list[Any]]) -> Any:
        return max(abs(u * (v - mp.fdot(rest, [o[j] for o in others]))) for j, (u, v) in enumerate(zip(w, left)))

    rest, done = exchange(left, w, columns), []
    for i in range(task.count):
        done.append(rounded(rest[0], task.kind))
        left = [v - done[-1] * x for v, x in zip(left, columns[i])]
        rest, others = rest[1:], columns[i + 1 :]
        if others:
            again = exchange(left, w, others)
            rest = again if error(again, others) < error(rest, others) else rest
    return [float(c) for c in done], float(max(abs(u * v) for u, v in zip(w, left)))


def odd(f: Real) -> tuple[Real, Real]:
    """(f(√z)/√z - 1) / z, by which an odd function is x + x³ P(x²); and the weight for the relative error of f."""

    def quotient(z: Any) -> Any:
        x = mp.sqrt(z)
        return (f(x) / x - 1) / z

    def weight(z: Any) -> Any:
        x = mp.sqrt(z)
        return z / (f(x) / x)

    return quotient, weight


def erfcx(x: Any) -> Any:
    """e^(x²) erfc x; by its asymptotic series for large x."""
    if x < 40:
        return mp.exp(x * x) * mp.erfc(x)
    total = term = mp.mpf(1)
    for k in range(1, 40):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def erfcx_scaled(t: Any) -> Any:
    """(x + 3) erfcx x with x = 3 (1 + t) / (1 - t)."""
    if t >= 1 - mp.mpf(10) ** -30:
        return 1 / mp.sqrt(mp.pi)
    x = 3 * (1 + t) / (1 - t)
    return erfcx(x) * (x + 3)


def inverse_erf(w: Any) -> Any:
    """y with 1 - erf(y)² = e^-w, by Newton's method on logarithms."""
    y = mp.sqrt(w) if w > 1 else mp.sqrt(w * mp.pi) / 2
    for _ in range(60):
        c = mp.erfc(y)
        slope = -2 * mp.exp(-y * y) / mp.sqrt(mp.pi) * (1 / c - 1 / (2 - c))
        step = (mp.log(c) + mp.log(2 - c) + w) / slope
        y = y - step if step < y else y / 2
        if abs(step) < abs(y) * mp.mpf(10) ** -45:
            break
    return y


def inverse_erf_slope(w: Any) -> Any:
    """inverse erf(x) / x with w = -log(1 - x²)."""
    return inverse_erf(w) / mp.sqrt(-mp.expm1(-w)) if w > mp.mpf(10) ** -20 else mp.sqrt(mp.pi) / 2


def stirling(z: Any) -> Any:
    """(log Γ(x) - ((x - ½) log x - x + ½ log 2π)) x with z = 1/x²."""
    x = 1 / mp.sqrt(z)
    return (mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)) * x


def psi_series(z: Any) -> Any:
    """(log x - 1/(2x) - ψ(x)) x² with z = 1/x²."""
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z


mp.dps = 60
PSI_ROOT = mp.findroot(mp.digamma, 1.46)
REST = 0.3468  # a little more than ln 2 / 2
QUARTER = float((mp.pi / 4 + mp.mpf("0.004")) ** 2)


def exp_rest(r: Any) -> Any:
    return (mp.expm1(r) - r) / r**2


def artanh_doubled(z: Any) -> Any:
    """(2 artanh s - 2 s) / s³ with z = s²."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


def pairs() -> dict[str, Fit]:
    """Every fit, by name; `_single` are for floats."""
    fits: dict[str, Fit] = {}

    def both(name: str, f: Real, a: float, b: float, counts: tuple[int, int], weight: Real | None = None) -> None:
        for suffix, kind, count in (("", "double", counts[0]), ("_single", "float", counts[1])):
            if count:
                fits[name + suffix] = Fit(f, a, b, count, weight, kind)

    both("exp", exp_rest, -REST, REST, (10, 5), lambda r: r * r / mp.exp(r))
    both("expm1", exp_rest, -REST, REST, (11, 6), lambda r: abs(r * r / mp.expm1(r)))
    both("exp2", lambda r: (mp.power(2, r) - 1) / r, -0.5, 0.5, (11, 7), lambda r: abs(r) / mp.power(2, r))
    root = float(mp.sqrt(2))
    both("artanh", artanh_doubled, 0, 0.02945, (7, 0), lambda z: z * mp.sqrt(z) / (2 * mp.atanh(mp.sqrt(z))))
    both("artanh_tail", lambda z: (artanh_doubled(z) - mp.mpf(2) / 3) / z, 0, 0.02945, (7, 3), lambda z: z * z / 2)
    log_rest = lambda f: (mp.log1p(f) - f + f * f / 2) / f**3
    both("log", log_rest, 1 / root - 1.0001, root - 0.9999, (0, 8), lambda f: abs(f**3 / mp.log1p(f)))
    both("artanh_wide", *_odd(mp.atanh, 0.0715, (9, 4)))
    both("sin", *_odd(mp.sin, QUARTER, (6, 3)))
    cos_rest = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2
    both("cos", cos_rest, 0, QUARTER, (6, 3), lambda z: z * z / mp.cos(mp.sqrt(z)))
    both("tan", *_odd(mp.tan, QUARTER, (14, 7)))
    both("arcsin", *_odd(mp.asin, 0.25, (12, 5)))
    both("arctan", *_odd(mp.atan, 1.0, (20, 9)))
    both("cbrt", lambda m: 1 / mp.cbrt(m), 1 / root, root, (6, 0))
    ratio = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z)
    both("erf", lambda z: ratio(z) - 1, 0, 1, (12, 7), lambda z: 1 / ratio(z))
    both("erf_near", lambda z: ratio(z) - 1, 0, 0.2026, (9, 5), lambda z: 1 / ratio(z))
    fits["log_erfc"] = Fit(lambda x: mp.log(mp.erfc(x)), 1, 6, 18, mp.erfc)
    fits["log_erfc_single"] = Fit(lambda x: mp.log(mp.erfc(x)), 1, 4, 7, mp.erfc, "float")
    inverse = lambda t: 1 / erfcx_scaled(t)
    both("erfcx", lambda t: erfcx_scaled(t) - 1, (0.45 - 3) / (0.45 + 3), 1, (23, 11), inverse)
    both("inverse_erf", lambda w: inverse_erf_slope(w) - 1, 0, 2.5, (17, 0), lambda w: 1 / inverse_erf_slope(w))
    first = lambda v: inverse_erf(1 / v**2) * v
    both("inverse_erf_first", first, 1 / 27.4, 2.5**-0.5, (11, 0))
    slope = lambda t: mp.loggamma(2 + t) / t
    both("log_gamma", lambda t: slope(t) - 1, -0.6, 0.5, (19, 0), lambda t: 1 / slope(t))
    both("inverse_gamma", lambda t: mp.rgamma(2 + t), -0.6, 0.5, (16, 0))
    both("stirling", stirling, 1e-8, 4.5**-2, (9, 0), lambda z: mp.sqrt(z) / 3)
    psi = lambda t: mp.digamma(1.5 + t) / (1.5 + t - PSI_ROOT)
    both("psi", lambda t: psi(t) - 1, -0.5, 0.5, (22, 0), lambda t: 1 / abs(psi(t)))
    both("psi_series", psi_series, 1e-8, 1 / 25, (8, 0), lambda z: z / 1.5)
    return fits


def _odd(f: Real, b: float, counts: tuple[int, int]) -> tuple[Real, float, float, tuple[int, int], Real]:
    quotient, weight = odd(f)
    return quotient, 0, b, counts, weight


if __name__ == "__main__":
    fits = pairs()
    for name in sys.argv[1:] or fits:
        coefficients, error = fitted(fits[name])
        print(f"# {name}: error 2^{np.log2(error):.1f}")
        print("(" + ", ".join(map(repr, coefficients)) + ")", flush=True)
