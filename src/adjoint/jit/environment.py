"""What a function reads that is not among its arguments: closure cells, defaults, globals, and attributes of modules
and objects under names that stand in its code.

Numbers, flags, texts and functions are *facts*: compared from call to call. Arrays are inputs: the function is made
again with others in their places. What the functions read that it names so, or is given, counts as read by itself,
unless they belong to a library; so does what modules of the user's and objects hold under names in its code, and
tuples, lists and dicts.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

from adjoint.base.source import is_library
from adjoint.jit.captures import EMPTY, Capture, Part, form_of, functions_inside, is_transformed, part_of
from adjoint.jit.facts import Contents, Same, is_input
from adjoint.jit.objects import is_layer, is_namespace
from adjoint.jit.rebuild import FunctionRebuilder
from adjoint.jit.walk import Walk
from adjoint.jit.writes import Outside
from adjoint.program.freezing import LIBRARIES
from adjoint.program.types import Value

__all__ = ["EMPTY", "Captures", "Environment"]

MOST_FUNCTIONS = 1024  # whose reads are remembered
LARGE_CONSTANT = 2**20  # bytes, whose comparison takes about 0.1 ms


class Captures:
    """What a function, and the functions that it is given and names, read at the time of one call."""

    def __init__(
        self, roots: tuple[Any, ...], walk: Walk, user_modules: Callable[[ModuleType], bool], state: set[str]
    ) -> None:
        self._state = state
        self._roots, self._walk, self._parts = roots, walk, walk.parts
        self.outside = Outside(state)  # what the function may write to; known when it is made again
        stored = frozenset[Any]().union(*[part.stored for part in walk.parts.values()])
        kept = [pair for location, pair in walk.found.items() if location[:2] not in stored]
        self.reads = [read for read, _ in kept]  # in the order in which they are found: behind what reads them
        self.contents = [one for _, one in kept]  # what they are now
        self.arrays: list[Value] = [array for one in self.contents for _, array in one.arrays()]
        facts = [
            None if isinstance(one.value, ModuleType) and not user_modules(one.value) else _fact(read, one)
            for read, one in kept
        ]
        # they say which of the reads are arrays; the forms come last
        classes = tuple(Same(cast(Any, type(thing))) for thing, _ in walk.objects.values())
        self.facts: tuple[Hashable, ...] = (*facts, (tuple(part.form for part in walk.parts.values()), classes))

    @property
    def functions(self) -> list[Any]:
        """All functions that are looked into."""
        return [part.function for part in self._parts.values()]

    def objects(self) -> Iterator[tuple[Any, list[tuple[Capture, Contents]], bool]]:
        """All objects that are looked into, what is read of each, and whether that is all that it has."""
        found: dict[int, list[tuple[Capture, Contents]]] = {id(thing): [] for thing, _ in self._walk.objects.values()}
        for read, one in zip(self.reads, self.contents, strict=True):
            if id(read.owner) in found and read.kind in ("attribute", "slot"):
                found[id(read.owner)].append((read, one))
        for thing, _ in self._walk.objects.values():
            if not isinstance(thing, type | ModuleType | FunctionType):
                yield thing, found[id(thing)], self._walk.holds_every_name(thing)

    @property
    def problems(self) -> list[tuple[str, str]]:
        """What is read and not looked into, by name, and why."""
        return self._walk.problems

    def large_constants(self) -> list[tuple[str, int]]:
        """Arrays whose elements are compared in each call, at a cost: by name, with their bytes."""
        pairs = [p for p in zip(self.reads, self.contents, strict=True) if not self._walk.is_of_library(p[0].owner)]
        found = [(read.name + path, leaf) for read, one in pairs for path, leaf in one.leaves() if leaf.is_constant]
        arrays = [(name, leaf.value.nbytes) for name, leaf in found if is_input(leaf.value)]
        return [(name, count) for name, count in arrays if count > LARGE_CONSTANT]

    def names(self) -> list[str]:
        """What the arrays are called."""
        found = zip(self.reads, self.contents, strict=True)
        return [f"{read.name}{path}" for read, one in found for path, _ in one.arrays()]

    def numbers(self) -> list[tuple[str, str]]:
        """The numbers and texts that are part of the program, by name."""
        kinds = ("cell", "global", "attribute", "slot")
        pairs = zip(self.reads, self.contents, strict=True)
        found = [(r.name, c.value) for r, c in pairs if r.kind in kinds and not c.is_input]
        return [(name, repr(v)[:80]) for name, v in found if isinstance(v, bool | int | float | complex | str)]

    def changed(self, facts: tuple[Hashable, ...]) -> list[str]:
        """What differs from the facts of another call, by name; behind another function nothing is comparable."""
        names: list[str] = []
        for read, one, now, then in zip(self.reads, self.contents, self.facts[:-1], facts[:-1], strict=False):
            if now != then:
                names.append(read.name)
                if id(one.value) in self._parts or id(one.value) in self._walk.objects:
                    return names
        forms = zip(self._parts.values(), cast(Any, facts[-1])[0], strict=False)
        other = [part.function for part, form in forms if part.form != form]
        return names or [f"the definition of {_function_name(function)}" for function in other[:1]]

    def rebuild(self, arrays: Sequence[Value]) -> list[Any]:
        """The function, and the functions that it is given, with other arrays in the places of those that are read."""
        shown: Callable[[Any], Any] = lambda value: value
        roots = list(self._roots)
        if self.arrays:
            rebuilder = FunctionRebuilder(self.reads, self.contents, arrays, self._parts, self._walk.fixed)
            roots, shown = [rebuilder.of_root(root) for root in self._roots], rebuilder.shown
        self.outside = self._remember(shown)
        return roots

    def container(self, where: tuple[Any, ...]) -> Any:
        """The container that a write goes to: number of the read, and the keys that lead to it."""
        number, *keys = where
        return functools.reduce(lambda value, key: value[key], keys, self.contents[number].value)

    def _remember(self, shown: Callable[[Any], Any]) -> Outside:
        """What all that the function is shown holds now."""
        outside = Outside(self._state)
        for thing, called in self._walk.objects.values():
            if not isinstance(thing, type | ModuleType | FunctionType):
                # what code of a library keeps for itself is its own affair: a cache, filled when it is first asked for
                names = self._walk.names if self._walk.is_of_library(thing) else None
                outside.add_object(thing, shown(thing), called, names)
        for number, (read, one) in enumerate(zip(self.reads, self.contents, strict=True)):
            for path, keys, container in one.containers():
                outside.add_container(container.value, shown(container.value), read.name + path, (number, *keys))
        for name, log in self._walk.logs:
            outside.add_log(log, name)
        return outside


def _fact(read: Capture, one: Contents) -> Hashable:
    return (read.key, one.fact()) if read.kind in ("attribute", "slot") else one.fact()


def _function_name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


class Environment:
    """What a function reads: looked for in each call, since the functions that it names may be others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._home = (getattr(function, "__module__", None) or "").partition(".")[0]
        self._known: dict[int, Part] = {}
        self.state: set[str] = set()  # numbers in containers that it writes, by name
        self._classes: dict[str, bool] = {}  # whether those of a module are the user's

    def read(self, functions: Sequence[Any] = (), constants: Sequence[Any] = ()) -> Captures:
        """What it reads now; `functions` are those that it is given, and objects; `constants` are given as they are."""
        roots = (self.function, *functions)
        return Captures(roots, Walk(self, roots, constants), self.is_user_module, self.state)

    def follows(self, value: Any) -> bool:
        """Whether what a function reads is looked at when it is named: functions of the user's, and made of them."""
        if isinstance(value, FunctionType):
            return self._is_own_package(value.__module__) or not is_library(value.__code__.co_filename)
        if isinstance(value, MethodType):
            return self.follows(value.__func__)
        if isinstance(value, functools.partial):
            return self.follows(cast(Any, value).func)
        if (inside := functions_inside(value)) is not None:
            return any(map(self.follows, inside))
        return is_transformed(value) and not value.has_rules and self.follows(value.function)

    def is_user_class(self, cls: type) -> bool:
        """Whether a class is the user's, a layer, or a plain namespace of Python's."""
        name = cls.__module__
        known = self._classes.get(name)
        if known is None:
            module = sys.modules.get(name)
            known = self._classes[name] = self._is_own_package(name) or (
                self.is_user_module(module) if module is not None else name not in sys.stdlib_module_names
            )
        return known or is_namespace(cls) or is_layer(cls)

    def is_user_module(self, module: ModuleType) -> bool:
        """Whether a module is the user's: neither of a library nor of Python's own."""
        if self._is_own_package(module.__name__):
            return True
        own = module.__name__.partition(".")[0] in sys.stdlib_module_names
        return (not own or module.__name__ == "__main__") and not is_library(getattr(module, "__file__", None) or "")

    def _is_own_package(self, name: str | None) -> bool:
        package = (name or "").partition(".")[0]
        return package == self._home and package not in LIBRARIES

    def part(self, function: Any) -> Part:
        """What a function reads by itself."""
        known = self._known.get(id(function))
        if known is None or known.form != form_of(function):
            if len(self._known) >= MOST_FUNCTIONS:
                self._known.clear()
            known = self._known[id(function)] = part_of(function)
        return known
