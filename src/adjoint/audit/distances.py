"""How far the arguments of each primitive are from where it is not smooth, and what it does there."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.program.op import Op

__all__ = ["NonSmooth", "beside", "non_smooth", "second_gap"]


@dataclass(frozen=True)
class NonSmooth:
    """kind: "kink" (continuous), "jump", or "singular" (an infinite derivative); `hull`: all generalized "
    "derivatives."""

    kind: str
    hull: str
    distance: Callable[[Op, Sequence[Any], Sequence[Any]], Any]


def second_gap(x: Any, axes: Sequence[int], sign: int) -> Any:
    """How far the two largest (sign 1) or smallest (-1) elements are apart."""
    axes = tuple(a % np.ndim(x) for a in axes)
    rest = [a for a in range(np.ndim(x)) if a not in axes]
    lines = np.transpose(sign * np.asarray(x), [*rest, *axes]).reshape(*[np.shape(x)[a] for a in rest], -1)
    if lines.shape[-1] < 2:
        return np.full(lines.shape[:-1], np.inf)
    top = np.partition(lines, -2, axis=-1)
    return top[..., -1] - top[..., -2]


def _at_zero(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.abs(xs[0])


def _tie(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.abs(np.subtract(xs[0], xs[1]))


def _result(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.abs(zs[0])


def _whole(x: Any) -> Any:
    return np.abs(x - np.round(x))


def _quotient(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return _whole(np.divide(xs[0], xs[1])) * np.abs(xs[1])


def _truncated(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.where(np.abs(xs[0]) < 0.5, 1 - np.abs(xs[0]), _whole(xs[0]))  # no jump at zero


def _order(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    gaps = np.diff(np.sort(xs[0], axis=op.axis), axis=op.axis)
    return np.min(gaps, axis=op.axis, initial=np.inf)


def _extremum(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return second_gap(xs[0], op.axes, 1 if op.kind in ("max", "argmax") else -1)


def _places(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    return np.min(np.abs(np.expand_dims(xs[1], -1) - xs[0]), axis=-1, initial=np.inf)


def _base(op: Any, xs: Sequence[Any], zs: Sequence[Any]) -> Any:
    """Powers are smooth at 0 for whole exponents >= 0."""
    smooth = (np.asarray(xs[1]) >= 0) & (np.asarray(xs[1]) % 1 == 0)
    return np.where(smooth, np.inf, np.abs(xs[0]))


COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_CONDITION = NonSmooth("jump", "a condition: either side", _tie)
_STEP = NonSmooth("jump", "none: it jumps", lambda op, xs, zs: _whole(xs[0]))
_SHARE = NonSmooth("kink", "hull of (1, 0) and (0, 1)", _tie)
_ROOT = NonSmooth("singular", "none: the derivative is infinite", _at_zero)
_END = NonSmooth("singular", "none: the derivative is infinite", lambda op, xs, zs: np.abs(1 - np.abs(xs[0])))

RULES: dict[str, NonSmooth] = {
    **dict.fromkeys(("absolute", "fabs"), NonSmooth("kink", "[-1, 1]", _at_zero)),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _SHARE),
    **dict.fromkeys(COMPARISONS, _CONDITION),
    **dict.fromkeys(("floor", "ceil"), _STEP),
    "rint": NonSmooth("jump", "none: it jumps", lambda op, xs, zs: _whole(np.asarray(xs[0]) + 0.5)),
    "trunc": NonSmooth("jump", "none: it jumps", _truncated),
    **dict.fromkeys(("floor_divide", "remainder"), NonSmooth("jump", "none: it jumps", _quotient)),
    **dict.fromkeys(("sign", "heaviside", "signbit"), NonSmooth("jump", "none: it jumps", _at_zero)),
    **dict.fromkeys(("max", "min"), NonSmooth("kink", "hull of the unit vectors of the ties", _extremum)),
    **dict.fromkeys(("argmax", "argmin"), NonSmooth("jump", "none: it jumps", _extremum)),
    "argsort": NonSmooth("kink", "any order of the ties", _order),
    "searchsorted": NonSmooth("jump", "none: it jumps", _places),
    **dict.fromkeys(("norm", "hypot"), NonSmooth("kink", "the unit ball", _result)),
    **dict.fromkeys(("sqrt", "cbrt", "log", "log2", "log10"), _ROOT),
    **dict.fromkeys(("power", "float_power"), NonSmooth("singular", "none: not smooth at 0", _base)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), _END),
    "arccosh": NonSmooth("singular", "none: the derivative is infinite", lambda op, xs, zs: np.abs(xs[0] - 1)),
}


_STEPS = ("sign", "signbit", "heaviside", "floor", "ceil", "rint", "trunc", "floor_divide", "remainder")
BESIDE = 1e-9


def beside(op: Op, xs: Sequence[Any], zs: Sequence[Any], element: tuple[int, ...]) -> list[Any]:
    """What a primitive that jumps gives on either side of the jump, for one element; empty where that is not known."""
    if op.title in COMPARISONS:
        values = [np.logical_not(zs[0])]
    elif op.title in _STEPS or op.title == "searchsorted":
        moving = 1 if op.title == "searchsorted" else 0
        h = BESIDE * (1 + np.abs(xs[moving]))
        points = [[x + s * h if i == moving else x for i, x in enumerate(xs)] for s in (1, -1)]
        values = [op.evaluate(*point) for point in points]
    else:
        return []
    found: list[Any] = []
    for value in values:
        changed = np.array(zs[0])
        changed[element] = np.asarray(value)[element]
        found.append(changed[()])
    return found


def non_smooth(op: Op, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[NonSmooth, Any] | None:
    """Where a primitive is not smooth, and the distances of its elements from there; None: smooth everywhere.

    Whole numbers do not move, so that nothing can happen at them.
    """
    rule = RULES.get(op.title)
    if rule is None or not any(np.asarray(x).dtype.kind in "fc" for x in xs):
        return None
    with np.errstate(all="ignore"):
        return rule, np.asarray(rule.distance(op, xs, zs), float)
