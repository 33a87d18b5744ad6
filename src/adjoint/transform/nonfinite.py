"""Where a NaN or an infinity came from: a trace below all others that remembers how each value was computed.

While it watches, the arguments of transformations are lifted into it, so that every primitive that runs, forwards or
in the backward pass, leaves a node behind. Nothing is judged until a result is handed to the caller. If it is not
finite, the nodes are walked back to where the first such value arose; what a select, a cond or a mask has discarded is
not on the way.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import NonFiniteError
from adjoint.base.origins import Origin, at, origin
from adjoint.base.source import describe
from adjoint.ops.calculus import fit
from adjoint.program.op import Op
from adjoint.program.program import interpret
from adjoint.program.trace import Trace, Tracer, live_trace
from adjoint.program.types import Value, type_of
from adjoint.transform.lines import LinedTape, lining
from adjoint.transform.tape import Tape, TapeTracer

MOST_TRIED = 64  # so many elements of an array are tried one by one for whether they matter
_watch: ContextVar[Watch | None] = ContextVar("adjoint_watch", default=None)
_locating: ContextVar[bool] = ContextVar("adjoint_locating", default=False)


class Node:
    """How a value was computed."""

    __slots__ = ("inputs", "op", "origin", "position", "serial", "value")
    _serial = itertools.count()

    def __init__(self, value: Value, op: Op | None, inputs: Sequence[Value], position: int | None = None) -> None:
        self.value, self.op, self.inputs, self.position = value, op, inputs, position  # inputs: nodes, and plain values
        self.origin: Origin = origin()
        self.serial = next(Node._serial)

    def again(self, inputs: Sequence[Value]) -> Value:
        """The value for other inputs."""
        assert self.op is not None
        with np.errstate(all="ignore"):
            z = self.op.evaluate(*inputs)
        return z if self.position is None else z[self.position]


class WatchTracer(Tracer):
    """A plain value with its history."""

    __slots__ = ("_node",)

    def __init__(self, trace: Watch, node: Node) -> None:
        self._trace, self._value, self._node = trace, node.value, node

    def primal(self) -> Value:
        return self

    def snapshot(self) -> WatchTracer:
        return WatchTracer(self._trace, self._node)  # type: ignore[arg-type]

    def _adopt(self, other: Value) -> None:
        node = other._node if isinstance(other, WatchTracer) else Node(other, None, ())
        self._node, self._value = node, node.value


class Watch(Trace):
    """Evaluates, and remembers."""

    title = "debug.nans"

    def __init__(self) -> None:
        super().__init__()
        self.base = live_trace()  # what runs when the watch begins; results are judged when they come back to it
        self.level = 0

    def constant(self, value: Value) -> WatchTracer:
        return WatchTracer(self, Node(value, None, ()))

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if op.is_control and op.unrolls:  # step by step, so that what happens inside is seen too
            return tuple(op.unroll(args, interpret))
        values = [a._value if isinstance(a, WatchTracer) else a for a in args]
        with np.errstate(all="ignore"):
            z = op.evaluate(*values)
        inputs = [a._node if isinstance(a, WatchTracer) else a for a in args]
        if op.several:
            return tuple(self._remember(part, op, inputs, j) for j, part in enumerate(z))
        return self._remember(z, op, inputs, None)

    def _remember(self, z: Value, op: Op, inputs: list[Any], position: int | None) -> Value:
        if type(z) is bool or z.dtype.kind not in "fc":
            return z
        return WatchTracer(self, Node(z, op, inputs, position))


class Located:
    """A primitive on a record that knows for whom it was recorded."""

    pointwise = sparse = overwrites = linear = False  # the tape asks its own rules, not those of the class

    def __init__(self, op: Any) -> None:
        self.op, self.several, self.masks = op, op.several, op.masks
        self.origin = origin()

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        with at(self.origin._replace(pulled=self.op.title)):
            if not self.op.pointwise:
                return self.op.pull(ct, xs, z, wanted)
            found = self.op.pull(ct, xs, z, wanted, True)  # zero cotangents win in any case
            return [None if g is None else fit(g, x) for g, x in zip(found, xs, strict=True)]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        with at(self.origin):
            return self.op.push(xs, z, dxs)


class LocatedTape(Tape):
    """A tape that keeps the line of every operation."""

    def apply_one(self, op: Any, x: Any) -> Value:
        return self.apply(op, (x,))

    def apply_two(self, op: Any, x: Value, y: Value) -> Value:
        return self.apply(op, (x, y))

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        mine = [type(a) is TapeTracer and a._trace is self for a in args]
        values = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        indices = tuple(a._index if m else -1 for a, m in zip(args, mine, strict=True))
        wanted = [i >= 0 for i in indices]
        if op.flat or not any(wanted):
            z = op(*values)
            return tuple(map(self._settle, z)) if op.several else self._settle(z)
        located: Any = Located(op)
        z, kept_z, kept = self._evaluate(op, values, mine, wanted)
        if kept_z is None and op.pointwise:
            kept_z = type_of(z)
        return self._record(located, indices, kept, z, kept_z)

    def assign(self, x: Any, op: Any, v: Value, indices: Sequence[Value]) -> bool:
        return False


def watch_variable() -> ContextVar[Watch | None]:
    """Where it stands what watches: compiled code looks there before it runs past all operations."""
    return _watch


def active_watch() -> Watch | None:
    """What watches for non-finite values now."""
    return _watch.get()


def is_locating() -> bool:
    """Whether new tapes know the lines that they pull for."""
    return _locating.get() or _watch.get() is not None


@contextmanager
def located() -> Generator[None]:
    """While active, what is done in the backward pass is done for the user line that it belongs to."""
    token = _locating.set(True)
    try:
        yield
    finally:
        _locating.reset(token)


def new_tape(*, outlives_call: bool = False) -> Tape:
    """A tape; one that knows lines while that is asked for."""
    if is_locating():
        return LocatedTape(outlives_call=outlives_call)
    wanted = lining()
    return Tape(outlives_call=outlives_call) if wanted is None else LinedTape(wanted, outlives_call=outlives_call)


def lift(values: Sequence[Value], watch: Watch | None) -> Sequence[Value]:
    """Plain arguments, tangents or cotangents, with a history from here on while non-finite values are watched for."""
    if watch is None:
        return values
    return [watch.constant(v) if _has_derivatives(v) else v for v in values]


def _has_derivatives(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.inexact) and value.dtype.kind in "fc"  # type: ignore[reportUnknownMemberType]


def examine(values: Sequence[Value], trace: Trace, watch: Watch | None) -> None:
    """Judge the values of a function whose derivative `trace` is about to compute, if nothing runs around it."""
    for value in values if watch is not None and trace.outer is watch.base else ():
        if isinstance(value, WatchTracer):
            _judge(value)


def settle_result(result: Any, arguments: Any) -> Any:
    """What a transformation gives to its caller: judged, and without history, while non-finite values are watched for.

    Inside another transformation nothing is judged; neither is what has its history from further out.
    """
    watch = _watch.get()
    if watch is None or live_trace() is not watch.base:
        return result
    return result if any(isinstance(leaf, WatchTracer) for leaf in tree.leaves(arguments)) else settle(result)


def settle(result: Any) -> Any:
    """A tree of results without histories; raises when one of them is not finite."""
    leaves, structure = tree.flatten(result)
    return tree.unflatten(structure, [_judge(leaf) if isinstance(leaf, WatchTracer) else leaf for leaf in leaves])


def _judge(leaf: WatchTracer) -> Value:
    if not _finite(leaf._value):
        raise NonFiniteError(_explain(_first(leaf._node)))
    return np.array(leaf._value)[()]


def _finite(value: Value) -> bool:
    array = np.asarray(_value(value))
    return array.dtype.kind not in "fc" or bool(np.all(np.isfinite(array)))


def _value(entry: Any) -> Value:
    return entry.value if isinstance(entry, Node) else entry


def _first(bad: Node) -> Node:
    """The earliest node among those that made `bad` what it is, and that had nothing but finite inputs."""
    waiting = [(bad, ~np.isfinite(bad.value))]
    seen = {bad.serial}
    origins: list[Node] = []
    while waiting:
        node, where = waiting.pop()
        culprits = [(entry, part) for entry, part in _culprits(node, where) if isinstance(entry, Node)]
        if not culprits:
            origins.append(node)
        for culprit, part in culprits:
            if culprit.serial not in seen:
                seen.add(culprit.serial)
                waiting.append((culprit, part))
    return min(origins, key=lambda node: node.serial, default=bad)


def _culprits(node: Node, where: Any) -> list[tuple[Any, Any]]:
    """The inputs, and those of their elements, without which the value would be finite in some place of `where`.

    Asked by computing it again with ones instead.
    """
    suspects = {i: ~np.isfinite(_value(entry)) for i, entry in enumerate(node.inputs) if not _finite(entry)}
    if not suspects:
        return []

    def helps(repairs: dict[int, Any]) -> bool:
        values = [
            np.where(repairs[i], 1, _value(e))[()] if i in repairs else _value(e) for i, e in enumerate(node.inputs)
        ]
        values = [
            v.astype(_value(e).dtype) if i in repairs else v
            for i, (v, e) in enumerate(zip(values, node.inputs, strict=True))
        ]
        return bool(np.any(where & np.isfinite(node.again(values))))

    guilty = {i: bad for i, bad in suspects.items() if helps({i: bad})}
    if not guilty and helps(suspects):
        guilty = suspects
    return [(node.inputs[i], _narrow(bad, lambda part, i=i: helps({i: part}))) for i, bad in guilty.items()]


def _narrow(bad: Any, helps: Callable[[Any], bool]) -> Any:
    """The elements that matter, if there are few to try."""
    if bad.ndim == 0 or np.count_nonzero(bad) > MOST_TRIED:
        return bad
    numbers = cast(Any, np).arange(bad.size).reshape(bad.shape)
    units: list[Any] = [numbers == k for k in np.flatnonzero(bad)]
    matter = [unit for unit in units if helps(unit)]
    return np.any(matter, axis=0) if matter else bad


def _explain(node: Node) -> str:
    what = "NaN" if np.any(np.isnan(node.value)) else "inf"
    where = describe(node.origin.location)
    if node.op is None:
        return f"The result is not finite because an argument is {what} already: {_short(node.value)}."
    given = " and ".join(_short(_value(i)) for i in node.inputs)
    suspect = next((_value(entry) for entry, _ in _culprits(node, ~np.isfinite(node.value))), None)
    constant = f" It was given a constant that is not finite: {_short(suspect)}." if suspect is not None else ""
    if node.origin.pulled is None:
        return f"Forward: {node.op.title} gave {what} at {where}. Its operands: {given}.{constant}"
    return (
        f"Backward: the derivative of {node.origin.pulled} gave {what}; the operation was done at {where}. "
        f"It came from {node.op.title} of {given}.{constant}"
    )


def _short(value: Value) -> str:
    return np.array2string(np.asarray(value), threshold=6, edgeitems=2, precision=6, separator=", ").replace("\n", "")


@contextmanager
def nans() -> Generator[None]:
    """While active, a transformation whose result has a NaN or an infinity raises NonFiniteError instead: it names the
    primitive and the user line where the first one arose, forwards or in the backward pass, and shows the
    operands.

    Values that do not reach a result (the branch not taken of `np.where` or `ad.cond`) raise nothing. Costs time and
    memory while active, and nothing otherwise.

    ```python
    f = ad.debug.nans()(ad.grad(lambda x: np.sum(np.sqrt(x))))
    f(np.zeros(2))  # → NonFiniteError: sqrt
    ```
    """
    token = _watch.set(Watch())
    try:
        yield
    finally:
        _watch.reset(token)
