"""Functions are found in their files by their code, and nothing else is taken for their source."""

import functools
import linecache
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.conversion.runtime
from adjoint.conversion.source import find


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return function(*args)

    return call


class Owner:
    def __init__(self, a: float) -> None:
        self.__a = a

    def method(self, x: Any, *rest: Any, k: int = 3, **named: Any) -> Any:
        return self.__a * x if k else super().__hash__()

    @decorated
    def wrapped(self, x: Any) -> Any:
        return [q * x for q in range(3)]


first, second = (lambda x: x + 1), (lambda x: x + 1 if x else 2)


def outer(s: float) -> Any:
    def inner(x: Any) -> Any:
        nonlocal s
        s += 1
        return (lambda y: y * s)(x)

    return inner


def test_functions_are_found_where_they_stand() -> None:
    for function in (Owner.method, Owner.__init__, Owner.wrapped.__wrapped__, outer, outer(1.0), decorated):
        found = find(function)
        assert found is not None, function
        assert found.node.lineno >= function.__code__.co_firstlineno
    assert find(Owner.method).owner == "Owner"  # type: ignore[union-attr]


def test_lambdas_of_one_line_are_told_apart() -> None:
    one, two = find(first), find(second)
    assert one is not None
    assert two is not None
    assert one.node.col_offset < two.node.col_offset


def test_no_source() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return x + 1", namespace)
    assert find(namespace["f"]) is None
    assert find(namespace["f"].__class__(compile("1", "<nowhere>", "eval"), {})) is None


def test_a_file_that_was_edited_is_not_the_source() -> None:
    name, text = "<edited>", "def f(x):\n    return x + 1\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    assert find(namespace["f"]) is not None
    text = "def f(x):\n    return x + 2\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    assert find(namespace["f"]) is None


EQUAL = """def f(x):
    y = 0.0
    while y < 3.0:
        y = y + g(x) * k + {step}
    return y
"""


def _cell(file: str, step: float, names: dict[str, Any]) -> Any:
    """The function f of a notebook's cell."""
    text = EQUAL.format(step=step)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = dict(names)
    exec(compile(text, file, "exec"), space)
    return space["f"]


def test_equal_code_in_two_cells_is_two_functions() -> None:
    """Code objects that are equal, names apart: each has its own globals; a cell that runs again has another text."""
    first = _cell("<cell 1>", 0.1, {"g": np.sin, "k": 2.0})
    cells = [
        first,
        _cell("<cell 2>", 0.1, {"g": np.cos, "k": 5.0}),
        _cell("<cell 1>", 0.1, {"g": np.exp, "k": 1.0}),
        _cell("<cell 1>", 0.3, {"g": np.exp, "k": 1.0}),
    ]
    for f in (*cells, *cells[::-1]):
        slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
        assert ad.jit(f)(0.7) == pytest.approx(f(0.7), rel=1e-12)
        assert ad.jit(ad.grad(f))(0.7) == pytest.approx(slope, rel=1e-8)
        assert ad.grad(f)(0.7) == pytest.approx(slope, rel=1e-8)
        assert ad.vmap(f)(np.array([0.7, 0.8])) == pytest.approx([f(0.7), f(0.8)], rel=1e-12)


def test_equal_code_in_two_files_is_two_functions(tmp_path) -> None:
    functions = []
    for name, rate in (("one", 2.0), ("two", 5.0)):
        text = f"k = {rate}\n\n\ndef g(x):\n    return x * k\n\n\n{EQUAL.format(step=0.1)}"
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        space: dict[str, Any] = {"__name__": name}
        exec(compile(text, str(file), "exec"), space)
        functions.append(space["f"])
    for f in (*functions, *functions[::-1]):
        assert ad.jit(f)(0.7) == pytest.approx(f(0.7), rel=1e-12)
        slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
        assert ad.jit(ad.grad(f))(0.7) == pytest.approx(slope, rel=1e-8)
