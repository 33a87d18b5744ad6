"""Kinds of objects whose attributes a compiled function follows, each beside the plain function."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adjoint.jit.objects import attributes_of, can_copy, class_names, empty_copy, fill_copy, set_attribute
from tests.support.followed import Followed, X


@dataclasses.dataclass
class Config:
    rate: float
    table: Any = None
    inner: Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any


class Slotted:
    __slots__ = ("inner", "k", "w")

    def __init__(self, w: Any, k: Any) -> None:
        self.w, self.k = w, k


class SlottedChild(Slotted):
    pass


class Dynamic:
    def __init__(self) -> None:
        self.data = {"w": X * 2, "k": 2.0}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.data[name]


class Typed:
    """A descriptor that keeps its values in the objects."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name
        self.scale = 2.0

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return vars(thing)[self.name] * self.scale

    def __set__(self, thing: Any, value: Any) -> None:
        vars(thing)[self.name] = value


class Described:
    w = Typed()


def test_dataclasses() -> None:
    settings = Config(0.1, X * 2, Config(0.5))
    followed = Followed(lambda x: x * settings.rate * settings.table + settings.inner.rate)
    for change in (
        lambda: setattr(settings, "rate", 0.2),
        lambda: setattr(settings.inner, "rate", X * 3),
        lambda: setattr(settings, "inner", Config(7.0)),
        lambda: settings.table.__setitem__(0, 9.0),
    ):
        followed.check()
        change()
    followed.check()
    frozen = Frozen(X * 1.0)
    followed = Followed(lambda x: x * frozen.w)
    followed.check()
    object.__setattr__(frozen, "w", X * 2)
    followed.check()


@pytest.mark.parametrize("cls", [Slotted, SlottedChild])
def test_slots(cls: Any) -> None:
    thing = cls(X * 1.0, 2.0)
    followed = Followed(lambda x: x * thing.w * thing.k + (thing.inner if hasattr(thing, "inner") else 0.0))
    named = Followed(lambda x: x * thing.w * thing.k)
    for change in (
        lambda: setattr(thing, "k", 3.0),
        lambda: setattr(thing, "w", X * 2),
        lambda: thing.w.__setitem__(1, 5.0),
        lambda: setattr(thing, "inner", X * 4),
        lambda: setattr(thing, "inner", 4.0),
        lambda: delattr(thing, "inner"),
    ):
        followed.check()
        named.check()
        change()
    followed.check()


def test_attributes_by_other_ways() -> None:
    dynamic, described = Dynamic(), Described()
    described.w = X * 1.0
    name = "w"
    plain = SimpleNamespace(w=X * 2, k=3.0)
    cases = [
        lambda x: x * dynamic.w * dynamic.k,
        lambda x: x * described.w,
        lambda x: x * getattr(plain, name) * getattr(plain, "k"),  # noqa: B009
        lambda x: x * plain.__dict__["w"] + vars(plain)["k"],
        lambda x: sum((value * x for value in vars(plain).values()), x),
        lambda x: x * (plain.extra if hasattr(plain, "extra") else 1.0),
        lambda x: x * getattr(plain, "extra", 1.0),
    ]
    followed = [Followed(case) for case in cases]

    def check() -> None:
        for one in followed:
            one.check()

    check()
    dynamic.data["w"] = X * 5
    dynamic.data["k"] = 7.0
    described.w = X * 4
    check()
    described.w[1] = 8.0
    vars(Described)["w"].scale = 3.0
    check()
    plain.w, plain.k = X * 6, 8.0
    check()
    plain.extra = 2.0
    check()
    del plain.extra
    check()
    dynamic.__dict__ = {"data": {"w": X * 7, "k": 1.0}}
    check()


def test_objects_of_libraries() -> None:
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(np.arange(3.0), np.array([1.0, 2.0, 4.0]))
    followed = Followed(lambda x: x * spline.c[0, 0] + spline(1.5))
    followed.check()
    spline.c[0, 0] = 7.0  # the attribute that the function names
    followed.check()


def test_objects_without_another_form() -> None:
    """What must not be copied is read as it is, and its arrays are compared by their elements."""

    class Closing:
        closed = 0

        def __init__(self) -> None:
            self.w = X * 1.0

        def __del__(self) -> None:
            Closing.closed += 1

    class Key:
        def __init__(self, table: Any) -> None:
            self.table = table

    thing, key = Closing(), Key(X * 2)
    by_object = {key: 3.0}
    followed = Followed(lambda x: x * thing.w + by_object[key] * key.table)
    for array in (thing.w, key.table):
        followed.check()
        array[1] = 5.0
    followed.check()
    assert Closing.closed == 0


def test_copies() -> None:
    class Both(Slotted):
        def __init__(self, w: Any, k: Any) -> None:
            super().__init__(w, k)
            self.more = 5

        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

    for thing in (Slotted(X, 2.0), Both(X, 2.0), SimpleNamespace(w=X, k=3), Frozen(X)):
        assert can_copy(thing)
        made = empty_copy(thing)
        fill_copy(made, thing)
        assert type(made) is type(thing)
        assert attributes_of(made) == attributes_of(thing)
        set_attribute(made, "w", 7)
        assert made.w == 7
        assert thing.w is X
    assert not can_copy(type("Numbers", (bytes,), {})())


def test_the_dict_of_a_class() -> None:
    names = class_names(Slotted)
    Slotted.extra = 3  # type: ignore[attr-defined]
    assert names["extra"] == 3
    del Slotted.extra  # type: ignore[attr-defined]
    assert "extra" not in names
