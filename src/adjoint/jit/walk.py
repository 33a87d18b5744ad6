"""The walk from a function to all that it reads: through functions that it names, modules, objects and their classes.

Which attributes of an object are read is not known before the function runs, but under which names: those that stand
in the code of the functions that are met, the methods of the object's class among them. So the walk ends when it meets
no new names and no new objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Protocol, cast

from adjoint.jit.captures import Capture, Part
from adjoint.jit.facts import Contents, contents, is_number
from adjoint.jit.mentions import ANY_NAME_FUNCTIONS
from adjoint.jit.objects import (
    can_copy,
    class_captures,
    class_names,
    functions_held,
    held_by_library,
    instance_captures,
    instance_names,
    is_holder,
    is_layer,
    is_method_like,
    is_object,
    is_used_up,
    property_names,
    slots_of,
)

MOST_OBJECTS = 1024  # that are looked into


class Ownership(Protocol):
    """What belongs to the user, and what is known of the function."""

    state: set[str]  # numbers in containers that it writes, by name

    def follows(self, value: Any) -> bool: ...
    def is_user_module(self, module: ModuleType) -> bool: ...
    def is_user_class(self, cls: type) -> bool: ...
    def part(self, function: Any) -> Part: ...


class Walk:
    """All that is met."""

    def __init__(self, ownership: Ownership, roots: Iterable[Any], constants: Iterable[Any]) -> None:
        self._ownership = ownership
        self.parts: dict[int, Part] = {}  # functions
        self.objects: dict[int, tuple[Any, str]] = {}  # objects and classes, with what they are called
        self.found: dict[Any, tuple[Capture, Contents]] = {}  # by location
        self.is_any = False  # attributes may be read whose names are not known
        self.problems: list[tuple[str, str]] = []  # what is not looked into, by name, and why
        self._names: set[str] = set()
        self._read: set[str] = set()  # names of what is more than a log
        self._written: set[str] = set()  # attributes
        self._logs: dict[Any, Capture] = {}  # by location
        self._classes: dict[int, type] = {}  # of objects
        self._reads: dict[int, dict[Any, Capture]] = {}  # of functions, objects, classes: by location
        self.fixed: set[int] = set()  # functions and objects that are what they are
        self._made: set[int] = set()  # classes that may be called
        self._expanded: dict[int, Any] = {}  # what was known when an object was looked at
        self._holders: dict[int, bool] = {}  # by class
        self._of_classes: dict[Any, list[Capture]] = {}
        self._held: dict[int, Any] = {}  # functions that objects of this library hold
        self._roots = tuple(roots)
        self._waiting: list[Any] = []
        for root in self._roots:
            self._reach_root(root)
        constants = list(constants)
        for root in constants:
            if isinstance(root, type):
                self.objects[id(root)] = root, root.__qualname__
            else:
                self._reach_root(root)
        self._run()
        if self.objects or self._held or constants:
            for read, one in self.found.values():  # names that are written may have been met later
                if read.kind in ("attribute", "slot"):
                    one.is_state = self._is_state(read.owner, read.key, one.value)
            self._fix(constants)
        if ownership.state:
            for read, one in self.found.values():
                one.mark_state(read.name, ownership.state)

    def _reach_root(self, root: Any) -> None:
        self._waiting.append(root)
        if is_object(root):
            self._reach(root, "self")

    def _run(self) -> None:
        known: Any = ()
        while self._waiting or self._known() != known:
            waiting, self._waiting = self._waiting, []
            for function in waiting:
                self._function(function)
            if not self._waiting:
                known = self._known()
                for read in [read for read in self._logs.values() if not self._is_log(read)]:
                    self._take_apart(read)
                names = len(self._names), self.is_any
                for me, (thing, called) in list(self.objects.items()):
                    if self._expanded.get(me) != names:
                        self._expanded[me] = names
                        self._object(thing, called)

    def _known(self) -> tuple[int, ...]:
        return len(self._names), len(self._read), len(self.objects), self.is_any

    def _function(self, function: Any) -> None:
        if id(function) in self.parts:
            return
        part = self.parts[id(function)] = self._ownership.part(function)
        self._names |= part.names
        self._read |= part.read
        self._written |= part.written
        self.is_any = self.is_any or part.is_any
        for inner in part.inside:
            self._reach_root(inner)
        modules: set[int] = set()
        reads = list(part.reads)
        for read in reads:  # it grows
            for _, leaf in self._visit(function, read).leaves():
                module = leaf.value
                if isinstance(module, ModuleType) and id(module) not in modules:
                    modules.add(id(module))
                    reads += self._module_captures(module, part.module_names)

    def _module_captures(self, module: ModuleType, wanted: Any) -> list[Capture]:
        if not self._ownership.is_user_module(module):
            return []
        names = vars(module)
        called = module.__name__
        return [Capture(module, "attribute", n, f"{called}.{n}", names) for n in list(names) if n in wanted]

    def _visit(self, reader: Any, read: Capture) -> Contents:
        """What stands in a location; what it holds is met."""
        self._reads.setdefault(id(reader), {})[read.location] = read
        known = self.found.get(read.location)
        if known is not None:
            return known[1]
        return self._take_apart(read)

    def _take_apart(self, read: Capture) -> Contents:
        is_log = self._is_log(read)
        one = contents(read.value(), is_log=is_log)
        self.found[read.location] = read, one
        if is_log:
            self._logs[read.location] = read
        else:
            self._logs.pop(read.location, None)
        for path, _, container in one.containers():
            if is_object(container.value):
                self._reach(container.value, read.name + path)
        for path, leaf in one.leaves():
            if leaf.problem:
                self.problems.append((read.name + path, leaf.problem))
            self._reach(leaf.value, read.name + path)
        return one

    def _is_log(self, read: Capture) -> bool:
        if read.kind in ("attribute", "slot"):
            is_only_written = read.key in self._names and read.key not in self._read
            return is_only_written and not self.is_any and not is_layer(cast(Any, type(read.owner)))
        return read.kind in ("cell", "global") and read.key not in self._read

    def _is_state(self, owner: Any, name: str, value: Any) -> bool:
        """Whether an attribute is a number that the function writes: it is an input then, and written back."""
        if name not in self._written or isinstance(owner, type | ModuleType | FunctionType):
            return False
        return is_number(value)

    def _reach(self, value: Any, called: str) -> None:
        for held in functions_held(value):  # by an object of this library: they are what they are
            if id(held) not in self._held and (
                self._ownership.follows(held) or (is_object(held) and self._is_own(held))
            ):
                self._held[id(held)] = held
                self._reach_root(held)
        if isinstance(value, type):
            if id(value) not in self.objects and self._ownership.is_user_class(value):
                self.objects[id(value)] = value, value.__qualname__
            self._made.add(id(value))
        elif self._ownership.follows(value):
            self._waiting.append(value)
            if isinstance(value, FunctionType) and value.__dict__:
                self.objects.setdefault(id(value), (value, called))
        elif isinstance(value, BuiltinFunctionType):
            self.is_any = self.is_any or value in ANY_NAME_FUNCTIONS
        elif is_object(value) and is_used_up(value) and not self._is_own(value):
            self.problems.append((called, "what is taken from an iterator while tracing is not there again"))
        elif is_object(value) and id(value) not in self.objects and self._has_attributes(value):
            if len(self.objects) < MOST_OBJECTS:
                self.objects[id(value)] = value, called
            else:
                self.problems.append((called, f"more than {MOST_OBJECTS} objects are in reach"))

    def _has_attributes(self, value: Any) -> bool:
        cls = cast(Any, type(value))
        return bool(instance_names(value) or slots_of(cls)) or self._ownership.is_user_class(cls)

    def _object(self, thing: Any, called: str) -> None:
        """What is read of an object or class, under the names that are known by now."""
        if isinstance(thing, ModuleType):
            new = self._module_captures(thing, self._names)
        elif isinstance(thing, FunctionType):
            names = instance_names(thing) or {}
            new = [Capture(thing, "attribute", n, f"{called}.{n}", names) for n in names if n in self._names]
        elif isinstance(thing, type):
            new = list(class_captures(self._bases(thing), self._wants_of_class, making=id(thing) in self._made))
        else:
            new = self._instance(thing, called)
        known = self._reads.setdefault(id(thing), {})
        for read in new:
            if read.location not in known:
                for _, leaf in self._visit(thing, read).leaves():
                    if isinstance(leaf.value, ModuleType) and self._ownership.is_user_module(leaf.value):
                        self.objects.setdefault(id(leaf.value), (leaf.value, leaf.value.__name__))

    def _wants_of_class(self, name: str) -> bool:
        return name in self._names or (self.is_any and not name.startswith("__"))

    def _instance(self, thing: Any, called: str) -> list[Capture]:
        cls = cast(Any, type(thing))
        every = self.holds_every_name(thing)
        wanted = (lambda name: True) if every else self._names.__contains__
        if not every and not self._ownership.is_user_class(cls):  # its code, which is not looked into, reads them
            known = self._names | held_by_library(thing)
            wanted = known.__contains__
        names, bases = instance_names(thing) or {}, self._bases(cls)
        without = {n for n in names if not any(is_method_like(class_names(base).get(n)) for base in bases)}
        if any(thing is root for root in self._roots):  # it is called as the function that is compiled
            without.add("__call__")
        of_class = [read for read in self._class_captures(cls, bases) if read.key not in without]
        for read in of_class:
            self._visit(cls, read)
        if not bases:
            self._names |= property_names(cls, self._names)
        self._classes[id(cls)] = cls
        in_class = {read.key: read.names[read.key] for read in reversed(of_class) if read.key in read.names}
        return list(instance_captures(thing, called, wanted, in_class, every))

    def _class_captures(self, cls: type, bases: list[type]) -> list[Capture]:
        """What is read of the class of an object: the same for all of its objects."""
        key = id(cls), len(self._names), self.is_any
        if key not in self._of_classes:
            making = "__class__" in self._names
            self._of_classes[key] = list(class_captures(bases, self._wants_of_class, making=making))
        return self._of_classes[key]

    def _bases(self, cls: Any) -> list[type]:
        return [base for base in cls.__mro__ if self._ownership.is_user_class(base)]

    def _is_own(self, thing: Any) -> bool:
        return self._ownership.is_user_class(cast(Any, type(thing)))

    def holds_every_name(self, thing: Any) -> bool:
        """Whether all attributes of an object are looked at, also those that it does not have yet."""
        cls = cast(Any, type(thing))
        if id(cls) not in self._holders:
            self._holders[id(cls)] = is_holder(cls, self._ownership.is_user_class)
        return self._holders[id(cls)] or (self.is_any and self._is_own(thing))

    def _fix(self, constants: Iterable[Any]) -> None:
        """Arrays that code reads which cannot be made again, that of methods of a class, say, are constants."""
        waiting: list[int] = [*[id(thing) for thing in constants], *self._classes, *self._held]
        for thing, _ in self.objects.values():
            if isinstance(thing, type) or not (isinstance(thing, FunctionType) or self.can_copy(thing)):
                waiting.append(id(thing))
        for _, one in self.found.values():  # a dict finds its keys by their identity
            for _, _, container in one.containers():
                waiting += [id(key) for key in container.keys or () if id(key) in self.objects]
                if container.has_own_class:
                    waiting += [id(leaf.value) for _, leaf in container.leaves()]
        while waiting:
            me = waiting.pop()
            if me in self.fixed:
                continue
            self.fixed.add(me)
            if me in self.parts:
                waiting += map(id, self.parts[me].inside)
            for location in self._reads.get(me, ()):
                one = self.found[location][1]
                one.fix()
                waiting += [id(leaf.value) for _, leaf in one.leaves()]

    @property
    def logs(self) -> list[tuple[str, Any]]:
        """Containers that are only written to, by name."""
        found = [(read.name, self.found[read.location][1]) for read in self._logs.values()]
        return [(name, one.value) for name, one in found if isinstance(one.value, list | dict | set | deque)]

    @property
    def names(self) -> Collection[str]:
        """The attributes that code of the user's names."""
        return self._names

    def is_of_library(self, thing: Any) -> bool:
        """Whether the class of something belongs to a library."""
        return is_object(thing) and not self._is_own(thing)

    def can_copy(self, thing: Any) -> bool:
        """Whether an object may be presented as a copy of itself."""
        return self._is_own(thing) and can_copy(thing)
