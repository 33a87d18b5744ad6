"""Gives traced values their operators: the one file, with `adjoint.numpy.dispatch`, that installs anything from
outside.

The rules of all primitives use `+`, `*`, `np.sin` … on values; on traced values these arrive here.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, TraceError
from adjoint.base.foreign import is_deciding
from adjoint.base.garbage import loading
from adjoint.base.source import describe, here, is_library
from adjoint.ops.arrays import contract  # pyright: ignore[reportUnusedImport]  (they fill UFUNCS)
from adjoint.ops.conversions import CONVERSIONS, refuse_decision
from adjoint.ops.elementwise import arithmetic, compare, elementary  # noqa: F401  # pyright: ignore[reportUnusedImport]  (they fill UFUNCS)
from adjoint.ops.elementwise.pointwise import BY_NAME, UFUNCS
from adjoint.program.op import Op
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, check_supported

UFUNCS[np.matmul] = contract.MatMul()

PLAIN = frozenset({bool, int, float, complex, np.ndarray, *np.sctypeDict.values()})
# As Any: a test against them leaves the value Any, where the classes would make it an array of unknown elements.
_SEQUENCE: Any = (list, tuple)
_ARRAY: Any = np.ndarray
_frame: Callable[[int], FrameType] = sys._getframe

# np function -> ours, filled by adjoint.numpy; behind __array_function__
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
WAITING: dict[Any, str] = {}  # np function, or the name of its module -> the file that fills in ours when it is read
# Filled by adjoint.numpy. "ufunc": (ufunc, method, args, kwargs) for everything but the plain call, behind
# __array_ufunc__; "sparse": (op, x, y) for an operator between a traced value and a sparse array of SciPy
GENERAL: dict[str, Callable[..., Any]] = {}


def coerced(what: str, value: Value) -> Value:
    """A plain array or number from whatever an operator was given beside a traced value; nothing is lost on the way."""
    if type(value) in PLAIN or isinstance(value, Tracer):
        return value
    if type(value) in _answering:
        raise StandsApart
    if isinstance(value, _SEQUENCE):
        if _holds_traced(value):
            raise TraceError(
                f"{what} was given a {type(value).__name__} that holds traced values, at {describe(here())}. "
                "NumPy would make an array of objects of it: build the array with np.stack or adjoint.numpy.array."
            )
        return np.asarray(value)
    masked: Any = np.ma.MaskedArray
    if isinstance(value, masked):
        if np.ma.is_masked(value):
            raise DtypeError(
                f"{what} was given a masked array with masked elements, which would be lost. Use .filled(value) first."
            )
        return np.asarray(value)
    matrix: Any = np.matrix
    if isinstance(value, matrix):
        raise DtypeError(f"{what} was given a np.matrix, whose * means something else. Use np.asarray(matrix) first.")
    if type(value).__module__.partition(".")[0] == "pandas" or isinstance(value, _ARRAY):
        array = np.asarray(value)
        check_supported(array.dtype, f"an operand of {what}")
        return array
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    dense = " Use .toarray() of a sparse one, or a rule: @ad.custom_rule(vjp=…)." if hasattr(value, "toarray") else ""
    raise DtypeError(
        f"{what} cannot combine a traced array with {type(value).__name__}: it needs a number or an array.{dense}"
    )


def _holds_traced(value: Any) -> bool:
    return isinstance(value, Tracer) or (isinstance(value, _SEQUENCE) and any(_holds_traced(v) for v in value))


class StandsApart(Exception):
    """An operand that answers operators and ufuncs itself."""


_answering: set[type] = set()


def answer_operators(cls: type) -> None:
    """Let a class of ours, which has the protocols of arrays, answer operators and functions beside traced values."""
    _answering.add(cls)
    _apart[cls] = True


def apply_two(op: Op, x: Value, y: Value) -> Value:
    """A primitive of two arguments, at least one of them traced."""
    if isinstance(x, Tracer):
        trace = x._trace
        if isinstance(y, Tracer):
            if y._trace.level > trace.level:
                trace = y._trace
        elif type(y) not in PLAIN:
            y = coerced(op.title, y)
    else:
        trace = y._trace
        if type(x) not in PLAIN:
            x = coerced(op.title, x)
    return trace.apply_two(op, x, y)


def apply_one(op: Op, x: Tracer) -> Value:
    """A primitive of one traced argument."""
    return x._trace.apply_one(op, x)


def _array_ufunc(self: Tracer, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and not kwargs:
        op = UFUNCS.get(ufunc)
        if op is not None:
            if op.flat and is_deciding[_frame(1).f_code.co_filename]:
                refuse_decision(self)
            if len(inputs) == 2:
                try:
                    return apply_two(op, *inputs)
                except StandsApart:
                    return NotImplemented
            if len(inputs) == 1:
                x = inputs[0]
                return x._trace.apply_one(op, x)
    if _answering and any(type(x) in _answering for x in inputs):
        return NotImplemented
    return GENERAL["ufunc"](ufunc, method, inputs, kwargs)


def _array_function(self: Tracer, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if _answering and not _answering.isdisjoint(types):
        return NotImplemented
    ours = FUNCTIONS.get(func) or find_function(func)
    return ours(*args, **kwargs) if ours is not None else GENERAL["function"](func, args, kwargs)


def find_function(function: Any) -> Callable[..., Any] | None:
    """Ours that answers for a function of NumPy, whose file is read when it is first asked for; None: there is none."""
    if function not in FUNCTIONS:
        file = WAITING.get(function) or WAITING.get(getattr(function, "__module__", None))
        if file is not None:
            with loading():
                importlib.import_module(file)
    return FUNCTIONS.get(function)


def _stands_apart(other: Any) -> bool:
    """Whether an object answers operators itself: it has said so (NEP 13), or is no array and has a method for one."""
    cls = other.__class__
    if getattr(cls, "__array_ufunc__", True) is None:
        return True
    known = _apart.get(cls)
    if known is None:
        known = _apart[cls] = not issubclass(cls, _KNOWN) and not hasattr(cls, "__array__") and _has_operator(cls)
    return known


_apart: dict[type, bool] = {}
_KNOWN: Any = (Tracer, np.ndarray, np.generic, bool, int, float, complex, list, tuple, dict, set, str)


def _has_operator(cls: type) -> bool:
    """Whether a class of the user's has operators with itself on the right side, or comparisons."""
    names = ("__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rpow__", "__rmatmul__", "__lt__", "__eq__")
    codes = [getattr(getattr(cls, name, None), "__code__", None) for name in names]
    return any(code is not None and not is_library(code.co_filename) for code in codes)


