"""`jit`: a function traced once for each kind of arguments, compiled, and run as machine code from then on."""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import adjoint.numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  (gives traced values NumPy's protocols)
from adjoint import tree
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError
from adjoint.base.forking import free_in_child
from adjoint.base.source import by_name, user_facing, warn_user
from adjoint.compile.callable import Entry
from adjoint.jit.patterns import specialization
from adjoint.jit.pipeline import executable
from adjoint.jit.report import Report, specialized
from adjoint.jit.signature import Call, Signature
from adjoint.jit.trace import Way, traced
from adjoint.ops.control.call import Call as CallProgram
from adjoint.ops.control.guards import Mismatch
from adjoint.program.trace import live_trace
from adjoint.program.types import Value
from adjoint.transform import expansion, subprograms, tape_fast  # noqa: F401  (give others what they ask for)
from adjoint.transform.batch_branches import TooManyPaths
from adjoint.transform.guards import Asked, TooLarge
from adjoint.transform.nonfinite import watching

__all__ = ["Jitted"]

Function = Callable[..., tree.Tree]
MOST_KINDS = 1024  # of arguments: the oldest is forgotten
MOST_ENTRIES = 256  # they are tried one after the other: each mismatch costs a few nanoseconds


class Ways:
    """All ways through a function that were found for one kind of arguments."""

    def __init__(self) -> None:
        self.found: list[Way] = []
        self.eager = 0  # calls that ran as plain Python
        self.reason = ""  # why all of them do, or the last one did
        self.always_python = False
        self.warned = False

    def run(self, values: Sequence[Value]) -> tuple[Way, list[Value]] | Mismatch | None:
        """The way that these values take, and its outputs; what was not met when none is known.

        Each try that fails says: the answers before its k-th are right, and this one is not.
        """
        refused: list[tuple[tuple[Any, ...], Any]] = []
        missed: Mismatch | None = None
        for way in self.found:
            if not way.suits(values):
                continue
            answers = way.answers
            if any(answers[: len(prefix)] != prefix or answers[len(prefix)] == answer for prefix, answer in refused):
                continue
            try:
                return way, executable(way.program).run(values)
            except Mismatch as problem:
                missed = problem
                refused.append((answers[: problem.number], answers[problem.number]))
        return missed

    def prefer(self, way: Way) -> None:
        """Try this one first next time."""
        self.found = [way, *[other for other in self.found if other is not way]]


@dataclass(frozen=True)
class JitOptions:
    """The options of `jit`."""

    static_argnums: Any
    static_argnames: Any
    strict: bool


class Jitted(Entry):
    """A compiled function: called like the function it was made from. Made by `jit`.

    A call that takes a known way runs in machine code from end to end; all others come to `_call`.
    """

    __slots__ = ()
    has_rules = False
    __name__: str
    function: Function
    _options: JitOptions
    _signature: Signature
    _ways: dict[Any, Ways]  # by what makes calls alike
    _lock: threading.RLock
    _methods: dict[type, bool]
    _told: bool  # that the same thing changes again and again

    def __init__(self, function: Function, options: JitOptions) -> None:
        if not callable(function):
            raise TypeError(f"jit needs a function, not {type(function).__name__}. Write jit(f)(x), not jit(f(x)).")
        super().__init__(_missed, _failed)
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function, updated=())
        self.function, self._options = function, options
        self._signature = Signature(function, options.static_argnums, options.static_argnames)
        self._ways, self._methods, self._told = {}, {}, False
        self._lock = free_in_child(threading.RLock())

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that no specialization has taken."""
        if live_trace() is not None or watching() is not None:
            return self._inside(args, kwargs)
        return self._run(self._signature.read(args, kwargs, self._is_method), args, kwargs, alone=True)

    def _run(self, call: Call, args: Any, kwargs: Any, *, alone: bool) -> Any:
        """Run a call with plain values; as plain Python when it must see every operation, or nothing else is right."""
        ways = self._ways_of(call.key)
        if ways.always_python:
            ways.eager += 1
            return self.function(*args, **kwargs)
        done = ways.run(call.values) if alone or not any(way.acts for way in ways.found) else None
        if not isinstance(done, tuple):
            with self._lock:
                done = ways.run(call.values) if alone else done  # another thread may have found the way meanwhile
                if not isinstance(done, tuple):
                    way = self._new_way(ways, call, done)
                    if way is None or (way.acts and not alone) or way.captured:
                        ways.eager += 1
                        return self.function(*args, **kwargs)
                    done = way, self._first_run(way, call)
        way, outputs = done
        way.calls += 1
        if way.entry is None or ways.found[0] is not way:
            with self._lock:
                ways.prefer(way)
                self._add(way, call)
        return way.result(call, outputs)

    def _first_run(self, way: Way, call: Call) -> list[Value]:
        made = executable(way.program)
        begin = time.perf_counter()
        outputs = made.run(call.values)
        made.seconds["first run"] = time.perf_counter() - begin
        return outputs

    def report(self) -> Report:
        """What was compiled, why, and how long it took; what is left to NumPy and to plain Python."""
        with self._lock:
            hits = dict(self.calls)
            kinds = list(self._ways.values())
            ways = sorted((way for kind in kinds for way in kind.found), key=lambda way: way.serial)
            return Report(
                self.__name__,
                [specialized(way, way.calls + hits.get(-1 if way.entry is None else way.entry, 0)) for way in ways],
                sum(kind.eager for kind in kinds),
                list(dict.fromkeys(kind.reason for kind in kinds if kind.reason)),
            )

    def _add(self, way: Way, call: Call) -> None:
        """From now on calls like this one do not come here."""
        if way.entry is None:
            made = executable(way.program)
            full = len(self.specializations) >= MOST_ENTRIES
            found = None if full else specialization(way, made, call)
            way.entry = -1 if found is None else self.add(found)

    def _ways_of(self, key: Any) -> Ways:
        found = self._ways.get(key)
        if found is None:
            with self._lock:
                if len(self._ways) >= MOST_KINDS:  # a new function as an argument in each call, say
                    self._forget(next(iter(self._ways)))
                found = self._ways.setdefault(key, Ways())
        return found

    def _forget(self, key: Any) -> None:
        for way in self._ways.pop(key).found:
            if way.entry is not None and way.entry >= 0:
                self.remove(way.entry)

    def _new_way(self, ways: Ways, call: Call, missed: Mismatch | None) -> Way | None:
        """Trace the function for this call; None when it is to run as plain Python."""
        if len(ways.found) >= config.specializations and missed is not None:
            count = len(ways.found)
            self._give_up(ways, f"more than {count} specializations", f"{count} are made. {missed}")
            return None
        why = self._why(call)
        if missed is not None:
            why = f"another answer: {missed.guard.question} at {missed.guard.place}"
        try:
            way = traced(self.function, self._signature, call, why=why)
        except TooManyPaths as problem:
            self._give_up(ways, "the batch elements of vmap take too many paths", str(problem))
            ways.always_python = True
            return None
        except TooLarge:  # now; other values may be smaller
            ways.reason = "integers of more than 64 bits"
            return None
        if not way.captured:
            ways.found = [way, *ways.found]
        return way

    def _why(self, call: Call) -> str:
        """What is new about a call; a warning when it is something that should be an argument, again and again."""
        known = itertools.islice(reversed(self._ways), 4 * config.specializations)
        found = [changes for key in known if key != call.key and (changes := self._signature.changes(call, key))]
        if not found:
            return "the first call of this kind"
        arguments, others = min(found, key=lambda changes: len(changes[0]) + len(changes[1]))
        if others and not arguments and not self._told:
            repeated = [names for unchanged, names in found if not unchanged]
            if len(repeated) >= config.specializations:
                self._told = True
                names = ", ".join(dict.fromkeys(name for one in repeated for name in one))
                warn_user(
                    f"jit of {self.__name__}: {len(repeated) + 1} programs were made that differ only in {names}. "
                    "Pass a number as an argument, and define a function once, outside the loop."
                )
        return f"{', '.join([*arguments, *others])} changed"

    def _give_up(self, ways: Ways, reason: str, details: str) -> None:
        """From now on such calls run as plain Python; said once."""
        message = f"jit of {self.__name__}: {reason}. {details}"
        if self._options.strict:
            raise ControlFlowError(message) from None
        ways.reason = reason
        if not ways.warned:
            ways.warned = True
            warn_user(f"{message} This call, and others like it, run as plain Python.")

    def _inside(self, args: Any, kwargs: Any) -> Any:
        """A call inside a transformation: recorded as one primitive, or as what the function does."""
        trace = live_trace()
        while trace is not None and not trace.records:
            trace = trace.outer
        if trace is not None or watching() is not None:
            return self.function(*args, **kwargs)
        call = self._signature.read(args, kwargs, self._is_method)
        if not call.is_traced:
            return self._run(call, args, kwargs, alone=False)
        ways = self._ways_of((call.key, "inside"))
        if not ways.always_python and not any(way.suits(call.values) for way in ways.found):
            with self._lock:
                try:
                    why = "a call inside a transformation"
                    ways.found = [traced(self.function, self._signature, call, answers=False, why=why), *ways.found]
                except (Asked, TooManyPaths, TooLarge):
                    ways.reason = "it asks for values, inside a transformation"
                if not ways.found or ways.found[0].acts or ways.found[0].captured:
                    ways.always_python = not ways.found or not ways.found[0].captured
                    ways.found = []
        if not ways.found:
            ways.eager += 1
            return self.function(*args, **kwargs)
        way = next(way for way in ways.found if way.suits(call.values))
        way.calls += 1
        return way.result(call, CallProgram(way.program)(*call.values))

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
def _missed(entry: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return entry._call(args, kwargs)


@user_facing
def _failed(entry: Any, number: int, status: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A kernel has left early: its guards are not met, or something went wrong in it."""
    kernel, _ = entry.specializations[number].keep
    problem = kernel.failure(status) if status < 0 else None
    if problem is not None and not isinstance(problem, Mismatch):
        raise problem
    return entry._call(args, kwargs)
