import copy
import sys
import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Box, Layer, Motor, Point, same, trees

X = np.arange(3.0)


@pytest.mark.parametrize(
    "value, leaves",
    [
        (1.5, [1.5]),
        ((1.0, 2.0), [1.0, 2.0]),
        ([1.0, (2.0, [3.0])], [1.0, 2.0, 3.0]),
        ({"b": 1.0, "a": 2.0}, [2.0, 1.0]),
        (OrderedDict(b=1.0, a=2.0), [1.0, 2.0]),
        (defaultdict(list, b=1.0, a=2.0), [2.0, 1.0]),
        (Point(1.0, {"k": 2.0}), [1.0, 2.0]),
        (Layer(1.0, [2.0, None]), [1.0, 2.0]),
        (Motor(1.0, 2.0), [1.0, 2.0]),
        (Box([1.0, 2.0], "label"), [1.0, 2.0]),
        (None, []),
        ((), []),
        ([None, {}, ()], []),
        ("text", ["text"]),
        (["text", b"bytes", True, len], ["text", b"bytes", True, len]),
    ],
)
def test_leaves(value, leaves):
    assert tree.leaves(value) == leaves
    found, structure = tree.flatten(value)
    assert found == leaves
    assert structure == tree.structure(value)
    assert structure.num_leaves == len(leaves)


@given(trees())
def test_round_trip(value):
    leaves, structure = tree.flatten(value)
    again = tree.unflatten(structure, leaves)
    assert same(again, value)
    assert tree.structure(again) == structure


@given(trees())
def test_leaves_are_the_objects_themselves_and_containers_are_new(value):
    leaves, structure = tree.flatten(value)
    again = tree.unflatten(structure, leaves)
    assert all(a is b for a, b in zip(tree.leaves(again), leaves, strict=True))
    if isinstance(value, list | dict):
        assert again is not value


@given(trees())
def test_flattening_changes_nothing(value):
    before = copy.deepcopy(value)
    tree.flatten(value)
    assert same(value, before)


@given(trees())
def test_leaves_that_differ_leave_the_structure_alone(value):
    leaves, structure = tree.flatten(value)
    numbered = structure.unflatten(range(len(leaves)))
    assert tree.flatten(numbered) == (list(range(len(leaves))), structure)


def test_unflatten_takes_any_iterable_and_counts():
    structure = tree.structure([1, (2, 3)])
    assert tree.unflatten(structure, iter("abc")) == ["a", ("b", "c")]
    for wrong in ("ab", "abcd", ""):
        with pytest.raises(TreeError, match=rf"takes 3 leaves, got {len(wrong)}"):
            tree.unflatten(structure, wrong)


def test_the_list_of_leaves_is_the_callers():
    value = [X, X]
    leaves, _ = tree.flatten(value)
    leaves.clear()
    assert len(value) == 2
    given_leaves = [1, 2]
    built = tree.unflatten(tree.structure(value), given_leaves)
    built.append(3)
    assert given_leaves == [1, 2]


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 34, 500])
def test_flat_tuples_of_every_size(size):
    value = tuple(np.float64(i) for i in range(size))
    leaves, structure = tree.flatten(value)
    assert leaves == list(value)
    assert tree.unflatten(structure, leaves) == value
    assert structure == tree.structure(tuple([X] * size))
    assert structure.num_leaves == size


def test_structures_of_the_short_cuts_equal_those_of_the_long_way():
    class Unseen: ...  # the class is not known as a leaf yet, so that the long way is taken

    for make in (lambda x: x, lambda x: (x, x), lambda x: [x, x], lambda x: {"a": x}):
        assert tree.structure(make(Unseen())) == tree.structure(make(1.0))
        assert tree.structure(make(Unseen())) == tree.structure(make(Unseen()))


def test_sharing_is_not_a_cycle():
    shared = [1.0, 2.0]
    assert tree.leaves([shared, shared, {"a": shared}]) == [1.0, 2.0] * 3
    deep = X
    for _ in range(600):
        deep = [deep, None]
    assert tree.leaves([deep, deep])[0] is X


@dataclass
class Linked:
    value: Any
    next: Any = None


def cyclic_list():
    value = [1.0]
    value.append(value)
    return value


def cyclic_dict():
    value = {"a": 1.0}
    value["b"] = [(value,)]
    return value


def cyclic_record():
    value = Linked(1.0)
    value.next = {"again": value}
    return value


def wide_cycle():
    value = [1.0]
    value += [value] * 10
    return value


@pytest.mark.parametrize(
    "make, message",
    [
        (cyclic_list, "A list contains itself, 1 level down"),
        (cyclic_dict, "contains itself, 3 levels down"),
        (cyclic_record, "contains itself, 2 levels down"),
        (wide_cycle, "A list contains itself"),
    ],
)
def test_cycles_are_named(make, message):
    with pytest.raises(TreeError, match=message):
        tree.flatten(make())
    with pytest.raises(TreeError, match=message):
        tree.flatten([X, make()])


def test_a_registered_container_that_goes_on_for_ever_is_refused(monkeypatch):
    monkeypatch.setattr(sys.modules["adjoint.tree.flatten"], "_DEEPEST", 5000)

    class Endless: ...

    tree.register(Endless, lambda _: ([Endless()], None), lambda _, children: Endless())
    with pytest.raises(TreeError, match="5,000 levels deep, the innermost in a Endless"):
        tree.flatten(Endless())


def nested(depth):
    value: Any = X
    for level in range(depth):
        value = ([value], {"k": value}, (value, 1.0), Linked(0.0, value))[level % 4]
    return value


def test_very_deep_trees():
    """Forty thousand levels: deeper than any recursion goes."""
    depth = 40_000
    leaves, structure = tree.flatten(nested(depth))
    assert structure.num_leaves == 1 + depth // 4 * 2
    again = tree.unflatten(structure, leaves)
    assert tree.structure(again) == structure
    assert hash(tree.structure(again)) == hash(structure)
    for level in reversed(range(depth)):
        again = (lambda v: v[0], lambda v: v["k"], lambda v: v[0], lambda v: v.next)[level % 4](again)
    assert again is X


def test_static_values_return_to_leaves_after_a_record():
    inside, outside = Layer("text", ["more"]), ["text"]
    assert tree.leaves([inside, *outside]) == ["text"]
    assert tree.leaves([inside, [outside, inside], "last"]) == ["text", "last"]


def test_threads_flatten_classes_never_seen_before():
    classes = [dataclass(type(f"C{i}", (), {"__annotations__": {"a": Any, "b": str}})) for i in range(200)]
    values = [cls(1.0, "static") for cls in classes]
    barrier = threading.Barrier(8)
    results = []

    def work():
        barrier.wait()
        results.append([tree.flatten(value) for value in values])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    assert all(leaves == [1.0] for leaves, _ in results[0])
