from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from adjoint import tree
from adjoint.base.errors import TreeError
from adjoint.tree.registry import contains_arrays, inside, outside
from tests.tree.strategies import Duck, Layer

X = np.arange(3.0)


def test_classes_are_registered_with_their_objects_already_met():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pair = Pair(1.0, 2.0)
    assert tree.leaves([pair]) == [pair]
    assert tree.leaves(Layer(pair, 1.0)) == [pair, 1.0]
    assert tree.register(Pair, lambda p: ((p.a, p.b), None), lambda _, children: Pair(*children)) is Pair
    assert tree.leaves([pair]) == [1.0, 2.0]
    assert tree.leaves(Layer(pair, 3.0)) == [1.0, 2.0, 3.0]
    doubled = tree.map(lambda x: 2 * x, pair)
    assert (doubled.a, doubled.b) == (2.0, 4.0)


def test_registration_does_not_reach_subclasses():
    class Bag(deque): ...

    class Special(Bag): ...

    tree.register(Bag, lambda bag: (bag, None), lambda _, children: Bag(children))
    special = Special([1.0])
    assert tree.leaves(Bag([1.0, 2.0])) == [1.0, 2.0]
    assert tree.leaves(special) == [special]


def test_a_new_registration_replaces_the_old_one():
    class Bag(deque): ...

    tree.register(Bag, lambda bag: (bag, None), lambda _, children: Bag(children))
    tree.register(Bag, lambda bag: (list(bag)[:1], None), lambda _, children: Bag(children))
    assert tree.leaves(Bag([1.0, 2.0])) == [1.0]


def test_records_can_be_registered_and_are_then_opened_so():
    @dataclass
    class Model:
        w: Any
        history: Any

    tree.register(Model, lambda m: ({"w": m.w}, m.history), lambda history, named: Model(named["w"], history))
    model = Model(1.0, (2.0,))
    assert tree.leaves(model) == [1.0]
    assert tree.unflatten(tree.structure(model), [5.0]) == Model(5.0, (2.0,))


def test_leaves_can_be_declared():
    @tree.register_leaf
    @dataclass
    class Generator:
        state: Any

    class Special(Generator): ...

    for value in (Generator(X), Special(X)):
        assert tree.leaves([value]) == [value]
        assert tree.leaves(Layer(value, 1.0))[0] is value


def test_a_declared_leaf_with_a_call_is_a_leaf_inside_records_too():
    @tree.register_leaf
    class Function:
        def __call__(self): ...

    function = Function()
    assert tree.leaves(Layer(function, 1.0)) == [function, 1.0]


def test_a_class_changes_its_mind():
    @dataclass
    class Value:
        x: Any

    assert tree.leaves(Value(1.0)) == [1.0]
    structure = tree.structure(Value(1.0))
    tree.register_leaf(Value)
    assert tree.leaves(Value(1.0)) == [Value(1.0)]
    with pytest.raises(TreeError, match="Value was a class of containers when this structure was made"):
        structure.unflatten([1.0])
    tree.register(Value, lambda v: ([v.x], None), lambda _, children: Value(*children))
    assert tree.leaves(Value(1.0)) == [1.0]


@pytest.mark.parametrize("cls", [tuple, list, dict, type(None)])
def test_the_containers_of_python_are_not_registered_anew(cls):
    with pytest.raises(TreeError, match="is a container already"):
        tree.register(cls, lambda x: (x, None), lambda _, children: children)
    with pytest.raises(TreeError, match="is a container already"):
        tree.register_leaf(cls)


def test_objects_are_not_registered():
    with pytest.raises(TypeError, match="A class is registered"):
        tree.register_leaf(X)


def test_tables_do_not_grow_for_ever(monkeypatch):
    monkeypatch.setattr("adjoint.tree.registry._TABLE_LIMIT", 50)
    kept = Layer(X, X)
    structure = tree.structure(kept)
    for number in range(200):
        made = type(f"Made{number}", (), {})()
        tree.leaves([made, Layer(made, 1.0)])
    assert len(outside) <= 52
    assert len(inside) <= 52
    assert len(outside.leaf_types) <= 52
    assert tree.structure(kept) == structure
    assert tree.unflatten(structure, [1.0, 2.0]) == Layer(1.0, 2.0)


@pytest.mark.parametrize(
    "value, answer",
    [(X, True), (1.0, False), (np.float64(1), False), ("text", False), ([1, (X,)], True), ({"k": Duck(1)}, True),
     (Layer(1.0, [X]), True), (Layer(1.0, 2.0), False), (None, False), (np.str_("a"), False)],
)  # fmt: skip
def test_contains_arrays(value, answer):
    assert contains_arrays(value) is answer


def test_contains_arrays_ends_on_cycles():
    value = [1.0]
    value.append(value)
    assert contains_arrays(value) is False
