"""Calls: tables, references, memory, statuses, threads."""

import contextlib
import ctypes
import gc
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.compile.callable import (
    ArrayLeaf,
    Cell,
    Constant,
    DictNode,
    Entry,
    ListNode,
    NumberLeaf,
    Output,
    OutputType,
    Specialization,
    TupleOf,
)
from tests.compile.callable.kernels import (
    FLOAT,
    Gave,
    Missed,
    busy,
    copying,
    echo,
    entry,
    function_address,
    gave,
    kernel,
    pointers,
    status_kernel,
    whole_number,
)

INT = np.dtype(np.int64)
KernelType = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


def resident() -> int:
    """Bytes of memory in use by the process."""
    status = Path("/proc/self/statm")  # Linux alone tells; tracemalloc looks at the rest in another test
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def test_the_table_holds_inputs_outputs_constants_workspace_context() -> None:
    constants = [np.arange(2.0), np.arange(3.0)]
    specialization = Specialization(
        kernel=pointers(8, 3),
        inputs=3,
        positional=[ArrayLeaf(1, FLOAT, (2,)), NumberLeaf(2, float), ArrayLeaf(0, FLOAT, (5,))],
        outputs=[OutputType(INT, (8,))],
        result=Output(0),
        constants=[constants[0], constants[1].ctypes.data],
        workspace=100,
        context=4242,
        keep=constants,
    )
    x, n, y = np.ones(2), 1.5, np.ones(5)
    call = entry(specialization)
    got = call(x, n, y)
    assert got[0] == y.ctypes.data
    assert got[1] == x.ctypes.data
    assert ctypes.c_double.from_address(int(got[2])).value == 1.5
    assert got[3] == got.ctypes.data
    assert got[4:6].tolist() == [c.ctypes.data for c in constants]
    assert got[6] % 64 == 0
    assert got[7] == 4242
    assert call(x, n, y)[6] == got[6]


def test_context_without_workspace() -> None:
    one = Specialization(pointers(2, 0), 0, [], [OutputType(INT, (2,))], Output(0), context=77)
    assert entry(one)()[1] == 77


@pytest.mark.parametrize("heavy", [False, True])
def test_references_and_memory_stay(heavy: bool) -> None:
    names = {f"w{i}": np.full(3, float(i)) for i in range(4)}
    hidden = np.arange(3.0)
    cell = (lambda: hidden).__closure__[0]  # type: ignore[index]
    label = "".join(["a mode of", " its own"])
    model = copying({**names}, [1.0, np.float32(2)], True, 5, label, None, key=np.ones(2))
    specialization = Specialization(
        **{
            **{name: getattr(model, name) for name in ("positional", "outputs", "keywords")},
            "kernel": echo(*[o.dtype.itemsize * int(np.prod(o.shape)) for o in model.outputs]),
            "inputs": model.inputs,
            "result": TupleOf([model.result, Constant(label), Output(0)]),
            "captured": [Cell(cell, ArrayLeaf(None, FLOAT, (3,)))],
            "heavy": heavy,
        }
    )
    call = entry(specialization)
    key, numbers = np.ones(2), [float("1e9"), np.float32(2)]
    own = [*names.values(), names, hidden, cell, label, key, numbers, *numbers, call]
    everyones = [None, True, FLOAT, np.ndarray, float]

    def iteration(times: int) -> None:
        for _ in range(times):
            call(names, numbers, True, 5, label, None, key=key)
            with contextlib.suppress(Missed):
                call(names, numbers, False, 5, "other", None, key=key)

    iteration(100)
    gc.collect()
    before, memory = [sys.getrefcount(w) for w in own], resident()
    common = [sys.getrefcount(w) for w in everyones]
    iteration(50_000)
    gc.collect()
    assert [sys.getrefcount(w) for w in own] == before
    assert all(abs(sys.getrefcount(w) - old) < 1000 for w, old in zip(everyones, common, strict=True))
    assert resident() - memory < 3_000_000
    assert call.calls == {0: 50_100}


