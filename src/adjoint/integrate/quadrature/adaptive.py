"""Globally adaptive quadrature: of all intervals the one with the largest error is halved, until their sum is small.

Intervals stand in arrays of fixed length, so that the whole is one loop of a program. The variable is
s in [-1, 1] or [0, 1] where ends are infinite:

    [a, ∞):  x = a + s / (1 - s)       (-∞, b]:  x = b - s / (1 - s)       ℝ:  x = s / (1 - s²)

which are x = p + q s / ((1 - u s)(1 + v s)) with numbers p, q, u, v that a program can choose when it runs.

Where f is not smooth there may be more than was seen: in the end no interval is wider than an eighth of the whole. An
integral that is small against atol, but not accurate to rtol, may be of a peak that no node has met: then intervals are
halved on, `LOOK_FOR` of them at least, until there is something to be accurate about.

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
    "LOOKING",
    "MAX_INTERVALS",
    "NOT_FINITE",
    "NO_PROGRESS",
    "RUNNING",
    "Computed",
    "Substitution",
    "integrate_adaptively",
    "is_unseen",
    "make_zeros",
]

(CONVERGED, MAX_INTERVALS, NO_PROGRESS, NOT_FINITE) = range(4)
RUNNING, LOOKING = -1, -2  # the interval with the largest error is halved, or the widest one
Integrand = Callable[[Value], Value]  # nodes (k,) ↦ values (k, m)


class Substitution(NamedTuple):
    """x as a function of s, for ends that may be infinite."""

    kind: str  # "finite", "above", "below", "line", or "any": which of them is known when the program runs

    @staticmethod
    def of(a: float, b: float) -> Substitution:
        """That for two ends, a < b, of which infinite ones are plain numbers."""
        low, high = a == -np.inf, b == np.inf
        return Substitution("line" if low and high else "below" if low else "above" if high else "finite")

    def ends(self, a: Value, b: Value) -> tuple[Value, Value]:
        """The ends in s."""
        if self.kind == "finite":
            return a, b
        if self.kind == "any":
            *_, v, infinite = _coefficients(a, b)
            return np.where(infinite, -v, a), np.where(infinite, 1.0, b)
        zero = 0.0 * (b if self.kind == "below" else a if self.kind == "above" else np.float64(0.0))
        return (zero - 1.0 if self.kind == "line" else zero), zero + 1.0

    def forth(self, s: Value, a: Value, b: Value) -> tuple[Value, Value]:
        """x and dx/ds."""
        if self.kind == "finite":
            return s, np.ones_like(s)
        if self.kind == "any":
            p, q, u, v, infinite = _coefficients(a, b)
            below = (1.0 - u * s) * (1.0 + v * s)
            sign = np.where(np.logical_and(infinite, a > b), -1.0, 1.0)
            return p + q * s / below, sign * (1.0 + u * v * s * s) / (below * below)
        if self.kind == "line":
            below = 1.0 - s * s
            return s / below, (1.0 + s * s) / (below * below)
        x = s / (1.0 - s)
        return (a + x if self.kind == "above" else b - x), 1.0 / ((1.0 - s) * (1.0 - s))

    def clip(self, x: Value, a: Value, b: Value) -> Value:
        """x, or the end that is nearest to it."""
        if self.kind in ("finite", "any"):
            return np.clip(x, np.minimum(a, b), np.maximum(a, b))
        return np.maximum(x, a) if self.kind == "above" else np.minimum(x, b) if self.kind == "below" else x

    def back(self, x: Value, a: Value, b: Value) -> Value:
        """s, from x."""
        if self.kind == "finite":
            return x
        if self.kind == "any":
            p, q, _, v, infinite = _coefficients(a, b)
            d = np.where(infinite, q * (x - p), 0.0)  # at least 0 where one end is finite
            line = 2.0 * d / (1.0 + np.sqrt(1.0 + 4.0 * d * d))
            return np.where(infinite, np.where(v > 0, line, d / (1.0 + np.abs(d))), x)
        if self.kind == "line":
            return 2.0 * x / (1.0 + np.sqrt(1.0 + 4.0 * x * x))
        d = x - a if self.kind == "above" else b - x
        return d / (1.0 + d)


def _coefficients(a: Value, b: Value) -> tuple[Value, Value, Value, Value, Value]:
    """p, q, u, v of the substitution, and whether an end is infinite; of numbers, or of vectors."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    down, up = low == -np.inf, high == np.inf
    above, below = np.logical_and(up, np.logical_not(down)), np.logical_and(down, np.logical_not(up))
    p = np.where(above, low, np.where(below, high, 0.0))
    q = np.where(below, -1.0, 1.0)
    infinite = np.logical_or(up, down)
    return p, q, np.where(infinite, 1.0, 0.0), np.where(np.logical_and(up, down), 1.0, 0.0), infinite


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
    masses: Value  # of |f|
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


