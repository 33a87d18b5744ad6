"""Globally adaptive quadrature: of all intervals the one with the largest error is halved, until their sum is small.

Intervals stand in arrays of fixed length, so that the whole is one loop of a program. The variable is
s in [-1, 1] or [0, 1] where ends are infinite:

    [a, ∞):  x = a + s / (1 - s)       (-∞, b]:  x = b - s / (1 - s)       ℝ:  x = s / (1 - s²)

"tanh-sinh" is the trapezoidal rule after x = tanh(½π sinh t), which takes away singularities at both ends; its step is
halved until two results agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.integrate.quadrature.rules import PAIRS, Pair
from adjoint.linear.solvers.iteration import TRACED, both, either, loop, make_filled, with_entry
from adjoint.optimize.iteration import as_code
from adjoint.program.types import Value

__all__ = [
    "CONVERGED",
    "MAX_INTERVALS",
    "NOT_FINITE",
    "NO_PROGRESS",
    "RUNNING",
    "Computed",
    "Substitution",
    "integrate_adaptively",
    "make_zeros",
]

(CONVERGED, MAX_INTERVALS, NO_PROGRESS, NOT_FINITE) = range(4)
RUNNING = -1
Integrand = Callable[[Value], Value]  # nodes (k,) ↦ values (k, m)


class Substitution(NamedTuple):
    """x as a function of s, for ends that may be infinite."""

    kind: str  # "finite", "above", "below" or "line"

    @staticmethod
    def of(a: float, b: float) -> Substitution:
        """That for two ends, a < b, of which infinite ones are plain numbers."""
        low, high = a == -np.inf, b == np.inf
        return Substitution("line" if low and high else "below" if low else "above" if high else "finite")

    def ends(self, a: Value, b: Value) -> tuple[Value, Value]:
        """The ends in s."""
        if self.kind == "finite":
            return a, b
        zero = 0.0 * (b if self.kind == "below" else a if self.kind == "above" else np.float64(0.0))
        return (zero - 1.0 if self.kind == "line" else zero), zero + 1.0

    def forth(self, s: Value, a: Value, b: Value) -> tuple[Value, Value]:
        """x and dx/ds."""
        if self.kind == "finite":
            return s, np.ones_like(s)
        if self.kind == "line":
            below = 1.0 - s * s
            return s / below, (1.0 + s * s) / (below * below)
        x = s / (1.0 - s)
        return (a + x if self.kind == "above" else b - x), 1.0 / ((1.0 - s) * (1.0 - s))

    def clip(self, x: Value, a: Value, b: Value) -> Value:
        """x, or the end that is nearest to it."""
        if self.kind == "finite":
            return np.clip(x, np.minimum(a, b), np.maximum(a, b))
        return np.maximum(x, a) if self.kind == "above" else np.minimum(x, b) if self.kind == "below" else x

    def back(self, x: Value, a: Value, b: Value) -> Value:
        """s, from x."""
        if self.kind == "finite":
            return x
        if self.kind == "line":
            return 2.0 * x / (1.0 + np.sqrt(1.0 + 4.0 * x * x))
        d = x - a if self.kind == "above" else b - x
        return d / (1.0 + d)


class Computed(NamedTuple):
    """An integral as it was computed."""

    value: Value  # (m,)
    error: Value
    code: Value
    evaluations: Value
    left: Value  # the intervals that it was cut into
    right: Value


class _State(NamedTuple):
    left: Value
    right: Value
    values: Value  # (N, m)
    errors: Value
    count: Value
    stuck: Value
    code: Value


def _whole(cuts: Sequence[Value]) -> tuple[Value, Value]:
    """One interval from the first to the last of the cuts."""
    return np.stack([cuts[0]]), np.stack([cuts[-1]])


def make_zeros(shape: tuple[int, ...], dtype: Any, like: Value) -> Value:
    """Zeros that can be written to: a new array, or one that the program makes."""
    made = make_filled(shape, dtype, 0.0, like)
    return made if isinstance(made, TRACED) else np.array(made)


def _measure(pair: Pair, f: Integrand, left: Value, right: Value) -> tuple[Value, Value]:
    """The integral over an interval, and an estimate of its error."""
    middle, half = 0.5 * (left + right), 0.5 * (right - left)
    values = np.where(half == 0, 0.0, f(middle + half * pair.nodes))  # an empty interval, even at a pole
    fine = half * (pair.weights @ values)
    coarse = half * (pair.coarse @ values)
    error = np.max(np.abs(fine - coarse))
    # the finer rule is far better than the difference says, unless f is rough (QUADPACK's estimate)
    mean = fine / np.where(half == 0, 1.0, 2.0 * half)
    rough = np.abs(half) * np.max(pair.weights @ np.abs(values - mean))
    scaled = np.where(
        rough > 0, rough * np.minimum(1.0, (200.0 * error / np.where(rough > 0, rough, 1.0)) ** 1.5), error
    )
    floor = 50.0 * np.finfo(np.float64).eps * np.abs(half) * np.max(pair.weights @ np.abs(values))
    return fine, np.maximum(scaled, floor)


def integrate_adaptively(
    f: Integrand, cuts: Sequence[Value], method: str, rtol: Value, atol: Value, most: int, size: int
) -> Computed:
    """∫ f between the first and the last of the cuts, in increasing order; intervals begin and end at the others."""
    if method == "tanh-sinh":
        return _double_exponential(f, cuts, rtol, atol)
    pair = PAIRS[method]
    first = [_measure(pair, f, a, b) for a, b in itertools.pairwise(cuts)]
    n = len(first)
    if method == "gauss":
        value: Any = sum((v for v, _ in first[1:]), first[0][0])
        code = either(np.all(np.isfinite(value)), CONVERGED, NOT_FINITE)
        error = np.full((), np.nan) + 0 * value[0]
        return Computed(value, error, as_code(code), np.int64(n * len(pair.nodes)), *_whole(cuts))
    most = max(most, n)
    like = first[0][1] + 0.0 * cuts[0]
    left, right, errors = (make_zeros((most,), np.float64, like) for _ in range(3))
    values = make_zeros((most, size), first[0][0].dtype, like)
    for i, (v, e) in enumerate(first):
        left, right = with_entry(left, i, cuts[i]), with_entry(right, i, cuts[i + 1])
        values, errors = with_entry(values, i, v), with_entry(errors, i, e)

    def judge(values: Value, errors: Value, stuck: Value, count: Value) -> Value:
        total = np.sum(values, axis=0)
        error = np.sum(errors)
        small = error <= np.maximum(atol, rtol * np.max(np.abs(total)))
        code = either(small, CONVERGED, either(stuck >= 6, NO_PROGRESS, either(count >= most, MAX_INTERVALS, RUNNING)))
        return as_code(either(both(np.all(np.isfinite(total)), np.isfinite(error)), code, NOT_FINITE))

    def step(now: _State) -> _State:
        worst = np.argmax(now.errors)
        a, b = now.left[worst], now.right[worst]
        middle = 0.5 * (a + b)
        old_error = now.errors[worst]  # plain arrays are written in place below
        rounding = 1e-12 * np.max(np.abs(np.sum(now.values, axis=0)))
        (v1, e1), (v2, e2) = _measure(pair, f, a, middle), _measure(pair, f, middle, b)
        values = with_entry(with_entry(now.values, worst, v1), now.count, v2)
        errors = with_entry(with_entry(now.errors, worst, e1), now.count, e2)
        left = with_entry(now.left, now.count, middle)
        right = with_entry(with_entry(now.right, worst, middle), now.count, b)
        # nothing is gained by halving what is rounding, or an interval of neighboring numbers
        no_gain = both(e1 + e2 >= 0.99 * old_error, old_error <= rounding)
        tiny = np.abs(b - a) <= 1e-15 * (np.abs(a) + np.abs(b))
        stuck = now.stuck + either(np.logical_or(no_gain, tiny), 1, 0)
        count = now.count + 1
        return _State(left, right, values, errors, count, stuck, judge(values, errors, stuck, count))

    count = np.int64(n)
    start = _State(left, right, values, errors, count, as_code(0), judge(values, errors, np.int64(0), count))
    last = loop(lambda now: now.code == RUNNING, step, start)
    evaluations = (2 * last.count - n) * len(pair.nodes)
    return Computed(np.sum(last.values, axis=0), np.sum(last.errors), last.code, evaluations, last.left, last.right)


LEVELS = 9
REACH = 4.6  # of t: nodes come within 1e-68 of the ends


class _Level(NamedTuple):
    level: Value
    total: Value  # Σ w f over the nodes so far
    value: Value
    error: Value
    code: Value
    evaluations: Value


def _double_exponential(f: Integrand, cuts: Sequence[Value], rtol: Value, atol: Value) -> Computed:
    """The sum over the pieces, each by the trapezoidal rule in t."""
    pieces = [_double_exponential_piece(f, a, b, rtol, atol) for a, b in itertools.pairwise(cuts)]
    codes = np.stack([p.code for p in pieces])
    return Computed(
        sum((p.value for p in pieces[1:]), pieces[0].value), sum((p.error for p in pieces[1:]), pieces[0].error),
        np.max(codes), sum((p.evaluations for p in pieces[1:]), pieces[0].evaluations), *_whole(cuts),
    )  # fmt: skip


CHUNK = 32


def _double_exponential_piece(f: Integrand, a: Value, b: Value, rtol: Value, atol: Value) -> Computed:
    middle, half = 0.5 * (a + b), 0.5 * (b - a)

    def weighted(t: Value) -> Value:
        """Σ w f over some t, symmetric nodes each on its own; what falls on an end counts for nothing."""
        u = 0.5 * np.pi * np.sinh(t)
        near = np.exp(-np.abs(u)) / np.cosh(u)  # 1 - |tanh u|, to full precision
        x = np.where(u >= 0, b - half * near, a + half * near)
        weights = half * 0.5 * np.pi * np.cosh(t) / np.cosh(u) ** 2
        inside = (x > np.minimum(a, b)) & (x < np.maximum(a, b)) & (weights != 0)
        values = f(np.where(inside, x, middle))
        return np.sum(np.where(inside[:, None], weights[:, None] * values, 0.0), axis=0)

    def add(level: Value, chunks: Value, total: Value) -> Value:
        """The nodes that halving the step brings: t = -R + (2 j + 1) h."""
        h = 2.0 * REACH / (2.0 * chunks * CHUNK)

        def more(carry: Any) -> Any:
            k, total = carry
            j = k * CHUNK + np.arange(CHUNK)
            return k + 1, total + weighted(-REACH + (2 * j + 1) * h)

        return loop(lambda carry: carry[0] < chunks, more, (0 * level, total))[1]

    zero = np.zeros(1) + 0 * a
    start = weighted(-REACH + 2.0 * REACH * np.arange(CHUNK + 1) / CHUNK)
    h0 = 2.0 * REACH / CHUNK
    # level 1 has CHUNK new nodes between those of level 0: from here on the number of chunks doubles

    def step(now: _Level) -> _Level:
        chunks = 2 ** (now.level)
        total = add(now.level, chunks, now.total)
        value = total * (h0 / (2.0 * chunks))
        change = np.max(np.abs(value - now.value))
        size = np.max(np.abs(value))
        # the number of right digits doubles with each level
        error = np.where(size > 0, size * np.minimum(1.0, change / np.where(size > 0, size, 1.0)) ** 1.5, change)
        error = np.maximum(error, 50.0 * np.finfo(np.float64).eps * size)
        done = both(error <= np.maximum(atol, rtol * size), now.level >= 2)
        code = either(done, CONVERGED, either(now.level + 1 >= LEVELS, MAX_INTERVALS, RUNNING))
        code = either(np.all(np.isfinite(value)), code, NOT_FINITE)
        return _Level(now.level + 1, total, value, error, as_code(code), now.evaluations + chunks * CHUNK)

    infinite = np.inf + 0 * zero[0]
    first = _Level(np.int64(0), start, start * h0, infinite, as_code(RUNNING), np.int64(CHUNK + 1))
    last = loop(lambda now: now.code == RUNNING, step, first)
    return Computed(last.value, last.error, last.code, last.evaluations, *_whole([a, b]))
