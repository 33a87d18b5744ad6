"""Which calls a specialization takes: exactly those that the Python version of the walk takes."""

import pickle
import sys
from collections import namedtuple
from contextvars import ContextVar, copy_context
from types import CellType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.compile.callable import (
    ArrayLeaf,
    Cell,
    Current,
    Equal,
    Fixed,
    Global,
    NumberLeaf,
    Output,
    OutputType,
    Same,
    Specialization,
    TupleOf,
    reference,
)
from tests.compile.callable.kernels import FLOAT, Missed, copying, echo, entry, leaves

Point = namedtuple("Point", "x y")


class Sub(np.ndarray):
    pass


def misaligned(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    y = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


def taken(call: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether the call is taken; then its result is also compared with the arguments' leaves."""
    try:
        result = call(*args, **kwargs)
    except Missed:
        return False
    expected = [*leaves(args), *leaves(kwargs)]
    assert len(result) == len(expected)
    for a, b in zip(result, expected, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    return True


X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("dtype", [*"bBhHiIlLefdFD", "?", "q", "Q"])
def test_arrays_and_scalars_of_every_dtype(dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    assert taken(entry(copying(x)), x)
    assert taken(entry(copying(x[0, 0])), x[1, 1])
    assert not taken(entry(copying(x)), x[0, 0])
    assert not taken(entry(copying(x[0, 0])), x)
    assert not taken(entry(copying(x)), np.zeros((2, 3), "d" if dtype != "d" else "f"))


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param(X.astype(np.float32), id="dtype"),
        pytest.param(X.astype(np.int64), id="same size, other dtype"),
        pytest.param(X[:2], id="fewer rows"),
        pytest.param(X.reshape(4, 3), id="other shape"),
        pytest.param(X.reshape(12), id="fewer axes"),
        pytest.param(X[None], id="more axes"),
        pytest.param(np.asfortranarray(X), id="order F"),
        pytest.param(np.arange(24.0).reshape(3, 8)[:, ::2], id="strided"),
        pytest.param(X[::-1], id="backwards"),
        pytest.param(X.astype(FLOAT.newbyteorder("S")), id="byte-swapped"),
        pytest.param(X.view(Sub), id="subclass"),
        pytest.param(np.ma.masked_array(X), id="masked"),
        pytest.param(misaligned(X), id="misaligned"),
        pytest.param(np.empty((3, 4), dtype=object), id="objects"),
        pytest.param(X.tolist(), id="list"),
        pytest.param(1.0, id="number"),
        pytest.param(None, id="None"),
        pytest.param((X,), id="tuple"),
        pytest.param({"x": X}, id="dict"),
    ],
)
def test_arrays_that_do_not_fit(argument: Any) -> None:
    assert not taken(entry(copying(X)), argument)


def test_arrays_that_fit_though_they_look_different() -> None:
    call = entry(copying(X))
    read_only = X.copy()
    read_only.flags.writeable = False
    assert taken(call, read_only)
    assert taken(call, np.arange(24.0).reshape(6, 4)[2:5])
    swapped_twice = X.astype(FLOAT.newbyteorder("S").newbyteorder("S"))
    assert taken(call, swapped_twice)
    assert taken(call, pickle.loads(pickle.dumps(X)))
    other_object = np.dtype(FLOAT, metadata={"unit": "m"})
    assert other_object is not FLOAT
    assert taken(call, X.astype(other_object))


def test_no_axes_and_no_elements() -> None:
    assert taken(entry(copying(np.array(3.0))), np.array(4.0))
    assert not taken(entry(copying(np.array(3.0))), np.float64(4.0))
    assert not taken(entry(copying(np.array(3.0))), np.array([4.0]))
    assert taken(entry(copying(np.zeros((0, 3)))), np.zeros((0, 3)))
    assert not taken(entry(copying(np.zeros((0, 3)))), np.zeros((0, 4)))
    many = np.arange(2.0).reshape((1,) * 31 + (2,))
    assert taken(entry(copying(many)), many)


@pytest.mark.parametrize("number", [1.5, -0.0, np.nan, 7, -(2**63), 2**63 - 1, True, False, 2 - 3j], ids=repr)
def test_numbers(number: Any) -> None:
    call = entry(copying(number))
    assert taken(call, number)
    for other in (1.25, 3, True, 1j, np.float64(2), np.int64(1), np.bool_(True), "1", None, np.array(1.0)):
        assert taken(call, other) == (type(other) is type(number))


def test_whole_numbers_of_more_than_64_bits() -> None:
    call = entry(copying(1))
    assert not taken(call, 2**63)
    assert not taken(call, -(2**63) - 1)


@pytest.mark.parametrize(
    "tree, others",
    [
        pytest.param(
            {"a": X, "b": 1.0},
            [{"a": X}, {"a": X, "c": 1.0}, {"a": X, "b": 1.0, "c": 2.0}, {}, (X, 1.0), None, {"a": 1.0, "b": X}],
            id="dict",
        ),
        pytest.param((X, 1.0), [(X,), (X, 1.0, 2.0), [X, 1.0], Point(X, 1.0), (1.0, X), ()], id="tuple"),
        pytest.param([X, 1.0], [[X], [X, 1.0, 2.0], (X, 1.0), [1.0, X], []], id="list"),
        pytest.param(Point(X, 1.0), [(X, 1.0), Point(1.0, X), [X, 1.0]], id="named tuple"),
        pytest.param({"a": [X, ({"b": 2.0},)]}, [{"a": [X, ({"c": 2.0},)]}, {"a": [X, ([2.0],)]}], id="nested"),
        pytest.param({1: X, (2, "x"): X}, [{1: X, (2, "y"): X}], id="other keys"),
        pytest.param("mode", ["MODE", b"mode", None, 1], id="text"),
        pytest.param(None, [0, False, X], id="None"),
        pytest.param((), [[], {}, (1.0,), None], id="empty tuple"),
    ],
)
def test_containers(tree: Any, others: list[Any]) -> None:
    call = entry(copying(tree))
    assert taken(call, tree)
    for other in others:
        assert not taken(call, other)


def test_order_of_keys_and_equal_keys_do_not_matter() -> None:
    call = entry(copying({"alpha": 1.0, "beta": 2.0}))
    mixed = {"".join(["be", "ta"]): 4.0, "".join(["al", "pha"]): 3.0}
    assert [float(x) for x in call(mixed)] == [3.0, 4.0]

    class Text(str):
        pass

    assert [float(x) for x in call({Text("alpha"): 5.0, "beta": 6.0})] == [5.0, 6.0]


def test_a_key_that_cannot_be_compared_is_no_match() -> None:
    class Hostile:
        def __hash__(self) -> int:
            return hash("a")

        def __eq__(self, other: object) -> bool:
            raise ValueError("no")

    assert not taken(entry(copying({"a": 1.0})), {Hostile(): 1.0})


def test_number_of_arguments_and_keywords() -> None:
    call = entry(copying(X, 2.0, scale=3.0, shift=X))
    assert taken(call, X, 2.0, scale=3.0, shift=X)
    assert [float(x) if x.ndim == 0 else 0.0 for x in call(X, 2.0, shift=X, scale=5.0)] == [0.0, 2.0, 5.0, 0.0]
    equal_names = {"".join(["sca", "le"]): 4.0, "".join(["sh", "ift"]): X}
    assert float(call(X, 2.0, **equal_names)[2]) == 4.0
    for args, kwargs in [
        ((X, 2.0), {}),
        ((X, 2.0), {"scale": 3.0}),
        ((X, 2.0), {"scale": 3.0, "other": X}),
        ((X, 2.0), {"scale": 3.0, "shift": X, "more": 1}),
        ((X,), {"scale": 3.0, "shift": X}),
        ((X, 2.0, 1.0), {"scale": 3.0, "shift": X}),
        ((X, 2.0, 3.0, X), {}),
        ((), {}),
    ]:
        assert not taken(call, *args, **kwargs)


@pytest.mark.parametrize(
    "value, equal, others",
    [
        ("word", "".join(["wo", "rd"]), ["Word", b"word", 1]),
        (10**30, 10**29 * 10, [10**30 + 1, 1e30, True]),
        (1, 1, [True, 1.0, 2, np.int64(1)]),
        (True, True, [1, False, np.bool_(True)]),
        (0.5, float("0.5"), [1, 0.25, np.float64(0.5)]),
        (0.0, float("0"), [-0.0, 0, False]),
        (1 - 2j, complex("1-2j"), [1 + 2j, 1.0]),
        (b"ab", bytes([97, 98]), ["ab", b"ac"]),
        (float("nan"), float("nan"), [0.0]),
    ],
)
def test_static_values(value: Any, equal: Any, others: list[Any]) -> None:
    call = entry(Specialization(echo(), 0, [Equal(value)], [], TupleOf([])))
    assert call(value) == ()
    assert call(equal) == ()
    for other in others:
        with pytest.raises(Missed):
            call(other)


def test_static_objects_are_compared_by_identity() -> None:
    one, other = [1], [1]
    call = entry(Specialization(echo(), 0, [Same(one)], [], TupleOf([])))
    assert call(one) == ()
    with pytest.raises(Missed):
        call(other)


def captured(what: Any) -> Specialization:
    return Specialization(echo(24), 1, [], [OutputType(FLOAT, (3,))], TupleOf([Output(0)]), captured=[what])


def test_cells_are_read_at_each_call() -> None:
    x = np.arange(3.0)

    def function() -> Any:
        return x

    assert function.__closure__
    call = entry(captured(Cell(function.__closure__[0], ArrayLeaf(0, FLOAT, (3,)))))
    assert np.array_equal(call()[0], [0.0, 1.0, 2.0])
    x = np.ones(3)
    assert np.array_equal(call()[0], [1.0, 1.0, 1.0])
    x = np.ones(4)
    with pytest.raises(Missed):
        call()


def test_an_empty_cell_is_no_match() -> None:
    cell = CellType()
    call = entry(captured(Cell(cell, ArrayLeaf(0, FLOAT, (3,)))))
    with pytest.raises(Missed):
        call()
    cell.cell_contents = np.ones(3)
    assert np.array_equal(call()[0], [1.0, 1.0, 1.0])


@pytest.mark.parametrize("dtype", ["O", "U3", ">f8" if np.little_endian else "<f8", "M8[s]", "g", [("a", "f8")]])
def test_dtypes_that_kernels_cannot_read_are_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match="cannot be passed"):
        entry(Specialization(echo(), 1, [ArrayLeaf(0, np.dtype(dtype), ())], [], TupleOf([])))
    with pytest.raises(TypeError, match="cannot be passed"):
        entry(Specialization(echo(), 0, [], [OutputType(np.dtype(dtype), ())], TupleOf([])))


@pytest.mark.parametrize("kind", [np.longdouble, np.floating, str, object])
def test_classes_of_numbers_that_kernels_cannot_read_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="cannot be passed"):
        entry(Specialization(echo(), 1, [NumberLeaf(0, kind)], [], TupleOf([])))


