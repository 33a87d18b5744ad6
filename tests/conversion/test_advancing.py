"""What moves on when it is asked, in loops that are compiled: every iteration has its own item, as in plain Python."""

import array
import bisect
import csv
import heapq
import io
import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import adjoint as ad

COUNT = 20  # iterations: enough for a loop to be kept


def step(x: Any, n: Any) -> Any:
    return x + np.sin(x) * 1e-3 * np.cos(x) * n


def drawn(make: Callable[[], Any], draw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that asks a thing which it makes, in each iteration."""

    def f(x: Any) -> Any:
        thing = make()
        for _ in range(COUNT):
            x = step(x, draw(thing))
        return x

    return f


def odd_numbers() -> Iterator[int]:
    k = 1
    while True:
        yield k
        k += 2


def running_sum() -> Iterator[Any]:
    total = 0
    while True:
        total += yield total


def begun(generator: Any) -> Any:
    next(generator)
    return generator


THINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "iterator": (lambda: iter(range(40)), next),
    "expression": (lambda: (k * k for k in range(40)), next),
    "generator": (odd_numbers, next),
    "send": (lambda: begun(running_sum()), lambda g: g.send(3)),
    "count": (lambda: itertools.count(3), next),
    "cycle": (lambda: itertools.cycle([1, 2, 3]), next),
    "map": (lambda: map(float, range(40)), lambda it: next(it) + 0.5),
    "zip": (lambda: zip(range(40), range(3, 50), strict=False), lambda it: sum(next(it))),
    "enumerate": (lambda: enumerate(range(40)), lambda it: next(it)[1]),
    "unpacked": (lambda: iter(range(90)), lambda it: list(itertools.islice(it, 2))[1]),
    "set": (lambda: set(range(40)), lambda s: s.pop()),
    "deque": (lambda: deque(range(40)), lambda q: q.popleft()),
    "heap": (lambda: [(7 * k) % 41 for k in range(40)], heapq.heappop),
    "dict": (lambda: {k: k * k for k in range(40)}, lambda d: d.popitem()[1]),
    "counter": (Counter, lambda c: (c.update("ab"), c["a"])[1]),
    "sorted": (list, lambda values: (bisect.insort(values, -len(values)), len(values))[1]),
    "random": (lambda: random.Random(4), lambda r: r.random()),
    "choice": (lambda: random.Random(4), lambda r: r.choice([1, 5, 7])),
    "file": (lambda: io.StringIO("\n".join(map(str, range(40)))), lambda file: float(file.readline())),
    "table": (lambda: csv.reader(map(str, range(40))), lambda rows: float(next(rows)[0])),
    "bytes": (lambda: bytearray(b"abc"), lambda b: (b.append(1), len(b))[1]),
    "array": (lambda: array.array("d", [1.0]), lambda a: (a.append(a[-1] + 0.5), a[-1])[1]),
}


@pytest.mark.parametrize("name", THINGS)
def test_every_iteration_has_its_own_item(name: str) -> None:
    f = drawn(*THINGS[name])
    slope = float(np.imag(f(0.3 + 1e-30j)) / 1e-30)
    compiled, gradient = ad.jit(f), ad.jit(ad.grad(f))
    for _ in range(2):
        assert compiled(0.3) == pytest.approx(f(0.3), rel=1e-12)
        assert gradient(0.3) == pytest.approx(slope, rel=1e-9)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(np.array([0.3, 0.7])), [f(0.3), f(0.7)], rtol=1e-12)


def one_thing_for_all(x: Any) -> Any:
    """Inner loops move on what an outer one holds."""
    numbers = (k for k in range(200))
    for _ in range(COUNT):
        for _ in range(4):
            x = step(x, next(numbers))
    return x


def gone_through_once(x: Any) -> Any:
    pairs = zip(range(20), range(3, 50), strict=False)
    for a, b in pairs:
        x = step(x, 0.1 * a * b)
    for a, b in pairs:  # there is nothing left
        x = x + 100 * a * b
    return x


def left_early(x: Any) -> Any:
    """What is left behind a break is gone through by the next loop."""
    pairs = enumerate([0.1, 0.2] * COUNT)
    for k, v in pairs:
        x = step(x, k * v)
        if k > 10:
            break
    for k, v in pairs:
        x = step(x, k + v)
    return x


def left_early_by_value(x: Any) -> Any:
    numbers = iter(range(40))
    for k in numbers:
        if x > 2:
            break
        x = x + 0.3 * np.abs(np.sin(x)) + 0.001 * k
    return x + sum(numbers)


def taken_on_one_side(x: Any) -> Any:
    numbers = iter(range(40))
    for _ in range(4):
        x = x + 0.01 * next(numbers) if np.sin(9 * x) > 0 else x * 1.03
    return x


def made_in_the_body(x: Any) -> Any:
    """An iterator that each iteration makes is none of the loop's concern."""
    for k in range(COUNT):
        x = step(x, sum(j * k for j in range(3)) + sum(a * b for a, b in zip([1, 2], [3, k], strict=True)))
        x = step(x, sum(map(float, range(3))))
    return x


def fractions_of_python(x: Any) -> Any:
    """A class that takes plain numbers alone."""
    total = Decimal(0)
    for k in range(1, COUNT):
        total += Decimal(1) / k
        x = step(x, float(total))
    return x


@pytest.mark.parametrize(
    "f",
    [one_thing_for_all, gone_through_once, left_early, left_early_by_value, taken_on_one_side, made_in_the_body,
     fractions_of_python],
)  # fmt: skip
def test_iterators_and_loops(f: Any) -> None:
    xs = np.array([0.3, 0.5])
    compiled = ad.jit(f)
    for x in xs:
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
    assert ad.jit(ad.grad(f))(0.3) == pytest.approx(ad.grad(f)(0.3), rel=1e-9)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(xs), [f(x) for x in xs], rtol=1e-12)


def test_what_the_body_makes_by_itself_keeps_the_loop() -> None:
    compiled = ad.jit(made_in_the_body)
    compiled(0.3)
    assert "unrolled" not in str(compiled.report())
    assert len(ad.trace(compiled)(0.3).program.equations) < COUNT


def test_a_loop_that_is_unrolled_says_why() -> None:
    compiled = ad.jit(ad.grad(one_thing_for_all))
    compiled(0.3)
    assert "moves on in it" in str(compiled.report())


class Meter:
    """Counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def is_below(self, limit: int) -> bool:
        self.asked += 1
        return self.asked < limit


def test_the_test_of_a_while_is_asked_once_an_iteration() -> None:
    def f(x: Any) -> Any:
        meter = Meter()
        while meter.is_below(50):
            x = step(x, meter.asked)
        return x * meter.asked

    def popped(x: Any) -> Any:
        stack = list(range(1, 60))
        while (n := stack.pop()) > 3:
            x = step(x, n)
        return x + len(stack)

    for g in (f, popped):
        assert ad.jit(g)(0.3) == pytest.approx(g(0.3), rel=1e-12)
