"""A compiled function follows what it reads when that changes between calls: definitions, modules, containers.

Each test compares with the plain function, called at the same time.
"""

import functools
import importlib
import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.support.followed import Followed, X


def test_defaults() -> None:
    def f(x: Any, a: Any = 2.0, b: Any = 3.0) -> Any:
        return x * a + b * x**2

    followed = Followed(f)
    followed.check()
    for defaults in ((5.0, 3.0), (5.0, 4.0), (np.float64(2.0), 3), (X * 2, 1.0), (X * 3, 1.0), (1.0, (1.0,)[0])):
        f.__defaults__ = defaults
        followed.check()


def test_keyword_defaults() -> None:
    def f(x: Any, *, a: Any = 2.0, b: Any = 1.0) -> Any:
        return x * a + b * x**2

    followed = Followed(f)
    followed.check()
    assert f.__kwdefaults__ is not None
    f.__kwdefaults__["a"] = 5.0
    followed.check()
    f.__kwdefaults__ = {"a": 7.0, "b": 2.0}
    followed.check()
    f.__kwdefaults__ = {"b": 7.0, "a": 2.0}
    followed.check()
    f.__kwdefaults__["b"] = X * 2
    followed.check()
    f.__kwdefaults__["b"][1] = 9.0
    followed.check()


def test_keywords_and_arguments_of_partial() -> None:
    def f(scale: Any, x: Any, a: Any = 0.0, b: Any = 0.0) -> Any:
        return scale * x + a * x**2 + b * x**3

    held = X * 2
    p = functools.partial(f, held, a=3.0)
    followed = Followed(p)
    followed.check()
    p.keywords["a"] = 4.0
    followed.check()
    held[0] = 7.0
    followed.check()
    p.keywords["b"] = 1.0
    followed.check()
    del p.keywords["a"]
    followed.check()
    p.keywords["b"] = held
    followed.check()
    held[1] = 70.0
    followed.check()


def test_code() -> None:
    def inner(x: Any) -> Any:
        return x * 2

    def f(x: Any) -> Any:
        return inner(x) + 1.0

    def other(x: Any) -> Any:
        return x**2

    def another(x: Any) -> Any:
        return inner(x) * 3.0

    followed = Followed(f)
    followed.check()
    inner.__code__ = other.__code__
    followed.check()
    f.__code__ = another.__code__
    followed.check()


def test_a_code_with_other_parameters() -> None:
    def f(x: Any, n: Any) -> Any:
        return x * n

    def other(n: Any, x: Any) -> Any:
        return x**n

    compiled = ad.jit(f, static_argnames="n")
    np.testing.assert_allclose(compiled(X, 3), X * 3)
    f.__code__ = other.__code__
    np.testing.assert_allclose(compiled(3, X), X**3)


def scaled(x: Any) -> Any:
    return helpers.scale(x) + helpers.K * x + package.inner.K


def through_a_name(x: Any) -> Any:
    m = helpers
    return x * m.K + getattr(helpers, "K")  # noqa: B009  (a name in a text)


helpers = ModuleType("helpers")
package = ModuleType("package")
source = "def scale(x):\n    return x * W + deep.C\n"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    first, second, deep = ModuleType("helpers"), ModuleType("package"), ModuleType("deep")
    first.__dict__.update(K=2.0, W=3.0, deep=deep, other=first)
    second.__dict__["inner"] = ModuleType("package.inner")
    second.inner.__dict__.update(K=1.0, outer=second)
    deep.__dict__["C"] = 0.5
    exec(source, first.__dict__)
    monkeypatch.setitem(globals(), "helpers", first)
    monkeypatch.setitem(globals(), "package", second)
    return first, second


