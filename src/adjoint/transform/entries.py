"""The entries of a tape: plain tuples of seven, in four layouts.

    layout       0       1        2     3      4     5     6
    pointwise    head    ix       iy    x      y     z     types     a pointwise primitive of one or two arguments
    general      op      indices  None  xs     None  z     None      any other primitive
    part         PART    whole    j     count  None  None  None      result j of the `count` results of entry `whole`
    input        INPUT   -1       -1    None   None  None  None      a variable to differentiate with respect to

head is [first partial, second partial, whether to guard them, op], one list for each primitive (`Ufunc.head`), so that
its type tells the layout. ix, iy and indices are the positions of the arguments in the record (-1: a constant). x, y,
xs and z are the values that the rules will read again; where one is not kept, x, y and z are None, and in xs its type
stands for it. types are those of (x, y, z), or None where all are float64 arrays of one shape.

They are tuples and no named tuples, which take three times as long to make, for this is the eager hot path. Readers
take them apart in one statement, `op, ix, iy, x, y, z, types = entry`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from adjoint.program.op import Op

__all__ = ["HEAD", "INPUT", "INPUT_ENTRY", "PART", "Entry", "general_entry", "op_of", "part_entry"]

Entry: TypeAlias = tuple[Any, Any, Any, Any, Any, Any, Any]
HEAD: Any = list  # the type of the head of pointwise entries


class _Marker:
    """What the entry of a variable that is no result of a primitive begins with."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __repr__(self) -> str:
        return f"<{self.title}>"


INPUT, PART = _Marker("input"), _Marker("part of a tuple")
INPUT_ENTRY: Entry = (INPUT, -1, -1, None, None, None, None)


def general_entry(op: Op, indices: tuple[int, ...], xs: tuple[Any, ...], z: Any = None) -> Entry:
    """The entry of a primitive that is not pointwise."""
    return (op, indices, None, xs, None, z, None)


def part_entry(whole: int, j: int, count: int) -> Entry:
    """The entry of one of several results."""
    return (PART, whole, j, count, None, None, None)


def op_of(entry: Entry) -> Any:
    """The primitive of an entry, or its marker."""
    head = entry[0]
    return head[3] if type(head) is HEAD else head
