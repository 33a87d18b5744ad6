"""What a call must look like for a kernel to take it, and how its results are put together.

A call is matched against trees, one for each argument: containers of an exact class, leaves of an exact dtype and
shape, and static objects. A leaf says which slot of the kernel's table of pointers its data goes to; the table holds
inputs…, outputs…, constants…, [workspace], [context].
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from types import CellType, CodeType
from typing import Any, TypeAlias, final

import numpy as np

from adjoint.base.records import record

__all__ = [
    "Absent",
    "ArrayLeaf",
    "Build",
    "CallOf",
    "Captured",
    "Cell",
    "Constant",
    "ContentLeaf",
    "Current",
    "Defined",
    "DictNode",
    "DictOf",
    "Equal",
    "Fixed",
    "Global",
    "ListNode",
    "ListOf",
    "Node",
    "NumberLeaf",
    "ObjectNode",
    "Output",
    "OutputType",
    "Passed",
    "Same",
    "Specialization",
    "TupleNode",
    "TupleOf",
]

# Arguments


@final
@record
class ArrayLeaf:
    """An array, exactly np.ndarray, C-contiguous, aligned, in the machine's byte order, of this dtype and shape.

    `slot`: where its data pointer goes; None when the kernel does not read it.
    """

    slot: int | None
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@final
@record(eq=False)
class ContentLeaf:
    """An array as `ArrayLeaf` has it, with exactly these elements, compared by their bytes."""

    content: np.ndarray[Any, Any]  # C-contiguous, and nobody else's


@final
@record
class NumberLeaf:
    """A number of exactly this class: float, int (of 64 bits), bool, complex, or a class of NumPy scalars."""

    slot: int | None
    type: type


@final
@record
class DictNode:
    """A dict with exactly these keys, in any order; or not `exact`: with these and any others."""

    items: Mapping[Any, Node]
    type: type = dict
    exact: bool = True


@final
@record
class TupleNode:
    """A tuple of this length; or, with its class given, a named tuple."""

    items: Sequence[Node]
    type: type = tuple


@final
@record
class ListNode:
    """A list of this length; or, with its class given, an object of a class made from it."""

    items: Sequence[Node]
    type: type = list


@final
@record
class ObjectNode:
    """An object of exactly this class whose `__dict__` has exactly these attributes: a dataclass, say.

    Not `exact`: with these attributes and any others. None: `__dict__` is not looked at. `slots` are those of
    `__slots__`.
    """

    type: type
    attributes: Mapping[str, Node] | None
    slots: Mapping[str, Node] = field(default_factory=dict)
    exact: bool = True


@final
@record
class Absent:
    """No object at all: a key that a dict does not have, an attribute without a value."""


@final
@record
class Same:
    """This very object: None, a function, a flag, a class."""

    object: object


@final
@record
class Equal:
    """This object, or an equal one of the same class: str, bytes, int, bool; float and complex are compared by bits."""

    object: object


@final
@record
class Defined:
    """A function with this very code, these defaults and keyword defaults: the objects, not what the latter hold."""

    code: CodeType
    defaults: tuple[Any, ...] | None
    keywords: dict[str, Any] | None


Leaf: TypeAlias = ArrayLeaf | ContentLeaf | NumberLeaf | Same | Equal | Defined | Absent
Node: TypeAlias = Leaf | DictNode | TupleNode | ListNode | ObjectNode

# What a function reads beside its arguments, read again at each call


@final
@record
class Cell:
    """The content of a closure's cell."""

    cell: CellType
    node: Node


@final
@record
class Global:
    """An entry of a dict of names, by its name."""

    names: dict[str, Any]
    name: str
    node: Node


@final
@record
class Fixed:
    """An object known beforehand, whose content is looked at again: a list of arrays, say."""

    object: object
    node: Node


@final
@record
class Current:
    """The value of a context variable in the context of the call, or its default."""

    variable: ContextVar[Any]
    node: Node


Captured: TypeAlias = Cell | Global | Fixed | Current

# Results


@final
@record
class OutputType:
    """An array that is made for each call; as a NumPy scalar when it has no axes, as NumPy's functions do."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    scalar: bool = True

    @property
    def is_scalar(self) -> bool:
        return self.scalar and not self.shape


@final
@record
class Output:
    """The kernel's output of this number."""

    index: int


@final
@record
class Passed:
    """The very object that was matched with this node (this very node of the argument trees, not an equal one)."""

    node: Node


@final
@record
class Constant:
    """An object that is the same at each call."""

    object: object


@final
@record
class TupleOf:
    items: Sequence[Build]


@final
@record
class ListOf:
    items: Sequence[Build]


@final
@record
class DictOf:
    items: Mapping[Any, Build]


@final
@record
class CallOf:
    """What a Python callable makes of the items: `make(*items)`. Named tuples and containers of other classes."""

    make: Callable[..., Any]
    items: Sequence[Build]


Build: TypeAlias = Output | Passed | Constant | TupleOf | ListOf | DictOf | CallOf


@final
@record(eq=False)
class Specialization:
    """A kernel, the calls that it takes, and what it gives back.

    kernel      address of the machine function `i64 kernel(ptr table)`; status 0 means done
    inputs      how many slots of the table are inputs
    constants   arrays (or addresses) that come behind the outputs in the table
    workspace   bytes of memory for the kernel's own use, aligned to 64; None: the table has no such slot
    context     an address that the kernel gets last; None: the table has no such slot
    heavy       the call is long: let other Python threads run meanwhile
    calls_back  the kernel may call Python: what was captured is kept alive meanwhile
    retry       a positive status means that this kernel is not for these values, and nothing has happened yet:
                the next specialization is tried, and only when none takes the call, `failed` is called
    keep        whatever must live as long as this
    """

    kernel: int
    inputs: int
    positional: Sequence[Node]
    outputs: Sequence[OutputType]
    result: Build
    keywords: Mapping[str, Node] = field(default_factory=dict)
    captured: Sequence[Captured] = ()
    constants: Sequence[np.ndarray[Any, Any] | int] = ()
    workspace: int | None = None
    context: int | None = None
    heavy: bool = False
    calls_back: bool = False
    retry: bool = False
    keep: object = None
    label: str = ""
