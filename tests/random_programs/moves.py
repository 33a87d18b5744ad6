"""Steps that move elements: shapes, slices, joins, reading and writing at computed positions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.random_programs.steps import Pool, Step, an_axis, cast, pick


def a_shape(r: Random, pool: Pool) -> Step:
    i = pick(r, pool)
    x = pool[i]
    axes = list(range(x.ndim))
    r.shuffle(axes)
    at = r.randint(0, x.ndim)
    forms: dict[str, Callable[[Any], Any]] = {
        "ravel": lambda x: np.ravel(x),
        "transposed": lambda x: np.transpose(x, axes),
        "new axis": lambda x: np.expand_dims(x, at),
        "squeezed": lambda x: np.squeeze(x),
        "column": lambda x: np.reshape(x, (-1, 1)),
        "rows": lambda x: np.reshape(x, (x.shape[0], -1)),
        "two rows": lambda x: np.reshape(x, (2, -1)),
        "turned shape": lambda x: np.reshape(x, x.shape[::-1]),
        "spread": lambda x: np.broadcast_to(x, (2, *x.shape)),
        "spread last": lambda x: np.broadcast_to(np.expand_dims(x, -1), (*x.shape, 3)),
        "flipped": lambda x: np.flip(x),
        "first axes merged": lambda x: np.reshape(x, (-1, *x.shape[2:])),
        "T": lambda x: x.T,
        "stacked": lambda x: np.stack([x, x * 2, x], axis=at),
        "contiguous": lambda x: np.ascontiguousarray(x.T),
    }
    if x.ndim:
        axis = an_axis(r, x)
        forms |= {
            "flip": lambda x: np.flip(x, axis),
            "rolled": lambda x: np.roll(x, 1, axis),
            "rolled by 2": lambda x: np.roll(x, -2),
            "moved": lambda x: np.moveaxis(x, -1, 0),
            "repeated": lambda x: np.repeat(x, 2, axis=axis),
            "tiled": lambda x: np.tile(x, 2),
            "diagonal": lambda x: np.diagonal(x),
            "halves": lambda x: np.array_split(x, 2)[1],
            "tril": lambda x: np.tril(x),
        }
    name = r.choice(sorted(forms))
    return Step(f"{name}(x{i}) {axes}", lambda p: forms[name](p[i]))


def a_part(r: Random, n: int) -> Any:
    """One item of a basic index along an axis of n."""
    kind = r.random()
    if kind < 0.15:
        return r.choice([0, -1])
    step = r.choice([None, None, 1, 2, -1, -2, 3])
    bounds = [None, None, 0, 1, -1, 2, -2, n // 2]
    return slice(r.choice(bounds), r.choice(bounds), step)


def an_index(r: Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    parts = [a_part(r, n) for n in shape[: r.randint(1, max(1, len(shape)))]]
    if r.random() < 0.2:
        parts.insert(r.randint(0, len(parts)), None)
    if r.random() < 0.2 and len(parts) < len(shape):
        parts.insert(r.choice([0, len(parts)]), Ellipsis)
    return tuple(parts)


def a_slice(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1)
    index = an_index(r, pool[i].shape)
    return Step(f"x{i}[{index}]", lambda p: p[i][index])


def a_neighbor(r: Random, pool: Pool) -> Step:
    """A stencil: what windows and boxes are for."""
    i = pick(r, pool, ndim=1)
    axis = an_axis(r, pool[i])

    def along(x: Any, s: slice) -> Any:
        index: list[Any] = [slice(None)] * x.ndim
        index[axis] = s
        return x[tuple(index)]

    forms: dict[str, Callable[[Any], Any]] = {
        "x[1:] + x[:-1]": lambda x: along(x, slice(1, None)) + along(x, slice(None, -1)),
        "x[2:] x[:-2]": lambda x: along(x, slice(2, None)) * along(x, slice(None, -2)) + along(x, slice(1, -1)),
        "padded": lambda x: x + _padded(along(x, slice(1, None)), axis, (0, 1)),
        "pad": lambda x: _padded(x, axis, (1, 2)),
        "pad with 2": lambda x: np.pad(x, [(1, 0)] * x.ndim, constant_values=2),
        "joined": lambda x: np.concatenate([x, along(x, slice(None, None, -1))], axis=axis),
        "joined thrice": lambda x: np.concatenate([along(x, slice(0, 1)), x, along(x, slice(-1, None))], axis=axis),
        "evens and odds": lambda x: np.concatenate(
            [along(x, slice(0, None, 2)), along(x, slice(1, None, 2)) * 2], axis=axis
        ),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i} along {axis}", lambda p: forms[name](p[i]))


def _padded(x: Any, axis: int, width: tuple[int, int]) -> Any:
    widths = [(0, 0)] * x.ndim
    widths[axis] = width
    return np.pad(x, widths)


def a_join(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1)
    j, axis = r.randrange(len(pool)), an_axis(r, pool[i])
    if r.random() < 0.3:
        return Step(f"stack(x{i}, x{j}) {axis}", lambda p: np.stack([p[i], p[j]], axis=axis))
    return Step(f"concatenate(x{i}, x{j}) {axis}", lambda p: np.concatenate([p[i], p[j], p[i]], axis=axis))


def positions(x: Any, n: int, wrapped: bool) -> Any:
    """Integers made of an array, as indices along an axis of n."""
    k = cast(x, "int64") if x.dtype.kind != "i" else x
    return np.remainder(k, 2 * n) - n if wrapped else k


def a_gather(r: Random, pool: Pool) -> Step:
    i = pick(r, pool, ndim=1)
    j, k = r.randrange(len(pool)), r.randrange(len(pool))
    wrapped = r.random() < 0.8
    axis = an_axis(r, pool[i])
    fixed = np.array([0, -1, 0, 1])[: r.randint(1, 4)]
    forms: dict[str, Callable[[Any, Any, Any], Any]] = {
        "x[i]": lambda x, a, b: x[positions(a, x.shape[0], wrapped)],
        "x[:, i]": lambda x, a, b: x[:, positions(a, x.shape[1], wrapped)],
        "x[i, j]": lambda x, a, b: x[positions(a, x.shape[0], wrapped), positions(b, x.shape[1], wrapped)],
        "x[i, :1]": lambda x, a, b: x[positions(a, x.shape[0], wrapped), :1],
        "take": lambda x, a, b: np.take(x, positions(a, x.shape[axis], wrapped), axis=axis),
        "fixed": lambda x, a, b: x[fixed],
        "x[x > 0 ? i : 0]": lambda x, a, b: x[np.where(np.real(a) > 0, positions(a, x.shape[0], True), 0)],
        "take_along_axis": lambda x, a, b: np.take_along_axis(x, np.argsort(np.real(x), axis=axis), axis),
    }
    name = r.choice(sorted(forms))
    return Step(f"{name} of x{i}, x{j}, x{k} {wrapped} {axis}", lambda p: forms[name](p[i], p[j], p[k]))


def an_assignment(r: Random, pool: Pool) -> Step:
    """A copy of an array, written to."""
    i, j = pick(r, pool, ndim=1), r.randrange(len(pool))
    index = an_index(r, pool[i].shape)
    wrapped = r.random() < 0.85
    kind = r.choice(["set", "add", "scale", "set at", "add at", "rows", "mask", "set one", "shift"])

    def run(p: Pool) -> Any:
        y, v = p[i].copy(), p[j]
        if y.dtype.kind not in "c" and v.dtype.kind == "c":
            v = np.real(v)
        value = np.sum(v).astype(y.dtype) if y.dtype.kind not in "iu" else cast(np.sum(v) * 1.0, y.dtype.name)
        n = y.shape[0]
        if kind == "set":
            y[index] = value
        elif kind == "add":
            y[index] += value
        elif kind == "scale":
            y[index] *= value
        elif kind == "set at":
            y[positions(p[j], n, wrapped)] = value
        elif kind == "add at":
            np.add.at(y, positions(p[j], n, wrapped), value)
        elif kind == "rows":
            for k in range(min(n, 4)):
                y[k] = y[k - 1] + value
        elif kind == "mask":
            y[np.real(y) > 0] = value
        elif kind == "set one":
            y[-1] = y[0] + value
        else:
            y[1:] += y[:-1]
        return y

    return Step(f"{kind}: x{i}[{index}] with x{j} {wrapped}", run)
