"""Methods that Python's own functions and statements call, reached from C: converted like any other."""

# ruff: noqa: B009, B010, RUF046, UP031, UP032 (as people write it)

from __future__ import annotations

import functools
import heapq
import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.support.everywhere import check_everywhere

V = np.array([0.7, -1.3, 2.1, 0.4])


class Quantity:
    """A number with methods that compute with `math`."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __float__(self) -> Any:
        return float(math.exp(self.v))

    def __int__(self) -> Any:
        return int(math.floor(self.v))

    def __complex__(self) -> Any:
        return complex(self.v, math.sin(self.v))

    def __round__(self, n: Any = None) -> Any:
        return Quantity(2.0 * self.v + math.floor(self.v))

    def __bool__(self) -> Any:
        return math.sin(self.v) > 0

    def __abs__(self) -> Any:
        return Quantity(math.fabs(self.v))

    def __add__(self, other: Any) -> Any:
        return Quantity(math.hypot(self.v, other.v if isinstance(other, Quantity) else other))

    __radd__ = __add__

    def __lt__(self, other: Any) -> Any:
        return math.sin(self.v) < math.sin(other.v)

    def __gt__(self, other: Any) -> Any:
        return math.sin(self.v) > math.sin(other.v)

    def __eq__(self, other: object) -> Any:
        return math.isclose(self.v, other.v)  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "Q%.1f" % math.exp(self.v)

    def __format__(self, spec: str) -> str:
        return format(math.exp(self.v), spec)

    def __iter__(self) -> Any:
        for k in range(3):
            yield math.sin(self.v * k)

    def __reversed__(self) -> Any:
        for k in range(2, -1, -1):
            yield math.sin(self.v * k)

    def __getitem__(self, k: int) -> Any:
        return math.cos(self.v + k)

    def __contains__(self, t: Any) -> bool:
        return math.cos(self.v) < t

    def __call__(self, t: Any) -> Any:
        return math.cos(self.v) * t

    def __neg__(self) -> Any:
        return Quantity(-math.tan(self.v))

    def __divmod__(self, other: Any) -> Any:
        return math.floor(self.v / other), math.fmod(self.v, other)

    def __pow__(self, k: Any) -> Any:
        return Quantity(math.pow(abs(self.v), k))

    def __mul__(self, k: Any) -> Any:
        return Quantity(math.sin(self.v) * k)

    __rmul__ = __mul__

    def __iadd__(self, other: Any) -> Any:
        self.v = math.sin(self.v) + other
        return self

    def __enter__(self) -> Any:
        self.v = math.sin(self.v)
        return self

    def __exit__(self, *problem: Any) -> None:
        self.v = math.exp(self.v)


Q = Quantity


def statements(x: Any) -> Any:
    q = Q(x)
    a, b, c = q
    with q as inside:
        y = inside.v * 2
    total = a + 2 * b + 3 * c + y + q.v
    for v in q:
        total += v * v
    if Q(x):
        total *= 2
    while not Q(-x):
        total += x
        break
    return total + (x if 2.0 in Q(x) else 0.0) + (x if 0.0 not in Q(x) else 0.0) + max(*Q(x))


def operators(x: Any) -> Any:
    q = -Q(x)
    q += 2.0
    q = 3.0 * q * 2.0
    q = q**2
    whole, rest = divmod(Q(x * 10), 2.0)
    return q.v + whole + rest + Q(x)[2] + Q(x)(2.0) + (x if Q(x) == Q(x + 1) else x**3)


def of_lists(x: Any) -> Any:
    made = [Q(v) for v in x]
    total = sum(made, Q(1.0)).v + max(made).v + 2 * min(made[0], made[1]).v
    total += functools.reduce(operator.add, made).v
    return total + list(itertools.accumulate(made))[-1].v + made[0].v * np.array([float(q) for q in made]).sum()


def in_order(x: Any) -> Any:
    made = [Q(v) for v in x]
    total = sum((i + 1) * q.v for i, q in enumerate(sorted(made)))
    total += sum((i + 1) * q.v for i, (q, _) in enumerate(sorted([(q, 1.0) for q in made], reverse=True)))
    made.sort(key=lambda q: -q.v)
    total += 3 * made[0].v
    heapq.heapify(made)
    heapq.heappush(made, Q(x[0] * 2))
    return total + 5 * heapq.heappop(made).v


def of_iterators(x: Any) -> Any:
    values = [*Q(x), *tuple(Q(x)), *reversed(Q(x)), *itertools.chain(Q(x), [x])]
    pairs = sum(a * b for a, b in itertools.pairwise(Q(x))) + sum(k * v for k, v in enumerate(Q(x)))
    return sum(values) + pairs + sum(map(Q(x), [1.0, 2.0])) + sum(Q(x)) + sum(a * b for a, b in zip(Q(x), [1, 2, 3]))


def texts(x: Any) -> Any:
    shown = str(Q(x)) + f"{Q(x):.3f}" + "{:.2f}{!s}".format(Q(x), Q(x)) + "%s" % Q(x) + f"{Q(x)!s:>9}"
    return x * len(shown) + len(", ".join(f"{v:.{k + 1}f}" for k, v in enumerate([x, x * x])).upper())


class Register:
    """Attributes and items that are computed."""

    def __init__(self, n: int) -> None:
        self.data = [0.0] * n

    def __getitem__(self, i: int) -> Any:
        return self.data[i]

    def __setitem__(self, i: int, v: Any) -> None:
        self.data[i] = math.sin(v)

    def __iter__(self) -> Any:
        return iter(self.data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("r"):
            return math.cos(self.data[int(name[1:])])
        raise AttributeError(name)

    def __setattr__(self, name: str, v: Any) -> None:
        if name.startswith("r"):
            self.data[int(name[1:])] = math.tan(v)
        else:
            super().__setattr__(name, v)


def attributes(x: Any) -> Any:
    r = Register(4)
    for i, v in enumerate(x):
        r[i] = v
    r[0] += x[1]
    r.r2 = x[3] * 0.1
    return r.r1 + sum(r) + max(r) + r[-1] + getattr(r, "r0") + getattr(r, "missing", 2.0)


class Steps:
    """An iterator with a state."""

    def __init__(self, x: Any) -> None:
        self.x, self.k = x, 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.k >= 12:
            raise StopIteration
        self.k += 1
        self.x = math.sin(self.x) + 0.1
        return self.x


def steps(x: Any) -> Any:
    total = 0.0
    for v in Steps(x):
        total += v * v
    rest = iter(Steps(x))
    return total + next(rest) * next(rest) + sum(itertools.islice(rest, 3)) + next(iter([]), x)


class Exponential:
    """A descriptor."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = "_" + name

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return math.sin(getattr(owner, self.name))

    def __set__(self, owner: Any, v: Any) -> None:
        setattr(owner, self.name, math.exp(v))


