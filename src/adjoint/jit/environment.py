"""What a function reads that is not among its arguments: closure cells, defaults, globals and attributes of modules
that are named in its own code.

Numbers, flags, texts and functions are *facts*: compared from call to call. Arrays are inputs: the function is made
again with others in their places. What the functions read that it names so, or is given, counts as read by itself,
unless they belong to a library; so does what modules of the user's hold under names in its code, and tuples, lists and
dicts that hold arrays or such functions. What objects hold is not looked at.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

from adjoint.base.source import is_library
from adjoint.jit.captures import EMPTY, Capture, Part, form_of, is_transformed, module_captures, part_of
from adjoint.jit.facts import Contents, contents
from adjoint.jit.rebuild import FunctionRebuilder
from adjoint.program.types import Value

__all__ = ["EMPTY", "Captures", "Environment"]

MOST_FUNCTIONS = 1024  # whose reads are remembered


class Captures:
    """What a function, and the functions that it is given and names, read at the time of one call."""

    def __init__(
        self,
        roots: tuple[Any, ...],
        reads: list[Capture],
        read: list[Contents],
        parts: dict[int, Part],
        user_modules: Any,
    ) -> None:
        self.reads = reads  # in the order in which they are found: what a function reads stands behind the function
        self.contents = read  # what they are now
        self._roots, self._parts = roots, parts
        self.arrays: list[Value] = [array for one in read for _, array in one.arrays()]
        facts = [
            None if isinstance(one.value, ModuleType) and not user_modules(one.value) else one.fact() for one in read
        ]
        # they say which of the reads are arrays; the forms come last
        self.facts: tuple[Hashable, ...] = (*facts, tuple(part.form for part in parts.values()))

    @property
    def functions(self) -> list[Any]:
        """All functions that are looked into."""
        return [part.function for part in self._parts.values()]

    def names(self) -> list[str]:
        """What the arrays are called."""
        found = zip(self.reads, self.contents, strict=True)
        return [f"{read.name}{path}" for read, one in found for path, _ in one.arrays()]

    def numbers(self) -> list[tuple[str, str]]:
        """The numbers and texts that are part of the program, by name."""
        kinds = ("cell", "global", "attribute")
        found = [(r.name, c.value) for r, c in zip(self.reads, self.contents, strict=True) if r.kind in kinds]
        return [(name, repr(v)[:80]) for name, v in found if isinstance(v, bool | int | float | complex | str)]

    def changed(self, facts: tuple[Hashable, ...]) -> list[str]:
        """What differs from the facts of another call, by name; behind another function nothing is comparable."""
        names: list[str] = []
        for read, one, now, then in zip(self.reads, self.contents, self.facts[:-1], facts[:-1], strict=False):
            if now != then:
                names.append(read.name)
                if id(one.value) in self._parts:
                    return names
        forms = zip(self._parts.values(), cast(Any, facts[-1]), strict=False)
        other = [part.function for part, form in forms if part.form != form]
        return names or [f"the definition of {_function_name(function)}" for function in other[:1]]

    def rebuild(self, arrays: Sequence[Value]) -> list[Any]:
        """The function, and the functions that it is given, with other arrays in the places of those that are read."""
        if not self.arrays:
            return list(self._roots)
        rebuilder = FunctionRebuilder(self.reads, self.contents, arrays, self._parts)
        return [rebuilder.of(root) for root in self._roots]


def _function_name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


class Environment:
    """What a function reads: looked for in each call, since the functions that it names may be others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._home = (getattr(function, "__module__", None) or "").partition(".")[0]
        self._known: dict[int, Part] = {}

    def read(self, functions: Sequence[Any] = ()) -> Captures:
        """What it reads now; `functions` are those that it is given."""
        roots = (self.function, *functions)
        parts: dict[int, Part] = {}
        waiting: list[Any] = list(roots)
        found: dict[Any, tuple[Capture, Contents]] = {}
        for function in waiting:  # it grows
            if id(function) in parts:
                continue
            part = parts[id(function)] = self._part(function)
            waiting += part.inside
            modules: set[int] = set()
            reads = list(part.reads)
            for read in reads:  # it grows
                one = contents(read.value(), self.follows)
                found.setdefault(read.location, (read, one))
                for _, leaf in one.leaves():
                    if isinstance(leaf, ModuleType):
                        if id(leaf) not in modules and self.is_user_module(leaf):
                            modules.add(id(leaf))
                            reads += module_captures(leaf, part.attributes)
                    elif self.follows(leaf):
                        waiting.append(leaf)
        stored = frozenset[Any]().union(*[part.stored for part in parts.values()])
        kept = [pair for location, pair in found.items() if location[:2] not in stored]
        return Captures(roots, [read for read, _ in kept], [one for _, one in kept], parts, self.is_user_module)

    def follows(self, value: Any) -> bool:
        """Whether what a function reads is looked at when it is named: functions of the user's, and made of them."""
        if isinstance(value, FunctionType):
            return self._is_own_package(value.__module__) or not is_library(value.__code__.co_filename)
        if isinstance(value, MethodType):
            return self.follows(value.__func__)
        if isinstance(value, functools.partial):
            return self.follows(cast(Any, value).func)
        return is_transformed(value) and not value.has_rules and self.follows(value.function)

    def is_user_module(self, module: ModuleType) -> bool:
        """Whether a module is the user's: neither of a library nor of Python's own."""
        if self._is_own_package(module.__name__):
            return True
        own = module.__name__.partition(".")[0] in sys.stdlib_module_names
        return (not own or module.__name__ == "__main__") and not is_library(getattr(module, "__file__", None) or "")

    def _is_own_package(self, name: str | None) -> bool:
        package = (name or "").partition(".")[0]
        return package == self._home and package != "adjoint"

    def _part(self, function: Any) -> Part:
        known = self._known.get(id(function))
        if known is None or known.form != form_of(function):
            if len(self._known) >= MOST_FUNCTIONS:
                self._known.clear()
            known = self._known[id(function)] = part_of(function)
        return known
