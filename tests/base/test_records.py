"""Records against `dataclasses.dataclass(frozen=True)`, which they stand for."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from adjoint.base.records import record

FROZEN = dataclasses.dataclass(frozen=True)


def declare(decorate: Callable[[Any], Any]) -> Any:
    @decorate
    class Point:
        """A point."""

        self_: int
        store: str = "s"  # names that the templates use
        name: tuple[int, ...] = ()
        values: list[int] = field(default_factory=lambda: [1])
        note: str = field(default="", compare=False, repr=False)
        shared: ClassVar[int] = 7

        def __post_init__(self) -> None:
            if self.self_ < 0:
                raise ValueError("negative")

    return Point


@record
class Empty:
    """No fields."""


@record
class Base:
    """Can be pickled."""

    a: int
    b: float = 2.0


@record
class Derived(Base):
    """More fields, and an equality of its own."""

    c: str = "c"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Derived) and self.c == other.c

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class Mixed(Base):
    """A dataclass of the standard library that inherits from a record."""

    d: int = 4


def test_values_defaults_and_text_are_those_of_dataclasses() -> None:
    ours, theirs = declare(record), declare(FROZEN)
    for arguments, names in [((1,), {}), ((1, "x"), {"name": (2,)}), ((), {"self_": 3, "note": "n", "values": []})]:
        a, b = ours(*arguments, **names), theirs(*arguments, **names)
        assert dataclasses.asdict(a) == dataclasses.asdict(b)
        assert repr(a) == repr(b)
    assert ours(1).values is not ours(1).values
    assert [(f.name, f.default, f.compare) for f in dataclasses.fields(ours)] == [
        (f.name, f.default, f.compare) for f in dataclasses.fields(theirs)
    ]
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert ours.__match_args__ == theirs.__match_args__


def test_equality_and_hash() -> None:
    ours = declare(record)
    a, b = ours(1, "x", (2,), note="left"), ours(1, "x", (2,), note="right")
    assert a == b
    assert a != ours(2, "x", (2,))
    assert (a == 1) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)  # a field holds a list
    assert hash(Base(1)) == hash(Base(1, 2.0)) == hash((1, 2.0))
    assert Base(1) != Mixed(1)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())


def test_what_a_class_states_itself_stays() -> None:
    assert Derived(1, 1.0, "x") == Derived(2, 2.0, "x")
    assert hash(Derived(1, 1.0, "x")) == hash((1, 1.0, "x"))  # as dataclasses have it
    plain = record(eq=False, repr=False)(type("Plain", (), {"__annotations__": {"a": int}, "__doc__": "."}))
    assert plain(1) != plain(1)


def test_objects_do_not_change() -> None:
    point = declare(record)(1)
    for change in (
        lambda: setattr(point, "self_", 2),
        lambda: setattr(point, "new", 2),
        lambda: delattr(point, "name"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    assert dataclasses.replace(point, self_=5).self_ == 5
    with pytest.raises(ValueError, match="negative"):
        dataclasses.replace(point, self_=-1)


def test_records_that_change() -> None:
    ours = record(frozen=False)(type("Ours", (), {"__annotations__": {"a": int}, "__doc__": ".", "b": 2}))
    theirs = dataclasses.make_dataclass("Theirs", [("a", int)])
    one, other = ours(1), theirs(1)
    one.a, other.a = 5, 5
    assert dataclasses.asdict(one) == dataclasses.asdict(other) == {"a": 5}
    assert one == ours(5)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert dataclasses.replace(one, a=7).a == 7
    with pytest.raises(TypeError, match="only one of them is frozen"):
        record(type("Both", (ours,), {"__annotations__": {}, "__doc__": "."}))


def test_defaults_are_not_shared() -> None:
    with pytest.raises(ValueError, match="use default_factory"):
        record(type("Shared", (), {"__annotations__": {"a": list}, "a": [], "__doc__": "."}))
    kinds = {"a": int, "b": "ClassVar[int]", "c": ClassVar[int], "d": "int"}
    made = record(type("Kinds", (), {"__annotations__": kinds, "b": 1, "c": 2, "__doc__": "."}))
    assert [f.name for f in dataclasses.fields(made)] == ["a", "d"]


def test_copies_and_inheritance() -> None:
    for value in (Base(1, 3.0), Derived(1, 2.0, "z"), Mixed(1, 2.0, 5), Empty()):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
    assert Mixed(1).d == 4
    assert Mixed(1) == Mixed(1, 2.0, 4)


def test_errors_name_the_class() -> None:
    with pytest.raises(TypeError, match=r"Base\.__init__\(\) missing 1 required positional argument: 'a'"):
        Base()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Wrong: a field without a default follows"):
        record(type("Wrong", (Base,), {"__annotations__": {"z": int}, "__doc__": "."}))
    with pytest.raises(TypeError, match="Keyword: every field is an argument"):
        record(type("Keyword", (), {"__annotations__": {"z": int}, "z": field(kw_only=True), "__doc__": "."}))
    with pytest.raises(TypeError, match="Own states __setattr__"):
        record(type("Own", (), {"__setattr__": lambda *_: None, "__doc__": "."}))
