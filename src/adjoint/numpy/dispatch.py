"""The table behind `__array_function__`: which of our functions answers for which of NumPy's."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint import ops
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.base.refusal import refuse
from adjoint.base.source import describe, here
from adjoint.coverage import CONSTANT, REFUSED, TYPES, find
from adjoint.coverage.numpy import NUMPY
from adjoint.ops.elementwise.pointwise import UFUNCS
from adjoint.ops.operators import FUNCTIONS, GENERAL
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value

F = TypeVar("F", bound=Callable[..., Any])
NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]  (NumPy's own mark for an argument that was not given)


LATER: dict[str, Callable[..., Any]] = {}  # functions of later versions of NumPy, by name


def implements(*functions: Any) -> Callable[[F], F]:
    """Declare that a function of ours answers for these functions of NumPy when an argument is traced.

    None stands for one that this NumPy does not have: `adjoint.numpy` has it all the same.
    """

    def register(ours: F) -> F:
        for function in functions:
            if function is None:
                LATER[ours.__name__] = ours
            else:
                FUNCTIONS[function] = ours
        return ours

    return register


_SERIES = "numpy.polynomial.polynomial"  # NumPy hands over some of its functions of series, too


def _unknown_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    namespace, name = getattr(function, "__module__", "numpy"), getattr(function, "__name__", str(function))
    if namespace == _SERIES:
        return getattr(importlib.import_module(f"adjoint.{_SERIES}"), name)(*args, **kwargs)
    refuse(f"{namespace}.{name}", find(namespace, name))


GENERAL["function"] = _unknown_function


def _with_sparse(op: Any, x: Any, y: Any) -> Any:
    """An operator between a traced value and a sparse array of SciPy, which wait until there is one."""
    return importlib.import_module("adjoint.scipy.sparse.operators").combined(op, x, y)


GENERAL["sparse"] = _with_sparse


def _scan(body: Any, carry: Any, xs: Any) -> Any:
    """A loop of many iterations that is one operation; its file waits until there is one."""
    return importlib.import_module("adjoint.api.control_flow.loops").scan(body, carry, xs)


GENERAL["scan"] = _scan


def guarded(namespace: str, name: str, value: Any) -> Any:
    """What NumPy does not hand over to traced values: as it is, and refused in the table's words when given one."""
    row = find(namespace, name)
    if row is None or row.kind != REFUSED or isinstance(value, type):
        return value

    @functools.wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_traced, (*args, *kwargs.values()))):
            refuse(row.title, row)
        return value(*args, **kwargs)

    return call


def is_traced(value: Any) -> bool:
    """Whether a value, or anything in a list or tuple, is traced."""
    return isinstance(value, Tracer) or (isinstance(value, list | tuple) and any(is_traced(v) for v in value))


def stand_in(value: Any) -> Any:
    """An array of the same shape and element type as a traced one, of which nothing else will be looked at."""
    if isinstance(value, Tracer):
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    return type(value)(map(stand_in, value)) if isinstance(value, list | tuple) and is_traced(value) else value


def by_types(function: Any) -> Callable[..., Any]:
    """A function of NumPy that asks for shapes and element types only."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(stand_in, args), **{name: stand_in(value) for name, value in kwargs.items()})

    return call


for _name in NUMPY.named(CONSTANT, TYPES):  # those that have more to say have a function of ours as well
    if hasattr(_function := getattr(np, _name, None), "_implementation"):
        FUNCTIONS[_function] = by_types(_function)


def load_rules_of(ufunc: Any) -> bool:
    """Load the rules of a ufunc that lives in SciPy; they wait until the first one is used."""
    if ufunc in UFUNCS:
        return True
    if "scipy.special" not in sys.modules:  # then it cannot be one of SciPy's
        return False
    if "adjoint.ops.special" not in _loaded:
        _loaded.add("adjoint.ops.special")
        importlib.import_module("adjoint.ops.special")
    return ufunc in UFUNCS


def load_primitives() -> None:
    """Load all primitives, those of random numbers too: a saved program may hold any.

    Otherwise they wait until a function that uses them is asked for.
    """
    import pkgutil  # it takes as long to load as a tenth of this library

    importlib.import_module("adjoint.random.generator")
    for module in pkgutil.walk_packages(ops.__path__, "adjoint.ops."):
        importlib.import_module(module.name)


_loaded: set[str] = set()


def refuse_plain_target(call: str, target: str) -> Any:
    """Writing traced values into a plain array would lose them."""
    raise TraceError(
        f"{call} would write a traced value into a plain array ({target}), at {describe(here())}: the derivative "
        "would be lost and other names "
        "of the array would not see it. Make the array with adjoint.numpy.zeros, adjoint.numpy.array or "
        "np.zeros_like of a traced array."
    )


def into(out: Any, z: Value, call: str = "out=") -> Value:
    """Put a result where the caller asked for it; z itself when nowhere."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"{call}: expected one array for one output, got {len(out)}")
        out = out[0]
    if out is None or out is NO_VALUE:
        return z
    if isinstance(out, Tracer):
        GENERAL["overwrite"](out, z, call)
    elif is_traced(z):
        refuse_plain_target(call, type(out).__name__)
    else:
        np.copyto(out, z, casting="same_kind")
    return out


def refuse_keywords(call: str, given: dict[str, Any], **neutral: Any) -> None:
    """Raise for a keyword that would change the result and is not supported; neutral ones (name=value that changes
    nothing) may pass.
    """
    for name, value in given.items():
        same = value is neutral.get(name, NO_VALUE) or (
            isinstance(value, str | int | float) and value == neutral.get(name, NO_VALUE)
        )
        if value is NO_VALUE or same:
            continue
        raise UnsupportedError(
            f"{call} was called with {name}={value!r}, at {describe(here())}, which has no meaning on traced values. "
            "Leave it out."
        )


def give(methods: dict[str, Any]) -> None:
    """Put methods and properties on traced values."""
    for name, method in methods.items():
        setattr(Tracer, name, method)


def refuse_truth(x: Value, title: str) -> None:
    """As NumPy, which subtracts or scales inside: there is no difference of truth values."""
    if x.dtype.kind == "b":
        raise TypeError(f"{title} of truth values: NumPy has no difference of them. Convert them with .astype(int).")


def normal_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """An axis as a non-negative integer."""
    position = operator.index(axis)
    if not -ndim <= position < ndim:
        raise np.exceptions.AxisError(position, ndim, name)
    return position % ndim


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as sorted non-negative integers; None is all."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    found = tuple(sorted(normal_axis(a, ndim) for a in axes))
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return found


def constant(value: Value) -> Value:
    """A new array inside a running transformation: a traced constant, so that traced values can be assigned into it.

    Integers have no derivative: they are traced only where values are stacked or recorded.
    """
    trace = live_trace()
    if value.dtype.kind not in "fc":
        while trace is not None and not hasattr(trace, "ask"):
            trace = trace.outer
    if trace is None or (isinstance(value, Tracer) and value._trace.level >= trace.level):
        return value
    return trace.constant(value)


def as_array(value: Any) -> Value:
    """A traced value as it is, anything else as an ndarray; lists of traced values are stacked."""
    if isinstance(value, Tracer):
        return value
    if is_traced(value):
        return np.stack([as_array(v) for v in value])
    return np.asarray(value)
