"""Names in code, against what the code does."""

from types import SimpleNamespace
from typing import Any

import pytest

from adjoint.jit.mentions import mentions

thing: Any = SimpleNamespace(a=1, b=2)


def matches(x: Any) -> Any:
    match x:
        case complex(real=0.0):
            return 1
        case _:
            return 2


log: list[Any] = []


def reads(x: Any) -> Any:
    inner = lambda: thing.a.deep
    thing.b = x
    thing.c += 1
    return inner() + thing.method() + getattr(thing, "text")  # noqa: B009


def test_names() -> None:
    found = mentions(reads.__code__)
    assert {"a", "deep", "method", "text", "c"} <= found.attributes
    assert "b" not in found.attributes  # only written
    assert found.written_attributes == {"b", "c"}
    assert found.global_names == ("thing", "getattr")


@pytest.mark.parametrize(
    "function, is_log",
    [
        (lambda x: log.append(x), True),
        (lambda x: [log.append(y) for y in x], True),
        (lambda x: x.log.extend(x), True),
        (lambda x: log[0], False),
        (lambda x: log.append(len(log)), False),
        (lambda x: (log.append(x), log), False),
        (lambda x: x.log.pop(), False),
    ],
)
def test_logs(function: Any, is_log: bool) -> None:
    assert ("log" not in mentions(function.__code__).read) == is_log


def test_items_that_are_only_written() -> None:
    def f(x: Any) -> Any:
        log[0] = x

    def g(x: Any) -> Any:
        log[0] += x

    assert "log" not in mentions(f.__code__).read
    assert "log" in mentions(g.__code__).read


@pytest.mark.parametrize(
    "function, is_any",
    [
        (lambda x: x.a, False),
        (lambda x: x.copy(), False),
        (lambda x: getattr(x, "a"), True),  # noqa: B009
        (lambda x: vars(x), True),
        (lambda x: x.__dict__, True),
        (lambda x: [hasattr(y, "a") for y in x], True),
        (matches, True),
    ],
)
def test_any_name(function: Any, is_any: bool) -> None:
    assert mentions(function.__code__).is_any == is_any
