"""What a function reads besides its arguments, and the same function with other arrays there."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.jit.environment import Environment
from adjoint.jit.facts import token

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
    assert {read.name for read in Environment(reads).read().reads} == {"table", "level"}
    assert Environment(reads).read().names() == ["table"]
    assert not Environment(writes).read().reads  # what it writes itself is no input


def test_facts_and_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(reads)
    facts = environment.read().facts
    assert environment.read().arrays[0] is table
    assert environment.read().facts == facts
    monkeypatch.setitem(globals(), "level", 2.0)
    assert environment.read().facts != facts
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "table", np.ones(3))
    assert environment.read().facts == facts  # another array is another input
    monkeypatch.setitem(globals(), "table", 3.0)
    assert environment.read().facts != facts


def test_other_arrays() -> None:
    w = np.ones(2)

    def closed(x: Any, d: Any = w, *, k: Any = w) -> Any:
        return x * w + 10 * d + 100 * k

    made = Environment(closed).read().rebuild([np.full(2, 2.0), np.full(2, 3.0), np.full(2, 4.0)])[0]
    np.testing.assert_array_equal(made(1.0), [432.0, 432.0])
    np.testing.assert_array_equal(closed(1.0), [111.0, 111.0])
    bound = functools.partial(closed, k=w)
    np.testing.assert_array_equal(Environment(bound).read().rebuild([w * 5, w, w, w])[0](1.0), [511.0, 511.0])
    assert Environment(np.sin).read().rebuild([])[0] is np.sin


def test_through_transformations_methods_and_objects() -> None:
    w = np.ones(2)

    class Thing:
        def method(self, x: Any) -> Any:
            return x * w

    class Callable:
        def __call__(self, x: Any) -> Any:
            return x + w

    two = [np.full(2, 2.0)]
    np.testing.assert_array_equal(Environment(Thing().method).read().rebuild(two)[0](3.0), [6.0, 6.0])
    np.testing.assert_array_equal(Environment(Callable()).read().rebuild(two)[0](3.0), [5.0, 5.0])
    gradient = ad.grad(lambda x: np.sum(x * w))
    assert Environment(gradient).read().rebuild(two)[0](3.0) == 4.0
    assert Environment(ad.jit(ad.vmap(gradient))).read().names() == ["w"]


def test_an_empty_cell() -> None:
    def outer() -> Any:
        inner = lambda x: x + later
        environment = Environment(inner)
        before = environment.read().facts
        later = 1.0
        return before, environment.read().facts

    before, after = outer()
    assert before != after


def even(n: int, x: Any) -> Any:
    return x if n == 0 else odd(n - 1, x * table)


def odd(n: int, x: Any) -> Any:
    return even(n - 1, x * level)


def test_functions_that_name_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = Environment(even).read()
    assert captures.names() == ["table"]
    assert [name for name, _ in captures.numbers()] == ["level"]
    made = captures.rebuild([np.full(3, 2.0)])[0]
    np.testing.assert_array_equal(made(4, 1.0), np.full(3, 4.0))
    np.testing.assert_array_equal(even(4, np.ones(3)), table**2)
    monkeypatch.setitem(globals(), "odd", lambda n, x: x)
    assert Environment(even).read().changed(captures.facts) == ["odd"]


def test_functions_that_are_given() -> None:
    w, seen = np.ones(2), 0

    def inner(x: Any) -> Any:
        nonlocal seen
        seen += 1
        return x * w

    given = ad.jit(inner)
    captures = Environment(lambda f, x: f(x)).read([given])
    assert captures.names() == ["w"]
    function, other = captures.rebuild([np.full(2, 7.0)])
    np.testing.assert_array_equal(function(other.function, 1.0), [7.0, 7.0])
    np.testing.assert_array_equal(function(inner, 1.0), [1.0, 1.0])
    assert seen == 2  # a cell that is written stays shared


def test_functions_of_libraries_are_not_looked_into() -> None:
    assert [r.name for r in Environment(lambda x: pytest.approx(x)).read().reads] == ["pytest"]
    helper = np.broadcast_shapes
    assert [r.name for r in Environment(lambda x: helper(x)).read().reads] == ["helper"]


@pytest.mark.parametrize("a, b", [(1, 1.0), (1, True), (0.0, -0.0), ("1", b"1"), (0j, -0j), ((1,), (1.0,)), ([], [])])
def test_facts_that_differ(a: Any, b: Any) -> None:
    assert token(a) != token(b)


@pytest.mark.parametrize("a", [1, 2.5, float("nan"), "text", None, (1, (2.0, "x")), 1j, np.float32(1), np.sin])
def test_facts_that_are_equal(a: Any) -> None:
    assert token(a) == token(a)
    assert hash(token(a)) == hash(token(a))


def test_functions_of_scipy_are_compiled_though_they_fill_tables_of_their_own() -> None:
    a = np.array([[2.0, 0.3], [0.1, 3.0]])
    f = ad.jit(scipy.linalg.logm)
    np.testing.assert_allclose(f(a), scipy.linalg.logm(a), rtol=1e-12)
    assert f.report().eager_calls == 0
