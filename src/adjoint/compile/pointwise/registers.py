"""How elements stand in registers and in memory, and numbers as constants of a dtype.

An element is a `Value`; a complex one is a pair (real part, imaginary part). In registers a bool is an i1 and a float16
a float whose value a half can hold; in memory they are an i8 and a half.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from adjoint.compile.ir import Function, Value, vector_of
from adjoint.program.types import real_dtype

Dtype: TypeAlias = "np.dtype[Any]"
Element: TypeAlias = "Value | tuple[Value, Value]"
Operand: TypeAlias = "Element | Any"  # an element, or a number written into the program

FLOATS = {2: "float", 4: "float", 8: "double"}
STORED_FLOATS = {2: "half", 4: "float", 8: "double"}


def register_type(dtype: Dtype) -> str:
    """The type of one element in a register; of one part, for complex dtypes."""
    if dtype.kind == "b":
        return "i1"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    return FLOATS[real_dtype(dtype).itemsize]


def memory_type(dtype: Dtype) -> str:
    """The type of one element in an array; of one part, for complex dtypes."""
    if dtype.kind == "b":
        return "i8"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    return STORED_FLOATS[real_dtype(dtype).itemsize]


def from_memory(f: Function, value: Value, dtype: Dtype) -> Value:
    """What was read from an array, as a register holds it."""
    if dtype.kind == "b":
        return f.icmp("ne", value, f.same(value, 0))  # a byte other than 0 and 1 counts as true
    return f.cast("fpext", value, "float") if value.scalar == "half" else value


def to_memory(f: Function, value: Value, dtype: Dtype) -> Value:
    """What a register holds, as it is written to an array."""
    if dtype.kind == "b":
        return f.cast("zext", value, "i8")
    return f.cast("fptrunc", value, "half") if dtype.itemsize == 2 and dtype.kind == "f" else value


def is_number(operand: Operand) -> bool:
    """Whether an operand is a number rather than an element."""
    return isinstance(operand, (int, float, complex, np.generic, np.ndarray))


def first_part(element: Element) -> Value:
    """The element, or its real part."""
    return element if isinstance(element, Value) else element[0]


def width_of(element: Element) -> int:
    """How many lanes an element has."""
    return first_part(element).width


def widen(f: Function, element: Element, width: int) -> Element:
    """The element in every lane, if it is a scalar."""
    if isinstance(element, Value):
        return f.spread(element, width)
    return f.spread(element[0], width), f.spread(element[1], width)


def constant(f: Function, dtype: Dtype, number: Any, width: int) -> Element:
    """A number of a dtype, in every lane."""
    kind = vector_of(register_type(dtype), width)
    exact = number_of(dtype, number)
    if dtype.kind == "c":
        return f.constant(kind, exact.real), f.constant(kind, exact.imag)
    return f.constant(kind, exact)


def number_of(dtype: Dtype, number: Any) -> Any:
    """A number as NumPy converts it: a Python integer must fit, a NumPy scalar wraps around."""
    if isinstance(number, (int, float, complex)) and not isinstance(number, np.generic):
        with np.errstate(all="ignore"):
            return dtype.type(number)
    with np.errstate(all="ignore"):
        return np.asarray(number).astype(dtype)[()]


def fits(dtype: Dtype, number: Any) -> bool:
    """Whether a Python integer fits an integer dtype; other numbers always do."""
    if type(number) is not int or dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return int(limits.min) <= number <= int(limits.max)


def round_result(f: Function, element: Element, dtype: Dtype) -> Element:
    """The result of an operation in a dtype: a float16 was computed as float and is rounded to half."""
    if dtype.kind != "f" or dtype.itemsize != 2 or not isinstance(element, Value):
        return element
    return f.cast("fpext", f.cast("fptrunc", element, "half"), "float")