def test_no_python_memory_is_kept() -> None:
    call = entry(copying({"a": np.ones(3), "b": 2.0}, k=1))
    argument = {"a": np.ones(3), "b": 2.0}
    tracemalloc.start()
    try:
        for _ in range(1000):
            call(argument, k=300)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5000):
            call(argument, k=300)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 2000
    finally:
        tracemalloc.stop()


def test_many_leaves_take_memory_of_their_own() -> None:
    many = {f"w{i}": np.full(2, float(i)) for i in range(400)}
    call = entry(copying(many))
    for _ in range(10):
        assert [float(x[0]) for x in call(many)] == list(range(400))
    many["w399"] = np.ones(3)
    with pytest.raises(Missed):
        call(many)


def test_a_status_goes_to_failed() -> None:
    seen: list[Any] = []

    def failed(*report: Any) -> str:
        seen.append(report)
        return "instead"

    def miss(*_: Any) -> str:
        return "missed"

    call = Entry(miss, failed)
    call.add(whole_number(status_kernel()))
    number = call.add(whole_number(status_kernel()))
    assert call(0) == 7
    assert call(-3) == "instead"
    assert call(2**40) == "instead"
    assert seen == [(call, number, -3, (-3,), {}), (call, number, 2**40, (2**40,), {})]
    assert call.calls == {0: 0, 1: 1}


def test_retry_asks_the_others_first() -> None:
    seven, nine = (
        Specialization(status_kernel(), 1, [NumberLeaf(0, int)], [OutputType(INT, ())], Constant(label), retry=True)
        for label in ("seven", "nine")
    )
    call = entry(seven, nine)
    assert call(0) == "nine"
    with pytest.raises(Gave) as info:
        call(5)
    assert info.value.args == (1, 5)
    with pytest.raises(Gave) as info:
        call(-5)
    assert info.value.args == (1, -5)
    other = Specialization(echo(8), 1, [NumberLeaf(0, int)], [OutputType(INT, ())], Constant("other"))
    call.add(other)
    call.remove(2)
    call.add(other)
    call.add(seven)
    assert call(5) == "other"
    assert call.calls == {0: 0, 1: 1, 3: 1, 4: 0}


def test_the_specialization_used_last_is_tried_first() -> None:
    tried: list[str] = []

    def trying(name: str, wanted: int) -> Specialization:
        def kernel(table: int) -> int:
            tried.append(name)
            value = ctypes.c_int64.from_address(ctypes.c_size_t.from_address(table).value).value
            return int(value != wanted)

        callback = KernelType(kernel)
        return whole_number(function_address(callback), retry=True, keep=callback)

    call = entry(trying("a", 1), trying("b", 2), trying("c", 3))
    call(1)
    assert tried == ["c", "b", "a"]
    tried.clear()
    call(1)
    assert tried == ["a"]
    call(2)
    tried.clear()
    call(2)
    assert tried == ["b"]


def test_an_exception_that_a_kernel_leaves_is_raised() -> None:
    address = function_address(ctypes.pythonapi.PyErr_SetString)
    text = f"""%set = inttoptr i64 {address} to ptr
%class = inttoptr i64 {id(ZeroDivisionError)} to ptr
call void %set(ptr %class, ptr @message)
ret i64 -1"""
    call = entry(Specialization(kernel(text, '@message = constant [3 x i8] c"by\\00"'), 0, [], [], Constant(1)))
    with pytest.raises(ZeroDivisionError, match="by"):
        call()


def test_errors_of_miss_are_the_callers() -> None:
    def miss(*_: Any) -> Any:
        raise LookupError("nothing")

    with pytest.raises(LookupError, match="nothing"):
        Entry(miss, gave)(1, x=2)


