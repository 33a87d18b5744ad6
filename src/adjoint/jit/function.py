"""`jit`: a function traced once for each kind of arguments, compiled, and run as machine code from then on."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import adjoint.numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  (gives traced values NumPy's protocols)
from adjoint import tree
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError, ShapeError, TreeError
from adjoint.base.forking import free_in_child
from adjoint.base.loading import deferred
from adjoint.base.records import record
from adjoint.base.source import by_name, user_facing, warn_user
from adjoint.compile.callable import Entry
from adjoint.conversion.driver import prepare, start_over
from adjoint.jit.pipeline import build_executable, compile_call, run_first, specialize
from adjoint.jit.signature import Call, CallReader, Signature
from adjoint.jit.trace import GuardedProgram, trace_call
from adjoint.jit.writes import OutsideWrite, StateFound
from adjoint.ops.control.call import Call as CallProgram
from adjoint.ops.control.guards import Mismatch
from adjoint.program.trace import live_trace
from adjoint.program.types import ArrayType, Value
from adjoint.transform import inner_programs, tape_fast  # noqa: F401  (give others what they ask for)
from adjoint.transform.arguments import lent, own
from adjoint.transform.batch_branches import TooManyPaths
from adjoint.transform.guards import Outgrown, TooLarge, ValueRequested
from adjoint.transform.nonfinite import active_watch

if TYPE_CHECKING:
    from adjoint.jit.lowered import Lowered
    from adjoint.jit.report import Report, report_calls
else:  # calls need neither
    Lowered = deferred("adjoint.jit.lowered", "Lowered")
    report_calls = deferred("adjoint.jit.report", "report_calls")

__all__ = ["Jitted"]

Function = Callable[..., tree.Tree]
MOST_SIGNATURES = 1024  # the oldest is forgotten
FEW_PATHS = 4  # programs of one signature that differ in their guards; then branches are part of the program
MOST_ENTRIES = 256  # they are tried one after the other: each mismatch costs a few nanoseconds


class Variants:
    """The guarded programs of one signature: one for each path that Python takes through the function."""

    def __init__(self) -> None:
        self.programs: list[GuardedProgram] = []
        self.eager = 0  # calls that ran as plain Python
        self.reason = ""  # why all of them do, or the last one did
        self.always_python = False
        self.warned = False

    def run(self, values: Sequence[Value]) -> tuple[GuardedProgram, list[Value]] | Mismatch | None:
        """The program whose guards these values meet, and its outputs; the guard that was not met when none is known.

        Each attempt that fails at its k-th guard says: the answers before it are right, and this one is not. So
        programs that expect another answer before, or the same there, are not tried.
        """
        refused: list[tuple[tuple[Any, ...], Any]] = []
        missed: Mismatch | None = None
        for guarded in self.programs:
            if not guarded.fits_layout(values):
                continue
            answers = guarded.answers
            if any(answers[: len(prefix)] != prefix or answers[len(prefix)] == answer for prefix, answer in refused):
                continue
            try:
                return guarded, build_executable(guarded.program).run(values)
            except Mismatch as problem:
                missed = problem
                refused.append((answers[: problem.number], answers[problem.number]))
        return missed

    def prefer(self, guarded: GuardedProgram) -> None:
        """Try this one first next time."""
        self.programs = [guarded, *[other for other in self.programs if other is not guarded]]

    @property
    def act(self) -> bool:
        """Whether one of them prints, calls back or checks."""
        return any(guarded.acts for guarded in self.programs)


@record
class JitOptions:
    """The options of `jit`."""

    static_argnums: Any
    static_argnames: Any
    strict: bool
    branches: str = "auto"


class Jitted(Entry):
    """A compiled function: called like the function it was made from. Made by `jit`.

    A call that matches a specialization runs in machine code from end to end; all others come to `_call`.
    """

    __slots__ = ()
    has_rules = False
    __name__: str
    function: Function
    _options: JitOptions
    _reader: CallReader
    _variants: dict[Any, Variants]  # by signature
    _lock: threading.RLock
    _methods: dict[type, bool]
    _warned: bool  # that the same thing changes again and again
    _is_python: bool  # it changes what it reads, and is not compiled

    def __init__(self, function: Function, options: JitOptions) -> None:
        if not callable(function):
            raise TypeError(f"jit needs a function, not {type(function).__name__}. Write jit(f)(x), not jit(f(x)).")
        super().__init__(_on_miss, _on_failure)
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function, updated=())
        self.function, self._options = function, options
        self._reader = CallReader(function, options.static_argnums, options.static_argnames)
        self._variants, self._methods, self._warned, self._is_python = {}, {}, False, False
        self._lock = free_in_child(threading.RLock())

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that matches no specialization."""
        if self._is_python:
            return self._as_python(args, kwargs)
        try:
            if live_trace() is not None or active_watch() is not None:
                return self._call_inside(args, kwargs)
            return self._run(self.read_call(args, kwargs), args, kwargs, alone=True)
        except StateFound:
            return self._call(args, kwargs)
        except Outgrown:  # now; other values may be smaller
            variants = self._variants_of(self.read_call(args, kwargs).signature)
            variants.reason = TooLarge.reason
            return self._run_python(variants, args, kwargs)

    def read_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The signature and the inputs of a call."""
        return self._reader.read(args, kwargs, self._is_method)

    def trace_call(self, call: Call) -> GuardedProgram:
        """What the function does for a call."""
        try:
            return trace_call(self.function, self._reader, call)
        except StateFound:
            return trace_call(self.function, self._reader, self.read_call(*call.arguments))

    @property
    def guarded_programs(self) -> list[GuardedProgram]:
        """All that were traced, in creation order."""
        programs = (guarded for variants in self._variants.values() for guarded in variants.programs)
        return sorted(programs, key=lambda guarded: guarded.serial)

    def _run(self, call: Call, args: Any, kwargs: Any, *, alone: bool) -> Any:
        """Run a call with plain values; as plain Python when nothing else is right.

        When a transformation runs around it (not `alone`), it must see every effect.
        """
        variants = self._variants_of(call.signature)
        if variants.always_python or (variants.act and not alone):
            return self._run_python(variants, args, kwargs)
        answer = variants.run(call.values)
        if not isinstance(answer, tuple):
            with self._lock:
                answer = variants.run(call.values)  # another thread may have compiled it meanwhile
                if not isinstance(answer, tuple):
                    guarded = self._new_variant(variants, call, answer)
                    if guarded is None or (guarded.acts and not alone) or guarded.captured:
                        return self._run_python(variants, args, kwargs)
                    try:
                        answer = guarded, run_first(guarded.program, call.values)
                    except Mismatch as problem:  # by the very call that it was traced for
                        self._give_up(variants, "it asks for digits that machine code rounds otherwise", str(problem))
                        variants.always_python = True
                        return self._run_python(variants, args, kwargs)
        guarded, outputs = answer
        guarded.calls += 1
        if guarded.entry is None or variants.programs[0] is not guarded:
            with self._lock:
                variants.prefer(guarded)
                self._add(guarded, call)
        return guarded.build_result(call, outputs)

    def _run_python(self, variants: Variants, args: Any, kwargs: Any) -> Any:
        variants.eager += 1
        return self._as_python(args, kwargs)

    def _as_python(self, args: Any, kwargs: Any) -> Any:
        """The function as it is; where a transformation runs around it, it is converted if need be, as without jit."""
        if live_trace() is None:
            return self.function(*args, **kwargs)
        result = start_over(lambda function: function(*args, **kwargs), self.function, (args, kwargs))
        return own(result, tree.leaves((args, kwargs)))

    def report(self) -> Report:
        """What was compiled, why, and how long it took; what is left to NumPy and to plain Python."""
        with self._lock:
            hits, kinds = dict(self.calls), list(self._variants.values())
            programs = self.guarded_programs
            calls = [(one, one.calls + hits.get(-1 if one.entry is None else one.entry, 0)) for one in programs]
            reasons = dict.fromkeys(kind.reason for kind in kinds if kind.reason)
            return report_calls(self.__name__, calls, sum(kind.eager for kind in kinds), list(reasons))

    @user_facing
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The stages of compiling for arguments like these, without running them: program, LLVM, assembly.

        `ad.ArrayType(shape, dtype)` stands for an array.
        """
        leaves, structure = tree.flatten((args, kwargs))
        plain = [leaf.zeros() if isinstance(leaf, ArrayType) else leaf for leaf in leaves]
        values, named = tree.unflatten(structure, plain)
        with self._lock:
            call = self.read_call(values, named)
            guarded = trace_call(self.function, self._reader, call, branches=self._options.branches)
        return Lowered(self.__name__, guarded.program)

    def _add(self, guarded: GuardedProgram, call: Call) -> None:
        """From now on calls like this one do not come here."""
        if guarded.entry is None:
            full = len(self.specializations) >= MOST_ENTRIES
            specialization = None if full else specialize(guarded, call)
            guarded.entry = -1 if specialization is None else self.add(specialization)

    def _variants_of(self, signature: Any) -> Variants:
        variants = self._variants.get(signature)
        if variants is None:
            with self._lock:
                if len(self._variants) >= MOST_SIGNATURES:  # a new function as an argument in each call, say
                    self._forget(next(iter(self._variants)))
                variants = self._variants.setdefault(signature, Variants())
        return variants

    def _forget(self, signature: Any) -> None:
        for guarded in self._variants.pop(signature).programs:
            if guarded.entry is not None and guarded.entry >= 0:
                self.remove(guarded.entry)

    def _new_variant(self, variants: Variants, call: Call, missed: Mismatch | None) -> GuardedProgram | None:
        """Compile the function for this call; None when it is to run as plain Python."""
        if len(variants.programs) >= config.specializations and missed is not None:
            count = len(variants.programs)
            self._give_up(variants, f"more than {count} specializations", f"{count} are compiled. {missed}")
            return None
        why = self._why(call)
        self._warn_unwatched(call)
        if missed is not None:
            why = f"another answer: {missed.guard.question} at {missed.guard.where}"
        try:
            branches = self._options.branches
            if branches == "auto" and missed is not None and len(variants.programs) >= FEW_PATHS:
                branches = "native"  # the paths are too many to have a program for each
            guarded = compile_call(self.function, self._reader, call, why=why, branches=branches)
        except TooManyPaths as problem:
            variants.reason = f"the batch elements of vmap {problem.what}"
            # plain Python may raise the others, of elements that do differ
            if not isinstance(problem, ShapeError | TreeError):
                self._give_up(variants, variants.reason, str(problem))
            variants.always_python = True
            return None
        except OutsideWrite as problem:
            self._stop_compiling(variants, problem)
            return None
        except TooLarge:  # now; other values may be smaller
            variants.reason = TooLarge.reason
            return None
        if not guarded.captured:
            variants.programs = [guarded, *variants.programs]
        return guarded

    def _why(self, call: Call) -> str:
        """What is new about a call; a warning when it is something that should be an argument, again and again."""
        signatures = [key for key in reversed(self._variants) if isinstance(key, Signature) and key != call.signature]
        known = signatures[: 4 * config.specializations]
        differences = [changes for key in known if (changes := self._reader.changes(call, key))]
        if not differences:
            return "the first call of this kind"
        arguments, others = min(differences, key=lambda changes: len(changes[0]) + len(changes[1]))
        if others and not arguments and not self._warned:
            repeated = [names for unchanged, names in differences if not unchanged]
            if len(repeated) >= config.specializations:
                self._warned = True
                names = ", ".join(dict.fromkeys(name for one in repeated for name in one))
                warn_user(
                    f"jit of {self.__name__}: {len(repeated) + 1} programs were made that differ only in {names}. "
                    "Pass a number as an argument, and define a function once, outside the loop."
                )
        return f"{', '.join([*arguments, *others])} changed"

    def _give_up(self, variants: Variants, reason: str, details: str) -> None:
        """From now on such calls run as plain Python; said once."""
        message = f"jit of {self.__name__}: {reason}. {details}"
        if self._options.strict:
            raise ControlFlowError(message) from None
        variants.reason = reason
        if not variants.warned:
            variants.warned = True
            warn_user(f"{message} This call, and others like it, run as plain Python.")

    def _stop_compiling(self, variants: Variants, problem: OutsideWrite) -> None:
        """The function changes what it reads: no two calls are alike, and from now on all run as plain Python."""
        self._give_up(
            variants,
            f"it changes {problem}, which compiled calls would not do again",
            "Return the new value and assign it outside, take it as an argument, or log with ad.debug.callback.",
        )
        self._is_python = True

    def _warn_unwatched(self, call: Call) -> None:
        for name, count in call.captures.large_constants():
            warn_user(
                f"jit of {self.__name__}: the {count / 1e6:.0f} MB of {name} are compared in each call, since they "
                "are read by code of a class, or held by an object that is not copied. Pass the array as an argument, "
                "or keep it in an attribute of the instance."
            )
        for name, why in call.captures.problems:
            warn_user(
                f"jit of {self.__name__}: changes inside {name} are not seen by compiled calls, since {why}. Pass it "
                "as an argument, or keep numbers in an array."
            )

    def _call_inside(self, args: Any, kwargs: Any) -> Any:
        """A call inside a transformation: recorded as one primitive, or as what the function does."""
        trace = live_trace()
        while trace is not None and not trace.records:
            trace = trace.outer
        if trace is not None or active_watch() is not None:
            return own(prepare(self.function)(*lent(args), **lent(kwargs)), tree.leaves((args, kwargs)))
        call = self.read_call(args, kwargs)
        if not call.is_traced:
            return self._run(call, args, kwargs, alone=False)
        variants = self._variants_of((call.signature, "inside"))
        if not variants.always_python and not any(guarded.fits_layout(call.values) for guarded in variants.programs):
            with self._lock:
                self._trace_inside(variants, call)
        if not variants.programs:
            return self._run_python(variants, args, kwargs)
        guarded = next(guarded for guarded in variants.programs if guarded.fits_layout(call.values))
        guarded.calls += 1
        return guarded.build_result(call, CallProgram(guarded.program)(*call.values))

    def _trace_inside(self, variants: Variants, call: Call) -> None:
        """A program without guards, which the transformation reads as one primitive, if there is one."""
        try:
            options = {"why": "a call inside a transformation", "branches": self._options.branches}
            guarded = trace_call(self.function, self._reader, call, answers=False, **options)
        except OutsideWrite as problem:
            self._stop_compiling(variants, problem)
            return
        except (ValueRequested, TooManyPaths, TooLarge):
            variants.reason = "it asks for values, inside a transformation"
            variants.always_python, variants.programs = True, []
            return
        if guarded.acts or guarded.captured or guarded.writes:
            variants.always_python, variants.programs = not guarded.captured, []
        else:
            variants.programs = [guarded, *variants.programs]

    def _is_method(self, leaf: Any) -> bool:
        """Whether an object is the one that this function is a method of."""
        cls = type(leaf)
        if cls not in self._methods:
            self._methods[cls] = any(value is self for base in cls.__mro__ for value in vars(base).values())
        return self._methods[cls]

    def with_function(self, function: Function) -> Jitted:
        """The same of another function."""
        return Jitted(function, self._options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return by_name(self) or (Jitted, (self.function, self._options))

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __repr__(self) -> str:
        return f"<jit of {getattr(self.function, '__qualname__', self.function)}>"


@user_facing
def _on_miss(entry: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return entry._call(args, kwargs)


@user_facing
def _on_failure(entry: Any, number: int, status: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A kernel has left early: its guards are not met, or something went wrong in it."""
    problem = entry.specializations[number].keep[0].failure(status) if status < 0 else None
    if problem is not None and not isinstance(problem, Mismatch | Outgrown):
        raise problem
    return entry._call(args, kwargs)
