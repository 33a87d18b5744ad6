"""Objects matched by their attributes: dataclasses among the arguments."""

import sys
from typing import Any

import numpy as np
import pytest

from adjoint.compile.callable import (
    Absent,
    ArrayLeaf,
    ContentLeaf,
    Defined,
    DictNode,
    Equal,
    Fixed,
    Global,
    NumberLeaf,
    ObjectNode,
    Output,
    OutputType,
    Specialization,
    reference,
)
from tests.compile.callable.kernels import FLOAT, Missed, echo, entry

X = np.arange(12.0).reshape(3, 4)


class Thing:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("x",)


def test_objects_by_their_attributes() -> None:
    node = ObjectNode(Thing, {"x": ArrayLeaf(0, FLOAT, (3, 4)), "name": Equal("a")})
    specialization = Specialization(
        echo(X.nbytes), 1, [node], [OutputType(FLOAT, (3, 4))], Output(0), workspace=None, context=None
    )
    reference.check(specialization)
    call = entry(specialization)
    for fits in (Thing(x=X, name="a"), Thing(name="a", x=X + 1)):
        assert np.array_equal(call(fits), fits.x)
        assert np.array_equal(reference.run(specialization, (fits,), {})[1], fits.x)
    other = type("Other", (Thing,), {})
    for thing in (
        Thing(x=X, name="b"),
        Thing(x=X),
        Thing(x=X, name="a", more=1),
        Thing(x=X[:2], name="a"),
        other(x=X, name="a"),
        Slotted(),
        {"x": X, "name": "a"},
    ):
        with pytest.raises(Missed):
            call(thing)
        with pytest.raises(reference.Other):
            reference.run(specialization, (thing,), {})


def test_attributes_that_the_object_alone_holds() -> None:
    node = ObjectNode(Thing, {"x": NumberLeaf(0, float)})
    call = entry(Specialization(echo(8), 1, [node], [OutputType(FLOAT, ())], Output(0), workspace=None, context=None))
    thing = Thing()
    for k in range(1000):
        thing.x = k + 0.5
        assert call(thing) == k + 0.5
    before = sys.getrefcount(vars(thing))
    for _ in range(5):
        call(thing)
    after = sys.getrefcount(vars(thing))
    assert after == before


def test_a_function_as_it_is_defined() -> None:
    def with_all(x: Any = 1, *, y: Any = 2) -> Any:
        return x, y

    def with_none(x: Any) -> Any:
        return x

    for function in (with_all, with_none):
        now = (function.__code__, function.__defaults__, function.__kwdefaults__)
        for name, other in (
            ("__code__", test_objects_by_their_attributes.__code__),
            ("__defaults__", (3,)),
            ("__kwdefaults__", {"y": 2}),
            ("__defaults__", None),
        ):
            captured = [Fixed(function, Defined(*now))]
            specialization = Specialization(
                echo(8), 1, [NumberLeaf(0, float)], [OutputType(FLOAT, ())], Output(0), captured=captured
            )
            call = entry(specialization)
            assert call(2.5) == 2.5
            assert reference.run(specialization, (2.5,), {})[1] == 2.5
            before = getattr(function, name)
            setattr(function, name, other)
            if before is not other:
                with pytest.raises(Missed):
                    call(2.5)
                with pytest.raises(reference.Other):
                    reference.run(specialization, (2.5,), {})
            setattr(function, name, before)
            assert call(2.5) == 2.5


def takes(specialization: Specialization, *args: Any) -> bool:
    """Whether a call is taken, by machine code and by its reference alike."""
    try:
        entry(specialization)(*args)
        taken = True
    except Missed:
        taken = False
    try:
        reference.match_call(specialization, args, {})
    except reference.Other:
        assert not taken
    else:
        assert taken
    return taken


def watching(*captured: Any) -> Specialization:
    kinds = [OutputType(FLOAT, (3, 4))]
    leaf = ArrayLeaf(0, FLOAT, (3, 4))
    return Specialization(echo(X.nbytes), 1, [leaf], kinds, Output(0), captured=captured, workspace=None, context=None)


def test_some_attributes_of_an_object() -> None:
    thing = Thing(k=1.0, other=2)
    node = ObjectNode(Thing, {"k": Equal(1.0), "missing": Absent()}, exact=False)
    specialization = watching(Fixed(thing, node))
    assert takes(specialization, X)
    thing.more = 5  # type: ignore[attr-defined]
    assert takes(specialization, X)
    thing.k = 2.0  # type: ignore[attr-defined]
    assert not takes(specialization, X)
    thing.k = 1.0  # type: ignore[attr-defined]
    thing.missing = None  # type: ignore[attr-defined]
    assert not takes(specialization, X)
    del thing.missing  # type: ignore[attr-defined]
    assert takes(specialization, X)
    thing.__dict__ = {"k": 1.0}
    assert takes(specialization, X)
    del thing.k  # type: ignore[attr-defined]
    assert not takes(specialization, X)


def test_slots() -> None:
    thing = Slotted()
    with_value, without = (watching(Fixed(thing, ObjectNode(Slotted, None, {"x": n}))) for n in (Equal(1.0), Absent()))
    assert [takes(s, X) for s in (with_value, without)] == [False, True]
    thing.x = 1.0  # type: ignore[attr-defined]
    assert [takes(s, X) for s in (with_value, without)] == [True, False]
    thing.x = 2.0  # type: ignore[attr-defined]
    assert not takes(with_value, X)


@pytest.mark.parametrize("dtype, count", [(np.float64, 9), (np.float32, 7), (np.int8, 13), (np.bool_, 3), (complex, 2)])
def test_elements_of_an_array(dtype: Any, count: int) -> None:
    array = np.arange(count).astype(dtype)
    names: dict[str, Any] = {"w": array}
    specialization = watching(Global(names, "w", ContentLeaf(array.copy())))
    assert takes(specialization, X)
    for i in range(count):
        before = array[i]
        array[i] = 1 - before
        assert not takes(specialization, X)
        array[i] = before
    names["w"] = array.copy()
    assert takes(specialization, X)
    for other in (array[:-1], np.append(array, array), array.astype(np.complex64), array.tolist(), None):
        names["w"] = other
        assert not takes(specialization, X)
    del names["w"]
    assert not takes(specialization, X)
    assert takes(watching(Global(names, "w", Absent())), X)


def test_dicts_of_other_classes() -> None:
    class Ordered(dict[str, Any]):
        pass

    for node, fits, other in (
        (DictNode({"a": Equal(1)}, Ordered), Ordered(a=1), {"a": 1}),
        (DictNode({"a": Equal(1)}, exact=False), {"a": 1, "b": 2}, {"b": 2}),
    ):
        names: dict[str, Any] = {"d": fits}
        specialization = watching(Global(names, "d", node))
        assert takes(specialization, X)
        names["d"] = other
        assert not takes(specialization, X)
