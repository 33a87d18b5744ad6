"""Where primitives are not smooth: the kind of the point, what happens there, and how far arguments are from it."""

# Distances are computed on plain arrays.

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.records import record

__all__ = ["NonSmooth", "second_gap"]


@record
class NonSmooth:
    """kind: "kink" (continuous), "jump", or "singular" (an infinite derivative); `hull`: all generalized derivatives.

    `steps` says where a jump lies: "tie" (its two arguments are equal), "zero" (its first argument is), "everywhere"
    (again and again along its argument `moving`), or "" where that is not known.
    """

    kind: str
    hull: str
    distance: Callable[[Any, Sequence[Any], Sequence[Any]], Any]  # (op, arguments, results), element by element
    steps: str = ""
    moving: int = 0


def second_gap(x: Any, axes: Sequence[int], sign: int) -> Any:
    """How far the two largest (sign 1) or smallest (-1) elements are apart."""
    axes = tuple(a % np.ndim(x) for a in axes)
    rest = [a for a in range(np.ndim(x)) if a not in axes]
    lines = np.transpose(sign * np.asarray(x), [*rest, *axes]).reshape(*[np.shape(x)[a] for a in rest], -1)
    if lines.shape[-1] < 2:
        return np.full(lines.shape[:-1], np.inf)
    top = np.partition(lines, -2, axis=-1)
    return top[..., -1] - top[..., -2]


def _at_zero(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.abs(xs[0])


def _tie(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.abs(np.subtract(xs[0], xs[1]))


def _integer_distance(x: Any) -> Any:
    return np.abs(x - np.round(x))


def _quotient(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return _integer_distance(np.divide(xs[0], xs[1])) * np.abs(xs[1])


def _truncated(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.where(np.abs(xs[0]) < 0.5, 1 - np.abs(xs[0]), _integer_distance(xs[0]))  # no jump at zero


def _order(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    gaps = np.diff(np.sort(xs[0], axis=op.axis), axis=op.axis)
    return np.min(gaps, axis=op.axis, initial=np.inf)


def _extremum(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return second_gap(xs[0], op.axes, 1 if op.kind in ("max", "argmax") else -1)


def _bins(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.min(np.abs(np.expand_dims(xs[1], -1) - xs[0]), axis=-1, initial=np.inf)


def _base(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    """Powers are smooth at 0 for integer exponents >= 0."""
    smooth = (np.asarray(xs[1]) >= 0) & (np.asarray(xs[1]) % 1 == 0)
    return np.where(smooth, np.inf, np.abs(xs[0]))


JUMP, INFINITE = "none: it jumps", "none: the derivative is infinite"
CONDITION = NonSmooth("jump", "a condition: either side", _tie, "tie")
STEP = NonSmooth("jump", JUMP, lambda op, xs, zs: _integer_distance(xs[0]), "everywhere")
ROUNDING = NonSmooth("jump", JUMP, lambda op, xs, zs: _integer_distance(np.asarray(xs[0]) + 0.5), "everywhere")
TRUNCATION = NonSmooth("jump", JUMP, _truncated, "everywhere")
QUOTIENT = NonSmooth("jump", JUMP, _quotient, "everywhere")
REMAINDER = NonSmooth("jump", JUMP, _quotient, "sawtooth")
SIGN = NonSmooth("jump", JUMP, _at_zero, "zero")
CORNER = NonSmooth("kink", "[-1, 1]", _at_zero)
SHARE = NonSmooth("kink", "hull of (1, 0) and (0, 1)", _tie)
LENGTH = NonSmooth("kink", "the unit ball", lambda op, xs, zs: np.abs(zs[0]))
EXTREMUM = NonSmooth("kink", "hull of the unit vectors of the ties", _extremum)
EXTREMAL_INDEX = NonSmooth("jump", JUMP, _extremum)
ORDER = NonSmooth("kink", "any order of the ties", _order)
BINS = NonSmooth("jump", JUMP, _bins, "everywhere", moving=1)
ROOT = NonSmooth("singular", INFINITE, _at_zero)
ENDS = NonSmooth("singular", INFINITE, lambda op, xs, zs: np.abs(1 - np.abs(xs[0])))
ONE = NonSmooth("singular", INFINITE, lambda op, xs, zs: np.abs(xs[0] - 1))
BASE = NonSmooth("singular", "none: not smooth at 0", _base)
