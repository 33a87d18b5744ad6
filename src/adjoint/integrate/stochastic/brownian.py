"""Brownian motion as a function: W(t) from a key and t alone, by halving intervals (a virtual Brownian tree).

Over an interval of length h, W is its increment and H its space-time Lévy area,

    H = 1/h ∫ (W(s, r) - (r - s)/h W) dr,   W ~ N(0, h),   H ~ N(0, h/12),   independent.

The halves of an interval have W = Wₗ + Wᵣ and H = (Wₗ - Wᵣ)/4 + (Hₗ + Hᵣ)/2. So, given W and H,

    Wₗ - Wᵣ = 3 H + N(0, h/4),   Hₗ + Hᵣ = 2 H - (Wₗ - Wᵣ)/2,   Hₗ - Hᵣ ~ N(0, h/12).

Each node of the tree draws its two numbers at a counter of its own. Below the leaves the same law, conditioned at one
more point, gives a value for every t.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from adjoint.api.control_flow import while_loop
from adjoint.api.gradients import vmap
from adjoint.base.source import user_facing
from adjoint.debug import check
from adjoint.integrate.reading import known_value, read_span
from adjoint.program.types import Value
from adjoint.random.draws import FromBits, RandomBits
from adjoint.random.generator import Generator
from adjoint.tree.registry import register

__all__ = ["Brownian", "check_inside", "draw_increment", "normals", "tree_values"]

UNIT = 48  # times are multiples of 2⁻⁴⁸ of the span
DEPTH = 24  # levels of the tree


def normals(key: Value, counter: Value, count: int, dtype: Any = np.float64) -> Value:
    """Standard normal numbers at positions of a stream."""
    return FromBits("normal", np.dtype(dtype))(RandomBits((count,))(key, counter))


def draw_increment(key: Value, step: Value, h: Value, count: int, dtype: Any) -> tuple[Value, Value]:
    """(W, H) of step number `step`, of length h: a function of the key and the number."""
    z = normals(key, step.astype(np.uint64) * np.uint64(2 * count), 2 * count, dtype)
    root = np.sqrt(h).astype(dtype)
    return root * z[:count], root * np.dtype(dtype).type(np.sqrt(1 / 12)) * z[count:]


def tree_values(key: Value, t0: Value, t1: Value, t: Value, count: int) -> tuple[Value, Value]:
    """W(t) - W(t₀), and its integral from t₀ to t."""
    span = t1 - t0
    whole = np.float64(2.0**UNIT)
    position = np.rint(np.clip((t - t0) / span, 0.0, 1.0) * whole).astype(np.int64)
    one = np.float64(1.0)
    z = normals(key, np.uint64(0), 2 * count)
    W, H = np.sqrt(span) * z[:count], np.sqrt(span / 12) * z[count:]
    is_end = position >= np.int64(2**UNIT)

    def descend(now: Any) -> Any:
        level, h, begun, area, W, H = now
        node = (np.int64(1) << level) + (position >> (UNIT - level))
        z = normals(key, node.astype(np.uint64) * np.uint64(2 * count), 2 * count)
        difference = 3.0 * H + np.sqrt(h / 4) * z[:count]
        total = 2.0 * H - 0.5 * difference
        apart = np.sqrt(h / 12) * z[count:]
        left_W, right_W = 0.5 * (W + difference), 0.5 * (W - difference)
        left_H, right_H = 0.5 * (total + apart), 0.5 * (total - apart)
        half = 0.5 * h
        goes_right = ((position >> (UNIT - 1 - level)) & np.int64(1)) == 1
        area = np.where(goes_right, area + half * begun + half * (0.5 * left_W + left_H), area)
        begun = np.where(goes_right, begun + left_W, begun)
        return (
            level + 1,
            half,
            begun,
            area,
            np.where(goes_right, right_W, left_W),
            np.where(goes_right, right_H, left_H),
        )

    def goes_on(now: Any) -> Value:
        rest = position & ((np.int64(1) << (UNIT - now[0])) - 1)
        return np.logical_and(now[0] < DEPTH, rest != 0)

    zero = np.zeros(count)
    begin = (np.int64(0), span * one, zero + 0 * W, zero + 0 * W, W, H)
    at_end = (W, span * (0.5 * W + H))
    level, h, begun, area, W, H = while_loop(
        goes_on, descend, (np.where(is_end, DEPTH, 0).astype(np.int64), *begin[1:])
    )
    rest = position & ((np.int64(1) << (UNIT - level)) - 1)
    r = rest / (np.int64(1) << (UNIT - level)).astype(np.float64)
    cell = position >> (UNIT - level)
    base = np.uint64((2 << DEPTH) * 2 * count)
    z = normals(key, base + cell.astype(np.uint64) * np.uint64(4 * count), 4 * count)
    a, b = r * h, (1.0 - r) * h
    free = [np.sqrt(v) * z[i * count : (i + 1) * count] for i, v in enumerate((a, b, a / 12, b / 12))]
    miss_W = W - free[0] - free[1]
    miss_H = H - (0.5 * (1 - r) * free[0] - 0.5 * r * free[1] + r * free[2] + (1 - r) * free[3])
    left_W = free[0] + r * miss_W + 6.0 * r * (1 - r) * miss_H
    left_H = free[2] + r * r * miss_H
    inside = rest > 0
    value = np.where(inside, begun + left_W, begun)
    integral = np.where(inside, area + a * begun + a * (0.5 * left_W + left_H), area)
    return np.where(is_end, at_end[0], value), np.where(is_end, at_end[1], integral)


def check_inside(words: str, first: Value, last: Value, path: Brownian) -> None:
    """Refuse times outside of the span of a path, in a compiled program too."""
    known = [known_value(v) for v in (first, last, path.t0, path.t1)]
    t, s, t0, t1 = known if all(v is not None for v in known) else (first, last, path.t0, path.t1)
    slack = 2.0**-DEPTH * (t1 - t0)  # sums of steps end beside the end
    check(
        np.logical_and(np.all(t >= t0 - slack), np.all(s <= t1 + slack)),
        f"{words} from {{}} to {{}}, and the span of the Brownian motion is ({{}}, {{}}). Make it with a longer span.",
        np.min(t), np.max(s), t0, t1,
    )  # fmt: skip


@final
class Brownian:
    """A path of Brownian motion over a span: W(t) is a function of the key and t, in any order of asking.

    `shape` is that of W(t); W(t₀) = 0. A tree, so it goes through jit and vmap; a stack of generators, `rng.split(n)`,
    makes n paths under vmap. Times are told apart down to 2⁻²⁴ of the span.

    ```python
    W = ad.integrate.Brownian(ad.random.default_rng(0), (0.0, 1.0))
    bool(W(0.25) == W(0.25)), float(W(0.0))  # → (True, 0.0)
    ```
    """

    def __init__(self, rng: Any, span: Any, shape: Any = ()) -> None:
        if not isinstance(rng, Generator):
            raise TypeError(f"integrate.Brownian: rng is a {type(rng).__name__}; give a generator, "
                            "ad.random.default_rng(seed).")  # fmt: skip
        t0, t1 = read_span("integrate.Brownian", span)
        a, b = known_value(t0), known_value(t1)
        if a is not None and b is not None and not np.all(a < b):
            raise ValueError(f"integrate.Brownian: span is ({a}, {b}); it goes forwards in time.")
        self.key = rng.spawn(1)[0].key
        self.t0, self.t1 = t0, t1
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)

    @property
    def size(self) -> int:
        """How many motions there are."""
        return int(np.prod(self.shape, dtype=int))

    @user_facing
    def __call__(self, t: Any) -> Value:
        """W(t); t may be an array of times."""
        return self._read(t)[0]

    @user_facing
    def integral(self, t: Any) -> Value:
        """∫ W from t₀ to t.

        ```python
        W = ad.integrate.Brownian(ad.random.default_rng(0), (0.0, 1.0))
        times = np.linspace(0.0, 1.0, 2**12 + 1)
        bool(abs(np.mean(W(times)) - W.integral(1.0)) < 0.01)  # → True
        ```
        """
        return self._read(t)[1]

    def _read(self, t: Any) -> tuple[Value, Value]:
        times = t if hasattr(t, "dtype") else np.asarray(t, np.float64)
        check_inside("integrate.Brownian: W is asked for times", times, times, self)
        one = lambda t: tree_values(self.key, self.t0, self.t1, t, self.size)
        flat = np.reshape(times, (-1,)).astype(np.float64)
        W, area = vmap(one)(flat)
        shape = (*np.shape(times), *self.shape)
        return np.reshape(W, shape)[()], np.reshape(area, shape)[()]

    @user_facing
    def increment(self, s: Any, t: Any) -> tuple[Value, Value]:
        """(W, H) over [s, t]: the increment, and the space-time Lévy area.

        ```python
        W = ad.integrate.Brownian(ad.random.default_rng(0), (0.0, 1.0))
        bool(np.allclose(W.increment(0.25, 0.75)[0], W(0.75) - W(0.25)))  # → True
        ```
        """
        (w0, a0), (w1, a1) = self._read(s), self._read(t)
        h = np.reshape(t - s, np.shape(t - s) + (1,) * len(self.shape))
        return w1 - w0, (a1 - a0 - h * w0) / h - 0.5 * (w1 - w0)

    def __repr__(self) -> str:
        return f"Brownian({self.t0!r} to {self.t1!r}, shape {self.shape})"


def _taken_apart(path: Brownian) -> tuple[Mapping[str, Any], Any]:
    return {"key": path.key, "t0": path.t0, "t1": path.t1}, path.shape


def _put_together(static: Any, leaves: Mapping[str, Any]) -> Brownian:
    made = object.__new__(Brownian)
    made.key, made.t0, made.t1, made.shape = leaves["key"], leaves["t0"], leaves["t1"], static
    return made


register(Brownian, _taken_apart, _put_together)
