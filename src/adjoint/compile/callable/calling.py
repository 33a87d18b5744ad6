"""The machine code of a call: one function for all entries, which reads the tables of the entry that is called."""

# pyright: basic

from __future__ import annotations

from adjoint.compile.callable.building import write_building
from adjoint.compile.callable.functions import CALL, GET
from adjoint.compile.callable.layout import SPECIALIZATION, STEP, TABLE, WORD, Facts
from adjoint.compile.callable.matching import write_matching
from adjoint.compile.callable.writing import (
    NULL,
    ONE,
    ZERO,
    at,
    is_null,
    item,
    leave_if,
    leave_unless,
    outer,
    row,
    set_item,
    set_word,
    word,
)
from adjoint.compile.ir import Function, Module, Value

STACK_BYTES = 3584  # bytes of the largest frame that is on the stack
TAKEN, OTHER, FAILED = (Value(str(n), "i64") for n in range(3))  # what became of a call that was offered


def module_text(facts: Facts, fields: dict[str, int]) -> str:
    """The whole module; `fields` says where an entry keeps its `owner`, `miss` and `failed`."""
    module = Module()
    write_matching(module, facts)
    write_building(module, facts)
    write_run(module)
    write_attempt(module)
    write_ask_python(module)
    write_call(module, facts, fields)
    write_get(module)
    return str(module)


def write_run(module: Module) -> None:
    """run(specialization, args, positional, kwnames, frame, result) -> TAKEN | OTHER | FAILED.

    `result` holds the result (null: an exception is set), or the kernel's status when it FAILED.
    """
    f = Function(module, "run", ["ptr", "ptr", "i64", "ptr", "ptr", "ptr"], "i64")
    spec, args, positional, kwnames, frame, result = f.params
    steps, step_list = word(f, spec, SPECIALIZATION, "steps"), word(f, spec, SPECIALIZATION, "step_list", "ptr")
    objects = at(f, frame, word(f, spec, SPECIALIZATION, "objects_at"))
    matched = f.call("match", "i1", step_list, steps, args, positional, kwnames, frame, objects)
    leave_unless(f, matched, OTHER)
    f.store(NULL, result)
    leave_unless(f, f.call("make_outputs", "i1", spec, frame), TAKEN)
    results = at(f, frame, word(f, spec, SPECIALIZATION, "results_at"))
    outputs = word(f, spec, SPECIALIZATION, "outputs")

    fixed = word(f, spec, SPECIALIZATION, "fixed_list", "ptr")
    slots = f.element(frame, word(f, spec, SPECIALIZATION, "fixed_slot"), "ptr")
    with f.loop(ZERO, word(f, spec, SPECIALIZATION, "fixed")) as i:
        set_item(f, slots, i, item(f, fixed, i))

    # The workspace belongs to one call at a time: another thread's, or one from within a callback, gets its own.
    own = f.allocate("ptr", 1, 8)
    f.store(NULL, own)
    workspace_slot = word(f, spec, SPECIALIZATION, "workspace_slot")
    has_workspace = f.icmp("sge", workspace_slot, ZERO)
    with f.when(has_workspace):
        shared, separate, ready = (f.new_block(hint) for hint in ("shared", "separate", "ready"))
        f.branch(f.icmp("eq", word(f, spec, SPECIALIZATION, "busy"), ZERO), shared, separate)
        f.begin(shared)
        set_word(f, spec, SPECIALIZATION, "busy", ONE)
        set_item(f, frame, workspace_slot, word(f, spec, SPECIALIZATION, "workspace", "ptr"))
        f.jump(ready)
        f.begin(separate)
        size = f.add(word(f, spec, SPECIALIZATION, "workspace_bytes"), Value("64", "i64"))
        memory = outer(f, "PyMem_RawMalloc", size)
        f.store(memory, own)
        without, granted = f.new_block("without"), f.new_block("granted")
        f.branch(is_null(f, memory), without, granted)
        f.begin(without)
        f.call("drop", "void", results, outputs)
        outer(f, "PyErr_NoMemory")
        f.ret(TAKEN)
        f.begin(granted)
        aligned = f.intrinsic("ptrmask", at(f, memory, 63), Value("-64", "i64"), returns="ptr", over=["ptr", "i64"])
        set_item(f, frame, workspace_slot, aligned)
        f.jump(ready)
        f.begin(ready)

    status = f.allocate("i64", 1, 8)
    holds = f.icmp("ne", word(f, spec, SPECIALIZATION, "holds"), ZERO)
    with f.when(holds):
        f.call("hold", "void", step_list, steps, objects)
    kernel = word(f, spec, SPECIALIZATION, "kernel", "ptr")
    alone, free, done = (f.new_block(hint) for hint in ("alone", "free", "done"))
    f.branch(f.icmp("eq", word(f, spec, SPECIALIZATION, "heavy"), ZERO), alone, free)
    f.begin(alone)
    f.store(f.call_address(kernel, "i64", frame), status)
    f.jump(done)
    f.begin(free)
    thread = outer(f, "PyEval_SaveThread")
    f.store(f.call_address(kernel, "i64", frame), status)
    outer(f, "PyEval_RestoreThread", thread)
    f.jump(done)
    f.begin(done)
    with f.when(has_workspace):
        memory = f.load("ptr", own)
        shared, separate, ready = (f.new_block(hint) for hint in ("shared", "separate", "ready"))
        f.branch(is_null(f, memory), shared, separate)
        f.begin(shared)
        set_word(f, spec, SPECIALIZATION, "busy", ZERO)
        f.jump(ready)
        f.begin(separate)
        outer(f, "PyMem_RawFree", memory)
        f.jump(ready)
        f.begin(ready)

    finished = f.load("i64", status)
    good, bad = f.new_block("good"), f.new_block("bad")
    f.branch(f.icmp("eq", finished, ZERO), good, bad)
    f.begin(bad)
    with f.when(holds):
        f.call("release", "void", step_list, steps, objects)
    f.call("drop", "void", results, outputs)
    f.store(finished, result)
    f.ret(FAILED)

    f.begin(good)
    set_word(f, spec, SPECIALIZATION, "hits", f.add(word(f, spec, SPECIALIZATION, "hits"), ONE))
    with f.when(f.call("make_numbers", "i1", spec, frame)):
        f.store(f.call("build", "ptr", spec, frame), result)
    with f.when(holds):
        f.call("release", "void", step_list, steps, objects)
    f.call("drop", "void", results, outputs)
    f.ret(TAKEN)
    f.finish()
    write_hold(module, "hold", "Py_IncRef")
    write_hold(module, "release", "Py_DecRef")


