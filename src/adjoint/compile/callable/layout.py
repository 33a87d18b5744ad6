"""The tables that the machine code of a call reads: words of 64 bits, by name.

Machine code and Python agree on these names; a field is found by its position in the list. Everything that differs
between versions of CPython and NumPy (where an object keeps its class, an array its data) is found by looking at an
object whose content is known, and not assumed.
"""

# pyright: basic

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np

WORD = 8

# One step of matching a call: fetch an object, compare it with what is expected.
STEP = (
    "fetch",  # a Fetch
    "source",  # step whose object is the container; address of the dict for a global
    "key",  # object: key, name or context variable; address of a cell's content; the object itself
    "index",  # position in the container or among the arguments
    "check",  # a Check
    "type",  # class of the object
    "value",  # expected object; True for bool; address of the expected elements
    "size",  # length of a container; words or bytes to compare
    "dtype",  # address of the array's dtype
    "ndim",
    "shape",  # address of the lengths of the axes
    "slot",  # number of the pointer in the kernel's table
    "scratch",  # where in the frame an integer is written
    "hold",  # whether the call must keep the object alive
)

OUTPUT = ("dtype", "ndim", "shape", "scratch")  # scratch: where in the frame a number is written; -1 for an array

BUILD = ("action", "object", "count")

SPECIALIZATION = (
    "positional",
    "keywords",
    "steps",
    "step_list",
    "outputs",
    "output_list",
    "output_slot",
    "fixed",  # pointers that are the same at each call: constants, workspace, context
    "fixed_list",
    "fixed_slot",
    "workspace_slot",  # -1: none
    "workspace",
    "workspace_bytes",
    "busy",  # whether a call uses the workspace
    "kernel",
    "heavy",
    "holds",
    "retry",
    "frame_bytes",  # one frame for each call: table, objects, outputs, stack of the builder, scratch
    "objects_at",
    "results_at",
    "stack_at",
    "builds",
    "build_list",
    "hits",
    "number",
)

TABLE = ("count",)  # then the addresses of the specializations


class Fetch(IntEnum):
    """Where the object of a step comes from."""

    ARGUMENT = 0
    KEYWORD = 1
    DICT = 2
    TUPLE = 3
    LIST = 4
    CELL = 5
    GLOBAL = 6
    OBJECT = 7
    CURRENT = 8
    ATTRIBUTES = 9
    SLOT = 10


class Check(IntEnum):
    """What the object of a step must be."""

    ARRAY = 0
    VALUE = 1  # a number that stands in its object as the kernel wants it
    INTEGER = 2
    TRUTH = 3
    DICT = 4
    TUPLE = 5
    LIST = 6
    SAME = 7
    TEXT = 8
    BITS = 9
    EQUAL = 10
    OBJECT = 11
    DEFINED = 12
    CONTENT = 13
    ABSENT = 14


class Action(IntEnum):
    """How the next part of the result is made."""

    TAKE = 0  # an output that is used once
    SHARE = 1  # an output that is used again
    PASSED = 2
    CONSTANT = 3
    TUPLE = 4
    LIST = 5
    DICT = 6
    CALLED = 7


def offset(fields: Sequence[str], name: str) -> int:
    """Where a field stands, in bytes."""
    return fields.index(name) * WORD


def pack_row(fields: Sequence[str], **values: int) -> list[int]:
    """The words of a row; fields that are not named are zero."""
    unknown = values.keys() - set(fields)
    if unknown:
        raise TypeError(f"no such fields: {unknown}")
    return [int(values.get(name, 0)) for name in fields]


def words(rows: Sequence[Sequence[int]] | Sequence[int]) -> np.ndarray[Any, Any]:
    """Words in memory."""
    return np.array(rows, dtype=np.int64).reshape(-1) if len(rows) else np.zeros(1, dtype=np.int64)


def address(array: np.ndarray[Any, Any]) -> int:
    """Where an array's elements start."""
    return array.__array_interface__["data"][0]


class Facts(NamedTuple):
    """Where CPython and NumPy keep things, in bytes from the start of the object."""

    head: int  # end of what every object has
    type: int
    data: int
    ndim: int
    shape: int
    dtype: int
    flags: int
    byte_order: int  # of a dtype
    type_number: int  # of a dtype
    code: int  # of a function; its defaults and keyword defaults follow


