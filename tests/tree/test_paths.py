from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint import tree
from adjoint.base.errors import TreeError
from tests.tree.strategies import Box, Color, Frozen, Layer, Motor, Point, same, trees

X = np.arange(3.0)
MODEL = {"layers": [Layer(1.0, 2.0), Layer(3.0, Point(4.0, (5.0,)))], "motor": Motor(6.0)}


@pytest.mark.parametrize(
    "value, paths",
    [
        (X, [""]),
        ((X, [X]), ["[0]", "[1][0]"]),
        ({"w": X, "b": {"c": X}}, ["['b']['c']", "['w']"]),
        ({1: X, "1": X}, ["[1]", "['1']"]),
        (Layer(X, [X, X]), ["w", "b[0]", "b[1]"]),
        (Layer(Point(X, X), Layer(X, X)), ["w.x", "w.y", "b.w", "b.b"]),
        (MODEL, ["['layers'][0].w", "['layers'][0].b", "['layers'][1].w", "['layers'][1].b.x", "['layers'][1].b.y[0]",
                 "['motor'].torque"]),
        (Box([X, X], "a"), ["[0]", "[1]"]),
        (None, []),
    ],
)  # fmt: skip
def test_paths(value, paths):
    assert tree.paths(value) == paths


def test_paths_with_a_root():
    assert tree.paths(X, "x") == ["x"]
    assert tree.paths(Layer(X, [X]), "params") == ["params.w", "params.b[0]"]
    assert tree.paths([X, {"k": X}], "params") == ["params[0]", "params[1]['k']"]


@given(trees())
def test_every_path_leads_to_its_leaf(value):
    for path, leaf in zip(tree.paths(value), tree.leaves(value), strict=True):
        assert tree.get(value, path) is leaf


@given(trees())
def test_paths_are_different(value):
    paths = tree.paths(value)
    assert len(set(paths)) == len(paths)


@given(trees(), st.data())
def test_replace_changes_one_leaf_in_a_copy(value, data):
    leaves, structure = tree.flatten(value)
    if not leaves:
        return
    before = structure.unflatten(leaves)
    number = data.draw(st.integers(0, len(leaves) - 1))
    changed = tree.replace(value, structure.path(number), 99.0)
    assert same(value, before)
    expected = [99.0 if i == number else leaf for i, leaf in enumerate(leaves)]
    assert same(changed, structure.unflatten(expected))


def test_get_subtrees_and_static_fields():
    assert tree.get(MODEL, "") is MODEL
    assert tree.get(MODEL, "['layers'][1].b") == Point(4.0, (5.0,))
    assert tree.get(MODEL, "['layers'][0].activation") is np.tanh
    assert tree.get(Frozen(1.0), "unit") == "m"


def test_replace_subtrees_static_fields_and_the_top():
    changed = tree.replace(MODEL, "['layers'][0]", None)
    assert changed["layers"][0] is None
    assert changed["layers"][1] is MODEL["layers"][1]
    assert tree.replace(MODEL, "['layers'][0].name", "new")["layers"][0].name == "new"
    assert tree.replace(Frozen(1.0), "unit", "s") == Frozen(1.0, "s")
    assert tree.replace(Frozen((1.0, 2.0)), "value[1]", 3.0) == Frozen((1.0, 3.0))
    assert tree.replace(MODEL, "", 1.0) == 1.0


def test_other_ways_to_write_a_path():
    assert tree.get(MODEL, '["layers"][-1].b.y[ 0 ]') == 5.0
    assert tree.get(Layer(1.0, 2.0), ".w") == 1.0
    assert tree.get((1.0, 2.0), "[-2]") == 1.0
    assert tree.get({-1: 1.0}, "[-1]") == 1.0
    assert tree.get(OrderedDict({(1, "]"): 1.0}), "[(1, ']')]") == 1.0
    assert tree.get({Color.RED: 1.0}, tree.paths({Color.RED: 1.0})[0]) == 1.0


def test_order_of_keys_survives_a_replacement():
    assert list(tree.replace({"b": 1.0, "a": 2.0}, "['a']", 3.0).items()) == [("b", 1.0), ("a", 3.0)]


@pytest.mark.parametrize(
    "path, message",
    [
        ("layers[0]", r"no \.layers at the top, which is a dict with keys 'layers', 'motor'; it has \['layers'\]"),
        ("['layers'][2]", r"There is no \[2\] at \['layers'\], which is a list of 2; it has \[0\], \[1\]"),
        ("['layers'][-3]", r"There is no \[-3\] at \['layers'\]"),
        ("['layers'][0].bias", r"no \.bias at \['layers'\]\[0\], which is a Layer with fields w, b, activation, name"),
        ("['layers'][0].w.x", r"nothing at \.x below \['layers'\]\[0\]\.w, which is a leaf \(float\)"),
        ("['layers'", "bracket that is not closed"),
        ("['layers']w", "cannot be read from 'w' on"),
        ("['layers'][0]..w", r"cannot be read from '\.\.w' on"),
        ("3", "cannot be read from '3' on"),
    ],
)  # fmt: skip
def test_wrong_paths(path, message):
    with pytest.raises(TreeError, match=message):
        tree.get(MODEL, path)
    with pytest.raises(TreeError, match=message):
        tree.replace(MODEL, path, 1.0)


def test_paths_of_very_deep_trees():
    depth = 5000
    value = X
    for _ in range(depth):
        value = [value]
    (path,) = tree.paths(value)
    assert path == "[0]" * depth
    assert tree.get(value, path) is X
    assert tree.get(tree.replace(value, path, 1.0), path) == 1.0
