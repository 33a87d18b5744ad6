"""Draws by rejection, all elements at once: those that were rejected try again, each at its own position.

Attempt a of an element reads words 2a and 2a + 1 of its position, so that neither the size of the draw nor the luck of
other elements changes what it gets.

| draw | method |
|---|---|
| gamma | Marsaglia and Tsang, A simple method for generating gamma variables (2000); shapes below 1 by x u^(1/a) |
| poisson | inversion for λ < 10, else PTRS: Hörmann, The transformed rejection method for Poisson variables (1993) |
| binomial | inversion for n min(p, 1-p) < 10, else BTRS: Hörmann, The generation of binomial random variates (1993) |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjoint.program.op import primitive
from adjoint.program.types import Value
from adjoint.random.bits import words_at
from adjoint.random.draws import Draw
from adjoint.random.quantile import normal_quantile, open_uniform

Floats = NDArray[np.float64]
# (two uniforms, parameters) -> (candidates, which are accepted)
Propose = Callable[..., tuple[Floats, NDArray[np.bool_]]]

INVERSION_BELOW = 10.0
FAR_ATTEMPT = 2**32 - 1
ATTEMPTS = 10_000  # each is accepted with a probability above 0.6: never reached unless a parameter is not finite


class WordPositions(NamedTuple):
    """The key and the position of each element; one key stands for all when all have the same."""

    keys: Any
    positions: Any

    def some(self, chosen: Any) -> WordPositions:
        """Those of some elements."""
        return WordPositions(self.keys if len(self.keys) == 1 else self.keys[chosen], self.positions[chosen])

    def uniforms(self, attempt: int) -> Floats:
        """Uniform numbers in (0, 1) from an attempt."""
        return open_uniform(words_at(self.keys, self.positions, attempt))


class Rejection(Draw):
    """A draw that is repeated, element by element, until it is accepted."""

    def positions(self, key: Any, counter: Any, *parameters: Any) -> tuple[WordPositions, list[Any]]:
        """For each element of the result, in C order: where its words are, and parameters."""
        key, counter = np.asarray(key), np.asarray(counter, np.uint64)
        shape, ones = self.full_shape(key, counter, *parameters), (1,) * len(self.shape)
        steps = np.arange(math.prod(self.shape), dtype=np.uint64).reshape(self.shape)
        keys = key.reshape(*key.shape[:-1], *ones, 2)
        keys = key.reshape(1, 2) if key.size == 2 else np.broadcast_to(keys, (*shape, 2)).reshape(-1, 2)
        positions, *flat = (
            np.broadcast_to(p, shape).reshape(-1) for p in (counter.reshape(counter.shape + ones) + steps, *parameters)
        )
        return WordPositions(keys, positions), flat

    def accept(self, words: WordPositions, propose: Propose, *parameters: Floats) -> Floats:
        """The first candidate that is accepted, for each element."""
        result = np.full(words.positions.shape, np.nan)
        left = np.flatnonzero(np.logical_and.reduce([np.isfinite(p) for p in parameters]))
        for attempt in range(ATTEMPTS):
            if not left.size:
                break
            there = words.some(left)
            u, v = there.uniforms(2 * attempt), there.uniforms(2 * attempt + 1)
            candidate, good = propose(u, v, *[p[left] for p in parameters])
            result[left[good]] = candidate[good]
            left = left[~good]
        return result


@primitive
class RandomGamma(Rejection):
    """Standard gamma numbers of shape a ≥ 0 (the third argument), or their logarithms, which do not underflow."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    logarithm: bool = False
    parameters: ClassVar[int] = 3

    @property
    def title(self) -> str:
        return "random_gamma"

    def drawn_dtype(self) -> np.dtype[Any]:
        return self.dtype

    def evaluate(self, *xs: Value) -> Value:
        words, (a,) = self.positions(*xs)
        a = a.astype(np.float64)
        small = a < 1.0
        result = np.log(self.accept(words, self.propose, np.where(small, a + 1.0, a)))
        if small.any():
            # attempts count up from 0: this word is not among theirs
            u = words.some(small).uniforms(FAR_ATTEMPT)
            with np.errstate(divide="ignore"):
                result[small] += np.log(u) / a[small]
        result = result if self.logarithm else np.exp(result)
        return result.astype(self.dtype).reshape(self.full_shape(*xs))[()]

    @staticmethod
    def propose(u: Floats, v: Floats, a: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """d c³ with c = 1 + z / √(9d), d = a - ⅓."""
        z = normal_quantile(u)
        d = a - 1.0 / 3.0
        c = 1.0 + z / np.sqrt(9.0 * d)
        cube = c * c * c
        inside = c > 0.0
        logarithm = np.log(np.where(inside, cube, 1.0))
        return d * cube, inside & (np.log(v) < 0.5 * z * z + d - d * cube + d * logarithm)


@primitive
class RandomPoisson(Rejection):
    """Poisson numbers of rate λ ≥ 0 (the third argument)."""

    shape: tuple[int, ...]
    parameters: ClassVar[int] = 3

    @property
    def title(self) -> str:
        return "random_poisson"

    def drawn_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    def evaluate(self, *xs: Value) -> Value:
        words, (rate,) = self.positions(*xs)
        rate = rate.astype(np.float64)
        result = np.zeros(rate.shape)
        low = rate < INVERSION_BELOW
        if low.any():
            result[low] = self.inverted(words.some(low).uniforms(0), rate[low])
        high = ~low
        if high.any():
            result[high] = self.accept(words.some(high), self.propose, rate[high])
        return result.astype(np.int64).reshape(self.full_shape(*xs))[()]

    @staticmethod
    def inverted(u: Floats, rate: Floats) -> Floats:
        """The first k with u ≤ Σⱼ≤ₖ e^-λ λʲ / j!."""
        term = np.exp(-rate)
        total, k = term.copy(), np.zeros_like(rate)
        for j in range(1, 200):
            beyond = u > total
            if not beyond.any():
                break
            k += beyond
            term = term * rate / j
            total += term
        return k

    @staticmethod
    def propose(u: Floats, v: Floats, rate: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        from scipy.special import gammaln

        b = 0.931 + 2.53 * np.sqrt(rate)
        a = -0.059 + 0.02483 * b
        half = u - 0.5
        edge = 0.5 - np.abs(half)
        k = np.floor((2.0 * a / edge + b) * half + rate + 0.43)
        quickly = (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        possible = (k >= 0.0) & ~((edge < 0.013) & (v > edge))
        k = np.maximum(k, 0.0)
        height = np.log(v) + np.log(1.1239 + 1.1328 / (b - 3.4)) - np.log(a / edge**2 + b)
        return k, quickly | (possible & (height <= k * np.log(rate) - rate - gammaln(k + 1.0)))


@primitive
class RandomBinomial(Rejection):
    """Successes in n trials (the third argument) of probability p (the fourth)."""

    shape: tuple[int, ...]
    parameters: ClassVar[int] = 4

    @property
    def title(self) -> str:
        return "random_binomial"

    def drawn_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64)

    def evaluate(self, *xs: Value) -> Value:
        words, (n, p) = self.positions(*xs)
        n, p = n.astype(np.float64), p.astype(np.float64)
        flipped = p > 0.5
        p = np.where(flipped, 1.0 - p, p)
        result = np.zeros(n.shape)
        low = n * p < INVERSION_BELOW
        if low.any():
            result[low] = self.inverted(words.some(low).uniforms(0), n[low], p[low])
        high = ~low
        if high.any():
            result[high] = self.accept(words.some(high), self.propose, n[high], p[high])
        result = np.where(flipped, n - result, result)
        return result.astype(np.int64).reshape(self.full_shape(*xs))[()]

    @staticmethod
    def inverted(u: Floats, n: Floats, p: Floats) -> Floats:
        """The first k with u ≤ Σⱼ≤ₖ P(j), P(j) = P(j-1) (n-j+1) p / (j (1-p))."""
        term = np.exp(n * np.log1p(-p))
        total, k = term.copy(), np.zeros_like(n)
        for j in range(1, 200):
            beyond = (u > total) & (k < n)
            if not beyond.any():
                break
            k += beyond
            term = term * (n - j + 1.0) / j * (p / (1.0 - p))
            total += term
        return k

    @staticmethod
    def propose(u: Floats, v: Floats, n: Floats, p: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        from scipy.special import gammaln

        spread = np.sqrt(n * p * (1.0 - p))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * p
        half = u - 0.5
        edge = 0.5 - np.abs(half)
        k = np.floor((2.0 * a / edge + b) * half + n * p + 0.5)
        possible = (k >= 0.0) & (k <= n)
        quickly = (edge >= 0.07) & (v <= 0.92 - 4.2 / b) & possible
        k = np.clip(k, 0.0, n)
        mode = np.floor((n + 1.0) * p)
        height = np.log(v) + np.log((2.83 + 5.1 / b) * spread) - np.log(a / edge**2 + b)
        log_ratio = (
            gammaln(mode + 1.0) - gammaln(k + 1.0) + gammaln(n - mode + 1.0) - gammaln(n - k + 1.0)
            + (k - mode) * np.log(p / (1.0 - p))
        )  # fmt: skip
        return k, quickly | (possible & (height <= log_ratio))
