"""Tracing a function for one call: what Python does for these arguments, as a program with guards."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint import tree
from adjoint.base.errors import DtypeError, TraceError
from adjoint.base.garbage import uncollected
from adjoint.base.source import here
from adjoint.jit.signature import Call, Signature
from adjoint.ops.control.guards import Expect, acts, guards_first
from adjoint.program.freezing import without_draws
from adjoint.program.layout import canonical, compact
from adjoint.program.program import Program, interpret
from adjoint.program.trace import Tracer, running
from adjoint.program.types import Value
from adjoint.transform.arguments import fresh, plain_value, run
from adjoint.transform.generators import Held, leaves_of
from adjoint.transform.guards import GuardedRecord, layout_of
from adjoint.tree.static_values import STATIC_TYPES


@dataclass
class Way:
    """One way through a function: what it does for arguments of certain types that answer certain questions so."""

    program: Program
    expected: list[Expect]
    outputs: Any  # the structure of the result
    constants: dict[int, Any]  # the leaves of the result that are not computed
    captured: bool  # it reads values of running transformations that are not its arguments
    links: list[int | None]  # which random generators in the result are arguments
    stateful: bool  # whether random generators are among the arguments
    acts: bool  # whether it prints, calls back or checks
    arguments: list[tuple[str, str]]  # names and types, or values, of what it is for
    why: str  # it was made
    layouts: list[Any] | None = None  # how the arguments lie in memory, where it depends on that
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    calls: int = 0  # through Python code
    serial: int = field(default_factory=itertools.count().__next__)  # they are told in the order they were made
    entry: int | None = None  # its number in the entry, -1 when it cannot be there

    @property
    def answers(self) -> tuple[Any, ...]:
        """The answers to the questions, in order."""
        return tuple(guard.answer for guard in self.expected)

    def suits(self, values: Sequence[Value]) -> bool:
        """Whether the arguments lie in memory as it takes for granted."""
        return self.layouts is None or all(layout_of(v) == w for v, w in zip(values, self.layouts, strict=True))

    @property
    def in_c_order(self) -> bool:
        """Whether it is for arguments in C order without gaps, or for any."""
        if self.layouts is None:
            return True
        types = [v.type for v in self.program.inputs[: len(self.layouts)]]
        return self.layouts == [canonical(t, compact(t)) for t in types]

    def result(self, call: Call, found: Sequence[Value]) -> Any:
        """The tree that the function returns; random generators of the caller move on."""
        found = fresh(found, call.values)
        n = self.outputs.num_leaves
        computed = iter(found)
        leaves = [_own(self.constants[i]) if i in self.constants else next(computed) for i in range(n)]
        result = tree.unflatten(self.outputs, leaves)
        if self.stateful:
            held = Held("jit", call.given, call.structure)
            held.hand_back(list(computed))
            held.join(self.links, result)
        return result


def _own(leaf: Any) -> Any:
    """A constant result: the caller may write to what it is given."""
    return leaf.copy() if hasattr(leaf, "copy") and hasattr(leaf, "dtype") else leaf


def traced(
    function: Callable[..., Any], signature: Signature, call: Call, *, answers: bool = True, why: str = "a new call"
) -> Way:
    """Run the function on types; with `answers`, Python's questions are answered from the values of this call."""
    begin = time.perf_counter()
    record = GuardedRecord(answers=answers)
    held = Held("jit", call.given, call.structure)
    after: list[Any] = []

    def body(inputs: Sequence[Value]) -> Any:
        changed, args, kwargs = call.replaced(inputs)
        copies = held.copies((args, kwargs))
        result = changed(*args, **kwargs)
        _check_writes(signature, call, record, inputs, result)
        after.extend((leaves_of(copies), held.links(copies, result)))
        return result

    try:
        with uncollected(), without_draws(function, "a compiled function"), running(record):
            record.started = here()
            own = len(call.inputs)
            given = zip(call.types, call.values, strict=True)
            inputs = [record.given(t, v, outside=i >= own) for i, (t, v) in enumerate(given)]
            result = run(record, body, [x.snapshot() for x in inputs])  # an argument may be assigned to inside
            leaves, outputs = tree.flatten(result)
            computed = {i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer)}
            kept = [leaves[i] for i in sorted(computed)]
            program, captured = record.program(inputs, [*kept, *after[0]])
    except Exception:
        _act(record, call)
        raise
    constants = {i: _constant(leaves[i], outputs.paths()[i]) for i in range(len(leaves)) if i not in computed}
    way = Way(
        guards_first(program), record.expected, outputs, constants, bool(captured), after[1], bool(held),
        acts(program.equations), signature.described(call), why,
    )  # fmt: skip
    way.layouts = [layout_of(v) for v in call.values] if record.asks_layouts else None
    way.seconds["trace"] = time.perf_counter() - begin
    return way


def _check_writes(signature: Signature, call: Call, record: GuardedRecord, inputs: Sequence[Any], result: Any) -> None:
    """Refuse what would be lost: a write to an array from outside, and one to an argument when nothing is returned."""
    written = [x._var is not given._var for x, given in zip(inputs, record.inputs, strict=True)]
    own = len(call.inputs)
    for name, lost in zip(call.around.names(), written[own:], strict=True):
        if lost:
            raise TraceError(
                f"jit: the function writes to {name}, an array from outside, which compiled functions do not change. "
                "Make the array inside (adjoint.numpy.zeros), or take it as an argument and return its new value."
            )
    if result is None and any(written[:own]):
        name = signature.name(call.structure, call.inputs[written.index(True)])
        raise TraceError(
            f"jit: the function writes to its argument {name} and returns nothing: a compiled function does not change "
            "the caller's arrays. Return the new value."
        )


def _act(record: GuardedRecord, call: Call) -> None:
    """What the function printed and checked before it raised happens before the error is shown."""
    if acts(record.equations) and not record.captured:
        interpret(record.program(record.inputs, [])[0], call.values)


def _constant(leaf: Any, path: str) -> Any:
    """A leaf of the result that does not depend on the arguments: an array is copied, all else is what it is."""
    if hasattr(leaf, "dtype") and hasattr(leaf, "copy"):
        return plain_value(leaf, f"jit: result{path}").copy()
    if isinstance(leaf, set | frozenset) and any(isinstance(part, Tracer) for part in leaf):
        raise DtypeError(f"jit: result{path} is a set of computed values. Return a list or a tuple.")
    if isinstance(leaf, (int, float, complex, *STATIC_TYPES)) or callable(leaf):
        return leaf
    raise DtypeError(
        f"jit: result{path} is a {type(leaf).__name__}, which would be the same object in every call. Return numbers, "
        "arrays and containers of them; ad.tree.register makes a container of a class."
    )
