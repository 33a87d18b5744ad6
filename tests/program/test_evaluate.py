"""Programs written out as Python functions compute what reading them computes, effects, warnings and all."""

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.evaluate import RUNS_BEFORE, Evaluator, written
from adjoint.program.program import interpret
from adjoint.program.record import record_program
from adjoint.program.types import type_of

X = np.linspace(0.2, 1.4, 6).reshape(2, 3)


def program_of(function: Any, *args: Any) -> Any:
    return record_program(lambda *xs: [function(*xs)], [type_of(a) for a in args])[0]


FUNCTIONS = [
    lambda x: np.sum(np.sin(x) * x + 2.0),
    lambda x: np.sum(np.linalg.qr(x)[1] ** 2),
    lambda x: np.sort(x, axis=1)[::-1] @ np.ones(3),
    lambda x: ad.grad(lambda y: np.prod(np.tanh(y)))(x),
    lambda x: ad.hessian(lambda y: np.sum(np.exp(y) * y))(x),
    lambda x: ad.scan(lambda c, row: (c * 0.5 + row, np.max(c)), np.zeros(3), x)[0],
    lambda x: np.where(x > 1.0, np.log(x), 0.0),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_written_out_equals_read(function: Any) -> None:
    program = program_of(function, X)
    for mine, theirs in zip(written(program)(X), interpret(program, [X]), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_arguments_that_are_returned_unchanged_and_literals() -> None:
    program, _ = record_program(lambda x, y: [y, 3.0, x, x * 2.0], [type_of(X), type_of(1.5)])
    out = written(program)(X, 1.5)
    assert out[0] == 1.5
    assert out[1] == 3.0
    np.testing.assert_array_equal(out[3], 2.0 * X)


def test_a_loop_changes_over_without_a_trace() -> None:
    """Before and after the body is written out, the numbers are the same, to the last bit."""
    turns = 4 * RUNS_BEFORE
    carry, ys = ad.scan(lambda c, _: (np.sin(c) + 0.1 * c, c), 0.3, length=turns)
    c, seen = np.float64(0.3), []
    for _ in range(turns):
        seen.append(c)
        c = np.sin(c) + 0.1 * c
    assert carry == c
    np.testing.assert_array_equal(ys, seen)
    assert ad.while_loop(lambda s: s < 1e6, lambda s: s * 1.5 + 1.0, 0.0) > 1e6


def test_effects_happen_at_every_turn(capsys: pytest.CaptureFixture[str]) -> None:
    def body(c: Any, _: Any) -> Any:
        ad.debug.print("at {c}", c=c)
        return c + 1.0, None

    ad.scan(body, 0.0, length=3 * RUNS_BEFORE)
    assert len(capsys.readouterr().out.splitlines()) == 3 * RUNS_BEFORE


def test_derivatives_warn_of_nothing_and_values_as_numpy_does() -> None:
    def body(c: Any, x: Any) -> Any:
        return c + np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0), None

    xs = np.array([0.0, 1.0] * RUNS_BEFORE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = ad.grad(lambda xs: ad.scan(body, 0.0, xs)[0])(xs)
    np.testing.assert_array_equal(g, np.where(xs > 0, 0.5, 0.0))


def test_values_are_released_on_the_way() -> None:
    """No more than a few arrays are alive at once, whatever the length of the program."""

    def chain(x: Any) -> Any:
        for _ in range(40):
            x = np.sin(x)
        return x

    source = written(program_of(chain, X)).__code__
    assert sum(name.startswith("v") for name in source.co_varnames) == 41
    assert Evaluator(program_of(chain, X))([X])[0].shape == X.shape


@pytest.mark.parametrize("length", [0, 1, RUNS_BEFORE, RUNS_BEFORE + 1, RUNS_BEFORE + 3])
def test_any_length(length: int) -> None:
    assert ad.fori_loop(0, length, lambda i, v: v + i, 0) == sum(range(length))


def test_effects_happen_in_their_order_when_a_loop_is_written_out(capsys) -> None:
    def f(x):
        def body(i, v):
            ad.debug.print("{}", i)
            return v + x

        return ad.fori_loop(0, 12, body, x)

    ad.vmap(f)(np.ones(2))
    assert capsys.readouterr().out.split() == [str(i) for i in range(12)]
