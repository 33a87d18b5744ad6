"""What is static inside a record, by the class of its value or by a mark."""

import enum
import functools
import pathlib
import re
from dataclasses import dataclass, field
from typing import Any

import attrs
import numpy as np
import pytest

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Box, Color, Duck, Point, named

X = np.arange(3.0)


@dataclass
class Holder:
    value: Any


def rebuilt(value):
    leaves, structure = tree.flatten(value)
    return structure.unflatten(leaves)


# What is static


def function(x):
    return x


class Callable_:
    def __call__(self, x):
        return x


@pytest.mark.parametrize(
    "value",
    [
        "text", b"bytes", True, Color.RED, float, np.float32, np.dtype("f4"), slice(1, None), range(3), ..., {1, 2},
        frozenset({1}), pathlib.PurePath("a"), re.compile("a"), np, list[int], np.str_("text"),
        function, len, np.tanh, np.sum, X.sum, "text".upper, str.upper, lambda x: x,
        functools.partial(function, 3), Callable_(), ["text", (True, {"k": len})], None, [], enum.auto,
    ],
    ids=named,
)  # fmt: skip
def test_values_that_are_static_in_a_record(value):
    holder = Holder(value)
    assert tree.leaves(holder) == []
    assert rebuilt(holder).value == value
    assert tree.structure(holder) == tree.structure(Holder(value))
    assert hash(tree.structure(holder)) == hash(tree.structure(Holder(value)))


@pytest.mark.parametrize(
    "value",
    [X, 1, 1.5, 2j, np.float64(1), np.int64(1), np.bool_(True), np.array("text"), np.array(True), Duck(X), object()],
    ids=named,
)
def test_values_that_are_leaves_in_a_record(value):
    (leaf,) = tree.leaves(Holder(value))
    assert leaf is value
    assert len(tree.leaves(Holder([value, ("static", value)]))) == 2


def test_static_values_are_leaves_elsewhere():
    assert tree.leaves(["text", True, len, Point(..., "y")]) == ["text", True, len, ..., "y"]
    assert tree.leaves(Box(["text"], None)) == ["text"]
    assert tree.leaves(Holder(Box(["text", 1.0], None))) == [1.0]


def test_objects_that_can_be_called_and_carry_arrays_are_leaves():
    """Their arrays would be constants in silence; a leaf of this class is refused where arrays are needed."""

    class Network:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return self.w @ x

    class Slotted:
        __slots__ = ("w",)

        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x

    for carrier in (Network(X), Network([{"deep": X}]), Slotted(X), functools.partial(function, X),
                    functools.partial(function, w=[X]), Network(Duck(X))):  # fmt: skip
        assert tree.leaves(Holder(carrier)) == [carrier]
    for plain in (Network(3), Slotted("text"), Slotted(np.float64(1))):
        assert tree.leaves(Holder(plain)) == []


def test_wrapped_functions_are_static_whatever_they_cache():
    class Compiled:
        def __init__(self, f):
            functools.update_wrapper(self, f)
            self.cache = {"constants": X}

        def __call__(self, x):
            return self.__wrapped__(x)

    assert tree.leaves(Holder(Compiled(function))) == []


def test_records_that_can_be_called_are_containers():
    @dataclass
    class Model:
        w: Any

        def __call__(self, x):
            return self.w * x

    assert tree.paths(Holder(Model(X))) == ["value.w"]


def test_unhashable_static_values_are_compared_by_identity():
    class NoHash(enum.Enum):
        __hash__ = None
        A = 1

    shared = {1, 2}
    assert tree.structure(Holder(shared)) == tree.structure(Holder(shared))
    assert tree.structure(Holder({1})) != tree.structure(Holder({1}))
    assert isinstance(hash(tree.structure(Holder({1}))), int)
    assert tree.structure(Holder(NoHash.A)) == tree.structure(Holder(NoHash.A))


# Static marks


@dataclass
class Marked:
    w: Any
    size: Any = field(default=3, metadata={"static": True})
    options: Any = tree.static(default=(1, 2), repr=False)


def test_marked_fields_are_static_even_when_they_are_numbers():
    assert tree.leaves(Marked(1.0)) == [1.0]
    assert tree.structure(Marked(1.0, 3)) == tree.structure(Marked(2.0, 3))
    assert tree.structure(Marked(1.0, 3)) != tree.structure(Marked(1.0, 4))
    assert tree.structure(Marked(1.0, 3)) != tree.structure(Marked(1.0, 3.0))
    assert rebuilt(Marked(1.0, 7, None)) == Marked(1.0, 7, None)
    assert tree.leaves(Marked(1.0, np.float64(2.0), {"k": [1.5]})) == [1.0]


@pytest.mark.parametrize(
    "value", [X, [X], {"k": (1, X)}, Holder(X), Duck(X), Box([X], None)], ids=lambda v: type(v).__name__
)
def test_an_array_in_a_static_field_is_refused(value):
    with pytest.raises(TreeError, match=r"Marked\.size is declared static but holds an array \(\w+\)"):
        tree.flatten([1.0, Marked(1.0, value)])


def test_static_takes_what_field_takes():
    @dataclass
    class Model:
        name: str = tree.static(default_factory=lambda: "made", metadata={"unit": "m"})
        other: int = tree.static(init=False, default=4)

    model = Model()
    assert (model.name, model.other) == ("made", 4)
    assert dict(Model.__dataclass_fields__["name"].metadata) == {"unit": "m", "static": True}
    assert tree.leaves(model) == []


def test_static_marks_in_attrs_classes():
    @attrs.define
    class Model:
        w: Any
        size: int = attrs.field(default=3, metadata={"static": True})

    assert tree.leaves(Model(1.0)) == [1.0]
    with pytest.raises(TreeError, match=r"Model\.size is declared static"):
        tree.flatten(Model(1.0, X))
