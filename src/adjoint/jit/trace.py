"""Tracing a function for one call: what Python does for these arguments, as a program with guards."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from adjoint import tree
from adjoint.base.errors import DtypeError, TraceError
from adjoint.base.garbage import uncollected
from adjoint.base.records import record
from adjoint.conversion.driver import prepare, run_again
from adjoint.conversion.lifting import StartOver
from adjoint.conversion.log import Log, logging
from adjoint.jit.signature import Call, CallReader
from adjoint.jit.writes import OutsideWrite, StateFound, Target, write_back
from adjoint.ops.control.batch_elements import loops_over_elements
from adjoint.ops.control.guards import Expect, acts, guards_first
from adjoint.program.layout import canonical, compact
from adjoint.program.program import Program, interpret
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.arguments import fresh, plain_value
from adjoint.transform.batch_branches import TooManyPaths
from adjoint.transform.generators import GeneratorArguments
from adjoint.transform.guards import GuardingTrace, TooLarge, layout_of
from adjoint.transform.record_function import record_function
from adjoint.tree.static_values import STATIC_TYPES


@record(frozen=False)
class GuardedProgram:
    """One path through a function: what it does for arguments of one signature that meet the guards."""

    program: Program
    guards: list[Expect]
    structure: Any  # of the result
    constants: dict[int, Any]  # the leaves of the result that are not computed
    captured: bool  # it reads values of running transformations that are not its arguments
    links: list[int | None]  # which random generators in the result are arguments
    has_generators: bool  # whether random generators are among the arguments
    acts: bool  # whether it prints, calls back or checks
    arguments: list[tuple[str, str]]  # names and types, or values, of what it is for
    why: str  # it was traced
    writes: list[Target] = field(default_factory=list[Target])  # what is written back: the result is (result, values)
    layouts: list[Any] | None = None  # the memory layout of the arguments, where it depends on that
    remarks: list[str] = field(default_factory=list[str])  # what stayed unrolled or a guard, and why
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    calls: int = 0  # through Python code
    serial: int = field(default_factory=itertools.count().__next__)  # they are reported in creation order
    entry: int | None = None  # its number among the specializations, -1 when it cannot be one

    @property
    def answers(self) -> tuple[Any, ...]:
        """The answers that the guards expect, in order."""
        return tuple(guard.answer for guard in self.guards)

    def fits_layout(self, values: Sequence[Value]) -> bool:
        """Whether the arguments have the memory layout that it takes for granted."""
        return self.layouts is None or all(layout_of(v) == w for v, w in zip(values, self.layouts, strict=True))

    @property
    def is_c_ordered(self) -> bool:
        """Whether it is for arguments in C order without gaps, or for any."""
        if self.layouts is None:
            return True
        types = [v.type for v in self.program.inputs[: len(self.layouts)]]
        return self.layouts == [canonical(t, compact(t)) for t in types]

    def build_result(self, call: Call, outputs: Sequence[Value]) -> Any:
        """The tree that the function returns; the states of the caller's random generators are written back."""
        computed = iter(fresh(outputs, call.values))
        n = self.structure.num_leaves
        leaves = [_copy_array(self.constants[i]) if i in self.constants else next(computed) for i in range(n)]
        result = tree.unflatten(self.structure, leaves)
        if self.has_generators:
            generators = GeneratorArguments("jit", call.arguments, call.structure)
            generators.write_back(list(computed))
            generators.join(self.links, result)
        if self.writes:
            result, values = result
            write_back(self.writes, values, call.captures.container)
        return result


def _copy_array(leaf: Any) -> Any:
    """A constant result: the caller may write to it."""
    return leaf.copy() if hasattr(leaf, "copy") and hasattr(leaf, "dtype") else leaf


def trace_call(
    function: Callable[..., Any],
    reader: CallReader,
    call: Call,
    *,
    answers: bool = True,
    why: str = "a new call",
    branches: str = "auto",
) -> GuardedProgram:
    """Run the function on types; with `answers`, values that Python asks for are those of this call.

    `branches` says what an `if` on a value becomes: "guards", "native" branches, or (auto) guards as long as they are
    few.
    """
    log = Log(is_region=False)
    with logging(log):
        guarded = run_again(lambda _: _trace(function, reader, call, answers, why, branches), function)
    if (written := log.of_classes()) is not None:
        log.restore()
        raise OutsideWrite(written)
    return guarded


def _trace(
    function: Callable[..., Any], reader: CallReader, call: Call, answers: bool, why: str, branches: str
) -> GuardedProgram:
    begin = time.perf_counter()
    record = GuardingTrace(answers=answers)
    record.in_program, record.prefers_branches = branches != "guards", branches == "native"
    own, generators = len(call.inputs), GeneratorArguments("jit", call.arguments, call.structure)
    values = zip(call.types, call.values, strict=True)
    inputs = [record.add_input(t, v, outside=i >= own) for i, (t, v) in enumerate(values)]
    try:
        with uncollected(), loops_over_elements():
            recorded = record_function(
                function,
                lambda values: _bound(call, *call.with_inputs(values)),
                record,
                inputs,
                generators,
                is_output=lambda x: isinstance(x, Tracer),
            )
        written = [x._var is not y._var for x, y in zip(recorded.arguments, inputs, strict=True)]  # type: ignore[reportPrivateUsage]
        _check_writes(reader, call, written, returns=recorded.structure != tree.structure(None))
    except (OutsideWrite, StateFound):
        raise
    except (StartOver, TooManyPaths, TooLarge):
        # it runs again, compiled or as plain Python, and does what it does then
        call.captures.outside.undo()
        raise
    except Exception:
        call.captures.outside.undo()
        _run_effects(record, call)
        raise
    paths = recorded.structure.paths()
    guarded = GuardedProgram(
        guards_first(recorded.program),
        record.expected,
        recorded.structure,
        {i: _constant(leaf, paths[i]) for i, leaf in recorded.constants.items()},
        bool(recorded.captured),
        recorded.links,
        bool(generators),
        acts(recorded.program.equations),
        reader.describe(call),
        why,
    )
    guarded.writes = call.captures.outside.targets
    guarded.remarks = list(record.remarks)
    guarded.layouts = [layout_of(v) for v in call.values] if record.asks_layouts else None
    guarded.seconds["trace"] = time.perf_counter() - begin
    return guarded


def _bound(call: Call, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What is called: the function, which returns what it stores in objects as well."""
    return call.captures.outside.returning_writes(prepare(function)), args, kwargs


def _check_writes(reader: CallReader, call: Call, written: Sequence[bool], *, returns: bool) -> None:
    """Refuse what would be lost: a write to an array from outside, and one to an argument when nothing is returned."""
    own = len(call.inputs)
    for name, lost in zip(call.captures.names(), written[own:], strict=True):
        if lost:
            raise TraceError(
                f"jit: the function writes to {name}, an array from outside, which compiled functions do not change. "
                "Make the array inside (adjoint.numpy.zeros), or take it as an argument and return its new value."
            )
    if not returns and any(written[:own]):
        name = reader.name(call.structure, call.inputs[written.index(True)])
        raise TraceError(
            f"jit: the function writes to its argument {name} and returns nothing: a compiled function does not change "
            "the caller's arrays. Return the new value."
        )


def _run_effects(record: GuardingTrace, call: Call) -> None:
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
