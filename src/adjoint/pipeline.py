"""From a function to something that runs: trace, simplify, compile.

way = traced(function, call)            what Python does for these arguments, as a program with guards
run = executable(way.program)           simplified, compiled, or read by NumPy where it cannot be
outputs = run(call.values)              raises Mismatch where the arguments take another way
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint import tree
from adjoint.base.errors import DtypeError, TraceError
from adjoint.base.garbage import uncollected
from adjoint.base.source import here, warn_user
from adjoint.compile.callable import ArrayLeaf, Entry, ListOf, NumberLeaf, Output, OutputType, Specialisation
from adjoint.compile.kernel import Kernel, Unsupported, compile_program
from adjoint.ops.control import call as calls
from adjoint.ops.control.guards import Expect, Mismatch, acts, expectations, guards_first
from adjoint.program.evaluate import Evaluator
from adjoint.program.freezing import without_draws
from adjoint.program.program import Program, interpret
from adjoint.program.trace import Traced, running
from adjoint.program.types import Value
from adjoint.shortcut import Shortcut
from adjoint.simplify import simplify
from adjoint.transform.arguments import fresh, plain_value, run
from adjoint.transform.generators import Held, leaves_of
from adjoint.transform.guards import GuardedRecord
from adjoint.transform.signatures import Call, Signature
from adjoint.tree.static_values import STATIC_TYPES

Run = Callable[[Sequence[Value]], list[Value]]
_compiling = threading.RLock()


@dataclass
class Executable:
    """A program that runs on plain values, and how it came to be."""

    program: Program  # after simplification
    run: Run
    how: str  # "compiled", or why it is read by NumPy
    kernel: Kernel | None
    seconds: dict[str, float]


def executable(program: Program) -> Executable:
    """A program as something that runs; made once for each program."""
    made = made_of(program)
    if made is None:
        with _compiling:
            made = made_of(program)
            if made is None:
                made = program.__dict__["_executable"] = _executable(program)
    return made


def made_of(program: Program) -> Executable | None:
    """What was made of a program already."""
    return program.__dict__.get("_executable")


def _executable(program: Program) -> Executable:
    begin = time.perf_counter()
    with uncollected():
        known = Shortcut(program)
        simple, how = known.simple, "compiled"
        if simple is None:
            try:
                simple = simplify(program)
            except Exception as problem:  # a fault of ours: the program as it was traced computes the same
                simple, how = program, f"compiled, not simplified: simplification failed with {_named(problem)}"
                _report_fault(how, program)
        simplified = time.perf_counter()
        seconds = {"simplify": simplified - begin}
        try:
            kernel = compile_program(simple, known.code)
        except (Unsupported, ImportError) as problem:
            return Executable(simple, Evaluator(simple), f"read by NumPy: {problem}", None, seconds)
        except Exception as problem:  # a fault of ours, perhaps of simplification: NumPy reads what was traced
            how = f"read by NumPy: the compiler failed with {_named(problem)}"
            _report_fault(how, simple)
            return Executable(program, Evaluator(program), how, None, seconds)
        if how == "compiled":
            known.keep(simple, kernel.notes["name"])
    seconds["compile"] = time.perf_counter() - simplified
    return Executable(simple, _entered(kernel), how, kernel, seconds)


def _named(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _report_fault(how: str, program: Program) -> None:
    """Warn that a program runs slower than it should; where sizes are not known yet, NumPy is what is expected."""
    if _sizes_are_known(program):
        warn_user(f"jit: a program is {how}. The results are right; please report it.")


def _sizes_are_known(program: Program) -> bool:
    """Whether the sizes of all values are known before the program runs."""
    return all(isinstance(n, int) for eq in program.equations for v in eq.outputs for n in v.type.shape)


def _entered(kernel: Kernel) -> Run:
    """Machine code as a function of a list of values: at C speed for contiguous arrays and scalars of its types.

    The first call has a workspace of its own, which goes with it: functions that are called by users have entries and
    workspaces of their own from then on.
    """
    calls = itertools.count()
    entries: list[Entry] = []

    def attempt(entry: Any, values: tuple[Any, ...], named: dict[str, Any]) -> list[Value]:
        status, outputs = kernel.attempt(values)
        return outputs if status == 0 else refuse(entry, 0, status, values, named)

    def refuse(entry: Any, number: int, status: int, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A positive status is the number of the guard that was not met."""
        if status > 0:
            raise Mismatch(next(g for g in expectations(kernel.program) if g.number == status - 1))
        raise kernel.failure(status)

    def run(values: Sequence[Value]) -> list[Value]:
        if entries:
            return entries[0](*values)
        if next(calls) == 0:
            return attempt(None, tuple(values), {})
        entries.append(_entry(kernel, attempt, refuse))
        return entries[0](*values)

    return run


def _entry(kernel: Kernel, attempt: Callable[..., Any], refuse: Callable[..., Any]) -> Entry:
    entry = Entry(attempt, refuse)
    numbers = {"i": int, "f": float, "c": complex}
    leaves = [
        ArrayLeaf(slot, t.dtype, t.shape)
        if t.shape
        else NumberLeaf(slot, numbers[t.dtype.kind] if t.weak else t.dtype.type)
        for slot, t in enumerate(kernel.input_types)
    ]
    entry.add(
        Specialisation(
            kernel=kernel.address,
            inputs=len(leaves),
            positional=leaves,
            outputs=[OutputType(t.dtype, t.shape) for t in kernel.output_types],
            result=ListOf([Output(i) for i in range(len(kernel.output_types))]),
            constants=kernel.constants,
            workspace=kernel.workspace,
            context=kernel.context,
            heavy=kernel.heavy,
            calls_back=kernel.calls_back,
            keep=kernel,
        )
    )
    return entry


def run_program(program: Program, values: Sequence[Value]) -> list[Value]:
    """Run a program on plain values; what `Call` does."""
    return executable(program).run(values)


calls.run_with(run_program)


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
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    calls: int = 0  # through Python code
    serial: int = field(default_factory=itertools.count().__next__)  # they are told in the order they were made
    entry: int | None = None  # its number in the entry, -1 when it cannot be there

    @property
    def answers(self) -> tuple[Any, ...]:
        """The answers to the questions, in order."""
        return tuple(guard.answer for guard in self.expected)

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
            computed = {i for i, leaf in enumerate(leaves) if isinstance(leaf, Traced)}
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
    if isinstance(leaf, set | frozenset) and any(isinstance(part, Traced) for part in leaf):
        raise DtypeError(f"jit: result{path} is a set of computed values. Return a list or a tuple.")
    if isinstance(leaf, (int, float, complex, *STATIC_TYPES)) or callable(leaf):
        return leaf
    raise DtypeError(
        f"jit: result{path} is a {type(leaf).__name__}, which would be the same object in every call. Return numbers, "
        "arrays and containers of them; ad.tree.register makes a container of a class."
    )