def test_modules(modules: Any) -> None:
    first, second = modules
    followed, named = Followed(scaled), Followed(through_a_name)

    def change(module: Any, name: str, value: Any) -> None:
        setattr(module, name, value)
        followed.check()
        named.check()

    followed.check()
    change(first, "K", 5.0)
    change(first, "W", 4.0)
    change(second.inner, "K", 7.0)
    change(first.deep, "C", 8.0)
    change(first, "scale", lambda x: x**2)
    change(first, "K", X * 2)
    first.K[1] = 50.0
    followed.check()
    named.check()
    change(second.inner, "K", X * 4)
    change(first, "scale", lambda x: x * helpers.K)
    other = ModuleType("another")
    other.__dict__.update(K=np.ones(3), scale=lambda x: x * package.inner.K)
    globals()["helpers"] = other
    followed.check()
    named.check()


def test_a_module_that_is_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded_helpers.py"
    file.write_text("K = 2.0\ndef scale(x):\n    return x * K\n")
    module = importlib.import_module("reloaded_helpers")
    followed = Followed(lambda x: module.scale(x) + module.K)
    followed.check()
    file.write_text("K = 3.0\ndef scale(x):\n    return x ** 2 * K\n# longer\n")
    importlib.reload(module)
    followed.check()
    assert followed.compiled[0](X)[0] == 6.0


def test_what_a_function_writes_to_a_module_is_not_followed(modules: Any) -> None:
    first, _ = modules
    first.count = 0

    def f(x: Any) -> Any:
        helpers.count += 1
        return x * helpers.K

    compiled = ad.jit(f)
    for _ in range(4):
        compiled(X)
    assert first.count == 1


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "make, read",
    [
        (lambda a: (a, 2.0), lambda c: c[0]),
        (lambda a: ((1.0, a), "text"), lambda c: c[0][1]),
        (lambda a: [a, 2.0], lambda c: c[0] * c[1]),
        (lambda a: {"w": a, "k": 3.0}, lambda c: c["w"] * c["k"]),
        (lambda a: {"layers": [(a, a * 2), {"b": a}]}, lambda c: c["layers"][0][0] + c["layers"][1]["b"]),
        (lambda a: Pair(a, [a]), lambda c: c.a + c.b[0]),
        (lambda a: Pair((), [{1: a}]), lambda c: c.b[0][1]),
    ],
)
def test_arrays_in_containers(make: Any, read: Any) -> None:
    array = X * 1.5
    held = make(array)

    def inner(x: Any) -> Any:
        return x * read(held)

    def default(x: Any, c: Any = held) -> Any:
        return x * read(c)

    module = ModuleType("holder")
    module.__dict__["params"] = held
    for f in (inner, default, lambda x: inner(x) + read(module.params), functools.partial(default, c=held)):
        followed = Followed(f)
        followed.check()
        array[1] += 10.0
        followed.check()
    held = make(X * 7)
    module.__dict__["params"] = make(X * 8)
    for f in (inner, lambda x: read(module.params) * x):
        followed = Followed(f)
        followed.check()
        module.__dict__["params"] = make(np.array([4.0, 5.0, 6.0]))
        held = make(np.array([7.0, 5.0, 6.0]))
        followed.check()


def test_items_of_containers_with_arrays() -> None:
    params: dict[str, Any] = {"w": X * 1.0, "k": 3.0, "layers": [X * 2.0]}

    def f(x: Any) -> Any:
        return x * params["w"] * params["k"] + sum(params["layers"])

    followed = Followed(f)
    followed.check()
    params["k"] = 4.0
    followed.check()
    params["w"] = X * 5.0
    followed.check()
    params["layers"].append(X * 3.0)
    followed.check()
    params["layers"][1][2] = 0.5
    followed.check()
    del params["layers"][0]
    followed.check()


def test_functions_in_containers() -> None:
    k = 2.0
    w = np.ones(3)

    def first(x: Any) -> Any:
        return x * k

    def second(x: Any) -> Any:
        return x + w

    layers = (first, {"b": second})
    followed = Followed(lambda x: layers[1]["b"](layers[0](x)))
    followed.check()
    k = 3.0
    followed.check()
    w[0] = 5.0
    followed.check()


