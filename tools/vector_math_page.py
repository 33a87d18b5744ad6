"""Writes docs/vector_math.md: how accurate each function of adjoint.compile.vector_math is, measured against mpmath.

Run it from anywhere: `python tools/vector_math_page.py`. It takes a few minutes; the points are the same in every run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from adjoint.compile.vector_math import NAMES  # noqa: E402
from tests.compile.vector_math.reference import ulps  # noqa: E402

PAGE = ROOT / "docs" / "vector_math.md"
COUNT = 10_000  # points in each range

HEADER = """\
# Accuracy of compiled mathematics

Written by `tools/vector_math_page.py`.

Compiled functions do not call a mathematical library: exponentials, logarithms, sines and the rest are written as
instructions, for vectors as wide as the machine's and for single numbers alike. The width does not change a bit of the
result, and the loops around can be fused.

Errors are in ulp, units in the last place of the exact result: 0.5 is the best that rounding allows. They are the
greatest and the mean over the points named, random ones in each range and random ones of every size, against mpmath
with 40 digits. Among millions of points errors up to half an ulp greater are met; of the elementary functions
(all before `erfc`) none was seen beyond 2 ulp. Where a result is below the smallest normal number, the unit is the
smallest number.

Infinities, NaN, signed zeros, subnormal numbers, overflow and underflow are as in NumPy and SciPy; results do not
depend on the neighbors in a vector. sin, cos and tan are as accurate for huge arguments as for small ones: numbers
beyond 2^40 (float64) or 2^15 (float32) are reduced exactly, one by one, which takes longer.
"""

TITLES = """\
| function | points | float64: greatest | mean | float32: greatest | mean |
|---|---|---|---|---|---|
"""

FOOTER = """
`logaddexp` and `logaddexp2` pass through zero when an argument is negative: there the absolute error is of the order
of one ulp of the larger argument. `gammaln` and `digamma` have a zero between any two poles of the negative axis, next
to which, too, only the absolute error is small; their zeros on the positive axis are met with full relative accuracy.
`erfinv`, `ndtri`, `gammaln`, `gamma`, `rgamma` and `digamma` of float32 are computed in float64.
Where SciPy gives up early (`gammaln` below 1e-308, `rgamma` beyond 171) the exact value is given.

