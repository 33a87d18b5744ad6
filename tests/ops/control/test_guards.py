"""Guards: what they say, what they raise, and where they stand."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError
from adjoint.ops.control.guards import Expect, Mismatch, expectations, guards_first
from adjoint.ops.effects import Arguments, Print
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, type_of

NUMBER = ArrayType((), np.dtype(np.float64))


def show(text: str, x: Any) -> None:
    arguments, operands = Arguments.of((x,), {})
    Print(text, arguments)(*operands)


def loud(x: Any, k: Any) -> tuple[Any, None]:
    ad.debug.print("turn {}", k)
    return x * k, None


def program_of(function: Any, *values: Any) -> Program:
    return record_program(lambda *xs: [function(*xs)], [type_of(v) for v in values])[0]


@pytest.mark.parametrize(
    "question, value, other",
    [
        ("bool", np.float64(2.0), np.float64(0.0)),
        ("int", np.float64(-1.5), np.float64(-2.5)),
        ("floor", np.float64(-1.5), np.float64(-0.5)),
        ("ceil", np.float64(-1.5), np.float64(-2.5)),
        ("index", np.int64(3), np.int64(4)),
        ("hash", np.float64(1.0), np.float64(2.0)),
        ("content", np.array([True, False]), np.array([False, True])),
    ],
)
def test_questions(question: str, value: Any, other: Any) -> None:
    answer = {"bool": True, "int": -1, "floor": -2, "ceil": -1, "index": 3, "hash": hash(1.0)}.get(
        question, (True, False)
    )
    guard = Expect(question, answer, "model.py:3", number=4)
    assert guard.evaluate(value) == ()
    with pytest.raises(Mismatch, match=r"model\.py:3") as caught:
        guard.evaluate(other)
    assert caught.value.number == 4
    assert isinstance(caught.value, ControlFlowError)


def test_the_guards_of_a_program() -> None:
    def f(x: Any) -> Any:
        Expect("bool", True)(x > 0)
        Expect("int", 1)(x)
        return x

    assert [g.question for g in expectations(program_of(f, 1.0))] == ["bool", "int"]


def test_guards_stand_before_effects(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        show("first {}", x)
        y = x * 2
        Expect("bool", True)(y > 0)
        show("second {}", y)
        return y

    program = check(guards_first(program_of(f, 1.0)))
    assert program(np.float64(1.0)) == (2.0,)
    assert capsys.readouterr().out == "first 1.0\nsecond 2.0\n"
    with pytest.raises(Mismatch):
        program(np.float64(-1.0))
    assert capsys.readouterr().out == ""


def test_what_a_loop_with_effects_computes_is_computed_in_silence_first(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y, _ = ad.scan(loud, x, np.arange(1.0, 3.0))
        z = np.sin(y)
        Expect("bool", True)(z > 0)
        return z + y

    program = check(guards_first(program_of(f, np.float64(1.0))))
    assert program(np.float64(1.0))[0] == np.sin(2.0) + 2.0
    assert capsys.readouterr().out == "turn 1.0\nturn 2.0\n"
    with pytest.raises(Mismatch):
        program(np.float64(-1.0))
    assert capsys.readouterr().out == ""


def test_a_program_without_effects_stays_as_it_is() -> None:
    def f(x: Any) -> Any:
        Expect("bool", True)(x > 0)
        show("after {}", x)
        return x

    program = program_of(f, 1.0)
    assert guards_first(program) is program