class Described:
    w = Exponential()

    @functools.cached_property
    def area(self) -> Any:
        return math.sqrt(self.w)

    @classmethod
    def make(cls, v: Any) -> Any:
        made = cls()
        made.w = v
        return made


def described(x: Any) -> Any:
    d = Described.make(x)
    return d.w + d.area * d.area + d.area


def conversions(x: Any) -> Any:
    return float(Q(x)) + x * int(Q(x)) + abs(complex(Q(x))) + round(Q(x), 1).v + abs(Q(-x)).v + bool(Q(x)) * x


@pytest.mark.parametrize("f", [statements, operators, of_iterators, steps, described, conversions])
def test_of_a_number(f: Any) -> None:
    check_everywhere(f, 0.63)


@pytest.mark.filterwarnings("ignore:jit of texts.*rounds otherwise")
def test_of_texts() -> None:
    check_everywhere(texts, 0.63)


@pytest.mark.parametrize("f", [of_lists, attributes])
def test_of_several(f: Any) -> None:
    check_everywhere(f, V, step=1e-3)


@pytest.mark.filterwarnings("ignore:jit of in_order.*too many paths")
def test_an_order_of_the_users() -> None:
    check_everywhere(in_order, V, step=1e-3)


class Counter:
    total = 0.0


def test_attributes_that_setattr_writes_in_a_loop_are_carried() -> None:
    def f(x: Any) -> Any:
        c = Counter()
        for i in range(30):
            setattr(c, "total", getattr(c, "total") + x * i)
            operator.setitem(c.__dict__, "last", x * i)
        return c.total + c.last  # type: ignore[attr-defined]

    check_everywhere(f, 0.3)


def test_a_text_that_is_asked_for_is_that_of_the_call() -> None:
    def f(x: Any) -> Any:
        return x * 2 if f"{x:.1f}" == "1.5" else x * 3

    fast = ad.jit(f)
    assert [float(fast(x)) for x in (1.5, 2.0, 1.5)] == [3.0, 6.0, 3.0]
    assert ad.vmap(f)(np.array([1.5, 2.0])).tolist() == [3.0, 6.0]
