"""Machine code that matches the objects of a call with what a specialization expects."""

# pyright: basic

from __future__ import annotations

import sys

from adjoint.compile.callable.layout import ALIGNED, C_CONTIGUOUS, DEFINITION, STEP, Check, Facts, Fetch
from adjoint.compile.callable.writing import (
    NULL,
    ZERO,
    at,
    is_null,
    item,
    leave_if,
    leave_unless,
    outer,
    set_item,
    switch,
    word,
)
from adjoint.compile.ir import Function, Module, Value

FALSE, TRUE = Value("false", "i1"), Value("true", "i1")
NATIVE = [ord(c) for c in "=|" + ("<" if sys.byteorder == "little" else ">")]  # how dtypes mark the machine's order
PY_EQ = 2


def write_fetch(module: Module) -> None:
    """fetch(step, args, positional, kwnames, objects): the object of a step, borrowed; null when there is none."""
    f = Function(module, "fetch", ["ptr"] * 2 + ["i64"] + ["ptr"] * 2, "ptr", attributes="alwaysinline nounwind")
    step, args, positional, kwnames, objects = f.params
    cases = switch(f, word(f, step, STEP, "fetch"), list(Fetch))

    def key() -> Value:
        return word(f, step, STEP, "key", "ptr")

    def container() -> Value:
        return item(f, objects, word(f, step, STEP, "source"))

    f.begin(cases[Fetch.ARGUMENT])
    f.ret(item(f, args, word(f, step, STEP, "index")))
    f.begin(cases[Fetch.KEYWORD])
    f.ret(f.call("find_keyword", "ptr", step, args, positional, kwnames))
    f.begin(cases[Fetch.DICT])
    f.ret(_or_null(f, outer(f, "PyDict_GetItemWithError", container(), key())))
    f.begin(cases[Fetch.TUPLE])
    f.ret(_or_null(f, outer(f, "PyTuple_GetItem", container(), word(f, step, STEP, "index"))))
    f.begin(cases[Fetch.LIST])
    f.ret(_or_null(f, outer(f, "PyList_GetItem", container(), word(f, step, STEP, "index"))))
    f.begin(cases[Fetch.CELL])
    f.ret(f.load("ptr", key()))
    f.begin(cases[Fetch.GLOBAL])
    f.ret(_or_null(f, outer(f, "PyDict_GetItemWithError", word(f, step, STEP, "source", "ptr"), key())))
    f.begin(cases[Fetch.CURRENT])
    slot = f.allocate("ptr", 1, 8)
    f.store(NULL, slot)
    outer(f, "PyContextVar_Get", key(), NULL, slot)
    value = _or_null(f, f.load("ptr", slot))
    outer(f, "Py_DecRef", value)  # the context keeps it
    f.ret(value)
    f.begin(cases[Fetch.ATTRIBUTES])
    attributes = _or_null(f, outer(f, "PyObject_GenericGetDict", container(), NULL))
    outer(f, "Py_DecRef", attributes)  # the object keeps it
    f.ret(attributes)
    f.begin(cases[Fetch.SLOT])
    content = _or_null(f, outer(f, "PyObject_GenericGetAttr", container(), key()))
    outer(f, "Py_DecRef", content)  # the object keeps it
    f.ret(content)
    f.begin(cases[Fetch.OBJECT])
    f.ret(key())
    f.finish()


def _or_null(f: Function, value: Value) -> Value:
    """An object that was looked for; a failed search (a key whose comparison raises) counts as no match."""
    with f.when(is_null(f, value)):
        outer(f, "PyErr_Clear")
    return value


def write_find_keyword(module: Module) -> None:
    """find_keyword(step, args, positional, kwnames): the value of a keyword, wherever it stands among the keywords."""
    f = Function(module, "find_keyword", ["ptr", "ptr", "i64", "ptr"], "ptr")
    step, args, positional, kwnames = f.params
    name, hint = word(f, step, STEP, "key", "ptr"), word(f, step, STEP, "index")

    def return_if(is_same: Value, index: Value) -> None:
        yes, no = f.new_block("found"), f.new_block("other")
        f.branch(is_same, yes, no)
        f.begin(yes)
        f.ret(item(f, args, f.add(positional, index)))
        f.begin(no)

    return_if(f.icmp("eq", outer(f, "PyTuple_GetItem", kwnames, hint), name), hint)
    count = outer(f, "PyTuple_Size", kwnames)
    with f.loop(ZERO, count) as i:  # names are nearly always interned, so that the same text is the same object
        return_if(f.icmp("eq", outer(f, "PyTuple_GetItem", kwnames, i), name), i)
    with f.loop(ZERO, count) as i:
        order = outer(f, "PyUnicode_Compare", outer(f, "PyTuple_GetItem", kwnames, i), name)
        return_if(f.icmp("eq", order, Value("0", "i32")), i)
    outer(f, "PyErr_Clear")
    f.ret(NULL)
    f.finish()


