"""One element of a pointwise primitive, as instructions.

`write` casts the operands to the dtypes of the ufunc's own loop (NEP 50, as NumPy chooses it), looks up the writer of
the primitive for the kind of these operands, and casts its result to the dtype of the output. What has no writer is not
native, and runs through NumPy.
"""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.compile.ir import RARELY, Function, Value
from adjoint.compile.pointwise import (
    arithmetic,
    comparisons,
    complex_functions,
    complex_inverses,
    complex_numbers,
    floats,
    functions,
    integers,
    rounding,
    special,
)
from adjoint.compile.pointwise.casts import convert, is_castable
from adjoint.compile.pointwise.comparisons import MIRRORED, PREDICATES, choose, compare_mixed, compare_outside, truth
from adjoint.compile.pointwise.floats import exponent_of
from adjoint.compile.pointwise.powers import known_integer_power, known_power
from adjoint.compile.pointwise.registers import (
    Dtype,
    Element,
    Operand,
    constant,
    first_part,
    fits,
    from_memory,
    is_number,
    memory_type,
    number_of,
    register_type,
    round_result,
    to_memory,
    widen,
    width_of,
)
from adjoint.compile.pointwise.table import WRITERS, Writer
from adjoint.ops.arrays.rearrange import Complex, Convert, Imag, Real
from adjoint.ops.elementwise.arithmetic import multiply
from adjoint.ops.elementwise.compare import Exponent
from adjoint.ops.elementwise.nary_ufuncs import NamedUfunc
from adjoint.ops.elementwise.pointwise import MaskedProduct, Ufunc
from adjoint.ops.elementwise.select import Select, StopGradient
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.op import Op
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, promotion_token, real_dtype

__all__ = [
    "convert",
    "find_dtypes",
    "from_memory",
    "is_native",
    "memory_type",
    "register_type",
    "to_memory",
    "write",
]

_TABLES = (
    arithmetic,
    comparisons,
    complex_functions,
    complex_inverses,
    floats,
    functions,
    integers,
    rounding,
    special,
)  # imported for what they enter
_POWERS = ("power", "float_power")


class ElementRule(NamedTuple):
    """How one element of a pointwise primitive becomes instructions."""

    # (op, types of the operands, operands or None): whether it can; all dtypes are castable
    is_native: Callable[[Any, Sequence[ArrayType], Sequence[Operand] | None], bool]
    # (function, op, types, type of the result, operands, lanes): the element
    write: Callable[[Function, Any, Sequence[ArrayType], ArrayType, Sequence[Operand], int], Element]


ELEMENTS: RuleTable[ElementRule] = RuleTable("elements in compiled code", of="evaluate")


def is_native(op: Op, types: Sequence[ArrayType], out: Any, args: Sequence[Operand] | None = None) -> bool:
    """Whether `write` can write one element of a primitive on operands of these types.

    With `args`, in which numbers of the program stand as such (and anything else for other operands), more is known: a
    power of integers is native if the exponent is not negative, and a number that does not fit its dtype is not.
    """
    rule = ELEMENTS.get(op)
    if rule is None or op.several or not all(is_castable(t.dtype) for t in (*types, out)):
        return False
    return rule.is_native(op, types, args)


def _is_native_ufunc(op: Ufunc | NamedUfunc, types: Sequence[ArrayType], args: Sequence[Operand] | None) -> bool:
    loop = find_dtypes(op.ufunc, types)
    if loop is None or not all(is_castable(d) for d in loop):
        return False
    fitting = args is None or op.name in PREDICATES or all(fits(d, a) for d, a in zip(loop, args) if is_number(a))
    if not fitting:
        return False  # NumPy raises
    if op.name == "power" and loop[0].kind == "i":
        return args is not None and is_number(args[1]) and number_of(loop[1], args[1]) >= 0
    return _writer(op.name, loop) is not None


_WIDTHS: dict[Any, Dtype] = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}


