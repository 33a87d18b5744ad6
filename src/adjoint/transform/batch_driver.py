"""vmap over leaves, and Python's own `if` under it: elements that disagree run again, each group along its path.

When Python asks a stacked value for its truth and the batch elements disagree, the run is given up and the function is
run again for each group of batch elements that agree. Batch elements are gathered and put back together by primitives,
so outer transformations see them.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import CheckError, ShapeError
from adjoint.base.source import here
from adjoint.program.journal import Journal, content, journal
from adjoint.program.op import Op
from adjoint.program.record import RecordTracer
from adjoint.program.trace import Trace, Tracer, running
from adjoint.program.types import Value
from adjoint.transform.arguments import run
from adjoint.transform.batch import Batch, BatchTracer
from adjoint.transform.batch_branches import OtherQuestion, Paths
from adjoint.transform.drivers import check_leaf
from adjoint.transform.guards import GuardingTrace
from adjoint.transform.nonfinite import active_watch, lift

Function = Callable[[Sequence[Value]], Any]


class Disagreement(BaseException):
    """Batch elements answer a question differently. Not an Exception: the user's `except` must not catch it."""

    def __init__(self, trace: SplittingBatch, groups: list[Any]) -> None:
        self.trace, self.groups = trace, groups


class Unknown(BaseException):
    """A question to batch elements whose values are not known while a program is written."""

    def __init__(self, trace: SplittingBatch) -> None:
        self.trace = trace


