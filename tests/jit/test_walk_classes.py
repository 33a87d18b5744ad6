"""Classes made from others, and objects that change at random: a compiled function follows all of it."""

import random
import weakref
from collections import UserDict
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from tests.support.followed import Followed, X

FACTOR = 2.0


class Settings(dict[str, Any]):
    """A dict whose items are attributes."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Listed(list[Any]):
    def total(self, x: Any) -> Any:
        return sum(self) * x * FACTOR


class Vector(NamedTuple):
    x: Any
    y: Any

    def dot(self, x: Any) -> Any:
        return self.x * x + self.y * FACTOR


@pytest.mark.parametrize("way", ["closure", "argument"])
def test_classes_made_from_containers(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, listed, vector = Settings(rate=2.0, w=X * 2, inner=Settings(k=3.0)), Listed([X, 2.0]), Vector(X * 3, 1.0)
    if way == "closure":
        f = lambda x: x * settings.rate * settings.w * settings.inner.k + listed.total(x) + vector.dot(x)
        followed = Followed(f)
    else:
        compiled = ad.jit(lambda v, x: v.dot(x))
        followed = Followed(lambda x: compiled(vector, x))

    def check() -> None:
        followed.check()
        if way == "argument":
            np.testing.assert_allclose(compiled(vector, X), vector.dot(X))

    check()
    settings.rate = 4.0
    check()
    settings.w[1] = 9.0
    check()
    settings.inner.k = 5.0
    check()
    settings["inner"] = Settings(k=7.0)
    check()
    listed.append(X * 5)
    check()
    listed[1] = 3.0
    check()
    vector.x[0] = 8.0
    check()
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    check()


def test_methods_behind_others() -> None:
    class First:
        def __init__(self) -> None:
            self.w, self.k = X * 2, 3.0

        def run(self, x: Any) -> Any:
            return x * self.w

    class Second(First):
        def run(self, x: Any) -> Any:
            return super().run(x) * self.scale()

        def scale(self) -> Any:
            return self.k

    thing = Second()
    followed = Followed(lambda x: thing.run(x))
    followed.check()
    thing.w = X * 5
    followed.check()
    thing.k = 7.0
    followed.check()
    First.run = lambda self, x: x + self.w
    followed.check()


class Kept(UserDict[str, Any]):
    """Code of Python's own reads its items, under a name that stands in none of ours."""


class ByObject:
    """A descriptor that keeps its values beside the objects."""

    def __init__(self) -> None:
        self.values: Any = weakref.WeakKeyDictionary()

    def __get__(self, thing: Any, owner: Any = None) -> Any:
        return self.values[thing]

    def __set__(self, thing: Any, value: Any) -> None:
        self.values[thing] = value


class Described:
    w = ByObject()


def test_what_code_of_libraries_reads() -> None:
    kept, described = Kept(w=X * 2, k=3.0), Described()
    described.w = X * 2
    followed = Followed(lambda x: x * kept["w"] * kept["k"] + described.w)
    followed.check()
    kept["k"] = 5.0
    followed.check()
    kept["w"] = X * 4
    followed.check()
    kept["w"][1] = 9.0
    followed.check()
    described.w = 3.0
    followed.check()


def test_an_iterator_is_named() -> None:
    holder = SimpleNamespace(numbers=iter([1.0, 2.0]))
    with pytest.warns(RuntimeWarning, match=r"holder\.numbers are not seen .* taken from an iterator"):
        ad.jit(lambda x: x * next(holder.numbers))(X)


def test_classes_that_differ_in_nothing() -> None:
    class First:
        pass

    class Second:
        pass

    thing: Any = First()
    followed = Followed(lambda x: x * 2.0 if isinstance(thing, First) else x)
    followed.check()
    thing.__class__ = Second
    followed.check()


def test_the_same_value_under_another_name() -> None:
    thing = SimpleNamespace(a=2.0)
    followed = Followed(lambda x: x * thing.a if hasattr(thing, "a") else x + thing.b)
    followed.check()
    thing.b = thing.a
    del thing.a
    followed.check()


class Plain:
    k: Any = 1.5

    def __init__(self, rng: random.Random, depth: int) -> None:
        cls = type(self)
        self.a = value(rng)
        self.children = [cls(rng, depth - 1) for _ in range(rng.randint(0, 2))] if depth else []
        self.table: dict[str, Any] = {"u": value(rng)}
        self.best = self.children[0] if self.children else None

    def weight(self) -> Any:
        return self.k

    def total(self, x: Any) -> Any:
        out = x * self.weight() + self.a
        for name in sorted(self.table):
            out = out + self.table[name]
        for child in self.children:
            out = out + 0.5 * child.total(x)
        return out if self.best is None else out * self.best.a


class Slotted(Plain):
    __slots__ = ("a", "best", "children", "k", "table")


class Asking(Plain):
    def weight(self) -> Any:
        return getattr(self, "extra", 1.0) * super().weight()


def value(rng: random.Random) -> Any:
    number = round(rng.uniform(0.5, 2.0), 3)
    return number if rng.random() < 0.4 else number * X


def change(rng: random.Random, nodes: list[Any]) -> None:
    """Something that somebody may do to objects between two calls."""
    node, cls = rng.choice(nodes), type(nodes[0])
    actions = [
        lambda: setattr(node, "a", value(rng)),
        lambda: node.a.__setitem__(rng.randrange(3), rng.random()) if isinstance(node.a, np.ndarray) else None,
        lambda: node.table.__setitem__(rng.choice("uvw"), value(rng)),
        lambda: node.table.popitem() if len(node.table) > 1 else None,
        lambda: node.children.append(cls(rng, 0)),
        lambda: node.children.pop() if node.children else None,
        lambda: node.children.reverse(),
        lambda: setattr(node, "best", rng.choice([None, *nodes])),
        lambda: setattr(node, "unread", rng.random()) if hasattr(node, "__dict__") else None,
        lambda: setattr(cls, "k", value(rng)) if cls is not Slotted else None,
        lambda: setattr(node, "k", value(rng)),
        lambda: setattr(node, "extra", value(rng)) if cls is Asking else None,
        lambda: vars(node).pop("extra", None) if cls is Asking else None,
        lambda: vars(node).pop("k", None) if cls is not Slotted else None,
    ]
    rng.choice(actions)()


def reachable(root: Any) -> list[Any]:
    return [root, *[node for child in root.children for node in reachable(child)]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cls", [Plain, Slotted, Asking])
def test_random_changes(cls: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    if cls is Slotted:
        monkeypatch.delattr(Plain, "k")
    else:
        monkeypatch.setattr(cls, "k", 1.5, raising=False)
    root = cls(rng, 2)
    for node in reachable(root):
        node.k = 2.0
    compiled = ad.jit(lambda x: root.total(x))
    with config.override(specializations=1000):
        for _ in range(15):
            change(rng, reachable(root))
            for node in reachable(root):
                if cls is Slotted and not hasattr(node, "k"):
                    node.k = 2.0
            for _ in range(2):
                np.testing.assert_allclose(compiled(X), root.total(X), rtol=1e-12)
