"""What the functions should give, by mpmath with digits to spare; and how far away a result is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np

from adjoint.compile.vector_math import NAMES, call
from adjoint.compile.vector_math.arrays import ArrayFunction, default_width

DTYPES = ("float64", "float32")
mp: Any = mpmath.MPContext()
mp.dps = 40


@cache
def compiled(name: str, dtype: str, width: int | None = None) -> ArrayFunction:
    """One function, over arrays."""
    return ArrayFunction(
        lambda function, *args: call(function, name, *args), NAMES[name], dtype, width or default_width(dtype)
    )


def logit(p: Any) -> Any:
    """log(p / (1 - p)), without cancellation near ½."""
    return 2 * mp.atanh(2 * p - 1) if abs(p - 0.5) < 0.4 else mp.log(p) - mp.log1p(-p)


def softplus(x: Any) -> Any:
    """log(1 + e^x)."""
    return mp.log1p(mp.exp(x))


def erfcx(x: Any) -> Any:
    """e^(x²) erfc x; mpmath's erfc would be 0 for large x, where the continued fraction converges at once."""
    if x < 50:
        return mp.exp(x * x) * mp.erfc(x)
    fraction = x
    for k in range(60, 0, -1):
        fraction = x + mp.mpf(k) / 2 / fraction
    return 1 / (mp.sqrt(mp.pi) * fraction)


def ndtr(x: Any) -> Any:
    """The normal distribution function."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`; far out by Newton's method for its logarithm."""
    sign, tail = (1, 1 - p) if p > 0.5 else (-1, p)
    if tail > 0.02:
        return sign * mp.sqrt(2) * mp.erfinv(1 - 2 * tail)
    y = mp.sqrt(-2 * mp.log(tail))
    for _ in range(50):
        q = ndtr(-y)
        step = (mp.log(q) - mp.log(tail)) * q * mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2)
        y += step
        if abs(step) < mp.mpf(10) ** -30:
            break
    return sign * y


EXACT: dict[str, Callable[..., Any]] = {
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "exp10": lambda x: mp.power(10, x),
    "expm1": mp.expm1,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.ln2,
    "log10": mp.log10,
    "log1p": mp.log1p,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "logaddexp2": lambda x, y: mp.log(mp.power(2, x) + mp.power(2, y)) / mp.ln2,
    "softplus": softplus,
    "log_expit": lambda x: -softplus(-x),
    "logit": logit,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arctan2": mp.atan2,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "power": mp.power,
    "sqrt": mp.sqrt,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "hypot": mp.hypot,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": erfcx,
    "ndtr": ndtr,
    "log_ndtr": lambda x: mp.log1p(-ndtr(-x)) if x > 0 else mp.log(ndtr(x)),
    "erfinv": mp.erfinv,
    "ndtri": ndtri,
    "gammaln": lambda x: mp.log(abs(mp.gamma(x))),
    "gamma": mp.gamma,
    "rgamma": mp.rgamma,
    "digamma": mp.digamma,
}


def exact_values(name: str, *args: np.ndarray) -> list[Any]:
    """The true values at the points."""
    points = zip(*(np.ravel(a).tolist() for a in np.broadcast_arrays(*args)))
    return [EXACT[name](*map(mp.mpf, point)) for point in points]


def ulps(name: str, dtype: str, *args: np.ndarray) -> np.ndarray:
    """|result - exact| in units of the last place of the exact result; below normal numbers, of the smallest one."""
    info = np.finfo(dtype)
    got = compiled(name, dtype)(*args).ravel()
    errors = np.empty(got.size)
    for i, exact in enumerate(exact_values(name, *args)):
        unit = mp.ldexp(1, max(mp.frexp(exact)[1] - 1, int(info.minexp)) - int(info.nmant))
        if np.isfinite(got[i]):
            errors[i] = float(abs(mp.mpf(float(got[i])) - exact) / unit)
        else:  # right only where the exact result rounds to the same infinity
            overflow = abs(exact) >= mp.mpf(float(info.max)) + unit / 2
            errors[i] = 0 if np.isinf(got[i]) and overflow and (exact > 0) == (got[i] > 0) else np.inf
    return errors


def worst(name: str, dtype: str, *args: np.ndarray) -> str:
    """Where the error is greatest, for messages."""
    errors = ulps(name, dtype, *args)
    i = int(np.argmax(errors))
    point = ", ".join(repr(a.ravel()[i]) for a in np.broadcast_arrays(*args))
    return f"{name}({point}) is {errors[i]:.2f} ulp off"


def assert_within(bound: float, name: str, dtype: str, *args: Any) -> None:
    """Every result is within `bound` ulp."""
    points = [np.asarray(a, dtype) for a in args]
    assert ulps(name, dtype, *points).max() <= bound, worst(name, dtype, *points)


def assert_same(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal numbers with equal signs, and NaN at the same places."""
    np.testing.assert_array_equal(got, expected)
    defined = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[defined]), np.signbit(expected[defined]))


def every_size(dtype: str, count: int, low: int | None = None, high: int | None = None, seed: int = 0) -> np.ndarray:
    """Positive numbers with random mantissas and exponents low … high, subnormal ones included."""
    info = np.finfo(dtype)
    rng = np.random.default_rng(seed)
    low = int(info.minexp - info.nmant) if low is None else low
    high = int(info.maxexp) if high is None else high
    return np.ldexp(rng.uniform(1, 2, count), rng.integers(low, high, count)).astype(dtype)


def both_signs(x: np.ndarray) -> np.ndarray:
    """x and -x."""
    return np.concatenate([x, -x])


def around(x: Any, dtype: str, steps: int = 3) -> np.ndarray:
    """Numbers and their neighbors."""
    x = np.atleast_1d(np.asarray(x, dtype))
    actual = [x]
    for direction in (-np.inf, np.inf):
        y = x
        for _ in range(steps):
            y = np.nextafter(y, np.asarray(direction, dtype))
            actual.append(y)
    return np.concatenate(actual)


def special_values(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN, the ends of the range."""
    info = np.finfo(dtype)
    ends = [info.tiny, info.smallest_subnormal, info.max, 1.0, 0.5, 2.0]
    return np.array([0.0, -0.0, np.inf, -np.inf, np.nan, *ends, *(-np.array(ends))], dtype)
