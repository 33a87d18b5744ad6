"""Programs as functions of a C library: arguments by value or by pointer, constants inside, no Python anywhere.

    int64_t name(int64_t sizes …, inputs …, outputs …, void *workspace)
    int64_t name_workspace(int64_t sizes …)

A number goes by value, an array by the address of its first element, in C order; complex numbers are pairs of floats,
truth values are bytes. Several kernels may stand behind one function, each for the sizes that answer the comparisons
it was written for alike; the function asks one after the other.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.lower import LoweredCode
from adjoint.compile.memory import ALIGNMENT
from adjoint.compile.statuses import NO_MEMORY
from adjoint.compile.symbolic_sizes import Fact, Polynomial, Sym

OTHER_SIZES, NO_ARRAY = -20, -22  # statuses beside those of every kernel
MOST_BYTES = 2**46
RELATIONS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
# What C passes by value, as LLVM's types; all else goes by its address.
BY_VALUE = {
    "bool": "i8", "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32",
    "int64": "i64", "uint64": "i64", "float32": "float", "float64": "double",
}  # fmt: skip


class Part(NamedTuple):
    """One kernel of a function: its code, and the facts about sizes under which it is right."""

    code: LoweredCode
    constants: list[Any]  # arrays, and `Computed` numbers
    facts: Sequence[Fact]


class Computed(NamedTuple):
    """A number of a dtype that depends on sizes: factor · p(sizes), or factor / p(sizes)."""

    dtype: np.dtype[Any]
    factor: float
    polynomial: Polynomial
    divides: bool


def passes_by_value(kind: Any) -> bool:
    """Whether C hands over an input as a number."""
    return kind.shape == () and kind.dtype.name in BY_VALUE


def write_function(
    module: Module, name: str, inputs: Sequence[Any], outputs: int, sizes: Sequence[str], parts: Sequence[Part]
) -> None:
    """The function of a library, and the one that tells how much memory it needs, from inputs of these types."""
    kinds = ["i64"] * len(sizes)
    kinds += [BY_VALUE[t.dtype.name] if passes_by_value(t) else "ptr" for t in inputs] + ["ptr"] * (outputs + 1)
    f = Function(module, name, kinds, "i64", linkage="", attributes="nounwind")
    known = dict(zip(sizes, f.params, strict=False))
    operands: list[Value] = []
    for kind, given in zip(inputs, f.params[len(sizes) :], strict=False):
        if passes_by_value(kind):
            buffer = f.allocate(given.type, align=8)
            f.store(given, buffer, kind.dtype.itemsize)
            given = buffer
        operands.append(given)
    operands += f.params[len(sizes) + len(inputs) : -1]
    missing = f.constant("i1", 0)
    for given in f.params[:-1]:
        if given.type == "ptr":
            missing = f.binary("or", missing, f.icmp("eq", given, Value("null", "ptr")))
    with f.when(missing):
        f.ret(f.index(NO_ARRAY))
        f.begin(f.new_block("unreached"))
    for number, part in enumerate(parts):
        with f.when(_all_hold(f, part.facts, known)):
            f.ret(_call_part(f, f"{name}_kernel_{number}", part, operands, known))
            f.begin(f.new_block("unreached"))
    f.ret(f.index(OTHER_SIZES))
    f.finish()
    g = Function(module, f"{name}_workspace", ["i64"] * len(sizes), "i64", linkage="", attributes="nounwind")
    known = dict(zip(sizes, g.params, strict=True))
    for part in parts:
        with g.when(_all_hold(g, part.facts, known)):
            g.ret(g.add(_number(g, part.code.workspace, known), g.index(ALIGNMENT)))
            g.begin(g.new_block("unreached"))
    g.ret(g.index(OTHER_SIZES))
    g.finish()


def _call_part(f: Function, kernel: str, part: Part, operands: Sequence[Value], sizes: Mapping[str, Value]) -> Value:
    """The status of a kernel; memory that the caller does not give is allocated for the call."""
    module, given = f.module, f.params[-1]
    constants = [
        _compute(f, value, sizes) if isinstance(value, Computed) else _constant(module, f"{kernel}_constant_{k}", value)
        for k, value in enumerate(part.constants)
    ]
    if sizes:
        table = f.allocate("i64", len(sizes), align=8)
        for k, value in enumerate(sizes.values()):
            f.store(value, f.element(table, f.index(k), "i64"), 8)
        constants.append(table)
    workspace, own = f.allocate("ptr", align=8), f.allocate("ptr", align=8)
    f.store(given, workspace)
    f.store(Value("null", "ptr"), own)
    status = f.allocate("i64", align=8)
    f.store(f.index(0), status)
    with f.when(f.icmp("eq", given, Value("null", "ptr"))):
        need = f.add(_number(f, part.code.workspace, sizes), f.index(ALIGNMENT))
        pointer = f.call("malloc", "ptr", need, declared=True)
        f.store(pointer, workspace)
        f.store(pointer, own)
        with f.when(f.icmp("eq", pointer, Value("null", "ptr"))):
            f.store(f.index(NO_MEMORY), status)
    context = module.constant_array(f"{kernel}_context", "i64", [0, MOST_BYTES])
    entries = [*operands, *constants, f.load("ptr", workspace, 8), context]
    table = f.allocate("ptr", len(entries), align=8)
    for k, entry in enumerate(entries):
        f.store(entry, f.element(table, f.index(k), "ptr"), 8)
    with f.when(f.icmp("eq", f.load("i64", status, 8), f.index(0))):
        f.store(f.call(kernel, "i64", table), status)
    f.call("free", "void", f.load("ptr", own, 8), declared=True)
    return f.load("i64", status, 8)


def _constant(module: Module, name: str, value: Any) -> Value:
    """An array of the program as a part of the library."""
    content = np.ascontiguousarray(value).tobytes() or b"\0"
    text = "".join(f"\\{byte:02X}" for byte in content)
    module.parts[name] = f'@{name} = internal unnamed_addr constant [{len(content)} x i8] c"{text}", align 64'
    return Value(f"@{name}", "ptr")


def _compute(f: Function, number: Computed, sizes: Mapping[str, Value]) -> Value:
    """Where a number stands that the sizes give."""
    p = f.cast("sitofp", _number(f, number.polynomial, sizes), "double")
    factor = f.constant("double", number.factor)
    value = f.fdiv(factor, p) if number.divides else f.fmul(factor, p)
    if number.dtype.kind in "iu":
        value = f.cast("fptosi", value, "i64")
    elif number.dtype == np.float32:
        value = f.cast("fptrunc", value, "float")
    buffer = f.allocate("i64", align=8)
    f.store(value, buffer, number.dtype.itemsize)
    return buffer


def _number(f: Function, n: Any, sizes: Mapping[str, Value]) -> Value:
    """A formula in the sizes."""
    polynomial = n.polynomial if type(n) is Sym else n if type(n) is tuple else (((), n),)
    total = f.index(0)
    for names, coefficient in polynomial:
        term = f.index(coefficient)
        for name in names:
            term = f.mul(term, sizes[name])
        total = f.add(total, term)
    return total


def _all_hold(f: Function, facts: Sequence[Fact], sizes: Mapping[str, Value]) -> Value:
    """Whether sizes answer all comparisons as the code takes for granted."""
    result = f.constant("i1", 1)
    for fact in facts:
        answer = f.icmp(RELATIONS[fact.relation], _number(f, fact.difference, sizes), f.index(0))
        wanted = answer if fact.holds else f.binary("xor", answer, f.constant("i1", 1))
        result = f.binary("and", result, wanted)
    return result
