import pickle

import numpy as np
import pytest

from adjoint.tree.kinds import Static, listed


@pytest.mark.parametrize(
    "one, two",
    [("a", "a"), (1, 1), ((1, 2), (1, 2)), (slice(1, 2), slice(1, 2)), (np.dtype("f8"), np.dtype(float)), (len, len)],
)
def test_equal_values(one, two):
    assert Static(one) == Static(two)
    assert hash(Static(one)) == hash(Static(two))
    assert not Static(one).by_identity


@pytest.mark.parametrize(
    "one, two",
    [("a", "b"), (1, 1.0), (1, True), ([1], [1]), (slice(1, 2), slice(1, 3)), (slice([1]), slice([1])), ("a", None)],
)
def test_different_values(one, two):
    assert Static(one) != Static(two)
    assert Static(one) == Static(one)


def test_unhashable_values_are_compared_by_identity():
    value = [1]
    assert Static(value).by_identity
    assert Static(value) == Static(value)
    assert hash(Static(value)) == hash(Static(value))


def test_static_equals_no_plain_value():
    assert Static("a") != "a"
    assert Static("a") != "a"


def test_pickle():
    assert pickle.loads(pickle.dumps(Static(("a", 1)))) == Static(("a", 1))


def test_text():
    assert repr(Static("a")) == "'a'"
    assert repr(Static(np.tanh)) == "tanh"
    assert repr(Static(float)) == "float"
    assert repr(Static("a" * 100)).endswith("aaa...")
    assert len(repr(Static("a" * 100))) == 60


def test_lists_of_words_are_cut():
    assert listed([]) == ""
    assert listed([1, "b"]) == "1, b"
    assert listed(range(100), most=2) == "0, 1, ... (100 in all)"
