"""Objects matched by their attributes: dataclasses among the arguments."""

import sys
from typing import Any

import numpy as np
import pytest

from adjoint.compile.callable import (
    ArrayLeaf,
    Defined,
    Equal,
    Fixed,
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
