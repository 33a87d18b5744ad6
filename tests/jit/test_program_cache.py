"""What an earlier process made of a program is used again, and only for the same program."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.source import describe
from adjoint.compile.kernel import compile_program
from adjoint.jit.program_cache import LARGEST, ProgramCache
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.subprograms import all_equations
from adjoint.program.types import type_of
from adjoint.simplify import simplify

X = np.array([0.3, -0.2, 0.9])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    with config.override(cache=True, cache_dir=str(tmp_path)):
        yield tmp_path


def traced(f: Any, *xs: Any) -> Program:
    return record_program(lambda *ys: [f(*ys)], [type_of(x) for x in xs])[0]


def slope(x: Any) -> Any:
    def turn(h: Any, _: Any) -> Any:
        return np.tanh(h * x + 0.0), h * 1.0

    return ad.grad(lambda x: np.sum(ad.scan(turn, np.sin(x) * 2, None, length=3)[0]))(x)


def kept(f: Any, *xs: Any) -> tuple[Program, Program]:
    """(the program, simplified), after it was written down."""
    program = traced(f, *xs)
    known = ProgramCache(program)
    assert known.finished is None
    simple = simplify(program)
    kernel = compile_program(simple)
    known.write(simple, kernel.program, kernel.notes["name"])
    return program, simple


def test_attached_rules_and_checks_are_found_again() -> None:
    """A rule is for derivatives alone; what a check shows is a container."""

    @ad.custom_rule(vjp=lambda x: (np.sin(x), lambda ct: (ct * np.cos(x),)))
    def wave(x: Any) -> Any:
        return np.sin(x)

    def f(x: Any) -> Any:
        value = np.sum(wave(x))
        ad.check(value < 1e3, "too large: {}", {"value": value})
        return ad.grad(lambda y: np.sum(wave(y) ** 2))(x) + wave(x) * value

    _, simple = kept(f, X)
    known = ProgramCache(traced(f, X))
    assert known.finished == simple
    other = lambda x: f(x) + 1.0
    assert ProgramCache(traced(other, X)).finished is None


def test_found_again() -> None:
    _, simple = kept(slope, X)
    program = traced(slope, X)
    known = ProgramCache(program)
    assert known.finished is not None
    assert known.finished == simple
    assert known.finished is not simple
    kernel = compile_program(known.finished, known.code)
    np.testing.assert_allclose(kernel.run([X])[0], slope(X), rtol=1e-12)


def test_lines_are_those_of_this_program() -> None:
    def here(x: Any) -> Any:
        return np.exp(x) * 2

    def elsewhere(x: Any) -> Any:
        return np.exp(x) * 2

    kept(here, X)
    found = ProgramCache(traced(elsewhere, X)).finished
    assert found is not None
    lines = {describe(eq.location) for eq in all_equations(found)}
    assert lines == {describe(eq.location) for eq in all_equations(traced(elsewhere, X))}
    assert lines != {describe(eq.location) for eq in all_equations(traced(here, X))}


@pytest.mark.parametrize(
    "other",
    [
        lambda x: np.exp(x) * 3 + np.array([1.0, 2.0, 3.0]),
        lambda x: np.exp(x) * 2 + np.array([1.0, 2.0, 4.0]),
        lambda x: np.exp(x) * 2 + np.array([1.0, 2.0, 3.0], np.float32),
        lambda x: np.exp(x) * 2.0 + np.array([[1.0, 2.0, 3.0]]),
        lambda x: np.sin(x) * 2 + np.array([1.0, 2.0, 3.0]),
    ],
)
def test_other_programs_are_others(other: Any) -> None:
    kept(lambda x: np.exp(x) * 2 + np.array([1.0, 2.0, 3.0]), X)
    assert ProgramCache(traced(other, X)).finished is None


def test_scopes_are_kept_apart() -> None:
    def scoped(name: str) -> Any:
        def f(x: Any) -> Any:
            with ad.scope(name):
                return np.exp(x)

        return f

    kept(scoped("encoder"), X)
    assert ProgramCache(traced(scoped("encoder"), X)).finished is not None
    assert ProgramCache(traced(scoped("decoder"), X)).finished is None


def test_what_cannot_be_kept() -> None:
    large = np.arange(LARGEST // 8 + 1.0)
    program = traced(lambda x: x + large, large)
    ProgramCache(program).write(simplify(program), None, None)
    assert ProgramCache(program).finished is None

    @ad.custom_rule(vjp=lambda x: (x, lambda ct: (ct,)))
    def mine(x: Any) -> Any:
        return x * 2

    program = traced(lambda x: mine(x), X)
    ProgramCache(program).write(simplify(program), None, None)
    found = ProgramCache(program).finished
    assert found is None or np.array_equal(interpret(found, [X])[0], 2 * X)


def test_damaged_files_are_not_there(folder: Path) -> None:
    kept(slope, X)
    for path in folder.rglob("*"):
        if path.is_file():
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 255
            path.write_bytes(content)
    assert ProgramCache(traced(slope, X)).finished is None


def test_nothing_is_kept_when_the_cache_is_off(folder: Path) -> None:
    with config.override(cache=False):
        kept(slope, X)
    assert not any(folder.iterdir())