def write_hold(module: Module, name: str, change: str) -> None:
    """hold(steps, count, objects): keep alive what the caller does not: parts of containers, contents of cells."""
    f = Function(module, name, ["ptr", "i64", "ptr"], "void", attributes="noinline nounwind")
    steps, count, objects = f.params
    with f.loop(ZERO, count) as i:
        step = row(f, steps, i, STEP)
        with f.when(f.icmp("ne", word(f, step, STEP, "hold"), ZERO)):
            outer(f, change, item(f, objects, i))
    f.ret()
    f.finish()


def write_attempt(module: Module) -> None:
    """attempt(specialization, args, positional, keywords, kwnames, result): `run` with a frame, if the counts fit."""
    f = Function(module, "attempt", ["ptr", "ptr", "i64", "i64", "ptr", "ptr"], "i64")
    spec, args, positional, keywords, kwnames, result = f.params
    leave_unless(f, f.icmp("eq", positional, word(f, spec, SPECIALIZATION, "positional")), OTHER)
    leave_unless(f, f.icmp("eq", keywords, word(f, spec, SPECIALIZATION, "keywords")), OTHER)
    size = word(f, spec, SPECIALIZATION, "frame_bytes")
    small, large = f.new_block("small"), f.new_block("large")
    f.branch(f.icmp("sle", size, Value(str(STACK_BYTES), "i64")), small, large)
    f.begin(small)
    frame = f.allocate("i8", STACK_BYTES, 16)
    f.ret(f.call("run", "i64", spec, args, positional, kwnames, frame, result))
    f.begin(large)
    memory = outer(f, "PyMem_RawMalloc", size)
    with f.when(is_null(f, memory)):
        outer(f, "PyErr_NoMemory")
        f.store(NULL, result)
    leave_if(f, is_null(f, memory), TAKEN)
    outcome = f.call("run", "i64", spec, args, positional, kwnames, memory, result)
    outer(f, "PyMem_RawFree", memory)
    f.ret(outcome)
    f.finish()


