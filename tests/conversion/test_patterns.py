"""`match` with traced subjects, and jumps out of loops that stay Python's own: the numbers of plain Python."""

import contextlib
import enum
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad


class Kind(enum.Enum):
    NUMBER = 1
    SUM = 2


@dataclass
class Leaf:
    value: Any


def of_class(x: Any) -> Any:
    match x:
        case str():
            return 0.0
        case int(v) | float(v):
            return math.sin(v)
        case _:
            return 0.0 * x


def of_abstract_class(x: Any) -> Any:
    match x:
        case numbers.Real() if x > 0.5:
            return x**2
        case _:
            return x**3


def of_array(x: Any) -> Any:
    match np.array([x, 2 * x]):
        case np.ndarray(shape=(2,)) as array:
            return np.sum(array) * x
        case _:
            return 0.0 * x


def of_tree(x: Any) -> Any:
    def evaluate(node: Any) -> Any:
        match node:
            case (Kind.NUMBER, Leaf(value=float() as v)):
                return getattr(math, "exp")(v)  # noqa: B009 (names come from tables)
            case (Kind.SUM, *terms):
                return sum(evaluate(term) for term in terms)
            case _:
                raise TypeError(node)

    return evaluate((Kind.SUM, (Kind.NUMBER, Leaf(x)), (Kind.NUMBER, Leaf(2.0)), (Kind.NUMBER, Leaf(x))))


def jumps_in_with(x: Any) -> Any:
    total = 0.0
    for v in (x, -x, 2 * x, 3 * x):
        with contextlib.suppress(ValueError):
            if v < 0:
                continue
            total += np.log1p(v)
        if total > 1.0:
            break
    return total


def jumps_in_match(x: Any) -> Any:
    total = 0.0
    for k in range(12):
        match k % 3:
            case 0:
                total += x
            case 1:
                total *= math.cos(x)
            case _:
                continue
        if total > 1.4:
            break
    return total


PROGRAMS = [of_class, of_abstract_class, of_array, of_tree, jumps_in_with, jumps_in_match]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_give_what_python_gives(program: Callable[[Any], Any]) -> None:
    x, h = 0.7, 1e-6
    value, slope = program(x), (program(x + h) - program(x - h)) / (2 * h)
    for transform in (ad.value_and_grad, lambda f: ad.jit(ad.value_and_grad(f))):
        np.testing.assert_allclose(transform(program)(x), (value, slope), rtol=1e-8)
    for transform in (ad.vmap, lambda f: ad.jit(ad.vmap(f))):
        np.testing.assert_allclose(transform(program)(np.array([x, x + h])), [value, program(x + h)], rtol=1e-14)
