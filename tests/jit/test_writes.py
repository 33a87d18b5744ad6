"""What a compiled function writes to objects and containers that it did not make, beside the plain function."""

import functools
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError, TraceError

X = np.array([1.0, -2.0, 3.0])


class Adam:
    """The optimizer, with its state in attributes."""

    rate = 0.1

    def __init__(self) -> None:
        self.t = 0
        self.m, self.v = np.zeros(3), np.zeros(3)
        self.norm: Any = None
        self.last: Any = {}
        self.name = "new"

    def step(self, x: Any, g: Any) -> Any:
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        self.norm = np.sqrt(np.sum(g * g))
        self.last = {"x": x, "pair": (g, self.t)}
        self.name = "used"
        return x - self.rate * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.99**self.t)) + 1e-8)


class Slotted:
    __slots__ = ("count", "w")

    def __init__(self) -> None:
        self.count, self.w = 0.0, np.ones(3)

    def grow(self, x: Any) -> Any:
        self.count += 0.5
        self.w = self.w * x
        return self.w * self.count


def test_state_in_attributes_is_written_back() -> None:
    plain, other = Adam(), Adam()
    step = ad.jit(other.step)
    x = y = X
    for k in range(6):
        x, y = plain.step(x, X * k), step(y, X * k)
        np.testing.assert_allclose(y, x, rtol=1e-14)
        assert (other.t, type(other.t), other.name) == (plain.t, int, "used")
        np.testing.assert_allclose([other.m, other.v], [plain.m, plain.v], rtol=1e-14)
        np.testing.assert_allclose(other.norm, plain.norm, rtol=1e-14)
        np.testing.assert_allclose(other.last["pair"][0], plain.last["pair"][0])
        assert other.last["pair"][1] == plain.t
        if k == 2:
            other.t = plain.t = 0  # somebody else writes as well
            other.m, plain.m = X * 2, X * 2
    assert len(step.report().specializations) <= 3  # the text, and None, were others at first


def test_the_state_of_each_object_is_its_own() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0.0

        @ad.jit
        def add(self, x: Any) -> Any:
            self.total = self.total + x
            return self.total * 2

    one, two = Counter(), Counter()
    assert [one.add(1.0), one.add(2.0), two.add(5.0), one.add(3.0)] == [2.0, 6.0, 10.0, 12.0]
    assert (one.total, two.total) == (6.0, 5.0)


def test_slots_are_written_back() -> None:
    plain, other = Slotted(), Slotted()
    grow = ad.jit(other.grow)
    for k in range(4):
        np.testing.assert_allclose(grow(X + k), plain.grow(X + k))
        np.testing.assert_allclose(other.w, plain.w)
        assert other.count == plain.count
    assert len(grow.report().specializations) == 1


def test_items_are_written_back() -> None:
    held: dict[str, Any] = {"w": np.ones(3), "rows": [X, X], "old": 1.0, "calls": 0}
    plain = {"w": np.ones(3), "rows": [X, X], "old": 1.0, "calls": 0}

    def f(state: Any, x: Any) -> Any:
        state["w"] = state["w"] * x
        state["rows"][1] = state["rows"][0] + x
        state["new"] = x[0]
        state["calls"] += 1
        state.pop("old", None)
        return np.sum(x)

    compiled = ad.jit(lambda x: f(held, x))
    for k in range(4):
        assert compiled(X + k) == f(plain, X + k)
        assert held.keys() == plain.keys()
        for name in ("w", "rows", "new", "calls"):
            np.testing.assert_allclose(held[name], plain[name])
    assert len(compiled.report().specializations) == 2  # before there was "new", and after
    first, held = held, held.copy()  # another dict like it
    before = first["w"]
    compiled(X)
    assert first["w"] is before
    np.testing.assert_allclose(held["w"], before * X)


def test_branches_write_what_they_write() -> None:
    def step(state: Any, x: Any) -> Any:
        if x > 0:
            state.up = state.up + x
        else:
            state.down = state.down - x
        return x

    plain, other = SimpleNamespace(up=0.0, down=0.0), SimpleNamespace(up=0.0, down=0.0)
    compiled = ad.jit(functools.partial(step, other))
    for x in (1.0, -2.0, 3.0, -4.0, 5.0):
        compiled(x)
        step(plain, x)
        assert (other.up, other.down) == (plain.up, plain.down)