def is_sparse(other: Any) -> bool:
    """Whether an operand is a sparse array or matrix of SciPy."""
    return type(other).__module__.startswith("scipy.sparse.") and hasattr(other, "tocoo")


def _forward(op: Op) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        trace = self._trace
        if type(other) in PLAIN or (type(other) is type(self) and other._trace is trace):
            return trace.apply_two(op, self, other)
        if other is None or isinstance(other, str) or _stands_apart(other):
            return NotImplemented
        if is_sparse(other):
            return GENERAL["sparse"](op, self, other)
        return apply_two(op, self, other)

    return method


def _comparison(op: Op) -> Callable[[Tracer, Any], Any]:
    """What `_forward` makes, written out: a question that a solver asks is refused, at the cost of one look."""

    def method(self: Tracer, other: Any) -> Any:
        if is_deciding[_frame(1).f_code.co_filename]:
            refuse_decision(self)
        trace = self._trace
        if type(other) in PLAIN or (type(other) is type(self) and other._trace is trace):
            return trace.apply_two(op, self, other)
        if other is None or isinstance(other, str) or _stands_apart(other):
            return NotImplemented
        return apply_two(op, self, other)

    return method


def _backward(op: Op) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        if type(other) in PLAIN:
            return self._trace.apply_two(op, other, self)
        if other is None or isinstance(other, str) or _stands_apart(other):
            return NotImplemented
        if is_sparse(other):
            return GENERAL["sparse"](op, other, self)
        return apply_two(op, other, self)

    return method


def _power(self: Tracer, other: Any) -> Any:
    if type(other) in (int, float):
        if other == 2:
            return self._trace.apply_one(BY_NAME["square"], self)
        if other == 1:
            return self._trace.apply_one(BY_NAME["positive"], self)
        if other == 0.5 and self.dtype.kind == "f":
            return self._trace.apply_one(BY_NAME["sqrt"], self)
    return apply_two(BY_NAME["power"], self, other)


def _in_place(name: str, op: Op) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        z = _power(self, other) if name == "power" else apply_two(op, self, other)
        if self.ndim == 0 and getattr(self, "_base", None) is None:  # a scalar is rebound, as in NumPy
            return z
        GENERAL["overwrite"](self, z, f"{name} in place")
        return self

    return method


def _length(self: Tracer) -> int:
    if not self.shape:
        raise TypeError("len() of a 0-d array")
    return self.shape[0]


def _unary(op: Op) -> Callable[..., Any]:
    def method(self: Tracer) -> Value:
        return self._trace.apply_one(op, self)

    return method


def _divmod(self: Any, other: Any) -> Any:
    return np.divmod(self, other)


def _rdivmod(self: Any, other: Any) -> Any:
    return np.divmod(other, self)


def _contains(self: Any, item: Any) -> bool:
    return bool(np.any(self == item))


def install() -> None:
    """Put the operators on `Tracer`. Called once, when the package is imported."""
    binary = {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "lshift": "left_shift",
        "rshift": "right_shift",
    }
    methods: dict[str, Any] = {}
    for short, name in binary.items():
        op = BY_NAME[name]
        methods[f"__{short}__"], methods[f"__r{short}__"] = _forward(op), _backward(op)
        methods[f"__i{short}__"] = _in_place(name, op)
    matmul = UFUNCS[np.matmul]
    methods["__matmul__"], methods["__rmatmul__"], methods["__imatmul__"] = (
        _forward(matmul),
        _backward(matmul),
        _in_place("matmul", matmul),
    )
    methods["__pow__"], methods["__rpow__"] = _power, _backward(BY_NAME["power"])
    methods["__ipow__"] = _in_place("power", BY_NAME["power"])
    for short, name in {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }.items():
        methods[f"__{short}__"] = _comparison(BY_NAME[name])
    for short, name in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
        methods[f"__{short}__"] = _unary(BY_NAME[name])
    methods["__divmod__"], methods["__rdivmod__"] = _divmod, _rdivmod
    methods |= CONVERSIONS | {
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
        "__len__": _length,
        "__contains__": _contains,
    }
    for name, method in methods.items():
        setattr(Tracer, name, method)
