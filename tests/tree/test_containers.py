from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from adjoint import tree

X = np.arange(3.0)


def rebuilt(value):
    leaves, structure = tree.flatten(value)
    return structure.unflatten(leaves)


def test_named_tuples_with_a_constructor_of_their_own():
    class Interval(namedtuple("Interval", ["low", "high"])):
        def __new__(cls, width):
            return super().__new__(cls, 0.0, width)

    again = rebuilt(Interval(3.0))
    assert type(again) is Interval
    assert again == (0.0, 3.0)


def test_named_tuples_without_fields_and_with_defaults():
    class Empty(NamedTuple): ...

    class Default(NamedTuple):
        x: float = 1.0

    assert rebuilt(Empty()) == Empty()
    assert rebuilt(Default()) == Default()
    assert tree.paths(Default()) == ["x"]


def test_named_tuples_of_numpy():
    result = np.linalg.eigh(np.eye(2))
    again = rebuilt(result)
    assert type(again) is type(result)
    assert tree.paths(result) == ["eigenvalues", "eigenvectors"]


def test_strings_in_named_tuples_are_leaves():
    class Named(NamedTuple):
        name: str

    assert tree.leaves(Named("a")) == ["a"]


def test_default_dicts_keep_their_factory():
    again = rebuilt(defaultdict(list, a=1.0))
    assert type(again) is defaultdict
    assert again["new"] == []
    assert rebuilt(defaultdict(None, a=1.0)).default_factory is None


def test_flattening_a_default_dict_adds_no_keys():
    value = defaultdict(list, b=1.0, a=2.0)
    tree.flatten(value)
    assert list(value) == ["b", "a"]


def test_ordered_dicts_keep_their_order():
    again = rebuilt(OrderedDict([("b", 1.0), ("a", 2.0)]))
    assert type(again) is OrderedDict
    assert list(again) == ["b", "a"]


@pytest.mark.parametrize(
    "keys",
    [["b", "a"], [2, 1], ["a", 1, None], [(2, "a"), (1, "b")], [(1, "a"), (1, 2)], [True, "b", 2.5], [b"b", "b"]],
    ids=repr,
)
def test_dicts_with_keys_of_any_kind(keys):
    value = {key: float(i) for i, key in enumerate(keys)}
    again = rebuilt(value)
    assert list(again.items()) == list(value.items())
    assert [type(key) for key in again] == [type(key) for key in keys]
    backwards = dict(reversed(value.items()))
    assert tree.structure(backwards) == tree.structure(value)
    assert tree.leaves(backwards) == tree.leaves(value)


@pytest.mark.parametrize(
    "value",
    [
        deque([X]), {1.0}, frozenset({1.0}), Counter("ab"), UserDict(a=1.0), MappingProxyType({"a": 1.0}),
        SimpleNamespace(a=1.0), range(3), iter([X]), (x for x in [X]), np.array([X, None], dtype=object),
        type("Tuple", (tuple,), {})([X]), type("List", (list,), {})([X]), type("Dict", (dict,), {})(a=X),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_everything_else_is_a_leaf(value):
    leaves = tree.leaves(value)
    assert len(leaves) == 1
    assert leaves[0] is value
