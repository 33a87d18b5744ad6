"""Results: arrays, scalars, containers, objects that are passed through."""

import gc
import sys
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from adjoint.compile.callable import (
    ArrayLeaf,
    Build,
    CallOf,
    Constant,
    DictNode,
    DictOf,
    ListOf,
    NumberLeaf,
    Output,
    OutputType,
    Passed,
    Specialization,
    TupleOf,
    reference,
)
from tests.compile.callable.kernels import FLOAT, echo, entry

Pair = namedtuple("Pair", "first second")
X, N = ArrayLeaf(0, FLOAT, (3,)), NumberLeaf(1, float)
STATIC = object()


def giving(result: Build) -> Specialization:
    outputs = [OutputType(FLOAT, (3,)), OutputType(FLOAT, ())]
    return Specialization(echo(24, 8), 2, [X, N], outputs, result)


RESULTS: dict[str, tuple[Build, Any]] = {
    "array": (Output(0), lambda x, n: x),
    "scalar": (Output(1), lambda x, n: n),
    "tuple": (TupleOf([Output(0), Output(1)]), lambda x, n: (x, n)),
    "empty": (TupleOf([]), lambda x, n: ()),
    "list": (ListOf([Output(1), Output(0)]), lambda x, n: [n, x]),
    "dict": (DictOf({"b": Output(0), 3: Output(1)}), lambda x, n: {"b": x, 3: n}),
    "nested": (
        DictOf({"a": ListOf([TupleOf([Output(0)]), DictOf({}), Constant(None)]), "b": Output(1)}),
        lambda x, n: {"a": [(x,), {}, None], "b": n},
    ),
    "twice": (TupleOf([Output(0), Output(1), Output(0)]), lambda x, n: (x, n, x)),
    "named tuple": (CallOf(Pair, [Output(0), TupleOf([Output(1)])]), lambda x, n: Pair(x, (n,))),
    "constant": (TupleOf([Constant(STATIC), Output(0)]), lambda x, n: (STATIC, x)),
    "nothing": (Constant(None), lambda x, n: None),
}


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for p, q in zip(a, b, strict=True):
            same(p, q)
    elif isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    else:
        assert a is b


@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str) -> None:
    build, expected = RESULTS[name]
    x, n = np.arange(3.0), 2.5
    specialization = giving(build)
    same(entry(specialization)(x, n), expected(x, np.float64(n)))
    same(reference.run(specialization, (x, n), {})[1], expected(x, np.float64(n)))


def test_an_output_that_is_used_twice_is_one_object() -> None:
    first, _, again = entry(giving(RESULTS["twice"][0]))(np.arange(3.0), 1.0)
    assert first is again
    assert sys.getrefcount(first) == 3


def test_results_are_new_arrays() -> None:
    x = np.arange(3.0)
    call = entry(giving(Output(0)))
    a, b = call(x, 1.0), call(x, 1.0)
    assert a is not b
    assert not np.shares_memory(a, x)
    assert not np.shares_memory(a, b)
    assert a.flags.owndata
    assert a.flags.writeable
    assert sys.getrefcount(a) == 2


def test_inputs_are_passed_through_as_the_objects_they_are() -> None:
    unread = ArrayLeaf(None, FLOAT, (2,))
    number = NumberLeaf(0, float)
    result = TupleOf([Passed(unread), Output(0), Passed(number)])
    specialization = Specialization(echo(8), 1, [DictNode({"a": unread, "b": number})], [OutputType(FLOAT, ())], result)
    x, n = np.ones(2), 1e300
    before = sys.getrefcount(x), sys.getrefcount(n)
    got = entry(specialization)({"a": x, "b": n})
    assert got[0] is x
    assert got[2] is n
    del got
    assert (sys.getrefcount(x), sys.getrefcount(n)) == before


def test_a_node_that_is_passed_on_must_be_found() -> None:
    with pytest.raises(ValueError, match="once among the arguments, not 0"):
        entry(giving(Passed(NumberLeaf(1, float))))


def test_arrays_without_axes_on_request() -> None:
    specialization = Specialization(
        echo(8), 1, [NumberLeaf(0, float)], [OutputType(FLOAT, (), scalar=False)], Output(0)
    )
    got = entry(specialization)(2.0)
    assert type(got) is np.ndarray
    assert got.shape == ()
    assert got == 2


@pytest.mark.parametrize("dtype", "?bBhHiIqQefdFD")
def test_scalars_of_every_dtype(dtype: str) -> None:
    kind = np.dtype(dtype)
    specialization = Specialization(echo(kind.itemsize), 1, [ArrayLeaf(0, kind, ())], [OutputType(kind, ())], Output(0))
    got = entry(specialization)(np.array(1, kind))
    assert type(got) is kind.type
    assert got == 1


def test_errors_while_the_result_is_built_are_the_callers() -> None:
    def refuse(*items: Any) -> Any:
        raise KeyError("not these")

    inner = TupleOf([Output(0), ListOf([Output(1)]), CallOf(refuse, [Output(0), Constant(STATIC)])])
    unhashable = DictOf({})
    call = entry(giving(inner))
    x = np.arange(3.0)
    before = sys.getrefcount(STATIC), sys.getrefcount(x)
    for _ in range(100):
        with pytest.raises(KeyError, match="not these"):
            call(x, 1.0)
    gc.collect()
    assert (sys.getrefcount(STATIC), sys.getrefcount(x)) == before
    same(entry(giving(unhashable))(x, 1.0), {})


def test_memory_that_cannot_be_had_is_an_error() -> None:
    enormous = Specialization(echo(), 0, [], [OutputType(FLOAT, (3,)), OutputType(FLOAT, (2**58,))], Output(0))
    with pytest.raises((MemoryError, ValueError)):
        entry(enormous)()
