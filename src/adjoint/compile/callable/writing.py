"""How the machine code of a call is written: fields by name, early returns, switches, and the functions it calls."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.compile.callable.functions import CPYTHON, NUMPY
from adjoint.compile.callable.layout import offset
from adjoint.compile.ir import Function, Value

NULL = Value("null", "ptr")
ZERO = Value("0", "i64")
ONE = Value("1", "i64")


def outer(f: Function, name: str, *args: Value) -> Value:
    """Call a function of CPython or NumPy."""
    returns, params = CPYTHON[name] if name in CPYTHON else NUMPY[name][1:]
    assert [a.type for a in args] == list(params), (name, args)
    return f.call(name, returns, *args, declared=True, attributes="nounwind")


def at(f: Function, base: Value, offset: int | Value) -> Value:
    """base + a number of bytes."""
    return f.element(base, Value(str(offset), "i64") if isinstance(offset, int) else offset, "i8")


def word(f: Function, base: Value, fields: Sequence[str], name: str, kind: str = "i64") -> Value:
    """A field of a row."""
    return f.load(kind, at(f, base, offset(fields, name)))


def set_word(f: Function, base: Value, fields: Sequence[str], name: str, value: Value) -> None:
    f.store(value, at(f, base, offset(fields, name)))


def item(f: Function, base: Value, index: Value) -> Value:
    """The pointer at an index of a list of pointers."""
    return f.load("ptr", f.element(base, index, "ptr"))


def set_item(f: Function, base: Value, index: Value, value: Value) -> None:
    f.store(value, f.element(base, index, "ptr"))


def row(f: Function, base: Value, index: Value, fields: Sequence[str]) -> Value:
    """Where a row of a table starts."""
    return f.element(base, index, f"[{len(fields)} x i64]")


def leave_if(f: Function, condition: Value, value: Value) -> None:
    """Return early."""
    yes, no = f.new_block("leave"), f.new_block("stay")
    f.branch(condition, yes, no)
    f.begin(yes)
    f.ret(value)
    f.begin(no)


def leave_unless(f: Function, condition: Value, value: Value) -> None:
    yes, no = f.new_block("stay"), f.new_block("leave")
    f.branch(condition, yes, no)
    f.begin(no)
    f.ret(value)
    f.begin(yes)


def is_null(f: Function, pointer: Value) -> Value:
    return f.icmp("eq", pointer, NULL)


def switch(f: Function, value: Value, cases: Sequence[int]) -> Mapping[int, str]:
    """Jump to one block of several; a value that is none of them does not occur."""
    blocks = {case: f.new_block("case") for case in cases}
    never = f.new_block("never")
    listed = " ".join(f"i64 {case}, label %{block}" for case, block in blocks.items())
    f.line(f"switch i64 {value.text}, label %{never} [ {listed} ]")
    f.begin(never)
    f.line("unreachable")
    return blocks
