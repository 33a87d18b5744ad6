"""sin, cos, tan.

x = n π/2 + r, |r| <= π/4: n by rounding x · 2/π, r by taking n π/2 away in three parts, with fma. r1 = x - n P1 is
exact, for P1 is π/2 rounded: x, n P1 and their difference are multiples of one small power of two. Then sin x and cos x
are ± sin r or ± cos r by n mod 4. The three parts suffice up to LIMIT; beyond, a lane goes through huge.py.
"""

from __future__ import annotations

import math

from adjoint.compile.vector_math.huge import exact_where
from adjoint.compile.vector_math.vectors import Lanes, fma, polynomial, round_even, sign_bit, where, with_sign

HALF_PI = {
    "double": tuple(
        float.fromhex(p) for p in ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")
    ),
    "float": tuple(float.fromhex(p) for p in ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50")),
}
TWO_PER_PI = 0.6366197723675814
LIMIT = {"double": 2.0**40, "float": 2.0**15}

# (sin r / r - 1) / r² and (cos r - 1 + r²/2) / r⁴ in powers of r², |r| <= π/4 + 0.004:
# tools/minimax.py sin, cos, sin_single, cos_single (2^-57.8, 2^-63.8, 2^-27.8, 2^-32.9).
SIN = {
    "double": (
        -0.1666666666666663, 0.008333333333321744, -0.00019841269829235953, 2.755731348553099e-06,
        -2.5050724883356554e-08, 1.5894827184329804e-10,
    ),
    "float": (-0.16666653752326965, 0.008332106284797192, -0.00019507882825564593),
}  # fmt: skip
COS = {
    "double": (
        0.04166666666666659, -0.0013888888888872186, 2.480158728829675e-05, -2.7557314016002515e-07,
        2.087567827004804e-09, -1.1357349480176596e-11,
    ),
    "float": (0.04166664555668831, -0.0013887304812669754, 2.443142147967592e-05),
}  # fmt: skip

# (tan r / r - 1) / r² in powers of r², |r| <= π/4 + 0.004: tools/minimax.py tan, tan_single.
TAN = {
    "double": (
        0.3333333333333268, 0.13333333333427802, 0.053968253920376796, 0.021869489759471613, 0.008863217050445113,
        0.003592308090888554, 0.0014546428300403018, 0.0005955477414906847, 0.00022095930412556323,
        0.00013944553121534, -3.04946216471188e-05, 9.322207895984461e-05, -4.6908479358868875e-05,
        2.1351198497817693e-05,
    ),
    "float": (
        0.3333335220813751, 0.13332577049732208, 0.05406986549496651, 0.0212299395352602, 0.010973486118018627,
        -8.777123730396852e-05, 0.004465068690478802,
    ),
}  # fmt: skip


def reduce_argument(x: Lanes) -> tuple[Lanes, Lanes]:
    """r, and an integer whose low bits are n; x >= 0."""
    form = x.format
    first, second, third = HALF_PI[form.scalar]
    t = fma(x, TWO_PER_PI, form.magic)
    n = t - form.magic
    r = fma(n, -first, x)
    return fma(n, -third, fma(n, -second, r)), t.bits()


def reduced_in_two_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """r rounded, an integer whose low bits are n, and what was lost of r."""
    form = x.format
    first, second, third = HALF_PI[form.scalar]
    t = fma(x, TWO_PER_PI, form.magic)
    n = t - form.magic
    exact = fma(n, -first, x)
    p = n * second
    p_low = fma(n, second, -p)
    difference = exact - p
    back = difference - exact
    lost = (exact - (difference - back)) - (p + back)  # of the difference, whichever of the two is larger
    low = fma(n, -third, lost - p_low)
    r = difference + low
    return r, t.bits(), low - (r - difference)


def sine_and_cosine(r: Lanes) -> tuple[Lanes, Lanes]:
    """sin r and cos r for |r| <= π/4."""
    z = r * r
    zz = z * z
    sine = fma(r * z, polynomial(z, SIN[r.format.scalar], zz), r)
    cosine = fma(z, fma(z, polynomial(z, COS[r.format.scalar], zz), -0.5), 1.0)
    return sine, cosine


def sine_of(r: Lanes, n: Lanes, low: Lanes | None = None) -> Lanes:
    """sin(n π/2 + r); `low`, less than the rounding of r, is left out."""
    size = 64 if r.format.scalar == "double" else 32
    sine, cosine = sine_and_cosine(r)
    odd = (n << (size - 1)) < 0
    return with_sign(where(odd, cosine, sine), (n & 2) << (size - 2))


def cosine_of(r: Lanes, n: Lanes, low: Lanes | None = None) -> Lanes:
    """cos(n π/2 + r); `low`, less than the rounding of r, is left out."""
    size = 64 if r.format.scalar == "double" else 32
    sine, cosine = sine_and_cosine(r)
    odd = (n << (size - 1)) < 0
    return with_sign(where(odd, sine, cosine), ((n + 1) & 2) << (size - 2))


def tangent_of(r: Lanes, n: Lanes, low: Lanes | None = None) -> Lanes:
    """tan(n π/2 + r + low): t = tan r, or -1/t for odd n; tan(r + low) = tan r + low (1 + tan² r)."""
    size = 64 if r.format.scalar == "double" else 32
    z = r * r
    rest = r * z * polynomial(z, TAN[r.format.scalar])
    if low is not None:
        rest = fma(low, z + 1.0, rest)
    t = r + rest
    odd = (n << (size - 1)) < 0
    return where(odd, -1.0 / t, t)


def sin(x: Lanes) -> Lanes:
    a = abs(x)
    y = exact_where(LIMIT[x.format.scalar], "sin", sine_of, a, sine_of(*reduce_argument(a)))
    return with_sign(y, sign_bit(x))


def cos(x: Lanes) -> Lanes:
    a = abs(x)
    return exact_where(LIMIT[x.format.scalar], "cos", cosine_of, a, cosine_of(*reduce_argument(a)))


def tan(x: Lanes) -> Lanes:
    a = abs(x)
    y = exact_where(LIMIT[x.format.scalar], "tan", tangent_of, a, tangent_of(*reduced_in_two_parts(a)))
    return with_sign(y, sign_bit(x))


def sine_and_cosine_of_pi_times(x: Lanes) -> tuple[Lanes, Lanes]:
    """sin πx and cos πx: x = n + r, r in [-½, ½] exact; beyond ¼ the other function of ½ - |r|."""
    form = x.format
    t = round_even(x)
    r = x - t
    half = t * 0.5
    sign = where(round_even(half).equals(half), sign_bit(x).of(0), form.sign)  # (-1)^n
    s = abs(r)
    far = s > 0.25
    sine, cosine = sine_and_cosine(where(far, 0.5 - s, s) * math.pi)
    return with_sign(where(far, cosine, sine), sign ^ sign_bit(r)), with_sign(where(far, sine, cosine), sign)