def test_a_call_within_a_call_has_a_workspace_of_its_own() -> None:
    seen: list[int] = []
    depth = 0

    def kernel(table: int) -> int:
        nonlocal depth
        seen.append(ctypes.c_size_t.from_address(table + 16).value)
        depth += 1
        if depth < 3:
            call(1)
        return 0

    callback = KernelType(kernel)
    call = entry(whole_number(function_address(callback), workspace=256, calls_back=True, keep=callback))
    call(1)
    assert len(set(seen)) == 3
    assert all(pointer % 64 == 0 for pointer in seen)
    depth = 3
    call(1)
    assert seen[3] == seen[0]


def test_what_is_captured_lives_while_the_kernel_calls_python() -> None:
    during: list[int] = []
    nested = [np.arange(3.0)]

    def kernel(table: int) -> int:
        data = ctypes.c_size_t.from_address(table).value
        nested.clear()
        fresh = [np.full(3, -1.0) for _ in range(10)]  # takes the memory that the array would have left
        during.extend(int(x) for x in (ctypes.c_double * 3).from_address(data))
        return len(fresh) - 10

    callback = KernelType(kernel)
    specialization = Specialization(
        function_address(callback),
        1,
        [ListNode([ArrayLeaf(0, FLOAT, (3,))])],
        [],
        Constant(0),
        calls_back=True,
        keep=callback,
    )
    call = entry(specialization)
    assert call(nested) == 0
    assert during == [0, 1, 2]


def test_a_specialization_that_runs_may_be_removed() -> None:
    def kernel(_: int) -> int:
        call.clear()
        gc.collect()
        return 0

    callback = KernelType(kernel)
    call = entry(
        Specialization(
            function_address(callback), 0, [], [OutputType(FLOAT, (2,))], TupleOf([Output(0)]), keep=callback
        )
    )
    del callback
    assert call()[0].shape == (2,)
    assert not call.specializations
    with pytest.raises(Missed):
        call()


@pytest.mark.parametrize("heavy", [False, True])
def test_eight_threads(heavy: bool) -> None:
    """Each call writes its own number all over the workspace, and finds no other there."""
    call = entry(whole_number(busy(64, 20), workspace=512, heavy=heavy), copying({"a": np.ones(3)}, heavy=heavy))
    wrong: list[Any] = []
    iterations = 400
    start = threading.Barrier(8)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(me: int) -> None:
        start.wait()
        own = {"a": np.full(3, float(me))}
        for k in range(iterations):
            if call(me * iterations + k) != me * iterations + k:
                wrong.append((me, k))
            if not np.array_equal(call(own)[0], own["a"]):
                wrong.append((me, "array"))

    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert sum(call.calls.values()) == 8 * iterations * 2


def test_specializations_come_and_go_while_threads_call() -> None:
    argument = {"a": np.arange(3.0)}
    model = copying(argument, heavy=True)
    expected = argument["a"]
    call = Entry(lambda entry, args, kwargs: (args[0]["a"].copy(),), gave)
    stop = threading.Event()
    wrong: list[Any] = []

    def work() -> None:
        while not stop.is_set():
            if not np.array_equal(call(argument)[0], expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        number = call.add(model)
        call.add(copying({"b": 1.0}))
        call.remove(number)
        if len(call.specializations) > 3:
            call.clear()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_thread_runs_while_a_heavy_kernel_does() -> None:
    ran = threading.Event()
    seen: list[bool] = []

    def wait(_: int) -> int:  # holds no lock of Python's while it waits, and asks for it again for the answer
        seen.append(ran.wait(10))
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(wait)
    call = entry(whole_number(function_address(callback), heavy=True, keep=callback))
    thread = threading.Thread(target=ran.set)
    timer = threading.Timer(0.05, thread.start)
    timer.start()
    call(1)
    timer.join()
    thread.join()
    assert seen == [True]


def test_dict_nodes_that_are_not_read() -> None:
    unread = DictNode({"a": ArrayLeaf(None, FLOAT, (3,)), "b": NumberLeaf(None, int)})
    call = entry(Specialization(echo(), 0, [unread], [], Constant("done")))
    assert call({"a": np.ones(3), "b": 1}) == "done"
    with pytest.raises(Missed):
        call({"a": np.ones(4), "b": 1})
