"""Errors that a `with` swallows: raised where it sees them, not left to the compiled program."""

import contextlib
import math
from collections.abc import Generator
from typing import Any

import pytest

from tests.support.everywhere import check_everywhere


class Forgiving:
    """A context manager that swallows ValueErrors."""

    def __enter__(self) -> float:
        return 2.0

    def __exit__(self, kind: Any, problem: Any, traceback: Any) -> bool:
        return kind is ValueError


@contextlib.contextmanager
def forgiving() -> Generator[float]:
    with contextlib.suppress(ValueError):
        yield 2.0


def by_class(x: Any) -> Any:
    total = x
    with Forgiving() as factor:
        total = factor * x
        if x < 1:
            raise ValueError("small")
        total = total * x
    return total + math.sin(x)


def by_suppress(x: Any) -> Any:
    total = x
    with contextlib.suppress(ValueError, KeyError):
        total += math.sin(x)
        if x < 1:
            raise ValueError("small")
        total = total * x
    return total


def by_generator(x: Any) -> Any:
    total = x
    with forgiving() as factor:
        total = factor * math.sin(x)
        if x < 1:
            raise ValueError("small")
        total = total * x
    return total * x


@pytest.mark.parametrize("f", [by_class, by_suppress, by_generator])
@pytest.mark.parametrize("x", [0.7, 1.3])
def test_a_with_may_swallow_what_is_raised(f: Any, x: float) -> None:
    check_everywhere(f, x)
