"""Machine code that makes the arrays a kernel fills, and puts the result of a call together."""

# pyright: basic

from __future__ import annotations

from adjoint.compile.callable.layout import BUILD, OUTPUT, SPECIALIZATION, Action, Facts
from adjoint.compile.callable.writing import (
    NULL,
    ONE,
    ZERO,
    at,
    is_null,
    item,
    leave_if,
    outer,
    row,
    set_item,
    switch,
    word,
)
from adjoint.compile.ir import Function, Module, Value

FALSE, TRUE = Value("false", "i1"), Value("true", "i1")


def write_drop(module: Module) -> None:
    """drop(list, count): give up references; nulls among them are passed over."""
    f = Function(module, "drop", ["ptr", "i64"], "void")
    things, count = f.params
    with f.loop(ZERO, count) as i:
        outer(f, "Py_DecRef", item(f, things, i))
    f.ret()
    f.finish()


def write_make_outputs(module: Module, facts: Facts) -> None:
    """make_outputs(specialization, frame): new arrays, and their data in the table; false when memory is out."""
    f = Function(module, "make_outputs", ["ptr", "ptr"], "i1", attributes="alwaysinline nounwind")
    spec, frame = f.params
    module.parts["adjoint_numpy_array_type"] = "@adjoint_numpy_array_type = external global i8"
    array_type = Value("@adjoint_numpy_array_type", "ptr")
    results = at(f, frame, word(f, spec, SPECIALIZATION, "results_at"))
    slots = f.element(frame, word(f, spec, SPECIALIZATION, "output_slot"), "ptr")
    outputs = word(f, spec, SPECIALIZATION, "output_list", "ptr")
    with f.loop(ZERO, word(f, spec, SPECIALIZATION, "outputs")) as i:
        output = row(f, outputs, i, OUTPUT)
        scratch = word(f, output, OUTPUT, "scratch")
        array, number, done = (f.new_block(hint) for hint in ("array", "number", "made"))
        f.branch(f.icmp("slt", scratch, ZERO), array, number)
        f.begin(array)
        dtype = word(f, output, OUTPUT, "dtype", "ptr")
        ndim = f.cast("trunc", word(f, output, OUTPUT, "ndim"), "i32")
        outer(f, "Py_IncRef", dtype)  # the next call keeps it
        zero = Value("0", "i32")
        new = outer(
            f,
            "adjoint_numpy_array",
            array_type,
            dtype,
            ndim,
            word(f, output, OUTPUT, "shape", "ptr"),
            NULL,
            NULL,
            zero,
            NULL,
        )
        with_array, without = f.new_block("filled"), f.new_block("memory")
        f.branch(is_null(f, new), without, with_array)
        f.begin(without)
        f.call("drop", "void", results, i)
        f.ret(FALSE)
        f.begin(with_array)
        set_item(f, results, i, new)
        set_item(f, slots, i, f.load("ptr", at(f, new, facts.data)))
        f.jump(done)
        f.begin(number)
        set_item(f, results, i, NULL)
        set_item(f, slots, i, at(f, frame, scratch))
        f.jump(done)
        f.begin(done)
    f.ret(TRUE)
    f.finish()


def write_make_numbers(module: Module) -> None:
    """make_numbers(specialization, frame): outputs without axes, as NumPy's scalars; false on an error."""
    f = Function(module, "make_numbers", ["ptr", "ptr"], "i1", attributes="alwaysinline nounwind")
    spec, frame = f.params
    results = at(f, frame, word(f, spec, SPECIALIZATION, "results_at"))
    outputs = word(f, spec, SPECIALIZATION, "output_list", "ptr")
    with f.loop(ZERO, word(f, spec, SPECIALIZATION, "outputs")) as i:
        output = row(f, outputs, i, OUTPUT)
        scratch = word(f, output, OUTPUT, "scratch")
        with f.when(f.icmp("sge", scratch, ZERO)):
            number = outer(
                f, "adjoint_numpy_scalar", at(f, frame, scratch), word(f, output, OUTPUT, "dtype", "ptr"), NULL
            )
            leave_if(f, is_null(f, number), FALSE)
            set_item(f, results, i, number)
    f.ret(TRUE)
    f.finish()


