from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Box, Frozen, Layer, trees

X = np.arange(3.0)


@given(trees())
def test_equal_structures_pass(value):
    leaves, structure = tree.flatten(value)
    tree.check_same_structure("add", value, structure.unflatten([0.0] * len(leaves)))
    tree.check_same_structure("add", structure, value)
    tree.check_same_structure("add", value, structure)


@given(trees(), trees())
def test_the_error_names_a_place_where_both_trees_go_and_differ(one, two):
    if tree.structure(one) == tree.structure(two):
        return
    with pytest.raises(TreeError, match="add: the trees differ at ") as info:
        tree.check_same_structure("add", one, two)
    text = str(info.value)
    path = text.removeprefix("add: the trees differ at ").split(": the first has ")[0]
    path = "" if path == "the top" else path
    left, right = tree.get(one, path), tree.get(two, path)
    is_static = isinstance(left, str | bytes) or isinstance(right, str | bytes) or callable(left) or callable(right)
    assert is_static or tree.structure(left) != tree.structure(right)


def test_the_first_difference_is_shown_with_both_sides_and_their_names():
    one = {"layers": [Layer(X, X), Layer(X, (X, X))], "z": X}
    two = {"layers": [Layer(X, X), Layer(X, (X,))], "z": None}
    with pytest.raises(TreeError) as info:
        tree.check_same_structure("vjp", one, two, "the output", "the cotangent")
    assert str(info.value) == (
        "vjp: the trees differ at ['layers'][1].b: the output has a tuple of 2, the cotangent has a tuple of 1. "
        "Only one of them has [1]."
    )


def test_missing_keys_are_listed():
    with pytest.raises(TreeError, match=r"Only one of them has \['bias'\]"):
        tree.check_same_structure("add", {"w": X, "bias": X}, {"w": X})


def test_values_compared_by_identity_say_so():
    with pytest.raises(TreeError, match=r"at name: .*\[1\] \(compared by identity, because it cannot be hashed\)"):
        tree.check_same_structure("add", Layer(X, X, name=tree_static([1])), Layer(X, X, name=tree_static([1])))
    with pytest.raises(TreeError, match=r"static data \[1\] \(compared by identity"):
        tree.check_same_structure("add", Box([X], [1]), Box([X], [1]))


def tree_static(value):
    """A set holds no leaves and has no hash."""
    return UnhashableSet(value)


class UnhashableSet(set):
    def __repr__(self):
        return repr(sorted(self))


def test_static_data_of_containers_is_shown():
    with pytest.raises(TreeError, match="a defaultdict of list with keys 'a', the second has a defaultdict of int"):
        tree.check_same_structure("add", defaultdict(list, a=X), defaultdict(int, a=X))
    with pytest.raises(TreeError, match=r"a Box with 1 children and the static data 'a', .* data 'b'"):
        tree.check_same_structure("add", Box([X], "a"), Box([X], "b"))


@given(trees())
def test_leaves_like_finds_what_flatten_finds(value):
    leaves, structure = tree.flatten(value)
    found = tree.leaves_like("map", structure, value)
    assert len(found) == len(leaves)
    assert all(a is b for a, b in zip(found, leaves, strict=True))


def test_leaves_like_takes_subtrees_and_any_order_of_keys():
    structure = tree.structure({"a": X, "b": [X, None]})
    assert tree.leaves_like("map", structure, {"b": [(1, 2), None], "a": {}}) == [{}, (1, 2)]
    with pytest.raises(TreeError, match=r"f: the trees differ at \['b'\]\[1\]: here has None, there has a leaf"):
        tree.leaves_like("f", structure, {"a": 1, "b": [2, 3]}, "here", "there")


@given(trees())
def test_a_tree_is_a_prefix_of_itself_and_one_value_of_all(value):
    leaves, structure = tree.flatten(value)
    numbers = list(range(len(leaves)))
    assert tree.broadcast_prefix("vmap", structure.unflatten(numbers), value) == numbers
    assert tree.broadcast_prefix("vmap", 7, value) == [7] * len(leaves)
    assert tree.broadcast_prefix("vmap", None, structure) == [None] * len(leaves)
    assert tree.broadcast_prefix("vmap", (1, None), (value, [value])) == [1] * len(leaves) + [None] * len(leaves)


def test_prefixes_end_at_any_depth():
    value = ((X, {"b": X, "a": [X, X]}), X, Layer(X, (X, X)))
    assert tree.broadcast_prefix("vmap", (0, None, 2), value) == [0, 0, 0, 0, None, 2, 2, 2]
    assert tree.broadcast_prefix("vmap", ((0, {"b": 1, "a": None}), 2, Layer(3, 4)), value) == [
        0,
        None,
        None,
        1,
        2,
        3,
        4,
        4,
    ]
    assert tree.broadcast_prefix("vmap", (0, 1, Layer(None, (2, 3))), value) == [0, 0, 0, 0, 1, None, 2, 3]


def test_prefixes_that_do_not_fit():
    with pytest.raises(
        TreeError, match=r"vmap: .* at the top: in_axes has a tuple of 2, the arguments has a tuple of 1"
    ):
        tree.broadcast_prefix("vmap", (0, 1), (X,), "in_axes", "the arguments")
    with pytest.raises(TreeError, match=r"at \[0\]: the prefix has a list of 1, the tree has a leaf"):
        tree.broadcast_prefix("vmap", ([0],), (X,))
    with pytest.raises(
        TreeError, match=r"at unit: the prefix has the static value 's', the tree has the static value 'm'"
    ):
        tree.broadcast_prefix("vmap", Frozen(0, "s"), Frozen(X, "m"))