@lru_cache(maxsize=4096)
def _loop(ufunc: Any, tokens: tuple[Any, ...]) -> tuple[Dtype, ...] | None:
    """The dtypes of the loop that NumPy would run: of the operands, then of the results; None if there is none."""
    try:
        loop = ufunc.resolve_dtypes((*tokens, *[None] * ufunc.nout))
        if any(d.kind == "O" for d in loop):  # Python's numbers alone are compared as objects; here they have 64 bits
            loop = ufunc.resolve_dtypes((*[_WIDTHS.get(t, t) for t in tokens], *[None] * ufunc.nout))
    except TypeError:
        return None
    return loop


def find_dtypes(ufunc: Any, types: Sequence[ArrayType]) -> tuple[Dtype, ...] | None:
    """The dtypes of the loop that NumPy would run for operands of these types; None if there is none."""
    return _loop(ufunc, tuple(promotion_token(t) for t in types))


def _writer(name: str, loop: Sequence[Dtype]) -> Writer | None:
    return WRITERS.get((name, loop[0].kind))


def write(function: Function, op: Op, types: Sequence[ArrayType], out: ArrayType, args: Sequence[Operand]) -> Element:
    """Write one element (of every lane) of z = op(args); numbers of the program stand in `args` as such."""
    width = max((width_of(a) for a in args if not is_number(a)), default=1)
    return ELEMENTS[op].write(function, op, types, out, args, width)


def _write_ufunc(
    f: Function, op: Ufunc | NamedUfunc, types: Sequence[ArrayType], out: ArrayType, args: Sequence[Operand], width: int
) -> Element:
    loop = find_dtypes(op.ufunc, types)
    assert loop is not None, f"{op.title} has no loop for {types}"
    z = _ufunc(f, op.name, types, loop, args, width)
    return convert(f, round_result(f, z, loop[-1]), loop[-1], out.dtype)


def _operand(f: Function, a: Operand, kind: ArrayType, to: Dtype, width: int) -> Element:
    """An operand in the dtype of the loop."""
    return constant(f, to, a, width) if is_number(a) else convert(f, widen(f, a, width), kind.dtype, to)


# Primitives that are no ufuncs


def _write_select(
    f: Function, op: Select, types: Sequence[ArrayType], out: ArrayType, args: Sequence[Operand], width: int
) -> Element:
    x, y = (_operand(f, a, t, out.dtype, width) for a, t in zip(args[:2], types))
    c = _operand(f, args[2], types[2], types[2].dtype, width)
    return choose(f, truth(f, c), x, y)


def _unary(write: Callable[[Function, Dtype, Dtype, Element], Element]) -> Any:
    """A rule of one operand, from write(function, its dtype, that of the result, the operand)."""

    def write_unary(
        f: Function, op: Op, types: Sequence[ArrayType], out: ArrayType, args: Sequence[Operand], width: int
    ) -> Element:
        x = _operand(f, args[0], types[0], types[0].dtype, width)
        return write(f, types[0].dtype, out.dtype, x)

    return write_unary


def _exponent(f: Function, source: Dtype, to: Dtype, x: Element) -> Element:
    return convert(f, exponent_of(f, source, first_part(x)), np.dtype(np.int32), to)


def _imaginary_part(f: Function, source: Dtype, to: Dtype, x: Element) -> Element:
    return f.same(x, 0) if isinstance(x, Value) else x[1]


def _cast(f: Function, source: Dtype, to: Dtype, x: Element) -> Element:
    if not isinstance(x, Value) and to.kind != "c":  # of a complex number the real part, also as bool
        return convert(f, x[0], real_dtype(source), to)
    return convert(f, x, source, to)


def _write_complex(
    f: Function, op: Complex, types: Sequence[ArrayType], out: ArrayType, args: Sequence[Operand], width: int
) -> Element:
    re, im = (_operand(f, a, t, real_dtype(out.dtype), width) for a, t in zip(args, types))
    return (re, im)  # pyright: ignore[reportReturnType]