def _measure(pair: Pair, f: Integrand, ends: Sequence[Value]) -> list[tuple[Value, Value, Value]]:
    """The integrals over neighboring intervals, estimates of their errors, and the integrals of |f|."""
    middles = [0.5 * (left + right) for left, right in itertools.pairwise(ends)]
    halves = [0.5 * (right - left) for left, right in itertools.pairwise(ends)]
    k = len(pair.nodes)
    together = f(np.concatenate([middle + half * pair.nodes for middle, half in zip(middles, halves, strict=True)]))
    return [
        _measure_one(pair, together[i * k : (i + 1) * k], middle, half)
        for i, (middle, half) in enumerate(zip(middles, halves, strict=True))
    ]


def _measure_one(pair: Pair, values: Value, middle: Value, half: Value) -> tuple[Value, Value, Value]:
    values = np.where(half == 0, 0.0, values)  # an empty interval, even at a pole
    # the first node lies at 0.002 of an interval: rounding puts it on a pole at the end
    is_tiny = np.abs(half) <= 1024 * np.finfo(np.float64).eps * np.abs(middle)
    values = np.where(np.logical_and(is_tiny, np.logical_not(np.isfinite(values))), 0.0, values)
    fine = half * (pair.weights @ values)
    coarse = half * (pair.coarse @ values)
    error = np.max(np.abs(fine - coarse))
    # the finer rule is far better than the difference says, unless f is rough (QUADPACK's estimate)
    mean = fine / np.where(half == 0, 1.0, 2.0 * half)
    rough = np.abs(half) * np.max(pair.weights @ np.abs(values - mean))
    scaled = np.where(
        rough > 0, rough * np.minimum(1.0, (200.0 * error / np.where(rough > 0, rough, 1.0)) ** 1.5), error
    )
    mass = np.abs(half) * np.max(pair.weights @ np.abs(values))
    return fine, np.maximum(scaled, 50.0 * np.finfo(np.float64).eps * mass), mass


LOOK_FOR = 64  # intervals, before an integral that is small against atol is believed; twice that on a flank


def is_unseen(error: Value, mass: Value, rtol: Value, count: Value, most: int) -> Value:
    """Whether f was so small wherever it was asked for that a narrow peak may have been missed."""
    limit = either(mass > 0, min(2 * LOOK_FOR, most), min(LOOK_FOR, most))
    return both(np.logical_or(error > rtol * mass, mass == 0), count < limit)