def test_globals_are_read_at_each_call() -> None:
    names: dict[str, Any] = {"weights": np.arange(3.0), "mode": "a"}
    call = entry(captured(Global(names, "weights", ArrayLeaf(0, FLOAT, (3,)))))
    assert np.array_equal(call()[0], [0.0, 1.0, 2.0])
    names["weights"] = np.ones(3)
    assert np.array_equal(call()[0], [1.0, 1.0, 1.0])
    del names["weights"]
    with pytest.raises(Missed):
        call()
    flag = entry(Specialization(echo(), 0, [], [], TupleOf([]), captured=[Global(names, "mode", Equal("a"))]))
    assert flag() == ()
    names["mode"] = "b"
    with pytest.raises(Missed):
        flag()


def test_context_variables_are_read_at_each_call() -> None:
    running: ContextVar[Any] = ContextVar("running", default=None)
    unset: ContextVar[Any] = ContextVar("unset")
    mark = object()
    call = entry(Specialization(echo(), 0, [], [], TupleOf([]), captured=[Current(running, Same(None))]))
    marked = entry(Specialization(echo(), 0, [], [], TupleOf([]), captured=[Current(unset, Same(mark))]))
    before = sys.getrefcount(mark)
    assert call() == ()
    token = running.set(1)
    with pytest.raises(Missed):
        call()
    running.reset(token)
    assert call() == ()
    with pytest.raises(Missed):
        marked()
    context = copy_context()
    context.run(unset.set, mark)
    for _ in range(100):
        assert context.run(marked) == ()
    assert sys.getrefcount(mark) == before + 1
    with pytest.raises(Missed):
        marked()


def test_known_objects_are_looked_at_again() -> None:
    x = np.arange(3.0)
    call = entry(captured(Fixed(x, ArrayLeaf(0, FLOAT, (3,)))))
    x[0] = 5
    assert np.array_equal(call()[0], [5.0, 1.0, 2.0])
    x.resize(4, refcheck=False)
    with pytest.raises(Missed):
        call()


numbers = st.one_of(st.floats(), st.integers(-5, 5), st.booleans(), st.sampled_from([np.float32(2), np.int16(3)]))
arrays = st.sampled_from([np.arange(3.0), np.ones((2, 2)), np.zeros(3, np.int32), np.ones((2, 2), order="F") * 2])
statics = st.sampled_from(["a", "b", None])
trees = st.recursive(
    numbers | arrays | statics,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(trees, max_size=3), st.lists(trees, max_size=3))
def test_random_trees_as_in_python(model: list[Any], other: list[Any]) -> None:
    specialization = copying(*model)
    call = entry(specialization)
    for args in (model, other):
        try:
            reference.match_call(specialization, args, {})
            expected = True
        except reference.Other:
            expected = False
        assert taken(call, *args) == expected
