"""cbrt and hypot."""

from __future__ import annotations

import math

from adjoint.compile.vector_math.logarithm import normal, split
from adjoint.compile.vector_math.vectors import Lanes, fma, polynomial, sign_bit, square_root, where, with_sign

# m^(-1/3) for m in [√½, √2], to 2^-17 (relative): tools/minimax.py cbrt.
INVERSE_CBRT = (
    1.9991716906475476, -2.4859258249599323, 2.7922242997172315, -1.8981473560593416, 0.7007468845015998,
    -0.10806584693819792,
)  # fmt: skip

# Beyond the first number, and below its inverse, numbers are multiplied by the others before they are squared.
SCALES = {"double": (2.0**500, 2.0**-600, 2.0**700), "float": (2.0**50, 2.0**-75, 2.0**100)}


def cbrt(x: Lanes) -> Lanes:
    """x = ± 2^(3q + j) m, j in -1, 0, 1:  ∛x = ± 2^q ∛v with v = 2^j m.

    w ≈ v^(-1/3) by a polynomial, then w (1 - h)^(-1/3), h = 1 - v w³, by three terms of the binomial series. y = v w²
    is the root; one step of Newton's method makes up for the roundings.
    """
    form = x.format
    a = abs(x)
    scaled, more = normal(where(a < math.inf, a, x.of(1.0)))
    k, m, _ = split(scaled)
    k = k + more
    third = fma(k, 1 / 3, form.magic + form.bias)
    q = third - (form.magic + form.bias)
    j = fma(q, -3.0, k)
    up, down = j > 0.5, j < -0.5
    v = where(up, m + m, where(down, m * 0.5, m))
    root = 2.0 ** (1 / 3)
    w = polynomial(m, INVERSE_CBRT) * where(up, x.of(1 / root), where(down, x.of(root), 1.0))
    h = fma(-(w * w), w * v, 1.0)
    w = fma(w * h, fma(h, fma(h, 14 / 81, 2 / 9), 1 / 3), w)
    ww = w * w
    y = v * ww
    yy = y * y
    residual = fma(-y, fma(y, y, -yy), fma(-y, yy, v))
    y = fma(residual, ww * (1 / 3), y) * (third.bits() << form.mantissa).float()
    y = where((a > 0.0) & (a < math.inf), y, a)
    return with_sign(y, sign_bit(x))


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """√(x² + y²), scaled by a power of two where the squares would over- or underflow."""
    form = x.format
    a, b = abs(x), abs(y)
    steep = b > a
    great, small = where(steep, b, a), where(steep, a, b)
    far, shrink, grow = SCALES[form.scalar]
    high, low = great > far, great < 1 / far
    scale = where(high, x.of(shrink), where(low, x.of(grow), 1.0))
    back = where(high, x.of(1 / shrink), where(low, x.of(1 / grow), 1.0))
    great, small = great * scale, small * scale
    square = great * great
    total = fma(small, small, square)
    lost = fma(small, small, square - total) + fma(great, great, -square)
    r = square_root(total)
    # one step of Newton's method with the exact residual
    r = where(r > 0.0, fma(fma(-r, r, total) + lost, 0.5 / r, r), r) * back
    return where(a.equals(math.inf) | b.equals(math.inf), x.of(math.inf), r)
