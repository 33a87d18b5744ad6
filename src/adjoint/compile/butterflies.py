"""Fourier transforms of small lengths, of complex numbers in vectors.

For elements a₀ … aᵣ₋₁ each function has b_j = Σ_k a_k exp(-2πi j k / r).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from adjoint.compile.ir import Function, Value

Pair = tuple[Value, Value]  # real and imaginary parts


class Pairs:
    """Complex numbers in vectors."""

    def __init__(self, f: Function) -> None:
        self.f = f

    def add(self, a: Pair, b: Pair) -> Pair:
        return self.f.fadd(a[0], b[0]), self.f.fadd(a[1], b[1])

    def sub(self, a: Pair, b: Pair) -> Pair:
        return self.f.fsub(a[0], b[0]), self.f.fsub(a[1], b[1])

    def scale(self, a: Pair, number: float) -> Pair:
        real, imaginary = (self.f.fmul(part, self.f.same(part, number)) for part in a)
        return real, imaginary

    def fma(self, a: Pair, number: float, b: Pair) -> Pair:
        """number · a + b."""
        real, imaginary = (self.f.fma(x, self.f.same(x, number), y) for x, y in zip(a, b, strict=True))
        return real, imaginary

    def times_minus_i(self, a: Pair) -> Pair:
        """-i a."""
        return a[1], self.f.fneg(a[0])

    def times(self, a: Pair, b: Pair) -> Pair:
        f = self.f
        real = f.fma(a[0], b[0], f.fneg(f.fmul(a[1], b[1])))
        return real, f.fma(a[0], b[1], f.fmul(a[1], b[0]))


def _two(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    return [c.add(a[0], a[1]), c.sub(a[0], a[1])]


def _four(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    even, odd = c.add(a[0], a[2]), c.add(a[1], a[3])
    left, right = c.sub(a[0], a[2]), c.times_minus_i(c.sub(a[1], a[3]))
    return [c.add(even, odd), c.add(left, right), c.sub(even, odd), c.sub(left, right)]


def _odd(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    """a_k and a_{r-k} have the same cosines, and sines of opposite signs."""
    radix = len(a)
    half = range(1, radix // 2 + 1)
    sums = [c.add(a[k], a[radix - k]) for k in half]
    differences = [c.sub(a[k], a[radix - k]) for k in half]
    whole = functools.reduce(c.add, sums, a[0])
    results = [whole] * radix
    for j in half:
        angles = [2 * math.pi * (j * k % radix) / radix for k in half]
        even, odd = a[0], c.scale(differences[0], math.sin(angles[0]))
        for total, angle in zip(sums, angles, strict=True):
            even = c.fma(total, math.cos(angle), even)
        for difference, angle in zip(differences[1:], angles[1:], strict=True):
            odd = c.fma(difference, math.sin(angle), odd)
        results[j], results[radix - j] = c.add(even, c.times_minus_i(odd)), c.sub(even, c.times_minus_i(odd))
    return results


BUTTERFLIES: dict[int, Callable[[Pairs, Sequence[Pair]], list[Pair]]] = {
    2: _two, 3: _odd, 4: _four, 5: _odd, 7: _odd,
}  # fmt: skip