class SplittingBatch(Batch):
    """A batch that can split by what Python asks."""

    defers = True
    by_paths = True  # while a function is compiled, all paths are followed; else its program is for these very answers

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.waiting: list[
            tuple[Op, list[Value]]
        ] = []  # effects, until it is known that the function need not run again

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if op.effect is not None and op.effect.deferred:
            self.waiting.append((op, [_kept(a, self.outer) for a in args]))
            return ()
        return super().apply(op, args)

    def checkpoint(self) -> Callable[[], None]:
        """Effects that wait from now on are taken back: by the function that is returned."""
        count = len(self.waiting)

        def take_back() -> None:
            del self.waiting[count:]

        return take_back

    def perform(self) -> None:
        """Run the effects that have waited, in order."""
        for op, args in self.waiting:
            Batch.apply(self, op, args)

    def ask(self, x: BatchTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        """The common answer of all batch elements, or a split into groups of batch elements that agree."""
        value = x._value
        if not x._mapped:
            return _ask_below(value, question, answer)
        if self.by_paths and _compiling(value) is not None:
            raise Unknown(self)
        answers = _answers(value, self.size, question, answer)
        distinct = list(dict.fromkeys(answers))
        if not distinct:
            raise ShapeError(
                f"vmap: the mapped axis is empty, so {question}() has no batch element to ask. Check for it before."
            )
        if len(distinct) == 1:
            return distinct[0]
        raise Disagreement(self, [np.flatnonzero([a == d for a in answers]) for d in distinct])

    def common(self, x: BatchTracer) -> Value:
        """The array that all batch elements have in common, or a split into groups that have the same."""
        if not x._mapped:
            return x._value
        plain = x._value
        while isinstance(plain, Tracer) and not hasattr(plain._trace, "ask"):
            plain = plain._value
        if isinstance(plain, Tracer):  # nested batches: each is asked for by itself
            groups = [np.array([i]) for i in range(self.size)]
        else:
            rows = np.ascontiguousarray(plain)
            keys = [rows[i].tobytes() for i in range(self.size)]
            groups = [np.flatnonzero([k == key for k in keys]) for key in dict.fromkeys(keys)]
        if len(groups) == 1:
            return x._value[0]
        raise Disagreement(self, groups)


def _kept(value: Value, outer: Trace | None) -> Value:
    """The value as it is now: the function may write to it before the effect runs."""
    return content(value, outer).snapshot() if isinstance(value, Tracer) else np.array(value)[()]


def _ask_below(value: Value, question: str, answer: Callable[[Value], Any]) -> Any:
    if not isinstance(value, Tracer):
        return answer(value)
    trace = value._trace
    if hasattr(trace, "ask"):
        return trace.ask(value, question, answer)  # type: ignore[attr-defined]
    return _ask_below(trace.asked(value), question, answer)


def _answers(value: Value, size: int, question: str, answer: Callable[[Value], Any]) -> list[Any]:
    """Each batch element's answer; a value that is itself traced below is asked one batch element at a time."""
    flat = np.reshape(value, (size,))
    while isinstance(flat, Tracer) and not hasattr(flat._trace, "ask"):
        flat = flat._trace.asked(flat)
    compiled = _compiling(flat) if isinstance(flat, RecordTracer) else None
    if compiled is not None:
        flat = compiled.common(flat)
    return [_ask_below(flat[i], question, answer) for i in range(size)]  # pyright: ignore[reportIndexIssue]


def _compiling(value: Value) -> Any:
    """The trace of a function that is being compiled, if the value belongs to it, at the bottom."""
    while isinstance(value, Tracer):
        if isinstance(value, RecordTracer):
            return value._trace if isinstance(value._trace, GuardingTrace) else None
        value = value._value
    return None


def run_batch(
    call: Function, values: Sequence[Value], mapped: Sequence[bool], size: int, *, by_paths: bool = True
) -> tuple[list[Value], list[bool], Any]:
    """Outputs (stacked first where flagged), flags, and the structure of the result."""
    trace = SplittingBatch(size)
    trace.by_paths = by_paths
    values = lift(values, active_watch())
    changes = Journal()
    try:
        with running(trace), journal(changes):
            trace.started = here()
            inputs = [BatchTracer(trace, v, True) if m else v for v, m in zip(values, mapped, strict=True)]
            leaves, structure = tree.flatten(run(trace, call, inputs))
            leaves = [check_leaf(leaf) for leaf in leaves]
        trace.perform()
        outputs = [leaf._value if _mine(leaf, trace) else leaf for leaf in leaves]
        return outputs, [_mine(leaf, trace) and leaf._mapped for leaf in leaves], structure
    except (Disagreement, Unknown) as split:
        if split.trace is not trace:
            raise
        groups = split.groups if isinstance(split, Disagreement) else []
        changes.restore(given_up=True)
    except Exception:
        trace.perform()  # what was to be printed before an error helps to find it
        raise
    if not groups:
        try:
            return Paths(call, values, mapped, size).run()
        except OtherQuestion:  # the program is for what these very batch elements answer
            return run_batch(call, values, mapped, size, by_paths=False)
    return _run_groups(call, values, mapped, size, groups, by_paths)


def _mine(leaf: Value, trace: Batch) -> bool:
    return isinstance(leaf, BatchTracer) and leaf._trace is trace


def _run_groups(
    call: Function, values: Sequence[Value], mapped: Sequence[bool], size: int, groups: list[Any], by_paths: bool
) -> tuple[list[Value], list[bool], Any]:
    parts: list[list[Value]] = []
    structure: Any = None
    # random generators that the function closes over begin in the same state for each group
    changes = Journal()
    with journal(changes):
        for members in groups:
            gathered = [np.take(v, members, axis=0) if m else v for v, m in zip(values, mapped, strict=True)]
            try:
                outputs, flags, found = run_batch(call, gathered, mapped, len(members), by_paths=by_paths)
            except CheckError as problem:
                raise problem.among(members) from None
            if structure is not None:
                tree.check_same_structure(
                    "vmap: the batch elements took different branches, and these returned different trees",
                    structure,
                    found,
                )
            structure = found
            parts.append(
                [
                    o if f else np.broadcast_to(o, (len(members), *np.shape(o)))
                    for o, f in zip(outputs, flags, strict=True)
                ]
            )
            changes.restore()
        changes.settle()
    for path, column in zip(structure.paths(), zip(*parts, strict=True), strict=True):
        shapes = {np.shape(part)[1:] for part in column}
        if len(shapes) > 1:
            raise ShapeError(
                f"vmap: batch elements return arrays of different shapes for result{path}: "
                f"{', '.join(map(str, sorted(shapes)))}. They cannot be stacked: reduce them inside the function, or "
                "keep the shape with np.where."
            )
    order = np.argsort(np.concatenate(groups), kind="stable")
    merged = [np.take(np.concatenate(column, axis=0), order, axis=0) for column in zip(*parts, strict=True)]
    return merged, [True] * len(merged), structure