def _write_masked_product(
    f: Function, op: MaskedProduct, types: Sequence[ArrayType], out: ArrayType, args: Sequence[Operand], width: int
) -> Element:
    """ct · d where ct ≠ 0, else 0.

    Of numbers, d is looked at first, where that is a branch which the processor foresees: ct may be at the end of a
    long chain of operations, which a choice by ct makes longer.
    """
    product = write(f, multiply, types, out, args)
    ct = _operand(f, args[0], types[0], types[0].dtype, width)
    masked = choose(f, truth(f, ct), product, constant(f, out.dtype, 0, width))
    if width > 1 or out.dtype.kind != "f" or types[1].dtype != out.dtype:
        return masked
    d: Any = _operand(f, args[1], types[1], out.dtype, width)
    is_infinite = f.fcmp("uge", f.intrinsic("fabs", d), f.constant(d.type, np.inf))
    return f.select(is_infinite, masked, product, RARELY)  # type: ignore[arg-type]


def _ufunc(
    f: Function, name: str, types: Sequence[ArrayType], loop: Sequence[Dtype], args: Sequence[Operand], width: int
) -> Element:
    if name in PREDICATES:
        answer = _comparison(f, name, types, loop, args, width)
        if answer is not None:
            return answer
    if name in _POWERS and is_number(args[1]):
        x = _operand(f, args[0], types[0], loop[0], width)
        power = _known_power(f, loop[0], x, number_of(loop[1], args[1]))
        if power is not None:
            return power
    operands = [_operand(f, a, t, d, width) for a, t, d in zip(args, types, loop)]
    writer = _writer(name, loop)
    assert writer is not None, f"{name} of {loop[0]} has no writer"
    return writer(f, loop[0], *operands)


def _known_power(f: Function, dtype: Dtype, x: Any, n: Any) -> Element | None:
    if dtype.kind == "f":
        return known_power(f, dtype, x, float(n))
    if dtype.kind in "iu":
        return known_integer_power(f, dtype, x, int(n))
    if dtype.kind == "c" and abs(n.real) < 100 and n == int(n.real):
        return complex_functions.known_power(complex_numbers.complex_of(f, x), int(n.real)).element
    return None


def _comparison(
    f: Function, name: str, types: Sequence[ArrayType], loop: Sequence[Dtype], args: Sequence[Operand], width: int
) -> Element | None:
    """Comparisons by value where the dtypes have no common integer, or a Python integer may not fit; else None."""
    if any(t.weak and not is_number(a) and d.kind in "iu" for t, a, d in zip(types, args, loop)):
        loop = [t.dtype if t.dtype == np.uint64 else np.dtype(np.int64) for t in types]  # a Python integer, as an int64
        if loop[0] == loop[1]:
            x, y = (_operand(f, a, t, d, width) for a, t, d in zip(args, types, loop))
            return WRITERS[name, loop[0].kind](f, loop[0], x, y)
    if loop[0].kind + loop[1].kind in ("iu", "ui"):
        x, y = (_operand(f, a, t, d, width) for a, t, d in zip(args, types, loop))
        assert isinstance(x, Value)
        assert isinstance(y, Value)
        return compare_mixed(f, name, x, y, loop[0].kind == "i")
    for index, (a, dtype) in enumerate(zip(args, loop)):
        if is_number(a) and not fits(dtype, a):
            above = int(a) > 0  # pyright: ignore[reportArgumentType]
            symbol = name if index else MIRRORED.get(name, name)  # n ∘ x says the same as x mirrored-∘ n
            return constant(f, np.dtype(np.bool_), compare_outside(symbol, above), width)
    return None


ELEMENTS.update(dict.fromkeys((Ufunc, NamedUfunc), ElementRule(_is_native_ufunc, _write_ufunc)))
ELEMENTS.update(
    dict.fromkeys((Convert, StopGradient, Weaken), ElementRule(lambda op, types, args: True, _unary(_cast)))
)
ELEMENTS.update(
    {
        Select: ElementRule(lambda op, types, args: True, _write_select),
        MaskedProduct: ElementRule(
            lambda op, types, args: _is_native_ufunc(multiply, types, args), _write_masked_product
        ),
        Exponent: ElementRule(lambda op, types, args: types[0].dtype.kind == "f", _unary(_exponent)),
        Real: ElementRule(lambda op, types, args: True, _unary(lambda f, source, to, x: first_part(x))),
        Complex: ElementRule(lambda op, types, args: all(t.dtype.kind != "c" for t in types), _write_complex),
        Imag: ElementRule(lambda op, types, args: True, _unary(_imaginary_part)),
    }
)
