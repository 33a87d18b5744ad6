"""Functions are found in their files by their code, and nothing else is taken for their source."""

import functools
import linecache
from typing import Any

import adjoint.conversion.runtime  # noqa: F401  (makes conversion ready)
from adjoint.conversion.source import find


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


class Owner:
    def __init__(self, a: float) -> None:
        self.__a = a

    def method(self, x: Any, *rest: Any, k: int = 3, **named: Any) -> Any:
        return self.__a * x if k else super().__hash__()

    @decorated
    def wrapped(self, x: Any) -> Any:
        return [q * x for q in range(3)]


first, second = (lambda x: x + 1), (lambda x: x + 1 if x else 2)


def outer(s: float) -> Any:
    def inner(x: Any) -> Any:
        nonlocal s
        s += 1
        return (lambda y: y * s)(x)

    return inner


def test_functions_are_found_where_they_stand() -> None:
    for function in (Owner.method, Owner.__init__, Owner.wrapped.__wrapped__, outer, outer(1.0), decorated):
        found = find(function)
        assert found is not None, function
        assert found.node.lineno >= function.__code__.co_firstlineno
    assert find(Owner.method).owner == "Owner"  # type: ignore[union-attr]


def test_lambdas_of_one_line_are_told_apart() -> None:
    one, two = find(first), find(second)
    assert one is not None
    assert two is not None
    assert one.node.col_offset < two.node.col_offset


def test_no_source() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return x + 1", namespace)
    assert find(namespace["f"]) is None
    assert find(namespace["f"].__class__(compile("1", "<nowhere>", "eval"), {})) is None


def test_a_file_that_was_edited_is_not_the_source() -> None:
    name, text = "<edited>", "def f(x):\n    return x + 1\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    assert find(namespace["f"]) is not None
    text = "def f(x):\n    return x + 2\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    assert find(namespace["f"]) is None