def complain(f: Function) -> None:
    """Raise: the entry has lost what it needs."""
    f.module.parts["adjoint_runtime_error"] = "@adjoint_runtime_error = external global i8"
    message = f.module.constant_bytes("entry_emptied", b"this compiled function has been taken apart by the collector")
    outer(f, "PyErr_SetString", Value("@adjoint_runtime_error", "ptr"), message)


def write_ask_python(module: Module) -> None:
    """ask_python(function, first, extra, args, positional, kwnames): function(*first, args, kwargs).

    `first` is a list of `extra` objects; a null among them stands for an exception that is set.
    """
    f = Function(
        module, "ask_python", ["ptr", "ptr", "i64", "ptr", "i64", "ptr"], "ptr", attributes="noinline nounwind"
    )
    function, first, extra, args, positional, kwnames = f.params
    fail, emptied, whole = (f.new_block(hint) for hint in ("fail", "emptied", "whole"))
    f.branch(is_null(f, function), emptied, whole)
    f.begin(emptied)
    complain(f)
    f.ret(NULL)
    f.begin(whole)
    call = outer(f, "PyTuple_New", f.add(extra, Value("2", "i64")))
    leave_if(f, is_null(f, call), NULL)
    outer(f, "Py_IncRef", function)  # it may be replaced while it runs

    def or_fail(value: Value) -> None:
        good = f.new_block("good")
        f.branch(is_null(f, value), fail, good)
        f.begin(good)

    def put(items: Value, index: Value, thing: Value) -> None:
        outer(f, "Py_IncRef", thing)
        outer(f, "PyTuple_SetItem", items, index, thing)

    with f.loop(ZERO, extra) as i:
        thing = item(f, first, i)
        or_fail(thing)
        put(call, i, thing)
    listed = outer(f, "PyTuple_New", positional)
    or_fail(listed)
    outer(f, "PyTuple_SetItem", call, extra, listed)
    with f.loop(ZERO, positional) as i:
        put(listed, i, item(f, args, i))
    named = outer(f, "PyDict_New")
    or_fail(named)
    outer(f, "PyTuple_SetItem", call, f.add(extra, ONE), named)
    with f.when(f.icmp("ne", kwnames, NULL)), f.loop(ZERO, outer(f, "PyTuple_Size", kwnames)) as i:
        value = item(f, args, f.add(positional, i))
        status = outer(f, "PyDict_SetItem", named, outer(f, "PyTuple_GetItem", kwnames, i), value)
        good = f.new_block("good")
        f.branch(f.icmp("eq", status, Value("0", "i32")), good, fail)
        f.begin(good)
    answer = outer(f, "PyObject_CallObject", function, call)
    outer(f, "Py_DecRef", function)
    outer(f, "Py_DecRef", call)
    f.ret(answer)
    f.begin(fail)
    outer(f, "Py_DecRef", function)
    outer(f, "Py_DecRef", call)
    f.ret(NULL)
    f.finish()