def test_a_log_is_no_input() -> None:
    """A list or dict that is only written to is not looked at: appending to it does not trace again."""
    log: list[Any] = []
    seen: dict[str, int] = {}
    traces = 0

    def f(x: Any) -> Any:
        nonlocal traces
        traces += 1
        log.append("traced")
        seen["calls"] = 1
        return x * 2

    compiled = ad.jit(f)
    for number in range(5):
        compiled(X)
        log.append(number)
    assert (traces, seen) == (1, {"calls": 1})
    assert log == ["traced", 0, 1, 2, 3, 4]
    compiled(X[:2])
    assert traces == 2  # for a new shape alone
    log = []
    compiled(X)
    assert log == ["traced"]  # another list


def test_a_large_container_is_not_watched_and_says_so() -> None:
    table = [1.0] * 3000
    small = {"k": 2.0, "table": table}
    compiled = ad.jit(lambda x: x * small["k"] + small["table"][5])
    with pytest.warns(RuntimeWarning, match=r"changes inside small\['table'\] are not seen .* holds 3000 items"):
        np.testing.assert_allclose(compiled(X), X * 2 + 1)
    small["k"] = 3.0
    with pytest.warns(RuntimeWarning, match="are not seen"):
        np.testing.assert_allclose(compiled(X), X * 3 + 1)  # what stands beside it is watched
    constant = tuple(range(3000))  # cannot change
    np.testing.assert_allclose(ad.jit(lambda x: x + constant[7])(X), X + 7)


def test_the_second_call_of_all_this_runs_no_python(modules: Any) -> None:
    held = (X * 2, {"a": [X * 3]})

    def f(x: Any, a: Any = 2.0, *, b: Any = 1.0) -> Any:
        return helpers.scale(x) * helpers.K * a + b * held[1]["a"][0]

    compiled = ad.jit(functools.partial(f, b=4.0))
    compiled(X)
    compiled(X)
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(event) if event == "call" else None)
    try:
        compiled(X)
    finally:
        sys.setprofile(None)
    assert not calls


class Labeled(np.ndarray):
    """An array of a class of its own."""


def records() -> Any:
    return np.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f8"), ("b", "i4")])


@pytest.mark.parametrize(
    "array, read, changed",
    [
        (records(), lambda a: a["a"][0], (5.0, 2)),
        (records()[::-1], lambda a: a["b"].sum(), (5.0, 7)),
        (np.array(["plus", "minus"]), lambda a: 1.0 if a[0] == "plus" else -1.0, "none"),
        (np.array(["plus", "minus"], np.dtypes.StringDType()), lambda a: 1.0 if a[0] == "plus" else -1.0, "none"),
        (np.array([2.0, 4.0], object), lambda a: a[0], 3.0),
        (np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]), lambda a: a.filled(7.0), 4.0),
        (np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]), lambda a: a.filled(7.0), np.ma.masked),
        (np.array([1.0, 2.0, 3.0]).astype(">f8"), lambda a: a[0], 4.0),
        (np.array([1.0, 2.0, 3.0]).view(Labeled), lambda a: np.asarray(a), 4.0),
        (
            np.array(["2001-01-01", "2002-01-01"], "M8[D]"),
            lambda a: (a[1] - a[0]) / np.timedelta64(1, "D"),
            "2000-05-05",
        ),
    ],
    ids=["records", "reversed", "texts", "string", "objects", "masked", "mask", "byte order", "subclass", "dates"],
)
def test_arrays_of_other_things(array: Any, read: Any, changed: Any) -> None:
    followed = Followed(lambda x: x * read(array))
    followed.check()
    array[0] = changed
    followed.check()
    array = array.copy()
    followed.check()
    array[0] = array[1]
    followed.check()


def test_a_record() -> None:
    record = records()[0]
    followed = Followed(lambda x: x * record["a"] + record["b"])
    followed.check()
    record["a"] = 9.0
    followed.check()


def test_arrays_of_other_things_that_do_not_change_are_traced_once() -> None:
    held = [records(), np.array(["a", "b"]), np.array([2.0, None]), np.array(["ab"], np.dtypes.StringDType())]
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    compiled = ad.jit(lambda x: x * held[0]["a"][0] * len(held[1]) * held[2][0] * len(held[3]) + masked.filled(2.0))
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), X * 4.0 + [1.0, 2.0, 3.0])
    assert len(compiled.report().specializations) == 1