class Unsupported(Exception):
    """This Python or NumPy lays out its objects in a way that the machine code does not know."""


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _expect(truth: bool, what: str) -> None:
    if not truth:
        raise Unsupported(f"calls at C speed are off: {what} is not where it is expected")


C_CONTIGUOUS, ALIGNED = 0x1, 0x100


@cache
def facts() -> Facts:
    """The layout of this process's objects, each offset checked."""
    _expect(ctypes.sizeof(ctypes.c_void_p) == WORD, "a pointer of 64 bits")
    head = object.__basicsize__
    layout = Facts(head, head - 8, head, head + 8, head + 16, head + 40, head + 48, head + 8 + 2, head + 8 + 4, _code())
    array = np.zeros((3, 5), dtype=np.float32)
    strided = np.zeros((6, 4), dtype=np.int64)[::2]
    for x in (array, strided):
        at = id(x)
        _expect(_word(at + layout.type) == id(np.ndarray), "an object's class")
        _expect(_word(at + layout.data) == address(x), "an array's data")
        _expect(ctypes.c_int.from_address(at + layout.ndim).value == 2, "an array's number of axes")
        lengths = _word(at + layout.shape)
        _expect(_word(lengths) == x.shape[0] and _word(lengths + WORD) == x.shape[1], "an array's shape")
        _expect(_word(at + layout.dtype) == id(x.dtype), "an array's dtype")
        bits = ctypes.c_int.from_address(at + layout.flags).value
        _expect(bool(bits & C_CONTIGUOUS) == x.flags.c_contiguous and bool(bits & ALIGNED), "an array's flags")
    for dtype in (np.dtype(np.float64), np.dtype(np.int16), np.dtype(np.float64).newbyteorder("S")):
        order = ctypes.string_at(id(dtype) + layout.byte_order, 1).decode()
        _expect(order == dtype.byteorder, "a dtype's byte order")
        _expect(ctypes.c_int.from_address(id(dtype) + layout.type_number).value == dtype.num, "a dtype's number")
    for number, dtype in ((1.5, np.float64), (1.5 - 2.5j, np.complex128)):
        _expect(value_inside(number, np.dtype(dtype)), "a number's value")
    cell = (lambda: array).__closure__
    _expect(cell is not None and _word(id(cell[0]) + head) == id(array), "a cell's content")
    return layout


DEFINITION = 3  # words: code, defaults, keyword defaults


def definition(code: Any, defaults: Any, keywords: Any) -> list[int]:
    """The words of a function's definition; None stands as a null pointer."""
    return [id(code), 0 if defaults is None else id(defaults), 0 if keywords is None else id(keywords)]


def _code() -> int:
    """Where a function keeps its code, in bytes; its defaults and keyword defaults must be the next two words."""

    def with_all(x: Any = 1, *, y: Any = 2) -> None: ...

    def with_none(x: Any, *, y: Any) -> None: ...

    functions: list[Any] = [with_all, with_none]
    wanted = [definition(f.__code__, f.__defaults__, f.__kwdefaults__) for f in functions]
    for offset in range(object.__basicsize__, type(with_all).__basicsize__ - DEFINITION * WORD, WORD):
        words = [[_word(id(f) + offset + WORD * i) for i in range(DEFINITION)] for f in functions]
        if words == wanted:
            return offset
    raise Unsupported("calls at C speed are off: a function's code and defaults are not where they are expected")


def value_inside(number: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an object holds its value right behind its head, as an array of this dtype would."""
    size = dtype.itemsize
    if type(number).__basicsize__ < object.__basicsize__ + size:
        return False
    return ctypes.string_at(id(number) + object.__basicsize__, size) == np.asarray(number, dtype).tobytes()


def is_native(dtype: np.dtype[Any]) -> bool:
    """Whether kernels can read and write a dtype: plain numbers of at most 16 bytes, in the machine's byte order."""
    return dtype.kind in "biufc" and dtype.isnative and dtype.char not in "gG"


_NUMBERS = {np.dtype(letter).type for letter in "?bBhHiIlLqQefdFD"}


@cache
def numbers_inside(kind: type) -> bool:
    """Whether numbers of a class can be read in place: float, complex and NumPy's scalars of a native dtype."""
    if kind in (float, complex):
        return True
    if kind not in _NUMBERS:
        return False
    return all(value_inside(kind(n), np.dtype(kind)) for n in (0, 1, 77))
