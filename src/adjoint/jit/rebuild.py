"""Functions and objects made again with other arrays in the places that are read."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from adjoint.jit.captures import Capture, Part, is_transformed, own_call
from adjoint.jit.facts import Contents
from adjoint.jit.objects import empty_copy, fill_copy, set_attribute
from adjoint.program.types import Value


class FunctionRebuilder:
    """Functions, modules and objects made again with other values in places that are read.

    What reaches none of them stays, and so does what is `fixed`.
    """

    def __init__(
        self,
        reads: Sequence[Capture],
        read: Sequence[Contents],
        arrays: Sequence[Value],
        parts: Mapping[int, Part],
        fixed: Set[int] = frozenset(),
    ) -> None:
        rest = iter(arrays)
        self._contents = {r.location: c for r, c in zip(reads, read, strict=True)}
        self._new = {location: [next(rest) for _ in c.arrays()] for location, c in self._contents.items()}
        self._parts = parts
        self._attributes: dict[int, list[Capture]] = {}  # that are read, by module or object
        for r in reads:
            if r.kind in ("attribute", "slot") and id(r.owner) not in fixed:
                self._attributes.setdefault(id(r.owner), []).append(r)
        self._made: dict[int, Any] = {}
        self._cells: dict[int, CellType] = {}
        self._globals: dict[int, dict[str, Any]] = {}
        self._reaching: set[int] = set()  # functions, modules and objects
        before = -1
        while before < len(self._reaching):
            before = len(self._reaching)
            self._reaching |= {me for me, part in parts.items() if me not in fixed and self._reaches(part)}
            self._reaching |= {me for me, listed in self._attributes.items() if any(map(self._is_new, listed))}
        self._modules = {
            id(part.function.__globals__)
            for part in parts.values()
            if id(part.function) in self._reaching
            for read in part.reads
            if read.kind == "global" and self._is_new(read)
        }

    def _reaches(self, part: Part) -> bool:
        return any(map(self._is_new, part.reads)) or any(id(f) in self._reaching for f in part.inside)

    def _is_new(self, read: Capture) -> bool:
        found = self._contents.get(read.location)
        return found is not None and (
            bool(self._new[read.location]) or any(id(leaf.value) in self._reaching for _, leaf in found.leaves())
        )

    def _value(self, read: Capture) -> Any:
        value = self._contents[read.location]
        if value.children is None:
            return self._new[read.location][0] if self._new[read.location] else self.of(value.value)
        return value.rebuild(iter(self._new[read.location]), self.of, self._made)

    def shown(self, value: Any) -> Any:
        """What the function is given for an object or container: a copy if there is one."""
        return self._made.get(id(value), value)

    def of_root(self, root: Any) -> Any:
        """What is called, or given, with the new values."""
        call = own_call(root)
        if id(call) in self._reaching and isinstance(call, FunctionType) and not is_transformed(root):
            return MethodType(self.of(call), self.of(root))
        return self.of(root)

    def of(self, function: Any) -> Any:
        """A function, module or object with the new values."""
        me = id(function)
        if me not in self._reaching:
            return function
        if me not in self._made:
            self._made[me] = self._again(function)
        return self._made[me]

    def _again(self, function: Any) -> Any:
        if isinstance(function, ModuleType):
            return self._again_module(function)
        if isinstance(function, MethodType):
            return MethodType(self.of(function.__func__), self.of(function.__self__))
        if isinstance(function, functools.partial):
            given = {read.key: self._value(read) for read in self._parts[id(cast(Any, function))].reads}
            args = [given[i] for i in range(len(function.args))]
            return functools.partial(self.of_root(function.func), *args, **{k: given[k] for k in function.keywords})
        if isinstance(function, FunctionType):
            return self._again_function(function)
        if is_transformed(function):
            return function.with_function(self.of_root(function.function))
        return self._again_object(function)

    def _again_object(self, thing: Any) -> Any:
        made = self._made[id(thing)] = empty_copy(thing)  # it may hold itself
        fill_copy(made, thing)
        for read in self._attributes.get(id(thing), ()):
            if self._is_new(read):
                set_attribute(made, read.key, self._value(read))
        return made

    def _again_module(self, module: ModuleType) -> ModuleType:
        made = self._made[id(module)] = ModuleType(module.__name__)  # it may name itself
        vars(made).update(vars(module))
        for read in self._attributes[id(module)]:
            vars(made)[read.key] = self._value(read)
        return made

    def _again_function(self, function: FunctionType) -> FunctionType:
        # what is not replaced stays shared with the original: a nonlocal or global that it writes is written
        reads = [read for read in self._parts[id(function)].reads if self._is_new(read)]
        cells = {read.key: read for read in reads if read.kind == "cell"}
        names = function.__globals__
        if id(names) in self._modules:
            names = self._globals.setdefault(id(names), dict(names))
        kept = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        closure = tuple(self._cells.setdefault(id(c), CellType()) if name in cells else c for name, c in kept)
        made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
        self._made[id(function)] = made  # it may name itself
        for read in reads:
            if read.kind == "cell":
                self._cells[id(read.owner)].cell_contents = self._value(read)
            elif read.kind == "global":
                names[read.key] = self._value(read)
        given = {(read.kind, read.key): self._value(read) for read in reads if read.kind in ("default", "keyword")}
        if function.__defaults__ is not None:
            made.__defaults__ = tuple(given.get(("default", i), d) for i, d in enumerate(function.__defaults__))
        if function.__kwdefaults__ is not None:
            made.__kwdefaults__ = {k: given.get(("keyword", k), v) for k, v in function.__kwdefaults__.items()}
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        made.__dict__.update(function.__dict__)
        for read in self._attributes.get(id(function), ()):
            if self._is_new(read):
                made.__dict__[read.key] = self._value(read)
        return made
