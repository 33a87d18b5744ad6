from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Layer, Point, same, trees


def test_map():
    assert tree.map(lambda x: x + 1, {"a": 1, "b": (2, [3, None])}) == {"a": 2, "b": (3, [4, None])}
    assert tree.map(lambda x: x + 1, 1) == 2
    assert tree.map(lambda x: x, ()) == ()


def test_map_over_several_trees():
    assert tree.map(lambda x, y, z: x + y * z, (1, [2]), (3, [4]), (5, [6])) == (16, [26])
    assert tree.map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": 20, "a": 10}) == {"a": (1, 10), "b": (2, 20)}


def test_map_gives_subtrees_where_the_first_tree_ends():
    assert tree.map(lambda x, y: y, (1, 2), ([3, 4], {"k": 5})) == ([3, 4], {"k": 5})


def test_map_may_return_anything():
    layer = tree.map(str, Layer(1, 2))
    assert (layer.w, layer.b, layer.activation) == ("1", "2", np.tanh)
    assert tree.map(lambda x, y: x + int(y), Layer(1, 2), layer) == Layer(2, 4)
    assert tree.map(lambda x: None, [1, 2]) == [None, None]
    assert tree.map(lambda x, y: y, Layer(1, 2), tree.map(lambda x: None, Layer(1, 2))) == Layer(None, None)


@given(trees())
def test_map_of_the_identity(value):
    assert same(tree.map(lambda x: x, value), value)
    assert same(tree.map(lambda x, y: y, value, value), value)


@given(trees())
def test_map_with_path_shows_the_paths(value):
    seen = []
    result = tree.map_with_path(lambda path, x, y: seen.append(path) or y, value, value)
    assert seen == tree.paths(value)
    assert same(result, value)


def test_leaves_are_visited_in_order():
    seen = []
    tree.map(seen.append, {"b": 1, "a": [2, 3]})
    assert seen == [2, 3, 1]


@pytest.mark.parametrize(
    "one, two, message",
    [
        (
            (1, 2),
            (1, 2, 3),
            r"map: the trees differ at the top: the first has a tuple of 2, the other has a tuple of 3",
        ),
        ((1, [2]), (1, 2), r"differ at \[1\]: the first has a list of 1, the other has a leaf"),
        ({"a": 1}, {"b": 1}, r"has a dict with keys 'a', the other has a dict with keys 'b'.*\['a'\], \['b'\]"),
        (Layer(1, [2]), Layer(1, (2,)), r"differ at b: the first has a list of 1, the other has a tuple of 1"),
        (Layer(1, 2), Layer(1, 2, name="x"), r"at name: .*static value 'layer', the other has the static value 'x'"),
        (Point(1, 2), (1, 2), r"the first has the NamedTuple Point, the other has a tuple of 2"),
        ([None], [1], r"at \[0\]: the first has None, the other has a leaf"),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1), r"in this order, 'a', 'b', .*in this order, 'b', 'a'"),
    ],
)
def test_ragged_trees(one, two, message):
    with pytest.raises(TreeError, match=message):
        tree.map(lambda x, y: x, one, two)
    with pytest.raises(TreeError, match=message.replace("map:", "map_with_path:")):
        tree.map_with_path(lambda p, x, y: x, one, two)


def test_errors_of_the_function_pass_on():
    with pytest.raises(ZeroDivisionError):
        tree.map(lambda x: 1 / x, [1, 0])
