"""Standard draws from random words, one word for one number, by the inverse of the distribution function.

With k the leading 52 bits of a word, u = (2k + 1) 2⁻⁵³ is exact, lies inside (0, 1) and symmetrically about ½; a normal
number is z = Φ⁻¹(u). Φ⁻¹ is Wichura's AS 241 (Applied Statistics 37, 1988): ratios of polynomials of degree 7,

    |q| ≤ 0.425,  q = u - ½:     z = q A(s) / B(s),    s = 0.180625 - q²
    else, r = √(-log min(u, 1-u)):  |z| = C(r - 1.6) / D(r - 1.6) for r ≤ 5,  E(r - 5) / F(r - 5) beyond

with relative error below 10⁻¹⁵. The first form, five numbers in six, is the same on every machine to the last bit; the
others are as reproducible as the machine's logarithm.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adjoint.ops.elementwise.elementary import library_log
from adjoint.program.types import Value

Floats = NDArray[Any]

CHUNK: Final = 8192  # numbers computed at once, so that they stay in cache

# Coefficients from the constant term upwards.
A: Final = (
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
)  # fmt: skip
B: Final = (
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
)  # fmt: skip
C: Final = (
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
)  # fmt: skip
D: Final = (
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
)  # fmt: skip
E: Final = (
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
)  # fmt: skip
F: Final = (
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
)  # fmt: skip


def open_uniform(words: NDArray[np.uint64], dtype: Any = np.float64) -> Floats:
    """u = (2k + 1) 2⁻ᵖ inside (0, 1), exact, k the leading p - 1 bits; p = 53 for float64, 24 for float32."""
    floats = np.dtype(dtype)
    p = 53 if floats == np.float64 else 24
    odd = (words >> np.uint64(64 - p)) | np.uint64(1)
    return np.asarray(odd.astype(floats) * floats.type(2.0**-p))


def normal_from_bits(words: NDArray[np.uint64], dtype: Any = np.float64) -> Floats:
    """Standard normal numbers, one for each word; float32 ones are rounded from float64."""
    if words.ndim == 0:
        return np.asarray(one_normal(int(words)), dtype)
    flat = np.ascontiguousarray(words).reshape(-1)
    result = np.empty(flat.shape, dtype)
    for start in range(0, flat.size, CHUNK):
        result[start : start + CHUNK] = normal_quantile(open_uniform(flat[start : start + CHUNK]))
    return result.reshape(np.shape(words))


def normal_quantile(u: Floats) -> Floats:
    """Φ⁻¹(u) of a vector, 0 < u < 1."""
    q = u - 0.5
    s = 0.180625 - q * q
    z = q * ratio(A, B, s)
    tail = np.flatnonzero(np.abs(q) > 0.425)
    if tail.size:
        side = q[tail]
        r = np.sqrt(-np.log(np.where(side < 0, u[tail], 1.0 - u[tail])))
        size = ratio(C, D, r - 1.6)
        far = np.flatnonzero(r > 5.0)
        if far.size:
            size[far] = ratio(E, F, r[far] - 5.0)
        z[tail] = np.copysign(size, side)
    return z


def write_normal(u: Value) -> Value:
    """`normal_quantile` of values that are being recorded: all three forms, and a choice between them."""
    q = u - 0.5
    s = 0.180625 - q * q
    near = q * _written_ratio(A, B, s)
    r = np.sqrt(-library_log(np.where(q < 0, u, 1.0 - u)))
    size = np.where(r > 5.0, _written_ratio(E, F, r - 5.0), _written_ratio(C, D, r - 1.6))
    return np.where(np.abs(q) > 0.425, np.copysign(size, q), near)


def _written_ratio(above: tuple[float, ...], below: tuple[float, ...], x: Value) -> Value:
    sums: list[Value] = []
    for coefficients in (above, below):
        value = x * coefficients[-1]
        for c in coefficients[-2:0:-1]:
            value = (value + c) * x
        sums.append(value + coefficients[0])
    return sums[0] / sums[1]


def one_normal(word: int) -> float:
    """The same number as from an array of one word, sooner: the same operations on Python's numbers."""
    u = (word >> 11 | 1) * 2.0**-53
    q = u - 0.5
    if abs(q) <= 0.425:
        s = 0.180625 - q * q
        return q * (horner(A, s) / horner(B, s))
    # NumPy's own logarithm, which may differ from Python's in the last bit
    r = float(np.sqrt(-np.log(u if q < 0 else 1.0 - u)))
    size = horner(E, r - 5.0) / horner(F, r - 5.0) if r > 5.0 else horner(C, r - 1.6) / horner(D, r - 1.6)
    return math.copysign(size, q)


def horner(coefficients: tuple[float, ...], x: float) -> float:
    """`polynomial` of a number."""
    value = x * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        value = (value + c) * x
    return value + coefficients[0]


def ratio(above: tuple[float, ...], below: tuple[float, ...], x: Floats) -> Floats:
    """Σ aᵢ xⁱ / Σ bᵢ xⁱ."""
    return polynomial(above, x) / polynomial(below, x)


def polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """Σ cᵢ xⁱ by Horner's scheme, in the memory of the result."""
    value = x * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        value += c
        value *= x
    value += coefficients[0]
    return value
