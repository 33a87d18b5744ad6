"""Identities of arithmetic.

A rule may leave out roundings and may change the order of two, so a result can differ in its last bits; it never adds
one. NaN and infinities come out as before, with two exceptions, which each rule that has them says: where one side
overflows or underflows in between and the other does not; and the sign of a zero. x · 0 is not 0, x - x is not 0 and
x / x is not 1: x may be NaN or infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.elementwise.arithmetic import add, divide, multiply, power
from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.elementwise.select import Select
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.program import Atom, Equation, Literal
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.rules.patterns import identity
from adjoint.simplify.rules.rule import ANY, Rule, rule, with_number

SIGN = "the sign of a zero is not kept"
RANGE = "not near overflow and underflow"


def is_power_of_two(c: Any) -> bool:
    """Whether division by c is exact as multiplication by 1 / c."""
    c = complex(c)
    return c.imag == 0 and math.isfinite(c.real) and 1e-30 < abs(c.real) < 1e30 and math.frexp(abs(c.real))[0] == 0.5


def is_moderate(c: Any) -> bool:
    """Whether a product with c overflows or underflows only where the other factor is near that itself."""
    return c.dtype.kind in "iu" or 1e-9 < abs(complex(c)) < 1e9


def _moderate_product(c: Any, d: Any) -> bool:
    if c == 0 or d == 0:
        return bool(np.isfinite(c) and np.isfinite(d))
    with np.errstate(all="ignore"):
        return is_moderate(c) and is_moderate(d) and (c.dtype.kind in "iu" or bool(np.isfinite(c * d) and c * d != 0))


def _moderate_quotient(c: Any, d: Any) -> bool:
    with np.errstate(all="ignore"):
        return is_moderate(c) and is_moderate(d) and bool(np.isfinite(d / c) and np.isfinite(c / d))


def _as_large(x: Atom, shape: Any) -> bool:
    """x is no smaller than the whole, so that a sign or a factor costs no more behind the product than before it."""
    return x.type.shape == shape


def _as_large_moderate(x: Atom, shape: Any, c: Any) -> bool:
    return x.type.shape == shape and is_moderate(c)


IDENTITIES: list[list[Rule]] = [
    # one and zero
    identity("x * 1", "x"),
    identity("x / 1", "x", kinds="fc"),
    identity("x + 0", "x", note=SIGN),
    identity("x - 0", "x"),
    identity("0 - x", "-x", note=SIGN),
    identity("x * -1", "-x", kinds="ifc"),
    identity("x / -1", "-x", kinds="fc"),
    identity("positive(x)", "x"),
    identity("x ** 1", "x"),
    identity("conjugate(x)", "x", kinds="iuf"),
    # the same twice
    identity("x + x", "x * 2", kinds="fc"),
    identity("square(x)", "x * x"),
    identity("maximum(x, x)", "x"),
    identity("minimum(x, x)", "x"),
    # minus
    identity("-(-x)", "x", kinds="ifc"),
    identity("x + -y", "x - y", kinds="ifc"),
    identity("x - -y", "x + y", kinds="ifc"),
    identity("-x * -y", "x * y", kinds="ifc"),
    identity("-x * c", "x * -c", kinds="ifc"),
    identity("-x * y", "-(x * y)", _as_large, kinds="ifc"),
    identity("-(x * c)", "x * -c", kinds="ifc"),
    identity("-(x / c)", "x / -c", kinds="fc"),
    identity("-(c / x)", "-c / x", kinds="fc"),
    identity("-(x - y)", "y - x", kinds="ifc", once=True, note=SIGN),
    identity("-x / -y", "x / y", kinds="fc"),
    identity("-x / c", "x / -c", kinds="fc"),
    identity("c / -x", "-c / x", kinds="fc"),
    identity("-x / y", "-(x / y)", _as_large, kinds="fc"),
    identity("x / -y", "-(x / y)", lambda y, shape: _as_large(y, shape), kinds="fc"),
    identity("masked(-x, y)", "-masked(x, y)", _as_large, kinds="fc", note=SIGN),
    identity("masked(x, -y)", "-masked(x, y)", lambda y, shape: _as_large(y, shape), kinds="fc", note=SIGN),
    identity("absolute(-x)", "absolute(x)", kinds="if"),
    identity("cos(-x)", "cos(x)", kinds="f"),
    # numbers among factors
    identity("x / c", "x * (1 / c)", is_power_of_two, kinds="fc"),
    identity("x * c * d", "x * (c * d)", _moderate_product, note=RANGE),
    identity("x / c * d", "x * (d / c)", _moderate_quotient, kinds="fc", once=True, note=RANGE),
    identity("x * c / d", "x * (c / d)", _moderate_quotient, kinds="fc", note=RANGE),
    identity("c / x * d", "(c * d) / x", _moderate_product, kinds="fc", once=True, note=RANGE),
    identity("x * c * y", "x * y * c", _as_large_moderate, kinds="iuf", once=True, note=RANGE),
    identity("x * (1 / y)", "x / y", lambda y, shape: _as_large(y, shape), kinds="f", once=True, note=RANGE),
    # numbers among terms
    identity("x * c + x * d", "x * (c + d)", kinds="fc", once=True, note=RANGE),
    identity("x * c + x", "x * (c + 1)", kinds="fc", once=True, note=RANGE),
    identity("x * c + y * c", "(x + y) * c", is_moderate, kinds="f", once=True, note=RANGE),
    identity("x * c - y * c", "(x - y) * c", is_moderate, kinds="f", once=True, note=RANGE),
]


@rule("(x + y) + y = x + y * 2", add, [add, with_number(add)], ANY, note=RANGE)
def added_again(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _double_term(r, inputs[0], inputs[1], kind)


@rule("y + (x + y) = x + y * 2", add, ANY, [add, with_number(add)], note=RANGE)
def added_before(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _double_term(r, inputs[1], inputs[0], kind)


def _double_term(r: Any, total: Atom, y: Atom, kind: ArrayType) -> Atom | None:
    first, second = r.defined[total].inputs
    if (y is not first and y is not second) or isinstance(y, Literal):
        return None
    if kind.dtype.kind not in "fc" or any(a.type.dtype != kind.dtype for a in (total, y)) or not r.once(total):
        return None
    x = first if y is second else second
    return r.apply(add, (x, r.apply(multiply, (y, r.literal(kind.dtype.type(2))))))


@rule("x * y * c = x * c * y, where x is smaller than y", multiply, multiply, Literal, note=RANGE)
def factor_to_the_smaller(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    product, number = inputs
    x, y = r.defined[product].inputs
    if x.type.shape == y.type.shape:
        return None
    if y.type.shape != kind.shape:
        x, y = y, x
    if y.type.shape != kind.shape or any(a.type.dtype != kind.dtype for a in (x, y)) or kind.dtype.kind not in "iuf":
        return None
    c = kind.dtype.type(number.value)  # type: ignore[union-attr]
    return r.apply(multiply, (r.apply(multiply, (x, r.literal(c))), y)) if is_moderate(c) and r.once(product) else None


@rule("xⁿ is a product for n = 2, 3, 4, and 1 / x for n = -1; x⁰ = 1", power, ANY, Literal)
def small_power(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, exponent = inputs
    n: Any = exponent.value  # type: ignore[union-attr]
    dtype = kind.dtype
    if x.type.dtype != dtype or dtype.kind not in "iuf" or n != n or n not in (0, 2, 3, 4, -1):
        return None
    if n == 0:
        return r.literal(dtype.type(1))
    if n == -1:
        return r.apply(divide, (r.literal(dtype.type(1)), x)) if dtype.kind == "f" else None
    square = r.apply(multiply, (x, x), x.type)
    return square if n == 2 else r.apply(multiply, (square, x if n == 3 else square), x.type)


@rule("a masked product is a product where the mask or the factor is an ordinary number", MaskedProduct)
def unmasked(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    ct, factor = inputs
    if isinstance(ct, Literal):
        return r.literal(kind.dtype.type(0)) if ct.value == 0 else r.apply(multiply, inputs, kind)
    return r.apply(multiply, inputs, kind) if is_finite(r, factor) else None


def is_finite(r: Any, atom: Atom) -> bool:
    """Whether a value is a finite number whatever the inputs of the program are."""
    if isinstance(atom, Literal):
        return bool(np.isfinite(atom.value))
    if atom.type.dtype.kind in "biu":
        return True
    if atom in r.constants:
        value = r.constants[atom]
        return value.size <= 4096 and bool(np.isfinite(value).all())
    eq = r.defined.get(atom)
    is_known = FINITE.get(eq.op) if eq is not None else None
    return eq is not None and is_known is not None and is_known(r, eq)


# (rewriter, equation) → whether its result is finite
FINITE: RuleTable[Callable[[Any, Equation], bool]] = RuleTable("finite results")
FINITE.update(
    {
        Select: lambda r, eq: is_finite(r, eq.inputs[0]) and is_finite(r, eq.inputs[1]),
        Convert: lambda r, eq: eq.inputs[0].type.dtype.kind == "b",
    }
)


@rule("select by a condition that is known; x or x is x", Select, ANY, ANY, ANY)
def known_condition(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, y, condition = inputs
    chosen = x if x is y else None
    if isinstance(condition, Literal):
        chosen = x if condition.value else y
    if chosen is None or (isinstance(chosen, Literal) and chosen.type.weak):
        return chosen
    return chosen if chosen.type.dtype == kind.dtype and not chosen.type.weak else None


@rule("select(x, y, not p) = select(y, x, p)", Select, ANY, ANY, BY_NAME["logical_not"])
def negated_condition(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, y, condition = inputs
    inner = r.defined[condition].inputs[0]
    return r.apply(op, (y, x, inner), kind) if inner.type.dtype.kind == "b" else None


@rule("a choice inside a choice by the same condition", Select, Select, ANY, ANY)
def chosen_before(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _choose_again(r, op, inputs, kind, 0)


@rule("a choice inside a choice by the same condition", Select, ANY, Select, ANY)
def chosen_before_second(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    return _choose_again(r, op, inputs, kind, 1)


def _choose_again(r: Any, op: Any, inputs: tuple[Atom, ...], kind: ArrayType, slot: int) -> Atom | None:
    eq = r.defined_by(inputs[slot], Select)
    if eq is None or eq.inputs[2] is not inputs[2] or eq.inputs[slot].type.dtype != kind.dtype:
        return None
    parts = list(inputs)
    parts[slot] = eq.inputs[slot]
    return r.apply(op, tuple(parts))


RULES: list[Rule] = [
    *(r for rules in IDENTITIES for r in rules),
    added_again,
    added_before,
    factor_to_the_smaller,
    small_power,
    unmasked,
    known_condition,
    negated_condition,
    chosen_before,
    chosen_before_second,
]
