"""A compiled program as a specialization of a function's entry: calls that match it never see Python code.

Arguments become patterns to match, results a recipe to build. What the entry cannot express (random generators and
user containers among the arguments) is answered by Python code instead, which looks at every call anew.
"""

# pyright: basic

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.compile.callable import (
    Absent,
    ArrayLeaf,
    Build,
    CallOf,
    Captured,
    Cell,
    Constant,
    ContentLeaf,
    Current,
    Defined,
    DictNode,
    DictOf,
    Equal,
    Global,
    ListNode,
    ListOf,
    Node,
    NumberLeaf,
    ObjectNode,
    Output,
    OutputType,
    Same,
    Specialization,
    TupleNode,
    TupleOf,
)
from adjoint.compile.callable import Fixed as FixedObject
from adjoint.compile.kernel import Kernel
from adjoint.jit.captures import EMPTY, NAMED
from adjoint.jit.environment import Captures
from adjoint.jit.facts import Contents, is_input
from adjoint.jit.signature import Call, Fixed
from adjoint.jit.trace import GuardedProgram
from adjoint.jit.writes import Target, attribute_writer
from adjoint.program.trace import live_variable
from adjoint.transform.nonfinite import watch_variable
from adjoint.tree.containers import items
from adjoint.tree.kinds import Static
from adjoint.tree.records import is_record_type
from adjoint.tree.registry import kind_of
from adjoint.tree.structure import Structure

COMPARED = (str, bytes, bool, int, float, complex)


class NotMatched(Exception):
    """The entry has no pattern or recipe for this."""


def match_calls(guarded: GuardedProgram, kernel: Kernel | None, call: Call) -> Specialization | None:
    """The calls that a guarded program answers, as patterns; None when they must be answered by Python code."""
    if kernel is None or guarded.has_generators or guarded.captured or not guarded.is_c_ordered:
        return None
    try:
        slots = dict(zip(call.inputs, range(len(call.inputs)), strict=True))
        leaves = [_leaf(leaf, slots.get(number)) for number, leaf in enumerate(call.leaves)]
        arguments, keywords = _pattern(call.structure, leaves).items
        return Specialization(
            kernel=kernel.address,
            inputs=len(call.values),
            positional=arguments.items,
            keywords=keywords.items,
            captured=[*_capture_patterns(call.captures, len(call.inputs)), *_context_patterns(guarded.acts)],
            outputs=[OutputType(t.dtype, t.shape) for t in kernel.output_types],
            result=_recipe(guarded),
            constants=kernel.constants,
            workspace=kernel.workspace,
            context=kernel.context,
            heavy=kernel.heavy,
            calls_back=kernel.calls_back,
            retry=bool(guarded.guards),
            keep=(kernel, guarded),
        )
    except NotMatched:
        return None


def _leaf(leaf: Any, slot: int | None) -> Node:
    """The pattern of an argument; `slot` is its number among the inputs, None for what is part of the program."""
    if slot is None:
        return _object(leaf.value if type(leaf) is Fixed else leaf)
    if type(leaf) is np.ndarray and leaf.dtype.isnative:
        return ArrayLeaf(slot, leaf.dtype, leaf.shape)
    if type(leaf) in (float, int, complex) or (isinstance(leaf, np.generic) and leaf.dtype.type is type(leaf)):
        return NumberLeaf(slot, type(leaf))
    raise NotMatched


def _object(value: Any) -> Node:
    return Equal(value) if type(value) in COMPARED else Same(value)


def _capture_patterns(captures: Captures, slot: int) -> Iterator[Captured]:
    """Patterns for what the function reads beside its arguments; its arrays are the inputs from `slot` on."""
    slots = iter(range(slot, slot + len(captures.arrays)))
    named: dict[int, dict[str, Node]] = {id(function): {} for function in captures.functions}
    objects = {id(thing): (thing, every) for thing, _, every in captures.objects()}
    held: dict[int, tuple[dict[str, Node], dict[str, Node]]] = {me: ({}, {}) for me in objects}
    for read, value, fact in zip(captures.reads, captures.contents, captures.facts[:-1], strict=True):
        if fact is None:  # a module of a library
            continue
        if value.value is EMPTY and read.kind not in ("attribute", "slot"):
            raise NotMatched
        extra: list[Captured] = []
        node = _node(value, slots, extra)
        yield from extra
        if id(read.owner) in objects and read.kind in ("attribute", "slot"):
            held[id(read.owner)][read.kind == "slot"][read.key] = node
        elif read.kind == "cell":
            yield Cell(read.owner, node)
        elif read.kind in NAMED:
            yield Global(read.names, read.key, node)
        elif isinstance(read.key, str):  # a default by keyword, or a keyword of partial
            named[id(read.owner)][read.key] = node
        elif not isinstance(node, Same | Equal):  # a tuple holds it: it stays, its content may not
            yield FixedObject(value.value, node)
    for me, (thing, every) in objects.items():
        attributes, members = held[me]
        has_names = every or attributes
        yield FixedObject(thing, ObjectNode(type(thing), attributes if has_names else None, members, exact=every))
    for function in captures.functions:
        if isinstance(function, FunctionType):
            keywords = function.__kwdefaults__
            yield FixedObject(function, Defined(function.__code__, function.__defaults__, keywords))
        else:
            keywords = function.keywords if isinstance(function, functools.partial) else None
        if keywords is not None:
            yield FixedObject(keywords, DictNode(named[id(function)]))


