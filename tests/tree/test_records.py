"""Dataclasses and attrs classes of every make: what is a child, what is static, how they are built again."""

import abc
import functools
import pickle
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import attr
import attrs
import numpy as np
import pytest

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Duck, Frozen, Layer, Motor, named

X = np.arange(3.0)
T = TypeVar("T")


@dataclass
class Holder:
    value: Any


def rebuilt(value):
    leaves, structure = tree.flatten(value)
    return structure.unflatten(leaves)


# Classes of every make


@dataclass(frozen=True)
class FrozenOne:
    w: Any


@dataclass(slots=True)
class Revolve:
    w: Any
    name: str = "slots"


@dataclass(slots=True, frozen=True, kw_only=True)
class Everything:
    w: Any
    name: str = "all"


@dataclass
class Refuses:
    w: Any

    def __post_init__(self):
        if not isinstance(self.w, np.ndarray):
            raise TypeError("w must be an array")


@dataclass(init=False)
class OwnInit:
    w: Any
    n: Any

    def __init__(self, size):
        self.w = np.zeros(size)
        self.n = 2


@dataclass
class Parent:
    a: Any
    shared: ClassVar[list] = [1.0]


@dataclass
class Child(Parent):
    b: Any
    seed: InitVar[int] = 3
    _: KW_ONLY
    c: Any = field(default=0.0, init=False)


class NotDecorated(Child):
    """A subclass without fields of its own."""


@dataclass
class Typed(Generic[T]):
    w: T


@dataclass
class Abstract(abc.ABC):
    w: Any

    @abc.abstractmethod
    def call(self): ...


class Concrete(Abstract):
    def call(self): ...


class Descriptor:
    def __get__(self, instance, owner):
        return 1.0 if instance is None else instance.__dict__["hidden_w"]

    def __set__(self, instance, value):
        instance.__dict__["hidden_w"] = value


@attrs.frozen
class AttrsFrozen:
    w: Any
    name: str = "a"


@attr.s
class AttrsOld:
    w = attr.ib()
    _private = attr.ib(default=2.0)


@attrs.define(slots=False)
class AttrsDict:
    w: Any = attrs.field(converter=np.asarray)


INSTANCES = [
    FrozenOne(X), Revolve(X), Everything(w=X), Refuses(X), OwnInit(3), Child(X, 2.0), NotDecorated(X, 2.0), Typed(X),
    Typed[list](X), Concrete(X), AttrsFrozen(X), AttrsOld(X), AttrsDict(X), Motor(X), Frozen(X),
]  # fmt: skip


@pytest.mark.parametrize("value", INSTANCES, ids=lambda value: type(value).__name__)
def test_records_of_every_make(value):
    leaves, structure = tree.flatten(value)
    assert structure.paths()[0] in ("w", "a", "torque", "value")
    marks = [object() for _ in leaves]
    marked = structure.unflatten(marks)
    assert type(marked) is type(value)
    assert marked is not value
    again = structure.unflatten(leaves)
    assert repr(again) == repr(value)
    for path, leaf in zip(structure.paths(), marks, strict=True):
        assert functools.reduce(getattr, path.split("."), marked) is leaf


@pytest.mark.parametrize("value", INSTANCES, ids=lambda value: type(value).__name__)
def test_structures_of_records_pickle(value):
    structure = tree.structure(value)
    assert pickle.loads(pickle.dumps(structure)) == structure


def test_class_variables_and_init_variables_are_no_fields():
    assert tree.leaves(Child(1.0, 2.0)) == [1.0, 2.0, 0.0]


def test_fields_that_were_never_set_stay_unset():
    @dataclass
    class Late:
        w: Any
        cache: Any = field(init=False, repr=False)

    late = Late(1.0)
    again = rebuilt(late)
    assert again.w == 1.0
    assert not hasattr(again, "cache")
    again.cache = 5.0
    assert tree.leaves(again) == [1.0, 5.0]
    assert tree.structure(again) != tree.structure(late)


def test_cached_properties_are_computed_anew():
    @dataclass
    class Model:
        w: Any

        @functools.cached_property
        def double(self):
            return 2 * self.w

    model = Model(np.array([1.0, 2.0]))
    assert model.double[1] == 4.0
    changed = tree.map(lambda x: 10 * x, model)
    assert changed.double[1] == 40.0
    assert len(tree.leaves(model)) == 1


@pytest.mark.parametrize("slots", [True, False])
def test_cached_hashes_are_computed_anew(slots):
    @attrs.define(frozen=True, slots=slots, cache_hash=True)
    class Model:
        w: Any

    hashed = Model(1.0)
    assert hash(hashed) == hash(Model(1.0))
    assert hash(tree.map(lambda x: x + 1, hashed)) == hash(Model(2.0))
    assert tree.structure(hashed) == tree.structure(Model(1.0))


def test_attributes_that_are_no_fields_are_kept_when_they_hold_no_numbers():
    @dataclass
    class Model:
        w: Any

        def __post_init__(self):
            self.n = len(self.w)
            self.label = "model"

    again = tree.map(lambda x: 2 * x, Model(X))
    assert (again.n, again.label) == (3, "model")
    assert tree.structure(Model(X)) == tree.structure(Model(X))
    assert tree.structure(Model(X)) != tree.structure(Model(np.ones(4)))


@pytest.mark.parametrize("held", [X, 1.5, 1j, np.float64(1), [X], Duck(X)], ids=named)
def test_attributes_that_are_no_fields_and_hold_numbers_are_refused(held):
    """Copied they would be out of date, left out they would be missing: in both cases a derivative is lost."""

    @dataclass
    class Model:
        w: Any

    model = Model(X)
    model.derived = held
    with pytest.raises(
        TreeError, match="Model has an attribute 'derived' that is not one of its fields and holds numbers"
    ):
        tree.flatten(model)


def test_slots_that_are_no_fields_are_seen():
    class Base:
        __slots__ = ("extra",)

    @dataclass(slots=True)
    class Model(Base):
        w: Any

    model = Model(X)
    assert len(tree.leaves(model)) == 1
    model.extra = "text"
    assert rebuilt(model).extra == "text"
    model.extra = X
    with pytest.raises(TreeError, match="'extra'"):
        tree.flatten(model)


def test_records_that_derive_from_built_in_classes():
    @dataclass
    class Failure(Exception):
        w: Any

    assert rebuilt(Failure(X)).w is X


def test_records_that_opt_out_of_numpy_operators_are_containers():
    @dataclass
    class Vector:
        x: Any
        __array_ufunc__ = None

    @dataclass
    class Converts:
        x: Any

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.x)

    assert tree.leaves(Vector(X))[0] is X
    assert tree.leaves(Converts(X))[0] is X


def test_records_that_are_arrays_to_numpy_are_leaves():
    @dataclass
    class Quantity:
        x: Any

        def __array_ufunc__(self, ufunc, method, *inputs, **options): ...

    quantity = Quantity(X)
    assert tree.leaves([quantity])[0] is quantity
    assert tree.leaves(Holder(quantity))[0] is quantity


def test_classes_themselves_are_no_records():
    assert tree.leaves([Layer, Motor]) == [Layer, Motor]
    assert tree.leaves(Holder(Layer)) == []


def test_mutable_records_are_copied_and_not_shared():
    layer = Layer(X, [X])
    again = rebuilt(layer)
    again.b.append(1.0)
    again.w = None
    assert layer.w is X
    assert len(layer.b) == 1
