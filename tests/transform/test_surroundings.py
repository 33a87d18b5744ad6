"""What a function reads besides its arguments, and the same function with other arrays there."""

import functools
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.transform.surroundings import Surroundings, token

level = 1.0
table = np.arange(3.0)
written = 0


def reads(x: Any) -> Any:
    inner = lambda y: y * table  # names inside inner functions count
    return inner(x) + level + len([1])


def writes(x: Any) -> Any:
    global written
    written += 1
    return x


def test_names() -> None:
    assert {read.name for read in Surroundings(reads).reads} == {"table", "level"}
    assert Surroundings(reads).names() == ["table"]
    assert not Surroundings(writes).reads  # what it writes itself is no input


def test_facts_and_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    around = Surroundings(reads)
    arrays, facts = around.now()
    assert arrays[0] is table
    assert around.now()[1] == facts
    monkeypatch.setitem(globals(), "level", 2.0)
    assert around.now()[1] != facts
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "table", np.ones(3))
    assert around.now()[1] == facts  # another array is another input
    monkeypatch.setitem(globals(), "table", 3.0)
    assert around.now()[1] != facts


def test_other_arrays() -> None:
    w = np.ones(2)

    def closed(x: Any, d: Any = w, *, k: Any = w) -> Any:
        return x * w + 10 * d + 100 * k

    made = Surroundings(closed).replaced([np.full(2, 2.0), np.full(2, 3.0), np.full(2, 4.0)])
    np.testing.assert_array_equal(made(1.0), [432.0, 432.0])
    np.testing.assert_array_equal(closed(1.0), [111.0, 111.0])
    bound = functools.partial(closed, k=w)
    np.testing.assert_array_equal(Surroundings(bound).replaced([w * 5, w, w, w])(1.0), [511.0, 511.0])
    assert Surroundings(np.sin).replaced([]) is np.sin


def test_through_transformations_methods_and_objects() -> None:
    w = np.ones(2)

    class Thing:
        def method(self, x: Any) -> Any:
            return x * w

        def __call__(self, x: Any) -> Any:
            return x + w

    thing = Thing()
    two = [np.full(2, 2.0)]
    np.testing.assert_array_equal(Surroundings(thing.method).replaced(two)(3.0), [6.0, 6.0])
    np.testing.assert_array_equal(Surroundings(thing).replaced(two)(3.0), [5.0, 5.0])
    gradient = ad.grad(lambda x: np.sum(x * w))
    assert Surroundings(gradient).replaced(two)(3.0) == 4.0
    assert Surroundings(ad.jit(ad.vmap(gradient))).names() == ["w"]


def test_an_empty_cell() -> None:
    def outer() -> Any:
        inner = lambda x: x + later
        around = Surroundings(inner)
        before = around.now()[1]
        later = 1.0
        return before, around.now()[1]

    before, after = outer()
    assert before != after


@pytest.mark.parametrize("a, b", [(1, 1.0), (1, True), (0.0, -0.0), ("1", b"1"), (0j, -0j), ((1,), (1.0,)), ([], [])])
def test_facts_that_differ(a: Any, b: Any) -> None:
    assert token(a) != token(b)


@pytest.mark.parametrize("a", [1, 2.5, float("nan"), "text", None, (1, (2.0, "x")), 1j, np.float32(1), np.sin])
def test_facts_that_are_equal(a: Any) -> None:
    assert token(a) == token(a)
    assert hash(token(a)) == hash(token(a))
