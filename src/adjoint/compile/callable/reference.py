"""The same call in Python: what the machine code must do, and what runs where it cannot be used."""

# pyright: basic

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.compile.callable.layout import address, is_native, numbers_inside
from adjoint.compile.callable.specialization import (
    Absent,
    ArrayLeaf,
    Build,
    Cell,
    Constant,
    ContentLeaf,
    Current,
    Defined,
    DictNode,
    DictOf,
    Global,
    ListNode,
    ListOf,
    Node,
    NumberLeaf,
    ObjectNode,
    Output,
    OutputType,
    Passed,
    Same,
    Specialization,
    TupleNode,
    TupleOf,
)

NOTHING = object()  # what is found where there is no object


class Other(Exception):
    """The call is not one that the specialization takes."""


class Matched:
    """What was found in a call: arrays by slot, objects by node."""

    def __init__(self) -> None:
        self.data: dict[int, np.ndarray[Any, Any]] = {}
        self.objects: dict[int, Any] = {}

    def visit(self, node: Node, thing: Any) -> None:
        """Match an object with a node; raise Other when it does not fit."""
        self.objects[id(node)] = thing
        if isinstance(node, ArrayLeaf):
            flags = thing.flags if type(thing) is np.ndarray else None
            _need(flags is not None and flags.c_contiguous and flags.aligned)
            _need(thing.dtype.num == node.dtype.num and thing.dtype.isnative and thing.shape == tuple(node.shape))
            self._pass_on(node.slot, thing)
        elif isinstance(node, ContentLeaf):
            self.visit(ArrayLeaf(None, node.content.dtype, node.content.shape), thing)
            _need(thing.tobytes() == node.content.tobytes())
        elif isinstance(node, NumberLeaf):
            _need(type(thing) is node.type)
            _need(node.type is not int or -(2**63) <= thing < 2**63)
            self._pass_on(node.slot, np.array(thing))
        elif isinstance(node, DictNode):
            _need(type(thing) is node.type and (not node.exact or len(thing) == len(node.items)))
            for key, item in node.items.items():
                self.visit(item, dict.get(thing, key, NOTHING))
        elif isinstance(node, TupleNode | ListNode):
            _need(type(thing) is node.type)
            _need(len(thing) == len(node.items))
            for item, part in zip(node.items, thing, strict=True):
                self.visit(item, part)
        elif isinstance(node, ObjectNode):
            _need(type(thing) is node.type)
            if node.attributes is not None:
                self.visit(DictNode(node.attributes, exact=node.exact), vars(thing))
            for name, item in node.slots.items():
                self.visit(item, getattr(thing, name, NOTHING))
        elif isinstance(node, Absent):
            _need(thing is NOTHING)
        elif isinstance(node, Same):
            _need(thing is node.object)
        elif isinstance(node, Defined):
            _need(thing is not NOTHING and thing.__code__ is node.code and thing.__defaults__ is node.defaults)
            _need(thing.__kwdefaults__ is node.keywords)
        else:
            _need(thing is node.object or (type(thing) is type(node.object) and _equal(thing, node.object)))

    def _pass_on(self, slot: int | None, array: np.ndarray[Any, Any]) -> None:
        if slot is not None:
            self.data[slot] = array


def _need(truth: Any) -> None:
    if not truth:
        raise Other


def _equal(a: Any, b: Any) -> bool:
    return np.array(a).tobytes() == np.array(b).tobytes() if isinstance(a, float | complex) else a == b


def check(s: Specialization) -> None:
    """Refuse what machine code cannot do, in the same words wherever the call runs."""
    for node in _nodes([*s.positional, *s.keywords.values(), *[c.node for c in s.captured]]):
        if isinstance(node, ArrayLeaf):
            _refuse_dtype(node.dtype)
        if isinstance(node, ContentLeaf):
            _refuse_dtype(node.content.dtype)
        if isinstance(node, NumberLeaf) and node.type not in (int, bool) and not numbers_inside(node.type):
            raise TypeError(f"entry: numbers of class {node.type.__name__} cannot be passed to machine code.")
    for output in s.outputs:
        _refuse_dtype(output.dtype)


def _refuse_dtype(dtype: np.dtype[Any]) -> None:
    if not is_native(dtype):
        raise TypeError(f"entry: arrays of dtype {dtype} cannot be passed to machine code.")


def _nodes(listed: Sequence[Node]) -> list[Node]:
    nodes: list[Node] = []
    for node in listed:
        inner: list[Node] = []
        if isinstance(node, DictNode):
            inner = list(node.items.values())
        elif isinstance(node, ObjectNode):
            inner = [*(node.attributes or {}).values(), *node.slots.values()]
        elif isinstance(node, TupleNode | ListNode):
            inner = list(node.items)
        nodes += [node, *_nodes(inner)]
    return nodes


def match_call(s: Specialization, args: Sequence[Any], kwargs: dict[str, Any]) -> Matched:
    """The inputs of a kernel, or Other."""
    _need(len(args) == len(s.positional) and kwargs.keys() == s.keywords.keys())
    match = Matched()
    for node, thing in zip(s.positional, args, strict=True):
        match.visit(node, thing)
    for name, node in s.keywords.items():
        match.visit(node, kwargs[name])
    for captured in s.captured:
        if isinstance(captured, Cell):
            try:
                thing = captured.cell.cell_contents
            except ValueError:  # an empty cell
                raise Other from None
        elif isinstance(captured, Global):
            thing = captured.names.get(captured.name, NOTHING)
        elif isinstance(captured, Current):
            try:
                thing = captured.variable.get()
            except LookupError:
                raise Other from None
        else:
            thing = captured.object
        match.visit(captured.node, thing)
    return match


def run(s: Specialization, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[int, Any]:
    """(0, result), or (status, None); raises Other when the call is not for this specialization."""
    match = match_call(s, args, kwargs)
    outputs = [np.empty(o.shape, o.dtype) for o in s.outputs]
    inputs = [address(match.data[i]) if i in match.data else 0 for i in range(s.inputs)]
    pointers = [*inputs, *map(address, outputs), *[c if isinstance(c, int) else address(c) for c in s.constants]]
    workspace = np.empty((s.workspace or 0) + 64, np.uint8)
    if s.workspace is not None:
        pointers.append(-(-address(workspace) // 64) * 64)
    if s.context is not None:
        pointers.append(s.context)
    table = (ctypes.c_void_p * len(pointers))(*pointers)
    prototype = ctypes.CFUNCTYPE if s.heavy else ctypes.PYFUNCTYPE  # the first lets other threads run
    status = prototype(ctypes.c_int64, ctypes.c_void_p)(s.kernel)(ctypes.addressof(table))
    return (status, None) if status else (0, build_result(s.result, s.outputs, outputs, match))


def build_result(result: Build, types: Sequence[OutputType], outputs: list[Any], match: Matched) -> Any:
    """The result of a call."""
    finished = [x[()] if kind.is_scalar else x for kind, x in zip(types, outputs, strict=True)]

    def visit(part: Build) -> Any:
        if isinstance(part, Output):
            return finished[part.index]
        if isinstance(part, Passed):
            return match.objects[id(part.node)]
        if isinstance(part, Constant):
            return part.object
        if isinstance(part, DictOf):
            return {key: visit(item) for key, item in part.items.items()}
        items = [visit(item) for item in part.items]
        if isinstance(part, ListOf):
            return items
        return tuple(items) if isinstance(part, TupleOf) else part.make(*items)

    return visit(result)
