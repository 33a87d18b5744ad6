import copy
import pickle
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given

from adjoint import tree
from tests.tree.strategies import Frozen, Layer, Motor, Point, same, trees

X = np.arange(3.0)


def test_dicts_with_the_same_keys_have_one_structure_and_one_order_of_leaves():
    one, two = {"w": 1, "b": 2}, {"b": 2, "w": 1}
    assert tree.structure(one) == tree.structure(two)
    assert hash(tree.structure(one)) == hash(tree.structure(two))
    assert tree.leaves(one) == tree.leaves(two) == [2, 1]
    assert list(tree.unflatten(tree.structure(one), [0, 0])) == ["w", "b"]
    assert list(tree.unflatten(tree.structure(two), [0, 0])) == ["b", "w"]


def test_keys_of_several_types_have_one_order_too():
    one = {"a": 1, 2: 2, (1, "x"): 3, None: 4}
    two = dict(reversed(list(one.items())))
    assert tree.structure(one) == tree.structure(two)
    assert tree.leaves(one) == tree.leaves(two)
    assert list(tree.unflatten(tree.structure(two), tree.leaves(two)).items()) == list(two.items())


def test_keys_without_any_order_never_exchange_their_leaves():
    small, large = frozenset({1}), frozenset({2})  # neither is smaller: `<` means subset
    one, two = {small: 1, large: 2}, {large: 2, small: 1}
    if tree.structure(one) == tree.structure(two):
        assert tree.leaves(one) == tree.leaves(two)
    else:
        assert tree.unflatten(tree.structure(two), tree.leaves(two)) == two


@pytest.mark.parametrize(
    "one, two",
    [
        (1.0, (1.0,)),
        ((1.0, 2.0), [1.0, 2.0]),
        ((1.0, 2.0), (1.0, 2.0, 3.0)),
        ([1.0, [2.0]], [[1.0], 2.0]),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0}, OrderedDict(a=1.0)),
        ({"a": 1.0}, defaultdict(int, a=1.0)),
        (defaultdict(list, a=1.0), defaultdict(int, a=1.0)),
        (OrderedDict(a=1.0, b=2.0), OrderedDict(b=2.0, a=1.0)),
        (Point(1.0, 2.0), (1.0, 2.0)),
        (Layer(1.0, 2.0), Layer(1.0, 2.0, name="other")),
        (Layer(1.0, 2.0), Layer(1.0, 2.0, activation=np.sin)),
        (Layer(1.0, 2.0), Layer(1.0, None)),
        (Layer(1.0, 1), Layer(1.0, True)),
        (Frozen(1.0, "m"), Frozen(1.0, "s")),
        (None, ()),
        ([], {}),
        (None, 1.0),
    ],
)
def test_different_structures(one, two):
    assert tree.structure(one) != tree.structure(two)
    assert tree.structure(one) == tree.structure(copy.deepcopy(one))


@given(trees(), trees())
def test_equal_structures_mean_that_leaves_can_change_places(one, two):
    structure_one, structure_two = tree.structure(one), tree.structure(two)
    if structure_one == structure_two:
        assert hash(structure_one) == hash(structure_two)
        assert tree.structure(structure_one.unflatten(tree.leaves(two))) == structure_one
    else:
        assert repr(structure_one) != repr(structure_two)


@given(trees())
def test_pickle_and_copies(value):
    leaves, structure = tree.flatten(value)
    again = pickle.loads(pickle.dumps(structure))
    assert again == structure
    assert hash(again) == hash(structure)
    assert same(again.unflatten(leaves), value)
    assert copy.copy(structure) == copy.deepcopy(structure) == structure


def test_structure_is_no_structure_of_its_leaves():
    assert tree.structure((1.0, 2.0)) != "Structure((*, *))"
    assert (tree.structure(1.0) == 1.0) is False


@pytest.mark.parametrize(
    "value, text",
    [
        (X, "*"),
        ((X,), "(*,)"),
        ((X, [X, None]), "(*, [*, None])"),
        ({"w": X, "b": ()}, "{'w': *, 'b': ()}"),
        (OrderedDict(w=X), "OrderedDict({'w': *})"),
        (defaultdict(list, w=X), "defaultdict(list, {'w': *})"),
        (Point(X, {}), "Point(x=*, y={})"),
        (Layer(X, X), "Layer(w=*, b=*, activation=tanh, name='layer')"),
        (Motor(X), "Motor(torque=*, _label='left')"),
    ],
)
def test_print(value, text):
    assert repr(tree.structure(value)) == f"Structure({text})"


def test_print_of_large_and_deep_structures_stays_short():
    wide = {f"key{i}": X for i in range(1000)}
    deep = X
    for _ in range(10_000):
        deep = [deep]
    assert repr(tree.structure(wide)).endswith("... (1000 in all), 1000 leaves in all)")
    assert len(repr(tree.structure(wide))) < 200
    assert repr(tree.structure(deep)) == "Structure(a list of 1, 1 leaves in all)"
    assert len(repr(tree.structure(Layer(X, X, name="long" * 1000)))) < 200


@given(trees())
def test_children(value):
    structure = tree.structure((value, 1.0, [value]))
    assert structure.children() == [tree.structure(value), tree.structure(1.0), tree.structure([value])]
    assert [child.num_leaves for child in structure.children()] == [
        tree.structure(value).num_leaves,
        1,
        tree.structure(value).num_leaves,
    ]


def test_leaves_and_empty_containers_have_no_children():
    assert tree.structure(1.0).children() == []
    assert tree.structure(()).children() == []


def test_paths_of_single_leaves():
    structure = tree.structure({"a": [X, (X, Layer(X, X))]})
    paths = structure.paths()
    assert [structure.path(i) for i in range(structure.num_leaves)] == paths
    assert structure.path(3, root="params") == "params['a'][1][1].b"
    with pytest.raises(IndexError, match="leaf 4 of a tree with 4 leaves"):
        structure.path(4)


def test_paths_of_nodes():
    structure = tree.structure(([X], {"k": X}))
    assert [structure.node_path(i) for i in range(len(structure.nodes))] == ["", "[0]", "[0][0]", "[1]", "[1]['k']"]
    with pytest.raises(IndexError):
        structure.node_path(5)
