"""The chain rule as programs that a page can run: every rule recorded from its primitive, each kept once.

    pull      (z̄…, x₁ … xₙ, z…)                        -> x̄ᵢ of the operands that move
    push      (x₁ … xₙ, z…, ẋ of the operands that move)  -> ż…
    second    (z̄…, x₁ … xₙ, z…, dz̄…, ẋ…, ż…)            -> dx̄ᵢ: the derivative of pull along the tangents

Results that are no floating-point numbers (places, counts) have neither dz̄ nor ż.

So nothing about derivatives is written a second time for the page: it evaluates primitives, and these say the rest.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.ops.calculus import fit
from adjoint.ops.elementwise.nary_ufuncs import NamedUfunc
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.program.op import Op
from adjoint.program.record import record_program
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, Value, is_differentiable, type_of
from adjoint.show.explanation.model import Event, Variable
from adjoint.show.page.steps import slots

__all__ = ["Rules", "encode", "named"]


class Rules:
    """The table of primitives, the table of rules, and for each operation the numbers of its rules (-1: none)."""

    def __init__(self) -> None:
        self.ops: list[dict[str, Any]] = []
        self.programs: list[dict[str, Any]] = []
        self._ops: dict[Any, int] = {}
        self._rules: dict[Any, tuple[int, ...]] = {}
        self._held: list[Any] = []  # operations that are known by identity

    def op(self, op: Op) -> int:
        """The number of a primitive."""
        key = self._key(op)
        if key not in self._ops:
            self._ops[key] = len(self.ops)
            self.ops.append(named(op))
        return self._ops[key]

    def of(self, event: Event, masked: bool, kind: tuple[Any, ...]) -> tuple[int, ...]:
        """The numbers of pull, push and second of an operation; `kind` is its types and which operands move."""
        op: Any = event.op
        if op.flat or not any(event.moving) or op.saves or op.closes or op.opaque:
            return -1, -1, -1
        key = (self._key(op), kind, masked)
        if key not in self._rules:
            self._rules[key] = self._record(event, masked)
        return self._rules[key]

    def _key(self, op: Op) -> Any:
        try:
            hash(op)
        except TypeError:
            self._held.append(op)
            return id(op)
        return op

    def _record(self, event: Event, masked: bool) -> tuple[int, ...]:
        op: Any = event.op
        types = tuple(_strong(type_of(a.value)) for a in event.operands)
        outs = tuple(_strong(type_of(v.value)) for v in event.outputs)
        moving = tuple(event.moving)
        n = len(types)
        dots = [t for t, m in zip(types, moving, strict=True) if m]
        whether = [is_differentiable(np.zeros((), t.dtype)) for t in outs]

        def pull(*values: Value) -> Sequence[Value]:
            cts, xs, zs = values[: len(outs)], values[len(outs) : len(outs) + n], values[len(outs) + n :]
            extra = (masked,) if op.pointwise else ()
            ct, z = (list(cts), tuple(zs)) if op.several else (cts[0], zs[0])
            parts = op.pull(ct, xs, z, moving, *extra)
            return tuple(
                np.zeros(t.shape, t.dtype) if part is None else fit(_array(part), t)
                for part, m, t in zip(parts, moving, types, strict=False) if m
            )  # fmt: skip

        def push(*values: Value) -> Sequence[Value]:
            xs, zs, rest = values[:n], values[n : n + len(outs)], iter(values[n + len(outs) :])
            d = op.push(xs, tuple(zs) if op.several else zs[0], [next(rest) if m else None for m in moving])
            ds = d if op.several else (d,)
            return [np.zeros(t.shape, t.dtype) if part is None else part for part, t in zip(ds, outs, strict=True)]

        def second(*values: Value) -> Sequence[Value]:
            count = 2 * len(outs) + n
            primals, rest = list(values[:count]), iter(values[count:])
            smooth = [*whether, *moving, *whether]
            active = [i for i, s in enumerate(smooth) if s]

            def only(*some: Value) -> Any:
                full = list(primals)
                for i, x in zip(active, some, strict=True):
                    full[i] = x
                return tuple(pull(*full))

            return jvp(only, tuple(primals[i] for i in active), tuple(rest))[1]

        floats = [t for t, smooth in zip(outs, whether, strict=True) if smooth]
        return (
            self._program(pull, [*outs, *types, *outs]),
            self._program(push, [*types, *outs, *dots]),
            self._program(second, [*outs, *types, *outs, *floats, *dots, *floats]),
        )

    def _program(self, rule: Callable[..., Sequence[Value]], types: Sequence[ArrayType]) -> int:
        try:
            with np.errstate(all="ignore"):
                program, captured = record_program(rule, types)
        except Exception:  # the rule asks for values, or has no second derivative: the page says that it cannot
            return -1
        if captured:
            return -1
        self.programs.append(slots(program, self.op, encode))
        return len(self.programs) - 1


def kind_of(event: Event) -> tuple[Any, ...]:
    """What the rules of an operation depend on beside itself."""
    parts: list[Any] = []
    for a in event.operands:
        is_active = isinstance(a, Variable) and a.is_active
        value = a.value
        parts += [getattr(value, "shape", ()), getattr(value, "dtype", type(value)), is_active]
    return tuple(parts)


def _strong(kind: ArrayType) -> ArrayType:
    return ArrayType(kind.shape, kind.dtype)


def _array(value: Value) -> Value:
    return value if hasattr(value, "dtype") else np.asarray(value)


def named(op: Op) -> dict[str, Any]:
    """A primitive by name and static parameters; without `name` when these are not plain data, or it is a user's own.

    The page knows primitives by name: one from outside that has the name of another must not be taken for it.
    """
    own = type(op).__module__.startswith("adjoint.")
    return {"title": op.title, **(NAMES[op](op) if own else {})}


# What a page knows a primitive by.
NAMES: RuleTable[Callable[[Any], dict[str, Any]]] = RuleTable("the names of primitives in a page")


@NAMES.rule(Op)
def _class_and_parameters(op: Op) -> dict[str, Any]:
    try:
        parameters = {name: _plain(value) for name, value in op.static_parameters().items()}
    except TypeError:
        return {}
    return {"name": type(op).__name__, "parameters": parameters}


@NAMES.rule(Ufunc, NamedUfunc)
def _ufunc(op: Ufunc | NamedUfunc) -> dict[str, Any]:
    """The name under which NumPy or SciPy has the function."""
    from scipy import special

    name = op.name.rpartition(".")[2]
    return {"name": op.name} if op.ufunc in (getattr(np, name, None), getattr(special, name, None)) else {}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return encode(np.float64(value))["value"]
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.dtype):
        return str(value)
    if value is ...:
        return "..."
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    raise TypeError(type(value))


def encode(value: Value) -> dict[str, Any]:
    """{"value": …}: a number, or the elements in C order as a list; NaN and infinities are "nan", "inf", "-inf".

    Complex values have their imaginary parts in "imaginary". Numbers of Python's, which take the dtype of the arrays
    beside them, have "weak".
    """
    array: Any = np.asarray(value)
    weak = {"weak": True} if type(value) in (float, complex) else {}
    if array.dtype.kind == "c":
        return {"value": _list(array.real), "imaginary": _list(array.imag), **weak}
    return {"value": _list(array), **weak}


def _list(array: Any) -> Any:
    flat = array.tolist() if array.ndim == 0 else array.ravel().tolist()
    if array.dtype.kind != "f" or np.all(np.isfinite(array)):
        return flat
    one = lambda x: x if isfinite(x) else str(x)
    return one(flat) if array.ndim == 0 else [one(x) for x in flat]