def write_check(module: Module, facts: Facts) -> None:
    """check(step, object, frame): whether the object is as expected; its data pointer goes into the frame's table."""
    f = Function(module, "check", ["ptr"] * 3, "i1", attributes="alwaysinline nounwind")
    step, thing, frame = f.params
    type_fits = f.icmp("eq", f.load("ptr", at(f, thing, facts.type)), word(f, step, STEP, "type", "ptr"))
    cases = switch(f, word(f, step, STEP, "check"), list(Check))

    def pass_on(pointer: Value) -> None:
        set_item(f, frame, word(f, step, STEP, "slot"), pointer)
        f.ret(TRUE)

    f.begin(cases[Check.ARRAY])
    leave_unless(f, type_fits, FALSE)
    _leave_unless_array(f, step, thing, facts)
    pass_on(f.load("ptr", at(f, thing, facts.data)))

    f.begin(cases[Check.CONTENT])
    leave_unless(f, type_fits, FALSE)
    _leave_unless_array(f, step, thing, facts)
    data, expected = f.load("ptr", at(f, thing, facts.data)), word(f, step, STEP, "value", "ptr")
    f.ret(f.call("same_bytes", "i1", data, expected, word(f, step, STEP, "size")))

    f.begin(cases[Check.ABSENT])
    f.ret(FALSE)

    f.begin(cases[Check.VALUE])
    leave_unless(f, type_fits, FALSE)
    pass_on(at(f, thing, facts.head))

    f.begin(cases[Check.INTEGER])
    leave_unless(f, type_fits, FALSE)
    overflow = f.allocate("i32", 1, 4)
    number = outer(f, "PyLong_AsLongLongAndOverflow", thing, overflow)
    leave_unless(f, f.icmp("eq", f.load("i32", overflow), Value("0", "i32")), FALSE)
    scratch = at(f, frame, word(f, step, STEP, "scratch"))
    f.store(number, scratch)
    pass_on(scratch)

    f.begin(cases[Check.TRUTH])
    leave_unless(f, type_fits, FALSE)
    truth = f.icmp("eq", thing, word(f, step, STEP, "value", "ptr"))
    scratch = at(f, frame, word(f, step, STEP, "scratch"))
    f.store(f.cast("zext", truth, "i8"), scratch)
    pass_on(scratch)

    for kind, size_of in (
        (Check.DICT, "PyDict_Size"),
        (Check.TUPLE, "PyTuple_Size"),
        (Check.LIST, "PyList_Size"),
    ):
        f.begin(cases[kind])
        leave_unless(f, type_fits, FALSE)
        f.ret(f.icmp("eq", outer(f, size_of, thing), word(f, step, STEP, "size")))

    f.begin(cases[Check.OBJECT])
    f.ret(type_fits)

    f.begin(cases[Check.SAME])
    f.ret(f.icmp("eq", thing, word(f, step, STEP, "value", "ptr")))

    f.begin(cases[Check.TEXT])
    value = word(f, step, STEP, "value", "ptr")
    leave_if(f, f.icmp("eq", thing, value), TRUE)
    leave_unless(f, type_fits, FALSE)
    f.ret(f.icmp("eq", outer(f, "PyUnicode_Compare", thing, value), Value("0", "i32")))

    f.begin(cases[Check.BITS])
    leave_unless(f, type_fits, FALSE)
    value = word(f, step, STEP, "value", "ptr")
    a, b = at(f, thing, facts.head), at(f, value, facts.head)
    with f.loop(ZERO, word(f, step, STEP, "size")) as i:
        equal = f.icmp("eq", f.load("i64", f.element(a, i, "i64")), f.load("i64", f.element(b, i, "i64")))
        leave_unless(f, equal, FALSE)
    f.ret(TRUE)

    f.begin(cases[Check.DEFINED])
    a, b = at(f, thing, facts.code), word(f, step, STEP, "value", "ptr")
    for i in range(DEFINITION):
        index = f.constant("i64", i)
        equal = f.icmp("eq", f.load("i64", f.element(a, index, "i64")), f.load("i64", f.element(b, index, "i64")))
        leave_unless(f, equal, FALSE)
    f.ret(TRUE)

    f.begin(cases[Check.EQUAL])
    value = word(f, step, STEP, "value", "ptr")
    leave_if(f, f.icmp("eq", thing, value), TRUE)
    leave_unless(f, type_fits, FALSE)
    answer = outer(f, "PyObject_RichCompareBool", thing, value, Value(str(PY_EQ), "i32"))
    f.ret(f.icmp("eq", answer, Value("1", "i32")))
    f.finish()


