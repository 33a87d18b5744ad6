"""What Python and NumPy ask of traced values that only a plain value can answer: truth, integers, floats, arrays.

Truth and integers have no derivative: they are answered, with a guard where a function is compiled. A float has
one, and is refused, unless it is known that nothing goes with the value.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.base.foreign import (
    asking_function,
    deciding_function,
    is_deciding,
    is_operator_of_sparse,
    numpys_function,
    numpys_word,
)
from adjoint.base.source import describe, here
from adjoint.program.trace import Tracer, concrete, refuse_conversion
from adjoint.program.types import Value

_frame: Callable[[int], FrameType] = sys._getframe
NUMPY = "NumPy (np.asarray, np.array, a class such as np.float32, or a method of a plain array)"


def refuse_decision(x: Tracer) -> None:
    """A solver decides by a traced value: its result would be a constant, whatever the value depends on."""
    if x._trace.differentiates and not x.has_tangent():
        return
    refuse_conversion(x, *deciding_function(), "was about to decide by")


def _truth(self: Tracer) -> bool:
    if self.shape and self.type.size != 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use np.any or np.all, or np.where "
            "to choose by element."
        )
    return ask(self, "bool", bool)


def ask(x: Tracer, question: str, answer: Callable[[Value], Any]) -> Any:
    """Python asks for a plain answer. Stacked and recorded values have their own ways to give one."""
    if is_deciding[_frame(2).f_code.co_filename]:  # 2: who has called bool(), int(), .item() …
        refuse_decision(x)
    trace = x._trace
    if hasattr(trace, "ask"):
        return trace.ask(x, question, answer)  # type: ignore[attr-defined]
    value = trace.asked(x)
    return ask(value, question, answer) if isinstance(value, Tracer) else answer(value)


def _integer(self: Tracer) -> int:
    return ask(self, "int", int)


def _rounded(question: str, how: Callable[[Any], int]) -> Callable[[Tracer], int]:
    """math.floor, math.ceil and math.trunc: integers, as int(x) gives them."""

    def method(self: Tracer) -> int:
        return ask(self, question, how)

    return method


def _index(self: Tracer) -> int:
    if self.dtype.kind not in "iu" or self.shape:
        raise TraceError(
            f"A traced {self.type} cannot be an index, at {describe(here())}: only integers can. Use int(x) to "
            "truncate it."
        )
    return ask(self, "index", int)


def _hash(self: Tracer) -> int:
    if self.shape:
        raise TypeError(f"unhashable: a traced {self.type}, like any array")
    if self.has_tangent():
        raise TraceError(
            f"A traced {self.type} as a key (of a dict, a set or functools.lru_cache), at {describe(here())}: "
            "numbers that are equal may have different derivatives, and one would be taken for the other. "
            "Use what it was computed from as the key (an index, a name), or stop_gradient(x)."
        )
    return ask(self, "hash", hash)


def _number(module: str, how: Callable[[Any], Any]) -> Callable[[Tracer], Any]:
    """float(x) and complex(x): truth and integers are asked for, others are refused where they are not known."""

    def method(self: Tracer) -> Any:
        trace: Any = self._trace
        if not self.shape:
            if self.dtype.kind == "b":
                return how(_truth(self))
            if self.dtype.kind in "iu" or (hasattr(trace, "whole") and trace.whole(self)):
                return how(ask(self, "float", float))
            known = trace.known(self)
            if known is not None:
                return how(known)
        asking = asking_function()
        if asking is not None:
            refuse_conversion(self, *asking)
        refuse_conversion(
            self,
            f"{how.__name__}() (or a function of {module}, or z[i] = x with a plain array z)",
            "Use NumPy's functions (np.sin, not math.sin); to assign into an array, make it with adjoint.numpy.zeros.",
        )

    return method


def _refuse_array(self: Tracer, dtype: Any = None, **kwargs: Any) -> Any:
    """NumPy wants an ndarray: in np.asarray, or where it does not look for traced values (lists, indices, methods
    of plain arrays).

    np.int64(x) and its like are int(x): an integer has no derivative that could be lost. An operator of a sparse array
    of SciPy is given an object of which it knows nothing, and leaves the answer to ours.
    """
    if is_operator_of_sparse(_frame(1)):
        unknown = np.empty((), object)
        unknown[()] = self
        return unknown
    trace: Any = self._trace
    args = () if dtype is None else (dtype,)
    if dtype is not None and not self.shape and dtype.kind in "biu":
        return np.asarray(_truth(self) if dtype.kind == "b" else ask(self, "int", int)).astype(dtype)
    if self.dtype.kind == "i" and hasattr(trace, "whole") and trace.whole(self):  # a size, as in np.arange(n)
        return np.asarray(ask(self, "index", int), *args, **kwargs)
    known = trace.known(self) if trace.records else None  # elsewhere the array may be written to later
    if known is not None:
        return np.asarray(known, *args, **kwargs)
    asking = asking_function() or numpys_word()
    if asking is not None:
        refuse_conversion(self, *asking)
    if dtype is not None and dtype != self.dtype:
        remedy = (
            f"Convert it with x.astype(np.{dtype}). An array that is to take it, or to be read by it, is made with "
            "adjoint.numpy.zeros or adjoint.numpy.array."
        )
    elif self.dtype.kind in "biu":
        remedy = (
            "Read a plain array at traced places with adjoint.numpy.take(plain, x), or adjoint.numpy.array(plain)[x]."
        )
    elif numpys_function() is not None or not self.shape:
        remedy = (
            "A list of traced values becomes an array with np.stack or adjoint.numpy.array (adjoint.numpy has all of "
            "NumPy's functions, also for lists); "
            "to assign into an array, make it with adjoint.numpy.zeros."
        )
    else:
        remedy = (
            "NumPy's functions take it as it is: np.dot(a, x) instead of a.dot(x), np.stack instead of np.array; "
            "adjoint.numpy has np.asarray, np.ascontiguousarray and their like; to assign into an array, make it with "
            "adjoint.numpy.zeros."
        )
    refuse_conversion(self, numpys_function() or NUMPY, remedy)


def _text(self: Tracer) -> str:
    return f"Tracer({self.type}, {self._trace.title}{_shown_value(self)})"


def _shown_value(self: Tracer) -> str:
    try:
        value = concrete(self)
    except TraceError:
        return ""
    if value is None:
        return ""
    return ": " + np.array2string(np.asarray(value), threshold=8, edgeitems=2, precision=6, separator=", ").replace(
        "\n", ""
    )


def _format(self: Tracer, spec: str) -> str:
    value = concrete(self) if spec else None
    if spec and (value is None or (np.ndim(value) and not self.shape)):
        refuse_conversion(self, f"format(x, {spec!r})", f"Print it with ad.debug.print('{{:{spec}}}', x).")
    return format(value, spec) if spec else _text(self)


CONVERSIONS: dict[str, Callable[..., Any]] = {
    "__bool__": _truth,
    "__int__": _integer,
    "__floor__": _rounded("floor", math.floor),
    "__ceil__": _rounded("ceil", math.ceil),
    "__trunc__": _rounded("int", math.trunc),
    "__index__": _index,
    "__hash__": _hash,
    "__float__": _number("math", float),
    "__complex__": _number("cmath", complex),
    "__array__": _refuse_array,
    "__repr__": _text,
    "__str__": _text,
    "__format__": _format,
}
