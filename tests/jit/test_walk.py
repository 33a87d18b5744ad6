"""A compiled function follows what it reads through objects when that changes between calls.

Each test compares with the plain function, called at the same time.
"""

import functools
import sys
from collections import OrderedDict, defaultdict, deque
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.jit.environment import Environment
from tests.support.followed import Followed, X

FACTOR = 2.0
TABLE = np.array([1.0, 2.0, 3.0])


class Layer:
    def __init__(self, w: Any) -> None:
        self.w = w
        self.activation: Any = np.arctan

    def forward(self, x: Any) -> Any:
        return self.activation(self.w * x)


class Base:
    rate = 0.5

    def bias(self) -> Any:
        return FACTOR


class Model(Base):
    depth = 2

    def __init__(self) -> None:
        self.layers = [Layer(np.ones(3)), Layer(np.full(3, 2.0))]
        self._gain = 3.0
        self.unread = 0

    @property
    def gain(self) -> Any:
        return self._gain * self.depth

    @staticmethod
    def shifted(x: Any) -> Any:
        return x + TABLE

    @classmethod
    def scaled(cls, x: Any) -> Any:
        return x * cls.rate

    def run(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer.forward(x)
        return self.scaled(self.shifted(x)) * self.gain + self.bias()

    @ad.jit
    def compiled(self, x: Any) -> Any:
        return self.run(x)

    def __call__(self, x: Any) -> Any:
        return self.run(x)


@pytest.mark.parametrize("way", ["closure", "method", "object", "default", "partial", "container", "argument"])
def test_a_model(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with config.override(specializations=1000):  # many changes on purpose
        follow_a_model(way, monkeypatch)


def follow_a_model(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    held = {"models": (model,)}
    f = {
        "closure": lambda x: model.run(x),
        "method": model.run,
        "object": model,
        "default": lambda x, m=model: m.run(x),
        "partial": functools.partial(Model.run, model),
        "container": lambda x: held["models"][0](x),
        "argument": lambda x: model.compiled(x),
    }[way]
    followed = Followed(f)

    def check() -> None:
        followed.check()
        np.testing.assert_allclose(model.compiled(X), model.run(X), rtol=1e-14)

    check()
    model.layers[0].w = np.full(3, 5.0)
    check()
    model.layers[1].w[1] = -3.0  # in place
    check()
    model._gain = 4.0  # behind a property
    check()
    monkeypatch.setattr(Model, "depth", 7)
    check()
    model.depth = 8  # hides the class's
    check()
    del model.depth
    check()
    monkeypatch.setattr(Base, "rate", 0.25)
    check()
    monkeypatch.setattr(Model, "rate", 0.75, raising=False)  # a class before the one that had it
    check()
    monkeypatch.delattr(Model, "rate")
    check()
    model.layers.append(Layer(X))
    check()
    model.layers[2] = Layer(X * 2)  # another object
    check()
    model.layers[0].activation = np.cosh
    check()
    model.layers[0].activation = lambda x: x * model.layers[1].w
    check()
    model.layers[0].forward = lambda x: x**2  # type: ignore[method-assign]
    check()
    monkeypatch.setattr(Model, "bias", lambda self: self.layers[0].w)
    check()
    monkeypatch.setitem(globals(), "TABLE", np.array([5.0, 6.0, 7.0]))
    check()
    TABLE[0] = 50.0  # in place: methods of a class read it
    check()
    monkeypatch.undo()
    check()
    monkeypatch.setitem(globals(), "FACTOR", 9.0)
    check()


class Point(NamedTuple):
    x: Any
    holder: Any


class Slotted:
    __slots__ = ("inner", "k", "w")

    def __init__(self, w: Any, k: Any) -> None:
        self.w, self.k = w, k


def test_namespaces_and_named_tuples() -> None:
    point = Point(X * 2, SimpleNamespace(k=2.0, w=X * 3))
    followed = Followed(lambda x: x * point.x + point.holder.k * point.holder.w)
    followed.check()
    point.holder.k = 5.0
    followed.check()
    point.holder.w = X * 4
    followed.check()


def test_attributes_of_functions() -> None:
    def helper(x: Any) -> Any:
        return x * helper.w * helper.k  # type: ignore[attr-defined]

    helper.w, helper.k = X * 2, 2.0  # type: ignore[attr-defined]
    followed = Followed(lambda x: helper(x) + helper.k)  # type: ignore[attr-defined]
    followed.check()
    helper.k = 3.0  # type: ignore[attr-defined]
    followed.check()
    helper.w = X * 5  # type: ignore[attr-defined]
    followed.check()


@pytest.mark.parametrize(
    "make",
    [dict, OrderedDict, lambda d: defaultdict(list, d), lambda d: {"deep": [{"a": dict(d)}], **d}],
)
def test_dicts(make: Any) -> None:
    held = make({"rate": 0.5, "w": X * 2, "names": ["a", "b"], "flags": {1, 2}, "last": deque([1.0, 2.0])})
    followed = Followed(
        lambda x: x * held["rate"] * held["w"] * len(held["names"]) + (3 in held["flags"]) + held["last"][-1]
    )
    for change in (
        lambda: held.__setitem__("rate", 0.7),
        lambda: held["names"].append("c"),
        lambda: held["flags"].add(3),
        lambda: held["last"].append(9.0),
        lambda: held.__setitem__("w", X * 3),
        lambda: held["w"].__setitem__(0, 5.0),
    ):
        followed.check()
        change()
    followed.check()


def test_lists_of_numbers() -> None:
    numbers = [1.0, 2.0]
    followed = Followed(lambda x: x * sum(numbers))
    followed.check()
    numbers[0] = 5.0
    followed.check()
    numbers.append(7.0)
    followed.check()
    numbers[:] = numbers[::-1]
    followed.check()


class Node:
    def __init__(self, value: Any, parent: Any = None) -> None:
        self.value, self.parent, self.children = value, parent, []

    def add(self, value: Any) -> "Node":
        self.children.append(Node(value, self))
        return self.children[-1]

    def total(self, x: Any) -> Any:
        above = self.parent.value if self.parent is not None else 0.0
        return self.value * x + above + sum(child.total(x) for child in self.children)


def test_cycles() -> None:
    root = Node(X * 1.0)
    leaf = root.add(2.0).add(X * 3)
    followed = Followed(lambda x: root.total(x))
    followed.check()
    leaf.value = X * 5
    followed.check()
    root.children[0].value = 7.0
    followed.check()
    leaf.add(X * 2)
    followed.check()
    leaf.parent = root
    followed.check()


def test_two_names_of_one_object_stay_one() -> None:
    one = SimpleNamespace(w=X * 2)
    pair = [one, one]
    followed = Followed(lambda x: x * pair[0].w if pair[0] is pair[1] else x)
    followed.check()
    pair[1] = SimpleNamespace(w=X * 3)
    followed.check()


def test_the_class_of_an_object() -> None:
    class Other(Layer):
        def forward(self, x: Any) -> Any:
            return x + self.w

    layer = Layer(X * 1.0)
    followed = Followed(lambda x: layer.forward(x) if isinstance(layer, Layer) else x)
    followed.check()
    layer.__class__ = Other
    followed.check()


def test_static_arguments() -> None:
    traces = 0

    def f(x: Any, config: Any) -> Any:
        nonlocal traces
        traces += 1
        return x * config.rate + config.table

    class Settings:
        rate = 2.0

        def __init__(self) -> None:
            self.table = X * 2

    settings = Settings()
    compiled = ad.jit(f, static_argnames="config")
    for change in (
        lambda: setattr(settings, "rate", 3.0),
        lambda: settings.table.__setitem__(0, 7.0),
        lambda: setattr(settings, "table", X * 5),
    ):
        for _ in range(3):
            np.testing.assert_allclose(compiled(X, settings), X * settings.rate + settings.table)
        change()
    np.testing.assert_allclose(compiled(X, config=settings), X * settings.rate + settings.table)


def test_what_is_not_read_does_not_trace_again() -> None:
    model = Model()
    compiled = ad.jit(lambda x: model.run(x))
    for _ in range(5):
        compiled(X)
        model.unread += 1
        model.more = model.unread  # type: ignore[attr-defined]
        model.layers[0].w = X * model.unread
        model.layers[1].w[0] += 1.0
        np.testing.assert_allclose(compiled(X), model.run(X))
    (only,) = compiled.report().specializations
    assert only.arguments["model.layers[0].w"] == "float64[3]"
    assert only.arguments["model._gain"] == "3.0"


def test_what_changed_is_named() -> None:
    model = Model()
    compiled = ad.jit(lambda x: model.run(x))
    compiled(X)
    model._gain = 5.0
    compiled(X)
    assert [one.why for one in compiled.report().specializations][1] == "model._gain changed"


def test_large_constants_are_named() -> None:
    class Holder:
        table = np.zeros(200_000)

    compiled = ad.jit(lambda x: x + Holder.table[3])
    with pytest.warns(RuntimeWarning, match=r"2 MB of .*Holder.table are compared in each call"):
        np.testing.assert_array_equal(compiled(X), X)
    Holder.table[3] = 1.0
    with pytest.warns(RuntimeWarning, match="compared in each call"):
        np.testing.assert_array_equal(compiled(X), X + 1)


def test_the_second_call_runs_no_python() -> None:
    model, slotted = Model(), Slotted(X * 2, 3.0)
    held = {"rate": 2.0, "names": ["a"]}
    compiled = ad.jit(lambda x: model.run(x) * slotted.w * slotted.k * held["rate"] + len(held["names"]))
    compiled(X)
    model.layers[0].w = X * 3
    slotted.w[0] = 5.0
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(event) if event == "call" else None)
    try:
        compiled(X)
        model.compiled
    finally:
        sys.setprofile(None)
    assert not calls


def test_nothing_is_looked_at_that_the_code_does_not_name() -> None:
    holder = SimpleNamespace(layers=[Layer(X), Layer(X)], other=Layer(X))
    names = {read.name for read in Environment(lambda x: x * holder.layers[0].w).read().reads}
    assert names == {"holder", "holder.layers", "holder.layers[0].w", "holder.layers[1].w"}


def test_references_stay_counted() -> None:
    thing = Slotted(X * 2, 3.0)
    compiled = ad.jit(lambda x: x * thing.w * thing.k)
    for _ in range(3):
        compiled(X)
    before = sys.getrefcount(thing.w), sys.getrefcount(thing)
    for _ in range(100):
        compiled(X)
    assert (sys.getrefcount(thing.w), sys.getrefcount(thing)) == before