def write_call(module: Module, facts: Facts, fields: dict[str, int]) -> None:
    """The function that CPython calls: vectorcall(entry, args, positional | flag, kwnames)."""
    f = Function(module, CALL, ["ptr", "ptr", "i64", "ptr"], "ptr", linkage="")
    entry, args, flagged, kwnames = f.params
    positional = f.binary("and", flagged, Value(str((1 << 63) - 1), "i64"))
    # The collector of cycles may have emptied an entry that a dying object still calls.
    owner = f.load("ptr", at(f, entry, fields["owner"]))
    emptied, whole = f.new_block("emptied"), f.new_block("whole")
    f.branch(is_null(f, owner), emptied, whole)
    f.begin(emptied)
    complain(f)
    f.ret(NULL)
    f.begin(whole)
    table = f.load("ptr", at(f, outer(f, "PyTuple_GetItem", owner, ZERO), facts.data))
    keywords = f.allocate("i64", 1, 8)
    f.store(ZERO, keywords)
    with f.when(f.icmp("ne", kwnames, NULL)):
        f.store(outer(f, "PyTuple_Size", kwnames), keywords)
    result = f.allocate("ptr", 1, 8)
    first_failed, first_status = f.allocate("i64", 1, 8), f.allocate("i64", 1, 8)
    f.store(Value("-1", "i64"), first_failed)
    outer(f, "Py_IncRef", owner)  # the list may be replaced meanwhile
    listed = at(f, table, len(TABLE) * WORD)
    ended = f.new_block("ended")
    with f.loop(ZERO, word(f, table, TABLE, "count")) as i:
        spec = item(f, listed, i)
        outcome = f.call("attempt", "i64", spec, args, positional, f.load("i64", keywords), kwnames, result)
        taken, not_taken, following, failed = (
            f.new_block(hint) for hint in ("taken", "not_taken", "following", "failed")
        )
        f.branch(f.icmp("eq", outcome, TAKEN), taken, not_taken)
        f.begin(taken)
        # The one used last is tried first. Another thread may have reordered the list while the kernel ran.
        behind = f.icmp("ne", i, ZERO)
        with f.when(f.binary("and", behind, f.icmp("eq", item(f, listed, i), spec))):
            set_item(f, listed, i, item(f, listed, ZERO))
            set_item(f, listed, ZERO, spec)
        outer(f, "Py_DecRef", owner)
        f.ret(f.load("ptr", result))
        f.begin(not_taken)
        f.branch(f.icmp("eq", outcome, OTHER), following, failed)
        f.begin(failed)
        status = f.load("i64", result)
        with f.when(f.icmp("eq", f.load("i64", first_failed), Value("-1", "i64"))):
            f.store(word(f, spec, SPECIALIZATION, "number"), first_failed)
            f.store(status, first_status)
        retry = f.icmp("ne", word(f, spec, SPECIALIZATION, "retry"), ZERO)
        # A negative status is an error and ends the search: it is the one that is reported.
        again = f.binary("and", retry, f.icmp("sgt", status, ZERO))
        stop = f.new_block("stop")
        f.branch(again, following, stop)
        f.begin(stop)
        f.store(word(f, spec, SPECIALIZATION, "number"), first_failed)
        f.store(status, first_status)
        f.jump(ended)
        f.begin(following)
    f.jump(ended)
    f.begin(ended)
    outer(f, "Py_DecRef", owner)
    number = f.load("i64", first_failed)
    asked, report = f.new_block("asked"), f.new_block("report")
    f.branch(f.icmp("slt", number, ZERO), asked, report)

    f.begin(report)
    leave_unless(f, is_null(f, outer(f, "PyErr_Occurred")), NULL)
    first = f.allocate("ptr", 3, 8)
    set_item(f, first, ZERO, entry)
    numbers = [outer(f, "PyLong_FromLongLong", n) for n in (number, f.load("i64", first_status))]
    for k, thing in enumerate(numbers):
        set_item(f, first, Value(str(k + 1), "i64"), thing)
    function = f.load("ptr", at(f, entry, fields["failed"]))
    answer = f.call("ask_python", "ptr", function, first, Value("3", "i64"), args, positional, kwnames)
    for thing in numbers:
        outer(f, "Py_DecRef", thing)
    f.ret(answer)

    f.begin(asked)
    alone = f.allocate("ptr", 1, 8)
    f.store(entry, alone)
    function = f.load("ptr", at(f, entry, fields["miss"]))
    f.ret(f.call("ask_python", "ptr", function, alone, ONE, args, positional, kwnames))
    f.finish()


def write_get(module: Module) -> None:
    """`__get__`: an entry that is an attribute of a class becomes a method of its instances."""
    f = Function(module, GET, ["ptr", "ptr", "ptr"], "ptr", linkage="")
    entry, instance, _ = f.params
    with_instance, without = f.new_block("bound"), f.new_block("plain")
    f.branch(is_null(f, instance), without, with_instance)
    f.begin(without)
    outer(f, "Py_IncRef", entry)
    f.ret(entry)
    f.begin(with_instance)
    f.ret(outer(f, "PyMethod_New", entry, instance))
    f.finish()
