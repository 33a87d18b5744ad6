"""Finding the containers that change."""

from dataclasses import dataclass

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import TreeError
from adjoint.tree.state import states


@dataclass
class Model:
    name: str
    rng: object
    weight: object


def test_places_are_the_numbers_of_the_leaves():
    a, b = ad.random.default_rng(1), ad.random.default_rng(2)
    tree = {"x": [1.0, None, a], "model": Model("m", b, np.zeros(2)), "z": 3}
    leaves, structure = ad.tree.flatten(tree)
    found = states("test", tree, structure)
    assert [place.state for place in found] == [b, a]  # keys in order
    for place in found:
        assert place.width == 2
        assert leaves[place.first] is place.state.key
        assert leaves[place.first + 1] is place.state.counter
    assert states("test", a)[0].state is a
    assert states("test", [1.0, {"y": 2.0}]) == []


def test_one_container_in_two_places():
    a = ad.random.default_rng(1)
    with pytest.raises(TreeError, match="test: the same Generator stands in two places"):
        states("test", (a, [a]))
    shared = ad.random.default_rng(2)
    shared.share(a)
    with pytest.raises(TreeError, match="two places"):
        states("test", (a, shared))
