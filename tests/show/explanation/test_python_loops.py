"""Python's own loops are found again in the explanation, turn by turn: also one directly inside another."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.source import Location
from adjoint.show.explanation.python_loops import loops_around


def outline(group):
    """Groups as nested lists, with the number of operations in each innermost one."""
    inner = [part for part in group.parts if not hasattr(part, "op")]
    return [outline(part) for part in inner] if inner else len(group.parts)


def table(x):
    for i in range(2):
        for _ in range(3):
            x = x * (i + 1.0)
    return x


def counted(x):
    n = 0
    while n < 3:
        for _ in (1, 2):
            x = np.sin(x)
        n += 1
    return x


def deep(x):
    for p, _ in [(1.0, 2.0), (3.0, 4.0)]:
        for _k in range(2):
            k = 0
            while k < 2:
                x = x * p
                k += 1
    return x


def squash(x):
    return np.tanh(x)


def calling(x):
    for _ in range(2):
        for _k in range(2):
            x = squash(x)
    return x


def between(x):
    for i in range(2):
        x = x + i
        for _ in range(2):
            x = x * 2.0
    return x


def uneven(x):
    for n in (1, 3, 2):
        for _ in range(n):
            x = x * 2.0
    return x


def apart(x):
    for _ in range(2):
        for _k in range(2):
            x = x * 2.0
        for _j in range(2):
            x = x * 3.0
    return x


@pytest.mark.parametrize("function, turns", [
    (table, [[[1, 1, 1]], [[1, 1, 1]]]),
    (counted, [[[1, 1]], [[1, 1]], [[1, 1]]]),
    (deep, [[[[[1, 1]], [[1, 1]]]], [[[[1, 1]], [[1, 1]]]]]),
    (calling, [[[[1], [1]]], [[[1], [1]]]]),
    (between, [[[1, 1]], [[1, 1]]]),
    (uneven, [[[1]], [[1, 1, 1]], [[1, 1]]]),
    (apart, [[[1, 1], [1, 1]], [[1, 1], [1, 1]]]),
])  # fmt: skip
def test_turns(function, turns):
    assert outline(ad.explain(function)(0.5).model.whole) == [turns]


def test_turns_of_loops_inside_grad_and_classes():
    class Model:
        def __call__(self, x):
            for _ in range(2):
                for _k in range(2):
                    x = self.step(x)
            return x

        def step(self, x):
            return x * 2.0

    assert outline(ad.explain(Model())(0.5).model.whole) == [[[[[1], [1]]], [[[1], [1]]]]]


def test_which_names_a_loop_binds():
    places = [Location(deep.__code__, 2 * k) for k in range(len(deep.__code__.co_code) // 2)]
    found = max((loops_around(place) for place in places), key=len)
    assert [loop.text for loop in found] == [
        "for p, _ in [(1.0, 2.0), (3.0, 4.0)]",
        "for _k in range(2)",
        "while k < 2",
    ]
    assert [loop.names for loop in found] == [("_", "p"), ("_k",), ("k", "x")]
