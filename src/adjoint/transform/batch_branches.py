"""Python's own `if` under vmap while a program is written: every path on all batch elements, merged by select.

Batch elements whose values are not known cannot be asked. So the function is run once for each path through it: a
question is answered with true, and the rest of the path followed; then with false. Where the paths meet again, at the
results,
    result[i] = (result of the path on which it was true)[i] if question[i] else (result of the other one)[i]

Effects on a path happen for those batch elements alone that take it, and once: what was done before a path branched off
is not done again. A path that raises is left out if no batch element takes it.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import ControlFlowError, ShapeError, TreeError
from adjoint.base.source import describe, here
from adjoint.ops.effects import guarded, has_effects, silent_operation
from adjoint.program.journal import Journal, content, journal
from adjoint.program.op import Op
from adjoint.program.record import RecordTracer
from adjoint.program.trace import Tracer, running
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import run
from adjoint.transform.batch import Batch, BatchTracer
from adjoint.transform.drivers import check_leaf

MOST = 32  # paths
MOST_APPLIED = 30_000  # operations on all paths together, once there is more than one
NAMED = 3  # lines in a message
FREE = 6  # so many questions on a path are followed both ways; then it is asked which ways are taken at all


class TooManyPaths(ControlFlowError):
    """The batch elements of a mapped function may go more ways than can be followed."""

    what = "take too many paths"


class OtherShapes(TooManyPaths, ShapeError):
    """Paths return arrays that cannot be stacked; perhaps nobody takes one of them."""

    what = "return arrays of different shapes"


class OtherTrees(TooManyPaths, TreeError):
    """Paths return different trees; perhaps nobody takes one of them."""

    what = "return different trees"


def _too_many(paths: str, branches: Sequence[Any]) -> TooManyPaths:
    """`branches`: the lines where they part."""
    lines = list(dict.fromkeys(map(describe, branches))) or [describe(here())]
    more = f" and {len(lines) - NAMED} other lines" if len(lines) > NAMED else ""
    problem = TooManyPaths(
        f"vmap: the batch elements of the mapped function may take {paths}. While it is compiled, each is followed to "
        "the end of the function. Write such a branch as ad.cond(predicate, f, g, *args), or with np.where instead of "
        "raise inside of try, and a loop as ad.while_loop."
    )
    problem.what = f"take too many paths, which part at {'; '.join(lines[:NAMED])}{more}"
    return problem


class OtherQuestion(BaseException):
    """Not a question of truth: there are more than two answers."""


class Question(NamedTuple):
    """Something that Python asked on a path."""

    truth: Value  # of each batch element
    answer: bool
    open: bool  # the other answer has to be followed too
    location: Any  # the line that asked


class PathBatch(Batch):
    """All batch elements along one path: the first questions are answered as `script` says."""

    defers = True

    def __init__(self, size: int, script: list[bool], most: float = np.inf) -> None:
        super().__init__(size)
        self.script, self.most = script, most
        self.questions: list[Question] = []
        self.taken: Value = None  # which batch elements take this path so far; None for all
        self.waiting: list[tuple[Op, list[Value]]] = []
        self.applied = 0  # operations
        self._known: dict[Any, bool] = {}

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        self.applied += 1
        if self.applied > self.most:
            raise _too_many("many paths with many operations", [q.location for q in self.questions])
        acts_inside = any(map(has_effects, op.programs().values()))
        if (op.effect or acts_inside) and len(self.questions) >= len(self.script):
            self._wait(op, args)  # else the path that this one branched off from has done it
        if op.effect:
            return ()
        if self.taken is not None and op.has_indices and op.parameters:
            args = [*args[: -op.parameters], *map(self._within, args[-op.parameters :])]
        return super().apply(silent_operation(op) if acts_inside else op, args)

    def _wait(self, op: Op, args: Sequence[Value]) -> None:
        """Effects happen when the path is at its end, for the batch elements that take it."""
        kept: list[Value] = [
            content(a, self.outer).snapshot() if isinstance(a, Tracer) else np.array(a)[()] for a in args
        ]
        if self.taken is not None:
            acting: Any = op
            op, position = (acting.guarded(), 0) if op.effect else acting.guarded(guarded)
            kept.insert(len(kept) if position is None else position, BatchTracer(self, self.taken))
        self.waiting.append((op, kept))

    def checkpoint(self) -> Callable[[], None]:
        """What was asked from now on is taken back: by the function that is returned."""
        asked, taken, waiting, known = len(self.questions), self.taken, len(self.waiting), dict(self._known)

        def take_back() -> None:
            del self.questions[asked:], self.waiting[waiting:]
            self.taken, self._known = taken, known

        return take_back

    def _within(self, index: Value) -> Value:
        """An index that is 0 for the batch elements that do not take this path: theirs may be out of bounds."""
        if not (isinstance(index, BatchTracer) and index._trace is self and index._mapped and index.dtype.kind in "iu"):
            return index
        taken: Any = np.reshape(self.taken, (self.size,) + (1,) * index.ndim)
        return BatchTracer(self, np.where(taken, index._value, np.zeros((), index.dtype)))

    def is_taken(self) -> bool:
        """Whether a batch element takes this path. An answer that nobody has is found before what follows from it."""
        taken: Any = None
        for truth, answer, *_ in self.questions:
            truth = truth if answer else np.logical_not(truth)
            taken = truth if taken is None else np.logical_and(taken, truth)
            if not bool(np.any(taken)):
                return False
        return True

    def perform(self) -> None:
        """Write down the effects that have waited, in order."""
        for op, args in self.waiting:
            Batch.apply(self, op, args)

    def ask(self, x: BatchTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        value = x._value
        if not x._mapped:
            return _ask_below(value, question, answer)
        if question != "bool":
            raise OtherQuestion
        key = cast(Any, value)._var if isinstance(value, RecordTracer) else None
        if key is not None and key in self._known:
            return self._known[key]
        truth = cast(Any, np.reshape(cast(Any, value), (self.size,)))
        truth = truth if truth.dtype.kind == "b" else np.not_equal(truth, 0)
        position = len(self.questions)
        if position < len(self.script):
            chosen, both = self.script[position], False
        else:
            chosen, both = self._choose(truth)
        self.questions.append(Question(truth, chosen, both, here()))
        self.taken = self._and(truth if chosen else np.logical_not(truth))
        if key is not None:
            self._known[key] = chosen
        return chosen

    def _and(self, truth: Value) -> Value:
        return truth if self.taken is None else np.logical_and(self.taken, truth)

    def _choose(self, truth: Value) -> tuple[bool, bool]:
        """The answer to follow first, and whether the other one has to be followed."""
        if len(self.questions) < FREE:
            return True, True
        some = bool(np.any(self._and(truth)))
        return some, bool(np.any(self._and(np.logical_not(truth)))) if some else False


def _ask_below(value: Value, question: str, answer: Callable[[Value], Any]) -> Any:
    trace: Any = value._trace if isinstance(value, Tracer) else None
    if trace is None:
        return answer(value)
    return trace.ask(value, question, answer) if hasattr(trace, "ask") else _ask_below(value._value, question, answer)


class Paths:
    """Follows all paths of one mapped function."""

    def __init__(
        self, call: Callable[[Sequence[Value]], Any], values: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> None:
        self.call, self.values, self.mapped, self.size = call, values, mapped, size
        self.structure: Any = None
        self.followed = self.applied = 0
        self.branches: list[Any] = []  # the lines where paths part
        self.changes = Journal()

    def run(self) -> tuple[list[Value], list[bool], Any]:
        """Outputs, all of them stacked, and the structure of the result."""
        with journal(self.changes):
            outputs = self.follow([])
            self.changes.settle()
        assert outputs is not None
        return outputs, [True] * len(outputs), self.structure

    def follow(self, script: list[bool]) -> list[Value] | None:
        """The results of all paths that begin with these answers, merged; None when no element takes any of them."""
        self.followed += 1
        if self.followed > MOST:
            raise _too_many(f"more than {MOST} paths", self.branches)
        trace = PathBatch(self.size, script, MOST_APPLIED - self.applied if self.followed > 1 else np.inf)
        outputs = self._along(trace)
        self.applied += trace.applied
        self.branches += [q.location for q in trace.questions if q.open]
        for position in reversed(range(len(script), len(trace.questions))):
            truth, answer, both, _ = trace.questions[position]
            if both:
                other = self.follow([*[q.answer for q in trace.questions[:position]], not answer])
                outputs = self._merge(truth if answer else np.logical_not(truth), outputs, other)
        return outputs

    def _along(self, trace: PathBatch) -> list[Value] | None:
        try:
            with running(trace):
                trace.started = here()
                inputs = [BatchTracer(trace, v) if m else v for v, m in zip(self.values, self.mapped, strict=True)]
                leaves, structure = tree.flatten(run(trace, self.call, inputs))
                leaves = [check_leaf(leaf) for leaf in leaves]
        except Exception:
            self.changes.restore()
            if not trace.is_taken():
                return None
            trace.perform()  # what was to be printed before an error helps to find it
            raise
        self.changes.restore()
        trace.perform()
        if self.structure is not None:
            try:
                tree.check_same_structure(
                    "vmap: the batch elements take different branches, and these return different trees",
                    self.structure,
                    structure,
                )
            except TreeError as problem:
                raise OtherTrees(str(problem)) from None
        self.structure = structure
        return [self._stack(leaf, trace) for leaf in leaves]

    def _stack(self, leaf: Value, trace: PathBatch) -> Value:
        mine = isinstance(leaf, BatchTracer) and leaf._trace is trace
        value = leaf._value if mine else leaf
        if mine and leaf._mapped:
            return value
        alike: Any = value if isinstance(value, Tracer) else np.asarray(value)
        return np.broadcast_to(alike, (self.size, *alike.shape))

    def _merge(self, truth: Value, first: list[Value] | None, second: list[Value] | None) -> list[Value] | None:
        if first is None or second is None:
            return second if first is None else first
        out: list[Value] = []
        for path, a, b in zip(self.structure.paths(), first, second, strict=True):
            if np.shape(a) != np.shape(b):
                raise OtherShapes(
                    f"vmap: batch elements return arrays of different shapes for result{path}: "
                    f"{type_of(a).shape[1:]} and "
                    f"{type_of(b).shape[1:]}. They cannot be stacked: reduce them inside the function, or keep the "
                    "shape with np.where."
                )
            out.append(np.where(np.reshape(truth, (self.size,) + (1,) * (np.ndim(a) - 1)), a, b))
        return out
