"""A specialization as the tables that machine code reads."""

# pyright: basic

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from adjoint.compile.callable.layout import (
    BUILD,
    OUTPUT,
    SPECIALIZATION,
    STEP,
    WORD,
    Action,
    Check,
    Fetch,
    address,
    definition,
    facts,
    numbers_inside,
    pack_row,
    words,
)
from adjoint.compile.callable.specialization import (
    Absent,
    ArrayLeaf,
    Build,
    CallOf,
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
    Passed,
    Same,
    Specialization,
    TupleNode,
    TupleOf,
)

SCRATCH = 16  # bytes of the largest number
_PLAIN = {bool, float, complex, int, str, bytes}


class Packed:
    """The tables of one specialization, and all that they point to."""

    def __init__(self, specialization: Specialization, number: int) -> None:
        self.specialization, self.number = specialization, number
        self._kept: list[Any] = []
        self._steps: list[dict[str, int]] = []
        self._nodes: list[Node] = []  # of each step
        self._numbers = count()  # of pieces of scratch
        self._pack(specialization)

    @property
    def address(self) -> int:
        return address(self._words)

    @property
    def hits(self) -> int:
        """How many calls this specialization has answered."""
        return int(self._words[SPECIALIZATION.index("hits")])

    def count(self) -> None:
        """One more call was answered."""
        self._words[SPECIALIZATION.index("hits")] += 1

    def _pointer(self, thing: object) -> int:
        """An object's address; the object lives as long as this."""
        self._kept.append(thing)
        return id(thing)

    def _table(self, rows: Sequence[Any]) -> int:
        memory = words(rows)
        self._kept.append(memory)
        return address(memory)

    def _pack(self, s: Specialization) -> None:
        fixed = [c if isinstance(c, int) else address(c) for c in s.constants]
        self._kept.append(s.constants)
        output_slot = s.inputs
        fixed_slot = output_slot + len(s.outputs)
        workspace_slot = -1
        if s.workspace is not None:
            workspace_slot = fixed_slot + len(fixed)
            fixed.append(0)
        if s.context is not None:
            fixed.append(s.context)
        self._unread = fixed_slot + len(fixed)  # a slot that the kernel does not have

        for i, node in enumerate(s.positional):
            self._match(node, fetch=Fetch.ARGUMENT, index=i)
        for i, (name, node) in enumerate(s.keywords.items()):
            self._match(node, fetch=Fetch.KEYWORD, key=self._pointer(name), index=i)
        for captured in s.captured:
            if isinstance(captured, Cell):
                content = self._pointer(captured.cell) + facts().head
                self._match(captured.node, fetch=Fetch.CELL, key=content, hold=1)
            elif isinstance(captured, Global):
                names, name = self._pointer(captured.names), self._pointer(captured.name)
                self._match(captured.node, fetch=Fetch.GLOBAL, source=names, key=name, hold=1)
            elif isinstance(captured, Current):
                variable = self._pointer(captured.variable)
                self._match(captured.node, fetch=Fetch.CURRENT, key=variable, hold=1)
            else:
                self._match(captured.node, fetch=Fetch.OBJECT, key=self._pointer(captured.object), hold=1)

        outputs = [
            {
                "dtype": self._pointer(o.dtype),
                "ndim": len(o.shape),
                "shape": self._table(o.shape),
                "scratch": next(self._numbers) if o.is_scalar else -1,
            }
            for o in s.outputs
        ]
        builds = self._result(s)

        objects_at = (self._unread + 1) * WORD
        results_at = objects_at + len(self._steps) * WORD
        stack_at = results_at + len(outputs) * WORD
        scratch_at = -(-(stack_at + len(builds) * WORD) // SCRATCH) * SCRATCH
        for row in [*self._steps, *outputs]:
            if row.get("scratch", -1) >= 0:
                row["scratch"] = scratch_at + SCRATCH * row["scratch"]

        memory = np.empty((s.workspace or 0) + 64, dtype=np.uint8)  # pages are taken when they are written to
        self._kept.append(memory)
        holds = (s.heavy or s.calls_back) and any(step.get("hold", 0) for step in self._steps)
        self._words = words(
            pack_row(
                SPECIALIZATION,
                positional=len(s.positional),
                keywords=len(s.keywords),
                steps=len(self._steps),
                step_list=self._table([pack_row(STEP, **step) for step in self._steps]),
                outputs=len(outputs),
                output_list=self._table([pack_row(OUTPUT, **output) for output in outputs]),
                output_slot=output_slot,
                fixed=len(fixed),
                fixed_list=self._table(fixed),
                fixed_slot=fixed_slot,
                workspace_slot=workspace_slot,
                workspace=-(-address(memory) // 64) * 64,
                workspace_bytes=s.workspace or 0,
                kernel=s.kernel,
                heavy=s.heavy,
                holds=holds,
                retry=s.retry,
                frame_bytes=scratch_at + SCRATCH * next(self._numbers),
                objects_at=objects_at,
                results_at=results_at,
                stack_at=stack_at,
                builds=len(builds),
                build_list=self._table([pack_row(BUILD, **build) for build in builds]),
                number=self.number,
            )
        )

    # Arguments

    def _match(self, node: Node, **fetch: int) -> None:
        """Steps that match one object and what it contains: the container's step comes before its items'."""
        here = len(self._steps)
        step: dict[str, int] = dict(fetch)
        self._steps.append(step)
        self._nodes.append(node)
        if isinstance(node, ArrayLeaf):
            step |= {"check": Check.ARRAY, "type": id(np.ndarray), "slot": self._slot(node.slot)}
            step |= {"dtype": self._pointer(node.dtype), "ndim": len(node.shape), "shape": self._table(node.shape)}
        elif isinstance(node, NumberLeaf):
            step |= {"type": self._pointer(node.type), "slot": self._slot(node.slot)}
            if node.type is int:
                step |= {"check": Check.INTEGER, "scratch": next(self._numbers)}
            elif node.type is bool:
                step |= {"check": Check.TRUTH, "scratch": next(self._numbers), "value": id(True)}
            elif numbers_inside(node.type):
                step |= {"check": Check.VALUE}
            else:
                raise TypeError(f"entry: numbers of class {node.type.__name__} cannot be passed to machine code.")
        elif isinstance(node, DictNode):
            check = Check.DICT if node.exact else Check.OBJECT
            step |= {"check": check, "type": self._pointer(node.type), "size": len(node.items)}
            for key, item in node.items.items():
                self._match(item, fetch=Fetch.DICT, source=here, key=self._pointer(key), hold=1)
        elif isinstance(node, TupleNode):
            step |= {"check": Check.TUPLE, "type": self._pointer(node.type), "size": len(node.items)}
            for i, item in enumerate(node.items):
                self._match(item, fetch=Fetch.TUPLE, source=here, index=i, hold=1)
        elif isinstance(node, ListNode):
            step |= {"check": Check.LIST, "type": self._pointer(node.type), "size": len(node.items)}
            for i, item in enumerate(node.items):
                self._match(item, fetch=Fetch.LIST, source=here, index=i, hold=1)
        elif isinstance(node, ObjectNode):
            step |= {"check": Check.OBJECT, "type": self._pointer(node.type)}
            if node.attributes is not None:
                attributes = DictNode(node.attributes, exact=node.exact)
                self._match(attributes, fetch=Fetch.ATTRIBUTES, source=here, hold=1)
            for name, item in node.slots.items():
                self._match(item, fetch=Fetch.SLOT, source=here, key=self._pointer(name), hold=1)
        elif isinstance(node, ContentLeaf):
            content = node.content
            self._kept.append(content)
            step |= {"check": Check.CONTENT, "type": id(np.ndarray), "value": address(content), "size": content.nbytes}
            step |= {"dtype": self._pointer(content.dtype), "ndim": content.ndim, "shape": self._table(content.shape)}
        elif isinstance(node, Absent):
            step |= {"check": Check.ABSENT}
        elif isinstance(node, Defined):
            self._kept += [node.code, node.defaults, node.keywords]
            step |= {"check": Check.DEFINED}
            step |= {"value": self._table(definition(node.code, node.defaults, node.keywords))}
        else:
            step |= self._static(node)

    def _slot(self, slot: int | None) -> int:
        return self._unread if slot is None else slot

    def _static(self, node: Same | Equal) -> dict[str, int]:
        value = node.object
        kind = type(value)
        check = Check.SAME
        if isinstance(node, Equal):
            if kind not in _PLAIN:
                raise TypeError(f"entry: {kind.__name__} is not compared by value; use Same.")
            if kind is str:
                check = Check.TEXT
            elif kind in (int, bytes):
                check = Check.EQUAL
            elif kind in (float, complex):
                check = Check.BITS
        return {
            "check": check,
            "type": self._pointer(kind),
            "value": self._pointer(value),
            "size": 2 if kind is complex else 1,
        }

    # Results

    def _step_of(self, part: Passed) -> int:
        """The step that matched the object to be passed on."""
        steps = [i for i, node in enumerate(self._nodes) if node is part.node]
        if len(steps) != 1:
            raise ValueError(f"entry: a node that is passed on must stand once among the arguments, not {len(steps)}x.")
        return steps[0]

    def _result(self, s: Specialization) -> list[dict[str, int]]:
        """Actions of a stack machine: the items of a container, then the container."""
        rows = list(self._actions(s.result, len(s.outputs)))
        last = {row["count"]: row for row in rows if row["action"] == Action.SHARE}
        for row in last.values():
            row["action"] = Action.TAKE
        return rows

    def _actions(self, part: Build, outputs: int) -> Iterator[dict[str, int]]:
        if isinstance(part, Output):
            yield {"action": Action.SHARE, "count": range(outputs)[part.index]}
        elif isinstance(part, Passed):
            yield {"action": Action.PASSED, "count": self._step_of(part)}
        elif isinstance(part, Constant):
            yield {"action": Action.CONSTANT, "object": self._pointer(part.object)}
        else:
            items = list(part.items.values()) if isinstance(part, DictOf) else part.items
            for item in items:
                yield from self._actions(item, outputs)
            action, thing = self._container(part)
            yield {"action": action, "object": thing, "count": len(items)}

    def _container(self, part: TupleOf | ListOf | DictOf | CallOf) -> tuple[Action, int]:
        if isinstance(part, TupleOf):
            return Action.TUPLE, 0
        if isinstance(part, ListOf):
            return Action.LIST, 0
        if isinstance(part, DictOf):
            return Action.DICT, self._pointer(tuple(part.items))
        return Action.CALLED, self._pointer(part.make)


def table(owned: Sequence[Packed]) -> tuple[Any, ...]:
    """The list of specializations that a call goes through, in order; and they themselves."""
    memory = np.array([len(owned), *[one.address for one in owned]], dtype=np.int64)
    return (memory, *owned)