def write_build(module: Module) -> None:
    """build(specialization, frame): the result; null on an error. Outputs that are taken leave a null behind.

    A stack machine: outputs, inputs and constants are pushed; a container takes its items from the top.
    """
    f = Function(module, "build", ["ptr", "ptr"], "ptr")
    spec, frame = f.params
    results = at(f, frame, word(f, spec, SPECIALIZATION, "results_at"))
    objects = at(f, frame, word(f, spec, SPECIALIZATION, "objects_at"))
    stack = at(f, frame, word(f, spec, SPECIALIZATION, "stack_at"))
    builds = word(f, spec, SPECIALIZATION, "build_list", "ptr")
    top = f.allocate("i64", 1, 8)
    f.store(ZERO, top)
    failed = f.new_block("failed")
    with f.loop(ZERO, word(f, spec, SPECIALIZATION, "builds")) as i:
        build = row(f, builds, i, BUILD)
        count = word(f, build, BUILD, "count")
        thing = word(f, build, BUILD, "object", "ptr")
        pushed = f.new_block("pushed")

        def push(value: Value, end: str = pushed) -> None:
            height = f.load("i64", top)
            set_item(f, stack, height, value)
            f.store(f.add(height, ONE), top)
            f.jump(end)

        def or_fail(value: Value) -> None:
            good = f.new_block("good")
            f.branch(is_null(f, value), failed, good)
            f.begin(good)

        def items(taken: Value = count) -> Value:
            """Where the items of a container start on the stack."""
            return f.element(stack, f.sub(f.load("i64", top), taken), "ptr")

        def pop(taken: Value = count) -> None:
            f.store(f.sub(f.load("i64", top), taken), top)

        def tuple_of(taken: Value = count) -> Value:
            new = outer(f, "PyTuple_New", taken)
            or_fail(new)
            first = items()
            with f.loop(ZERO, taken) as j:
                outer(f, "PyTuple_SetItem", new, j, item(f, first, j))
            pop()
            return new

        cases = switch(f, word(f, build, BUILD, "action"), list(Action))
        f.begin(cases[Action.TAKE])
        output = item(f, results, count)
        set_item(f, results, count, NULL)
        push(output)
        f.begin(cases[Action.SHARE])
        output = item(f, results, count)
        outer(f, "Py_IncRef", output)
        push(output)
        f.begin(cases[Action.PASSED])
        passed = item(f, objects, count)
        outer(f, "Py_IncRef", passed)
        push(passed)
        f.begin(cases[Action.CONSTANT])
        outer(f, "Py_IncRef", thing)
        push(thing)
        f.begin(cases[Action.TUPLE])
        push(tuple_of())
        f.begin(cases[Action.LIST])
        new = outer(f, "PyList_New", count)
        or_fail(new)
        first = items()
        with f.loop(ZERO, count) as j:
            outer(f, "PyList_SetItem", new, j, item(f, first, j))
        pop()
        push(new)
        f.begin(cases[Action.DICT])
        new = outer(f, "PyDict_New")
        or_fail(new)
        first = items()
        with f.loop(ZERO, count) as j:
            status = outer(f, "PyDict_SetItem", new, outer(f, "PyTuple_GetItem", thing, j), item(f, first, j))
            bad, good = f.new_block("bad"), f.new_block("good")
            f.branch(f.icmp("eq", status, Value("0", "i32")), good, bad)
            f.begin(bad)
            outer(f, "Py_DecRef", new)
            f.jump(failed)
            f.begin(good)
        f.call("drop", "void", first, count)
        pop()
        push(new)
        f.begin(cases[Action.CALLED])
        args = tuple_of()
        new = outer(f, "PyObject_CallObject", thing, args)
        outer(f, "Py_DecRef", args)
        or_fail(new)
        push(new)
        f.begin(pushed)
    f.ret(f.load("ptr", stack))
    f.begin(failed)
    f.call("drop", "void", stack, f.load("i64", top))
    f.ret(NULL)
    f.finish()


def write_building(module: Module, facts: Facts) -> None:
    """All of the above."""
    write_drop(module)
    write_make_outputs(module, facts)
    write_make_numbers(module)
    write_build(module)
