"""Fourier transforms of length 2, 3, 4 and 5 of complex numbers in vectors.

For elements a₀ … aᵣ₋₁ each function has b_j = Σ_k a_k exp(-2πi j k / r).
"""

from __future__ import annotations

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

    def turn(self, a: Pair) -> Pair:
        """-i a."""
        return a[1], self.f.fneg(a[0])

    def times(self, a: Pair, b: Pair) -> Pair:
        f = self.f
        real = f.fma(a[0], b[0], f.fneg(f.fmul(a[1], b[1])))
        return real, f.fma(a[0], b[1], f.fmul(a[1], b[0]))


def _two(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    return [c.add(a[0], a[1]), c.sub(a[0], a[1])]


def _three(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    total, turned = c.add(a[1], a[2]), c.turn(c.scale(c.sub(a[1], a[2]), math.sqrt(0.75)))
    middle = c.fma(total, -0.5, a[0])
    return [c.add(a[0], total), c.add(middle, turned), c.sub(middle, turned)]


def _four(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    even, odd = c.add(a[0], a[2]), c.add(a[1], a[3])
    left, right = c.sub(a[0], a[2]), c.turn(c.sub(a[1], a[3]))
    return [c.add(even, odd), c.add(left, right), c.sub(even, odd), c.sub(left, right)]


def _five(c: Pairs, a: Sequence[Pair]) -> list[Pair]:
    (c1, s1), (c2, s2) = ((math.cos(t), math.sin(t)) for t in (0.4 * math.pi, 0.8 * math.pi))
    near, far = c.add(a[1], a[4]), c.add(a[2], a[3])
    across, along = c.sub(a[1], a[4]), c.sub(a[2], a[3])
    first, second = c.fma(far, c2, c.fma(near, c1, a[0])), c.fma(far, c1, c.fma(near, c2, a[0]))
    one, two = c.turn(c.fma(along, s2, c.scale(across, s1))), c.turn(c.fma(along, -s1, c.scale(across, s2)))
    whole = c.add(a[0], c.add(near, far))
    return [whole, c.add(first, one), c.add(second, two), c.sub(second, two), c.sub(first, one)]


BUTTERFLIES: dict[int, Callable[[Pairs, Sequence[Pair]], list[Pair]]] = {2: _two, 3: _three, 4: _four, 5: _five}
