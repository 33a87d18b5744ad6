"""Discrete distributions. What they draw does not move with the parameters, so differentiating these is an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError, TraceError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of
from adjoint.random.draws import RandomIntegers
from adjoint.random.parameters import DISCRETE, array, frozen, known, numbers, require, shape_of, sizes
from adjoint.random.rejection import RandomBinomial, RandomGamma, RandomPoisson
from adjoint.random.stream import Stream

LARGEST_RATE = 9.2e18  # of a Poisson number that fits into 64 bits


class Discrete(Stream):
    """Draws of integers."""

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Value:
        """Integers from low to high - 1, or to high with `endpoint`; from 0 when only one end is given."""
        kind = np.dtype(dtype)
        if kind.kind not in "biu":
            raise TypeError(f"integers: unsupported dtype {kind.name}; choose an integer type or bool.")
        low, high = (0, low) if high is None else (low, high)
        low, high = _ends(low, high)
        lowest, highest = known(low), known(high)
        if lowest is not None and highest is not None:
            _check_ends(lowest, highest, kind, endpoint)
        wide = [array(x) for x in (low, high)]
        shape = shape_of("integers", size, *wide)
        low, high = (_modular(x) for x in wide)
        with np.errstate(over="ignore"):  # modulo 2⁶⁴
            reach = high - low if endpoint else high - low - np.uint64(1)
        return self._draw("integers", RandomIntegers(shape, kind), low, reach)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Value:
        """Successes in n trials of probability p; binomial(1, p) is a coin."""
        n, p = _counts("binomial", n, p)
        return self._draw("binomial", RandomBinomial(shape_of("binomial", size, n, p)), n, p)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Value:
        """Poisson numbers of rate lam."""
        (lam,) = numbers("poisson", lam=lam)
        require("poisson", "lam", lam, "not negative")
        rates = known(lam)
        if rates is not None and not np.all(np.asarray(rates) <= LARGEST_RATE):
            raise ValueError(f"poisson: lam must be at most {LARGEST_RATE}; got {np.max(rates)}.")
        lam = frozen("poisson", "lam", lam)
        return self._draw("poisson", RandomPoisson(shape_of("poisson", size, lam)), lam)

    def geometric(self, p: Any, size: Any = None) -> Value:
        """The number of trials of probability p up to the first success: ⌈log u / log(1-p)⌉."""
        (p,) = numbers("geometric", p=p)
        require("geometric", "p", p, "a probability")
        require("geometric", "p", p, "positive")
        p = frozen("geometric", "p", p)
        u = self._standard("geometric", "open_uniform", shape_of("geometric", size, p))
        with np.errstate(divide="ignore"):
            trials = np.ceil(np.log(u) / np.log1p(-p))
        return np.clip(trials, 1.0, 2.0**63 - 1024).astype(np.int64)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Value:
        """Failures before the n-th success: a Poisson number whose rate is a gamma number of shape n, times (1-p)/p."""
        n, p = numbers("negative_binomial", n=n, p=p)
        require("negative_binomial", "n", n, "positive")
        require("negative_binomial", "p", p, "a probability")
        require("negative_binomial", "p", p, "positive")
        n, p = frozen("negative_binomial", "n", n), frozen("negative_binomial", "p", p)
        shape = shape_of("negative_binomial", size, n, p)
        rate = self._draw("negative_binomial", RandomGamma(shape, np.dtype(np.float64)), n) * ((1.0 - p) / p)
        return self._draw("negative_binomial", RandomPoisson(shape), rate)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Value:
        """How often each of the categories along the last axis of `pvals` occurs in n trials."""
        n, pvals = numbers("multinomial", n=n, pvals=pvals)
        if np.ndim(pvals) == 0:
            raise ShapeError("multinomial: pvals must be a vector of probabilities, or an array of such vectors.")
        require("multinomial", "pvals", pvals, "a probability")
        total = known(np.sum(pvals, axis=-1))
        if total is not None and np.any(np.asarray(total) > 1.0 + 1e-9):
            raise ValueError(f"multinomial: sum(pvals) must be at most 1; got {np.max(total)}.")
        n, _ = _counts("multinomial", n, 0.5)
        pvals = frozen("multinomial", "pvals", pvals)
        shape = shape_of("multinomial", size, n, pvals[..., 0])
        left, rest = n, 1.0
        columns: list[Value] = []
        for i in range(np.shape(pvals)[-1] - 1):  # each category takes its share of what those before it left
            p = pvals[..., i]
            share = np.clip(p / np.where(rest > 0.0, rest, 1.0), 0.0, 1.0)
            columns.append(self._draw("multinomial", RandomBinomial(shape), left, share))
            left, rest = left - columns[-1], rest - p
        columns.append(np.broadcast_to(left, shape))
        return np.stack(columns, axis=-1)

    def bytes(self, length: int) -> bytes:
        """Random bytes: those of the words, lowest first."""
        (count,) = sizes("bytes", length)
        words = self._words("bytes", ((count + 7) // 8,))
        if isinstance(words, Tracer):
            raise TraceError("bytes: a traced function has no bytes. Use integers(256, size=n, dtype=np.uint8).")
        return words.astype("<u8").tobytes()[:count]


def _ends(low: Any, high: Any) -> tuple[Value, Value]:
    ends: list[Value] = []
    for name, x in (("low", low), ("high", high)):
        if isinstance(x, int) and not -(2**63) <= x <= 2**64:
            raise ValueError(f"integers: {name} = {x} is out of bounds for 64 bits.")
        if not isinstance(x, Tracer | int):
            x = np.asarray(x)
            if x.dtype.kind == "f" and np.all(x == np.floor(x)):
                x = x.astype(np.int64)
        if not isinstance(x, int) and type_of(x).dtype.kind not in "biu":
            raise DtypeError(f"integers: {name} must be an integer, not {type_of(x).dtype}.")
        ends.append(x)
    return ends[0], ends[1]


def _check_ends(low: Any, high: Any, kind: np.dtype[Any], endpoint: bool) -> None:
    """low < high, and both within the dtype; in Python's integers, which do not overflow."""
    smallest, largest = (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    lows, highs = (np.asarray(x, object) for x in (low, high))
    if np.size(lows) and np.min(lows) < smallest:
        raise ValueError(f"integers: low is out of bounds for {kind.name}; got {np.min(lows)}.")
    if np.size(highs) and np.max(highs) - (not endpoint) > largest:
        raise ValueError(f"integers: high is out of bounds for {kind.name}; got {np.max(highs)}.")
    if (
        lows.ndim and highs.ndim and lows.shape != highs.shape
    ):  # batch elements against an array: compare the extremes alone
        bad = lows.min() > highs.max() - (not endpoint)
    else:
        bad = np.any(lows > highs - (not endpoint))
    if bad:
        raise ValueError(f"integers: low {'>' if endpoint else '>='} high; got low={low}, high={high}.")


def _modular(x: Value) -> Value:
    """An integer modulo 2⁶⁴."""
    if x.dtype == object:
        return np.array([int(v) % 2**64 for v in x.ravel()], np.uint64).reshape(x.shape)
    return x.astype(np.int64).astype(np.uint64) if x.dtype.kind != "u" else x.astype(np.uint64)


def _counts(call: str, n: Any, p: Any) -> tuple[Value, Value]:
    n, p = numbers(call, n=n, p=p)
    counts = known(n)
    if type_of(n).dtype.kind == "f" and (counts is None or np.any(np.asarray(counts) != np.floor(counts))):
        raise DtypeError(f"{call}: n must be an integer.")
    require(call, "n", n, "not negative")
    require(call, "p", p, "a probability")
    return n, frozen(call, "p", p, DISCRETE)