def test_writes_inside_transformations() -> None:
    held = SimpleNamespace(last=None, w=2.0)

    def loss(x: Any) -> Any:
        held.last = x * held.w
        return np.sum(held.last**2)

    compiled = ad.jit(ad.grad(loss))
    for k in range(3):
        np.testing.assert_allclose(compiled(X + k), 8 * (X + k))
        np.testing.assert_allclose(held.last, 2 * (X + k))
    counter = SimpleNamespace(n=0, w=X * 2)

    def counted(x: Any) -> Any:
        counter.n += 1
        counter.w = counter.w * 2
        return np.sum(counter.w * x)

    np.testing.assert_allclose(ad.grad(ad.jit(counted))(X), X * 4)  # as Python does it: what x is not in stays plain
    assert (counter.n, type(counter.w)) == (1, np.ndarray)
    with pytest.raises(TraceError, match=r"held\.last"):
        ad.jit(ad.vmap(lambda x: loss(x)))(X)


@pytest.mark.parametrize("scale", [1.0, np.ones(3)])  # with an array the object is shown as a copy
def test_a_value_that_is_made_once(scale: Any) -> None:
    class Lazy:
        def __init__(self) -> None:
            self.table: Any = None
            self.scale = scale

        def run(self, x: Any) -> Any:
            if self.table is None:
                self.table = np.arange(3.0)
            return x * self.table * self.scale

    lazy = Lazy()
    compiled = ad.jit(lazy.run)
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), X * [0.0, 1.0, 2.0])
    assert isinstance(lazy.table, np.ndarray)
    lazy.table = X * 5
    np.testing.assert_allclose(compiled(X), X * X * 5)


def test_cached_properties_are_computed_again() -> None:
    class Square:
        def __init__(self) -> None:
            self.w = X * 2

        @functools.cached_property
        def squared(self) -> Any:
            return self.w**2

    thing = Square()
    compiled = ad.jit(lambda x: x * thing.squared)
    np.testing.assert_allclose(compiled(X), X * (X * 2) ** 2)
    assert "squared" not in vars(thing)
    thing.w = X * 3
    np.testing.assert_allclose(compiled(X), X * (X * 3) ** 2)
    np.testing.assert_allclose(thing.squared, (X * 3) ** 2)  # kept from now on, as Python has it
    thing.w = X * 4
    np.testing.assert_allclose(compiled(X), X * (X * 3) ** 2)


@pytest.mark.parametrize("what", ["growing", "object"])
def test_what_cannot_be_written_back_runs_as_python(what: str) -> None:
    held = SimpleNamespace(rows=[1.0], owner=None)

    def f(x: Any) -> Any:
        if what == "growing":
            held.rows.append(float(len(held.rows)))
        else:
            held.owner = SimpleNamespace(held=held)
        return x * 2

    name = {"growing": r"held\.rows", "object": r"held\.owner"}[what]
    compiled = ad.jit(f)
    with pytest.warns(RuntimeWarning, match=f"it changes {name}, which .* run as plain Python"):
        np.testing.assert_allclose(compiled(X), X * 2)
    for _ in range(2):
        compiled(X)
    assert held.rows == ([1.0, 1.0, 2.0, 3.0] if what == "growing" else [1.0])
    assert (held.owner is None) == (what == "growing")
    with pytest.raises(ControlFlowError, match=name):
        ad.jit(f, strict=True)(X)


def test_state_that_belongs_to_a_class_runs_as_python() -> None:
    class Counted:
        table: ClassVar[dict[str, Any]] = {"n": 0}

        def run(self, x: Any) -> Any:
            self.table["n"] += 1
            return x * self.table["n"]

    compiled = ad.jit(Counted().run)
    with pytest.warns(RuntimeWarning, match=r"it changes .*Counted\.table\['n'\]"):
        np.testing.assert_allclose(compiled(X), X)
    for k in (2, 3):
        np.testing.assert_allclose(compiled(X), k * X)
    assert Counted.table == {"n": 3}


def test_computed_values_are_refused_where_they_would_be_lost() -> None:
    held = SimpleNamespace(rows=[1.0], owner=None, w=X * 1.0)

    def grows(x: Any) -> Any:
        held.rows.append(x[0] + len(held.rows))
        return x

    def wraps(x: Any) -> Any:
        held.owner = SimpleNamespace(x=x)
        return x

    def in_place(x: Any) -> Any:
        held.w[0] = x[1]
        return x

    for f, name in ((grows, r"held\.rows"), (wraps, r"held\.owner"), (in_place, r"held\.w")):
        with pytest.raises(TraceError, match=name):
            ad.jit(f)(X)
    assert held.rows == [1.0]
    assert held.owner is None


def test_an_error_leaves_everything_as_it_was() -> None:
    held = SimpleNamespace(mode="a", items=[1.0], names={"k": 1})

    def f(x: Any) -> Any:
        held.mode, held.extra = "b", 1
        held.items.append(x)
        held.names["k"] = x
        raise ValueError(f"no {len(held.items)} {held.names['k'] is x}")

    with pytest.raises(ValueError, match="no 2 True"):
        ad.jit(f)(X)
    assert vars(held) == {"mode": "a", "items": [1.0], "names": {"k": 1}}
