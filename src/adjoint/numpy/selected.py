"""Elements that a mask selects where their number is not known: in the bodies of loops and branches that are recorded.

Of n elements a mask selects count ≤ n. They stand first in an array of n, `padded`; copies of the first of them follow
(ones, where there is none), so that no function meets a value that it would not have met. What is left over of an
operation is filled with what does not count: 0 in a sum, 1 in a product, -∞ in a maximum. What needs the number itself
for a shape is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from adjoint.base.errors import ControlFlowError
from adjoint.base.source import describe, here
from adjoint.ops.effects import Arguments, Check
from adjoint.ops.operators import answer_operators
from adjoint.program.journal import content
from adjoint.program.program import Atom, Literal
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value


def is_open(mask: Any) -> bool:
    """Whether nobody can say how many elements a mask selects: it is a value of a body that is being recorded."""
    value = mask
    while isinstance(value, Tracer):
        trace: Any = value._trace
        if hasattr(trace, "ask") and not hasattr(trace, "common"):
            return not hasattr(trace, "positions")
        value = value._value  # type: ignore[attr-defined]
    return False


def is_same(mask: Any, other: Any) -> bool:
    """Whether two open masks are one: the same variable of a program, or the same function of the same variables."""
    while isinstance(mask, Tracer) and not isinstance(mask, RecordTracer):
        mask = mask._value  # type: ignore[attr-defined]
    while isinstance(other, Tracer) and not isinstance(other, RecordTracer):
        other = other._value  # type: ignore[attr-defined]
    trace: Any = mask._trace
    return trace is other._trace and _is_equal(trace, mask._var, other._var, 6)


def _is_equal(trace: Record, a: Atom, b: Atom, depth: int) -> bool:
    if a is b:
        return True
    if isinstance(a, Literal) or isinstance(b, Literal):
        return isinstance(a, Literal) and isinstance(b, Literal) and a.key() == b.key()
    if a in trace.captured and b in trace.captured:
        return _is_one_value(trace.captured[a], trace.captured[b], depth)
    found = [next((eq for eq in reversed(trace.equations) if v in eq.outputs), None) for v in (a, b)]
    one, two = found
    if depth == 0 or one is None or two is None or one.op != two.op or one.op.effect or one.op.opaque:
        return False
    return one.outputs.index(a) == two.outputs.index(b) and all(
        _is_equal(trace, p, q, depth - 1) for p, q in zip(one.inputs, two.inputs, strict=True)
    )


def _is_one_value(x: Any, y: Any, depth: int) -> bool:
    """Whether two values of outer transformations are one, or what they carry is."""
    if isinstance(x, RecordTracer) and isinstance(y, RecordTracer) and x._trace is y._trace:
        return _is_equal(x._trace, x._var, y._var, depth)  # type: ignore[arg-type]
    if not (isinstance(x, Tracer) and isinstance(y, Tracer)):
        return x is y
    return x._trace is y._trace and _is_one_value(x._value, y._value, depth)  # type: ignore[attr-defined]


def find_positions(mask: Value) -> tuple[Any, ...]:
    """np.nonzero(mask) of an open mask."""
    flat: Any = np.ravel(mask)
    n = flat.shape[0]
    if n == 0:
        return np.nonzero(np.zeros(mask.shape, bool))
    running: Any = np.cumsum(flat)
    count = running[-1]
    found = np.searchsorted(running, np.arange(1, n + 1))  # where the k-th stands; n when there are fewer
    padded = np.where(np.arange(n) < count, found, np.where(count > 0, found[0], 0))
    parts = [padded] if mask.ndim == 1 else np.unravel_index(padded, mask.shape)
    mask = content(mask, live_trace()).snapshot()  # it may be assigned to
    return tuple(Selected(mask, count, part, is_position=True) for part in parts)


def take_selected(x: Value, positions: Sequence[Selected]) -> Selected:
    """x[positions]."""
    first, *others = positions
    if not all(is_same(p.mask, first.mask) for p in others):
        first.refuse("x[i, j] with positions of different masks")
    found: Any = x[tuple(p.padded for p in positions)]
    return Selected(first.mask, first.count, np.where(first.count > 0, found, np.ones((), found.dtype)))


def put_selected(x: Value, mask: Value, v: Any) -> Value:
    """A copy of x with x[mask] = v."""
    rest = x.ndim - mask.ndim
    spread = np.reshape(mask, mask.shape + (1,) * rest)
    if isinstance(v, Selected):
        if not is_same(v.mask, mask) or v.ndim != 1 + rest:
            v.refuse("x[mask] = v, where v was selected by another mask,")
        ranks = np.maximum(np.cumsum(np.ravel(mask)) - 1, 0)
        v = np.reshape(v.padded[ranks], mask.shape + v.padded.shape[1:])
    elif np.ndim(v) > rest:
        refuse(f"x[mask] = v with a v of shape {np.shape(v)}", mask)
    new: Any = v if isinstance(v, Tracer) else np.asarray(v)
    return np.where(spread, new.astype(x.dtype, copy=False), x)


def refuse(call: str, mask: Any) -> NoReturn:
    """Say what would need the number of elements."""
    raise ControlFlowError(
        f"{call} with a traced mask ({mask.type}), at {describe(here())}: how many elements it selects is not known "
        "here. Use np.where(mask, x, 0) and keep the shape."
    )


class Selected(np.lib.mixins.NDArrayOperatorsMixin):
    """What a mask selects: elementwise functions, reductions, sorting and assignment by the same mask work."""

    __slots__ = ("count", "is_position", "mask", "padded")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, mask: Any, count: Any, padded: Any, is_position: bool = False) -> None:
        self.mask, self.count, self.padded, self.is_position = mask, count, padded, is_position

    def refuse(self, call: str) -> NoReturn:
        """Say what would need the number of elements."""
        refuse(call, self.mask)

    def like(self, padded: Any) -> Selected:
        """Other values, selected by the same mask."""
        return Selected(self.mask, self.count, padded)

    @property
    def dtype(self) -> Any:
        return self.padded.dtype

    @property
    def ndim(self) -> int:
        return self.padded.ndim

    @property
    def size(self) -> Any:
        return self.count * int(np.prod(self.padded.shape[1:], dtype=int))

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self.count, *self.padded.shape[1:])

    def filled(self, value: Any) -> Any:
        """The padded array with this value where nothing was selected."""
        n = self.padded.shape[0]
        counts = np.reshape(np.arange(n) < self.count, (n,) + (1,) * (self.ndim - 1))
        return np.where(counts, self.padded, np.asarray(value, self.dtype))

    def check(self, good: Any, call: str) -> None:
        """Stop the program where NumPy would raise."""
        message = f"{call} of elements that a mask selects: there are too few"
        Check(message, describe(here()), Arguments.of((), {})[0])(good)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", (None,))[0]
        if method == "at" and ufunc is np.add:
            return _add_at(*inputs)
        if method != "__call__" or kwargs or (out is not None and out is not self):
            self.refuse(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else ""))
        z = _product(*inputs) if ufunc is np.matmul else _elementwise(ufunc, *inputs)
        if out is None:
            return z
        self.padded, self.is_position = z.padded.astype(self.dtype, copy=False), False  # x[mask] += v
        return self

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        ours = FUNCTIONS.get(function)
        if ours is None:
            self.refuse(f"np.{getattr(function, '__name__', function)} of x[mask]")
        try:
            return ours(*args, **kwargs)
        except TypeError as problem:  # an argument that it does not have
            raise ControlFlowError(
                f"np.{function.__name__} of x[mask] with a traced mask, at {describe(here())}: {problem}"
            ) from None

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return partial(METHODS[name], self)
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse(f".{name} of x[mask]")

    def __getitem__(self, index: Any) -> Any:
        if (
            isinstance(index, Selected)
            and index.dtype.kind == "b"
            and index.ndim == 1
            and is_same(index.mask, self.mask)
        ):
            return take_selected(self.padded, find_positions(index.filled(False)))
        if isinstance(index, tuple) and index and index[0] == slice(None):
            return self.like(self.padded[index])
        index = np.int64(index) if isinstance(index, int) and not isinstance(index, bool) else index
        if isinstance(index, Tracer | np.ndarray | np.integer) and index.dtype.kind in "iu":
            i: Any = index
            at = np.where(i < 0, i + self.count, i)
            self.check(np.all(np.logical_and(at >= 0, at < self.count)), "[i]")
            return self.padded[np.clip(at, 0, self.padded.shape[0] - 1)]
        self.refuse("x[mask][…]")

    def __setitem__(self, index: Any, value: Any) -> None:
        self.refuse("x[mask][…] = v")

    def __len__(self) -> int:
        raise ControlFlowError(
            f"len(x[mask]) with a traced mask ({self.mask.type}), at {describe(here())}: how many elements it selects "
            "is not known here. Use x[mask].size or np.count_nonzero(mask), which need not be integers of Python, or "
            "np.where(mask, x, 0)."
        )

    def _number(self, *_: Any, **__: Any) -> Any:
        self.refuse("the number or the elements of x[mask]")

    __array__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = _number  # type: ignore[assignment]


answer_operators(Selected)


def _elementwise(function: Any, *inputs: Any, **kwargs: Any) -> Any:
    """A function of elements: of numbers, of others that the same mask selects, of arrays along the other axes."""
    selected = [v for v in inputs if isinstance(v, Selected)]
    one = max(selected, key=lambda v: v.ndim)
    title = f"np.{function.__name__}"
    parts: list[Any] = []
    for v in inputs:
        if isinstance(v, Selected):
            if v.ndim != one.ndim or not is_same(v.mask, one.mask):
                one.refuse(f"{title} of x[mask] and y[other]")
            parts.append(v.padded)
            continue
        shape = np.shape(v)
        if len(shape) > one.ndim or (len(shape) == one.ndim and shape[0] != 1):
            one.refuse(f"{title} of x[mask] and an array of shape {shape}")
        parts.append(v)
    z = function(*parts, **kwargs)
    return tuple(map(one.like, z)) if isinstance(z, tuple) else one.like(z)


def _product(a: Any, b: Any) -> Any:
    if isinstance(a, Selected) and isinstance(b, Selected) and a.ndim == b.ndim == 1:
        return _reduce(np.sum, 0, _elementwise(np.multiply, a, b))
    if isinstance(a, Selected) and a.ndim == 2 and not isinstance(b, Selected):
        return a.like(a.padded @ b)
    return next(v for v in (a, b) if isinstance(v, Selected)).refuse("a matrix product of x[mask]")


def _add_at(x: Any, index: Any, v: Any) -> None:
    one = index if isinstance(index, Selected) else v
    if not isinstance(index, Selected) or (isinstance(v, Selected) and not is_same(v.mask, index.mask)):
        one.refuse("np.add.at")
    v = v if isinstance(v, Selected) else index.like(np.broadcast_to(v, index.padded.shape))
    np.add.at(x, index.padded, v.filled(0))


def _reduce(function: Any, fill: Any, a: Selected, axis: Any = None) -> Any:
    """A reduction in which some value does not count."""
    if axis is None or axis in (0, -a.ndim):
        return function(a.filled(fill), axis=axis)
    return a.like(function(a.padded, axis=axis))


def _lowest(dtype: Any, sign: int) -> Any:
    """What is never above (sign 1) or below (sign -1) another value."""
    if dtype.kind == "f":
        return -sign * np.inf
    return sign < 0 if dtype.kind == "b" else np.iinfo(dtype).min if sign > 0 else np.iinfo(dtype).max


def _extremum(function: Any, sign: int, a: Selected, axis: Any = None, initial: Any = None) -> Any:
    if a.dtype.kind == "c" or (axis is not None and function in (np.argmax, np.argmin) and a.ndim > 1):
        a.refuse(f"np.{function.__name__} of {a.dtype}")
    if function in (np.argmax, np.argmin) and a.ndim > 1:
        a.refuse(f"np.{function.__name__} of x[mask]")
    if initial is None:
        a.check(a.count > 0, f"np.{function.__name__}")
        return _reduce(function, _lowest(a.dtype, sign), a, axis)
    if axis is not None:
        a.refuse(f"np.{function.__name__} of x[mask] with initial and axis")
    return function(a.filled(_lowest(a.dtype, sign)), initial=initial)


def _mean(a: Selected, axis: Any = None) -> Any:
    if axis is not None and axis not in (0, -a.ndim):
        return a.like(np.mean(a.padded, axis=axis))
    return _reduce(np.sum, 0, a, axis) / (a.size if axis is None else a.count)


def _variance(a: Selected, axis: Any = None, ddof: Any = 0) -> Any:
    if axis is not None and axis not in (0, -a.ndim):
        return a.like(np.var(a.padded, axis=axis, ddof=ddof))
    away = np.abs(a - _mean(a, axis)) ** 2
    return _reduce(np.sum, 0, away, axis) / ((a.size if axis is None else a.count) - ddof)


def _ordered(a: Selected, axis: Any = -1, kind: Any = None, stable: Any = None) -> Value:
    """Positions in the padded array, in order; what was not selected comes last."""
    if a.ndim > 1 or a.dtype.kind == "c":
        a.refuse(f"np.sort of {a.dtype}")
    return np.argsort(a.filled(np.nan if a.dtype.kind == "f" else _lowest(a.dtype, -1)), kind="stable")


def _sorted(a: Selected, *args: Any, **kwargs: Any) -> Selected:
    return a.like(a.padded[_ordered(a, *args, **kwargs)])


def _median(a: Selected, axis: Any = None) -> Any:
    if a.dtype.kind != "f" or a.ndim > 1:
        a.refuse(f"np.median of {a.dtype}")
    z, last = _sorted(a).padded, a.padded.shape[0] - 1
    middle = 0.5 * (z[np.clip((a.count - 1) // 2, 0, last)] + z[np.clip(a.count // 2, 0, last)])
    is_whole = np.logical_and(a.count > 0, np.logical_not(np.any(np.isnan(a.filled(0.0)))))
    return np.where(is_whole, middle, np.nan)


def _accumulated(function: Any, fill: Any, a: Selected, axis: Any = None) -> Selected:
    if axis not in (0, -a.ndim) and not (axis is None and a.ndim == 1):
        a.refuse(f"np.{function.__name__} of x[mask]")
    return a.like(function(a.filled(fill), axis=0))


def _norm(x: Selected, ord: Any = None, axis: Any = None) -> Any:
    if x.ndim == 1 and ord in (None, 1, 2, np.inf):
        return np.linalg.norm(x.filled(0), ord)
    if x.ndim == 2 and axis in (1, -1):
        return x.like(np.linalg.norm(x.padded, ord, axis=1))
    x.refuse("np.linalg.norm of x[mask]")


def _stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    if axis == 0 or not all(isinstance(a, Selected) for a in arrays):
        next(a for a in arrays if isinstance(a, Selected)).refuse("np.stack of x[mask]")
    return _elementwise(lambda *parts: np.stack(parts, axis=axis), *arrays)


def _choose(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        condition.refuse("np.where(condition) of x[mask]")
    return _elementwise(np.where, condition, *choices)


def gaps(firsts: Any, n: int) -> Any:
    """How far it is from each position to the next one, or to the end n: np.diff(np.append(firsts, n))."""
    if not isinstance(firsts, Selected):
        return np.diff(np.append(firsts, n))
    p = firsts.padded
    after = np.append(p[1:], n)
    return firsts.like(np.where(np.arange(n) + 1 < firsts.count, after, n) - p)


METHODS: dict[str, Callable[..., Any]] = {
    "sum": partial(_reduce, np.sum, 0),
    "prod": partial(_reduce, np.prod, 1),
    "any": partial(_reduce, np.any, False),
    "all": partial(_reduce, np.all, True),
    "max": partial(_extremum, np.max, 1),
    "min": partial(_extremum, np.min, -1),
    "argmax": partial(_extremum, np.argmax, 1),
    "argmin": partial(_extremum, np.argmin, -1),
    "mean": _mean,
    "var": _variance,
    "std": lambda a, *args, **kwargs: np.sqrt(_variance(a, *args, **kwargs)),
    "dot": _product,
    "cumsum": partial(_accumulated, np.cumsum, 0),
    "cumprod": partial(_accumulated, np.cumprod, 1),
    "round": partial(_elementwise, np.round),
    "clip": partial(_elementwise, np.clip),
    "copy": lambda a: a.like(a.padded),
    "astype": lambda a, dtype: a.like(a.padded.astype(dtype, copy=False)),
}
FUNCTIONS: dict[Any, Callable[..., Any]] = {getattr(np, name): METHODS[name] for name in METHODS if hasattr(np, name)}
FUNCTIONS |= {
    np.sort: _sorted,
    np.median: _median,
    np.count_nonzero: lambda a, axis=None: _reduce(np.count_nonzero, 0, a, axis),
    np.linalg.norm: _norm,
    np.inner: _product,
    np.vdot: lambda a, b: _product(np.conj(a), b),
    np.stack: _stack,
    np.where: _choose,
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.size,
    np.ndim: lambda a: a.ndim,
    **{f: partial(_elementwise, f) for f in (np.real, np.imag, np.nan_to_num, np.sinc, np.zeros_like, np.ones_like)},
}