def integrate_adaptively(
    f: Integrand, cuts: Sequence[Value], method: str, rtol: Value, atol: Value, most: int, size: int
) -> Computed:
    """∫ f between the first and the last of the cuts, in increasing order; intervals begin and end at the others."""
    if method == "tanh-sinh":
        return _double_exponential(f, cuts, rtol, atol)
    pair = PAIRS[method]
    if method == "gauss":
        fixed = [v for v, _, _ in _measure(pair, f, cuts)]
        value: Any = sum(fixed[1:], fixed[0])
        code = either(np.all(np.isfinite(value)), CONVERGED, NOT_FINITE)
        error = np.full((), np.nan) + 0 * value[0]
        return Computed(value, error, as_code(code), np.int64(len(fixed) * len(pair.nodes)), *_whole(cuts))
    if len(cuts) == 2:  # two opinions of a smooth function; the middle is where a kink likes to be
        cuts = [cuts[0], 0.5 * (cuts[0] + cuts[1]), cuts[1]]
    first = _measure(pair, f, cuts)
    n = len(first)
    most = max(most, n)
    like = first[0][1] + 0.0 * cuts[0]
    left, right, errors, masses = (make_zeros((most,), np.float64, like) for _ in range(4))
    values = make_zeros((most, size), first[0][0].dtype, like)
    for i, (v, e, mass) in enumerate(first):
        left, right = with_entry(left, i, cuts[i]), with_entry(right, i, cuts[i + 1])
        values, errors, masses = with_entry(values, i, v), with_entry(errors, i, e), with_entry(masses, i, mass)

    def judge(
        left: Value, right: Value, values: Value, errors: Value, masses: Value, stuck: Value, count: Value
    ) -> Value:
        total = np.sum(values, axis=0)
        error = np.sum(errors)
        small = error <= np.maximum(atol, rtol * np.max(np.abs(total)))
        mass, width = np.sum(masses), np.abs(cuts[-1] - cuts[0])
        unseen = both(is_unseen(error, mass, rtol, count, most), both(stuck < 6, width > 0))
        wide = both(np.max(np.abs(right - left)) > 0.126 * width, both(count > n, count < most))
        look = either(both(unseen, mass > 0), RUNNING, either(np.logical_or(unseen, wide), LOOKING, CONVERGED))
        stopped = either(stuck >= 6, NO_PROGRESS, either(count >= most, MAX_INTERVALS, RUNNING))
        code = either(small, look, stopped)
        return as_code(either(both(np.all(np.isfinite(total)), np.isfinite(error)), code, NOT_FINITE))

    def step(now: _State) -> _State:
        looking = now.code == LOOKING
        worst = np.argmax(np.where(looking, np.abs(now.right - now.left), now.errors))
        a, b = now.left[worst], now.right[worst]
        middle = 0.5 * (a + b)
        old_error = now.errors[worst]  # plain arrays are written in place below
        rounding = 1e-12 * np.max(np.abs(np.sum(now.values, axis=0)))
        (v1, e1, m1), (v2, e2, m2) = _measure(pair, f, [a, middle, b])
        values = with_entry(with_entry(now.values, worst, v1), now.count, v2)
        errors = with_entry(with_entry(now.errors, worst, e1), now.count, e2)
        masses = with_entry(with_entry(now.masses, worst, m1), now.count, m2)
        left = with_entry(now.left, now.count, middle)
        right = with_entry(with_entry(now.right, worst, middle), now.count, b)
        # nothing is gained by halving what is rounding, or an interval of neighboring numbers
        no_gain = both(both(e1 + e2 >= 0.99 * old_error, old_error <= rounding), np.logical_not(looking))
        tiny = np.abs(b - a) <= 1e-15 * (np.abs(a) + np.abs(b))
        stuck = now.stuck + either(np.logical_or(no_gain, tiny), 1, 0)
        count = now.count + 1
        code = judge(left, right, values, errors, masses, stuck, count)
        return _State(left, right, values, errors, masses, count, stuck, code)

    count = np.int64(n)
    code = judge(left, right, values, errors, masses, np.int64(0), count)
    start = _State(left, right, values, errors, masses, count, as_code(0), code)
    last = loop(lambda now: now.code <= RUNNING, step, start)
    evaluations = (2 * last.count - n) * len(pair.nodes)
    return Computed(np.sum(last.values, axis=0), np.sum(last.errors), last.code, evaluations, last.left, last.right)


LEVELS = 9
LOOK_THROUGH = 6  # levels, before an integral that is small against atol is believed: 4097 nodes
REACH = 4.6  # of t: nodes come within 1e-68 of the ends