def _node(value: Contents, slots: Iterator[int], extra: list[Captured]) -> Node:
    """The pattern of something that is read; items of what is known by its identity are `extra` patterns."""
    thing = value.value
    if value.children is None:
        if thing is EMPTY:
            return Absent()
        if value.is_input:
            return _leaf(thing, next(slots))
        if is_input(thing):
            return ContentLeaf(np.array(thing, order="C"))
        if isinstance(thing, np.ndarray):
            extra.append(FixedObject(memory := _memory(thing), ContentLeaf(memory.copy())))
            return Same(thing)
        if isinstance(thing, set | np.void):
            raise NotMatched
        return _object(thing)
    nodes = [_node(child, slots, extra) for child in value.children]
    if isinstance(thing, deque):
        raise NotMatched
    node: Node
    if isinstance(thing, dict):
        node = DictNode(dict(zip(value.keys or (), nodes, strict=True)), type(thing))
    else:
        node = ListNode(nodes, type(thing)) if isinstance(thing, list) else TupleNode(nodes, type(thing))
    if not value.has_own_class:
        return node
    extra.append(FixedObject(thing, node))
    return Same(thing)


def _memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array that is known by its identity, as an array on the same memory."""
    elsewhere = array.dtype.hasobject or array.dtype.char == "T" or isinstance(array, np.ma.MaskedArray)
    if elsewhere or not array.nbytes or not array.flags.c_contiguous:
        raise NotMatched
    return np.asarray(array).reshape(-1).view(np.uint8)


def _context_patterns(acts: bool) -> Iterator[Captured]:
    """Nothing watches every operation; for a program with effects, nothing runs that wants to know of them."""
    yield Current(watch_variable(), Same(None))
    if acts:
        yield Current(live_variable(), Same(None))


def _fold(structure: Structure, leaves: Sequence[Any], build: Callable[[Any, Any, list[Any]], Any]) -> Any:
    """Put a tree together from its leaves up: `build(class, data, children)` for each container."""
    stack: list[Any] = []
    rest = list(leaves)
    for node in reversed(structure.nodes):
        if node is None:
            stack.append(rest.pop())
            continue
        cls, arity, data = node
        children = stack[: -arity - 1 : -1]
        if arity:
            del stack[-arity:]
        stack.append(build(cls, data, children))
    return stack[0]


def _pattern(structure: Structure, leaves: Sequence[Node]) -> Any:
    def container(cls: Any, data: Any, children: list[Any]) -> Node:
        if cls is list:
            return ListNode(children)
        if cls is dict:
            return DictNode(dict(zip(data, children, strict=True)))
        if cls is type(None):
            return Same(None)
        if issubclass(cls, tuple):
            return TupleNode(children, cls)
        if cls is Static:
            return _object(data.value)
        if is_record_type(cls) and cls.__dictoffset__:
            return ObjectNode(cls, dict(zip(data, children, strict=True)))
        raise NotMatched

    return _fold(structure, leaves, container)


def _recipe(guarded: GuardedProgram) -> Build:
    numbers = iter(range(len(guarded.program.outputs)))
    leaves = [
        _constant(guarded.constants[i]) if i in guarded.constants else Output(next(numbers))
        for i in range(guarded.structure.num_leaves)
    ]

    def container(cls: Any, data: Any, children: list[Any]) -> Build:
        if cls is tuple:
            return TupleOf(children)
        if cls is list:
            return ListOf(children)
        if cls is dict:
            return DictOf(dict(items(data, children)))
        if cls is type(None):
            return Constant(None)
        if cls is Static:
            return Constant(data.value)
        fixed = [child.object for child in children if isinstance(child, Constant)]
        return CallOf(kind_of(cls).maker(data, fixed), children)

    built = _fold(guarded.structure, leaves, container)
    return _writing_back(built, guarded.writes) if guarded.writes else built


def _writing_back(built: Build, targets: list[Target]) -> Build:
    """The result, after the values that come with it are stored in attributes."""
    if any(target.container for target in targets):
        raise NotMatched  # a container is known by what it holds, and may be another one at each call
    return CallOf(attribute_writer(targets), [built])


def _constant(leaf: Any) -> Build:
    return CallOf(leaf.copy, ()) if isinstance(leaf, np.ndarray) else Constant(leaf)