def _leave_unless_array(f: Function, step: Value, thing: Value, facts: Facts) -> None:
    """Leave unless an array has the dtype and shape of a step, in C order without gaps."""
    dtype, expected = f.load("ptr", at(f, thing, facts.dtype)), word(f, step, STEP, "dtype", "ptr")
    with f.when(f.icmp("ne", dtype, expected)):
        leave_unless(f, f.call("same_dtype", "i1", dtype, expected), FALSE)
    ndim = f.cast("zext", f.load("i32", at(f, thing, facts.ndim)), "i64")
    leave_unless(f, f.icmp("eq", ndim, word(f, step, STEP, "ndim")), FALSE)
    wanted = f.constant("i32", C_CONTIGUOUS | ALIGNED)
    flags = f.binary("and", f.load("i32", at(f, thing, facts.flags)), wanted)
    leave_unless(f, f.icmp("eq", flags, wanted), FALSE)
    shape, expected = f.load("ptr", at(f, thing, facts.shape)), word(f, step, STEP, "shape", "ptr")
    with f.loop(ZERO, ndim) as axis:
        length, wanted = f.load("i64", f.element(shape, axis, "i64")), f.load("i64", f.element(expected, axis, "i64"))
        leave_unless(f, f.icmp("eq", length, wanted), FALSE)


def write_same_bytes(module: Module) -> None:
    """same_bytes(a, b, count): whether memory holds the same; as words, then the rest."""
    f = Function(module, "same_bytes", ["ptr", "ptr", "i64"], "i1", attributes="noinline nounwind")
    a, b, count = f.params
    whole = f.binary("lshr", count, Value("3", "i64"))
    different = f.allocate("i64", 1, 8)  # no early end: the loop becomes vectors
    f.store(ZERO, different)
    with f.loop(ZERO, whole) as i:
        x, y = (f.load("i64", f.element(p, i, "i64"), align=1) for p in (a, b))
        f.store(f.binary("or", f.load("i64", different), f.binary("xor", x, y)), different)
    with f.loop(f.binary("shl", whole, Value("3", "i64")), count) as i:
        x, y = (f.cast("zext", f.load("i8", f.element(p, i, "i8")), "i64") for p in (a, b))
        f.store(f.binary("or", f.load("i64", different), f.binary("xor", x, y)), different)
    f.ret(f.icmp("eq", f.load("i64", different), ZERO))
    f.finish()


def write_same_dtype(module: Module, facts: Facts) -> None:
    """same_dtype(a, b): whether another object for a dtype means the same: same number, the machine's byte order."""
    f = Function(module, "same_dtype", ["ptr", "ptr"], "i1")
    a, b = f.params
    numbers = [f.load("i32", at(f, x, facts.type_number)) for x in (a, b)]
    leave_unless(f, f.icmp("eq", *numbers), FALSE)
    order = f.load("i8", at(f, a, facts.byte_order))
    for mark in NATIVE:
        leave_if(f, f.icmp("eq", order, f.constant("i8", mark)), TRUE)
    f.ret(FALSE)
    f.finish()


def write_match(module: Module) -> None:
    """match(steps, count, args, positional, kwnames, frame, objects): whether all steps succeed."""
    f = Function(module, "match", ["ptr", "i64", "ptr", "i64", "ptr", "ptr", "ptr"], "i1")
    steps, count, args, positional, kwnames, frame, objects = f.params
    with f.loop(ZERO, count) as i:
        step = f.element(steps, i, f"[{len(STEP)} x i64]")
        thing = f.call("fetch", "ptr", step, args, positional, kwnames, objects)
        set_item(f, objects, i, thing)
        missing, present, following = (f.new_block(hint) for hint in ("missing", "present", "following"))
        f.branch(is_null(f, thing), missing, present)
        f.begin(missing)
        leave_unless(f, f.icmp("eq", word(f, step, STEP, "check"), f.constant("i64", Check.ABSENT)), FALSE)
        f.jump(following)
        f.begin(present)
        leave_unless(f, f.call("check", "i1", step, thing, frame), FALSE)
        f.jump(following)
        f.begin(following)
    f.ret(TRUE)
    f.finish()


def write_matching(module: Module, facts: Facts) -> None:
    """All of the above."""
    write_find_keyword(module)
    write_fetch(module)
    write_same_dtype(module, facts)
    write_same_bytes(module)
    write_check(module, facts)
    write_match(module)