class _Level(NamedTuple):
    level: Value
    total: Value  # Σ w f, Σ |w f| and what is lost at the ends, over the nodes so far
    value: Value
    change: Value  # of the value, in the last level
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
    half = 0.5 * (b - a)

    def weigh(t: Value) -> tuple[Value, Value]:
        """w f at some t, and what is lost: nodes that rounding puts on an end are judged by the number next to it."""
        u = 0.5 * np.pi * np.sinh(t)
        near = np.exp(-np.abs(u)) / np.cosh(u)  # 1 - |tanh u|, to full precision
        x = np.where(u >= 0, b - half * near, a + half * near)
        weights = half * 0.5 * np.pi * np.cosh(t) / np.cosh(u) ** 2
        inside = (x > np.minimum(a, b)) & (x < np.maximum(a, b)) & (weights != 0)
        values = f(np.where(inside, x, np.where(u >= 0, np.nextafter(b, a), np.nextafter(a, b))))
        parts = np.where(inside[:, None], weights[:, None] * values, 0.0)
        outside = np.logical_not(inside)[:, None] & np.isfinite(values)
        return parts, 8.0 * np.abs(np.where(outside, weights[:, None] * values, 0.0))  # f grows towards the end

    def add_up(parts: Value, lost: Value) -> Value:
        return np.stack([np.sum(parts, axis=0), np.sum(np.abs(parts), axis=0), np.sum(lost, axis=0)])

    def add(level: Value, chunks: Value, total: Value) -> Value:
        """The nodes that halving the step brings: t = -R + (2 j + 1) h."""
        h = 2.0 * REACH / (2.0 * chunks * CHUNK)

        def more(carry: Any) -> Any:
            k, total = carry
            j = k * CHUNK + np.arange(CHUNK)
            return k + 1, total + add_up(*weigh(-REACH + (2 * j + 1) * h))

        return loop(lambda carry: carry[0] < chunks, more, (0 * level, total))[1]

    zero = np.zeros(1) + 0 * a
    parts, lost = weigh(-REACH + 2.0 * REACH * np.arange(CHUNK + 1) / CHUNK)
    start, beyond = add_up(parts, lost), 0.1 * np.max(np.abs(parts[0]) + np.abs(parts[-1]))  # |t| > REACH
    h0 = 2.0 * REACH / CHUNK
    # level 1 has CHUNK new nodes between those of level 0: from here on the number of chunks doubles

    def step(now: _Level) -> _Level:
        chunks = 2 ** (now.level)
        total = add(now.level, chunks, now.total)
        value, masses, losses = (total[i] * (h0 / (2.0 * chunks)) for i in range(3))
        change = np.max(np.abs(value - now.value))
        size = np.max(np.abs(value))
        # the number of right digits doubles with each level, which f with a kink does only by chance
        part, before = change / np.where(size > 0, size, 1.0), now.change / np.where(size > 0, size, 1.0)
        doubles = both(part < 1.0, part <= np.minimum(before, 1.0) ** 1.5)
        error = np.where(both(size > 0, doubles), size * np.minimum(part, 1.0) ** 1.5, change)
        error = np.maximum(error, 50.0 * np.finfo(np.float64).eps * size)
        mass = np.max(masses)
        unseen = both(np.logical_or(error > rtol * mass, mass == 0), half != 0)
        # on the flank of a peak the last level has to resolve it
        rising = both(unseen, error > 1e-3 * mass)
        enough = now.level >= either(rising, LEVELS, either(unseen, LOOK_THROUGH, 2))
        tolerance, lost = np.maximum(atol, rtol * size), np.max(losses) + beyond
        # what is lost at the ends does not become less
        done = both(np.logical_or(error <= tolerance, both(lost > tolerance, change <= lost)), enough)
        # next to an end other than 0 numbers are too far apart for a strong singularity
        verdict = either(lost <= tolerance, CONVERGED, NO_PROGRESS)
        code = either(done, verdict, either(now.level + 1 >= LEVELS, MAX_INTERVALS, RUNNING))
        code = either(np.all(np.isfinite(value)), code, NOT_FINITE)
        evaluations = now.evaluations + chunks * CHUNK
        return _Level(now.level + 1, total, value, change, error + lost, as_code(code), evaluations)

    infinite = np.inf + 0 * zero[0]
    first = _Level(np.int64(0), start, start[0] * h0, infinite, infinite, as_code(RUNNING), np.int64(CHUNK + 1))
    last = loop(lambda now: now.code == RUNNING, step, first)
    return Computed(last.value, last.error, last.code, last.evaluations, *_whole([a, b]))