How the polynomials were found: `tools/minimax.py`.
"""

Range = tuple[float, float]
# The ranges of the points: of float64 and of float32, where they differ.
WIDE: dict[str, tuple[list[Range], list[Range]]] = {
    "exp": ([(-745, 709.7), (-2, 2)], [(-103, 88.7), (-2, 2)]),
    "exp2": ([(-1074, 1023.9), (-2, 2)], [(-149, 127.9), (-2, 2)]),
    "exp10": ([(-323, 308.2), (-2, 2)], [(-44, 38.5), (-2, 2)]),
    "expm1": ([(-40, 709.7), (-2, 2)], [(-20, 88.7), (-2, 2)]),
    "expit": ([(-745, 40), (-3, 3)], [(-103, 20), (-3, 3)]),
    "softplus": ([(-745, 40), (-3, 3)], [(-103, 20), (-3, 3)]),
    "log_expit": ([(-40, 745), (-3, 3)], [(-20, 103), (-3, 3)]),
    "sinh": ([(-710.4, 710.4), (-3, 3)], [(-89.4, 89.4), (-3, 3)]),
    "cosh": ([(-710.4, 710.4), (-3, 3)], [(-89.4, 89.4), (-3, 3)]),
    "tanh": ([(-20, 20), (-1, 1)], [(-10, 10), (-1, 1)]),
    "erfc": ([(-6, 27.2), (-1, 1)], [(-4, 10), (-1, 1)]),
    "erfcx": ([(-26.6, 50), (-1, 1)], [(-9.3, 50), (-1, 1)]),
    "ndtr": ([(-38.4, 8), (-1, 1)], [(-14, 5), (-1, 1)]),
    "log_ndtr": ([(-50, 38), (-1, 1)], [(-50, 13), (-1, 1)]),
    "gamma": ([(0, 171.6), (0, 5), (-170, 0)], [(0, 35), (0, 5), (-35, 0)]),
    "rgamma": ([(0, 171.6), (0, 5), (-170, 0)], [(0, 35), (0, 5), (-35, 0)]),
}
SAME: dict[str, list[Range]] = {
    "log": [(0.5, 2)],
    "log2": [(0.5, 2)],
    "log10": [(0.5, 2)],
    "log1p": [(-1, 3)],
    "logit": [(0, 1)],
    "sin": [(-10, 10), (-3e4, 3e4)],
    "cos": [(-10, 10), (-3e4, 3e4)],
    "tan": [(-10, 10), (-3e4, 3e4)],
    "arcsin": [(-1, 1)],
    "arccos": [(-1, 1)],
    "arctan": [(-5, 5)],
    "arcsinh": [(-5, 5)],
    "arccosh": [(1, 5)],
    "arctanh": [(-1, 1)],
    "sqrt": [(0, 10)],
    "cbrt": [(-10, 10)],
    "erf": [(-6, 6), (-1, 1)],
    "erfinv": [(-1, 1), (0.95, 1)],
    "ndtri": [(0, 1), (0, 0.01)],
    "gammaln": [(0, 5), (0, 1e4)],
    "digamma": [(0, 5), (0, 1e4)],
    "arctan2": [(-5, 5)],
    "hypot": [(-5, 5)],
    "logaddexp": [(0, 5), (0, 100)],
    "logaddexp2": [(0, 5), (0, 100)],
    "power": [(0, 10)],
}
# Random exponents between these powers of two; which signs.
SIZES: dict[str, tuple[int, int, str]] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "log1p"), (-1074, 1024, "+")),
    **dict.fromkeys(("arctan", "cbrt", "arcsinh", "arctan2", "hypot"), (-1074, 1023, "±")),
    **dict.fromkeys(("sin", "cos", "tan"), (-1074, 1024, "±")),
    "arccosh": (1, 1024, "+"),
    "gammaln": (-100, 12, "+"),
    "digamma": (-100, 100, "+"),
    "logit": (-1074, -1, "+"),
    "erfcx": (3, 1000, "+"),
    "ndtri": (-1074, -1, "+"),
}


def ranges(name: str, dtype: str) -> list[Range]:
    """Where the points are."""
    if name in WIDE:
        return WIDE[name][dtype == "float32"]
    return SAME[name]


def points(name: str, dtype: str) -> list[np.ndarray]:
    """The arguments of the function."""
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    found: list[np.ndarray] = []
    for _ in range(NAMES[name]):
        parts = [rng.uniform(*limits, COUNT) for limits in ranges(name, dtype)]
        if name in SIZES:
            low, high, signs = SIZES[name]
            exponents = rng.integers(max(low, int(info.minexp - info.nmant)), min(high, int(info.maxexp)), COUNT)
            parts.append(
                np.ldexp(rng.uniform(1, 2, COUNT), exponents) * rng.choice([1, -1 if signs == "±" else 1], COUNT)
            )
        found.append(np.concatenate(parts).astype(dtype))
    if name == "power":  # exponents for which the result is a number
        widest = 708 if dtype == "float64" else 87
        found[1] = (rng.uniform(-widest, widest, COUNT) / np.log(found[0].astype(float))).astype(dtype)
    if name == "hypot":  # no overflow
        found = [np.where(np.abs(x) > info.max / 4, x / 4, x) for x in found]
    if name in ("gamma", "rgamma"):
        found = [x[x != np.rint(x)] for x in found]
    inside = {"arccosh": lambda x: x >= 1, "arctanh": lambda x: np.abs(x) < 1, "erfinv": lambda x: np.abs(x) < 1}
    inside |= dict.fromkeys(("logit", "ndtri"), lambda x: (x > 0) & (x < 1))
    return [x[inside[name](x)] for x in found] if name in inside else found


def described(name: str) -> str:
    """The ranges, in words."""
    if name == "power":
        return "x in 0 … 10, any y for which the result is a number"
    words = [f"{low:g} … {high:g}" for low, high in ranges(name, "float64")]
    return ", ".join(words + (["every size"] if name in SIZES else []))


def row(name: str) -> str:
    """A line of the table."""
    cells = [f"`{name}`", described(name)]
    for dtype in ("float64", "float32"):
        errors = ulps(name, dtype, *points(name, dtype))
        cells += [f"{np.ceil(errors.max() * 100) / 100:.2f}", f"{errors.mean():.2f}"]
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """The text of docs/vector_math.md."""
    return HEADER + "\n" + TITLES + "\n".join(map(row, NAMES)) + "\n" + FOOTER


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
